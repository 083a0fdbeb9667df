"""A study in a store, however the two are named."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeAlias, TypeVar

from cheaptalk.records import Store
from cheaptalk.studies.presets import study_of
from cheaptalk.studies.study import FILES, Study

Place: TypeAlias = Store | Path | str
"""A store, its file or its URL."""
Named: TypeAlias = Study | Path | str
"""A study, its file, or its name in a store."""
P = ParamSpec("P")
R = TypeVar("R")


def name_of(study: Named) -> str:
    """What a store calls a study.

    Raises:
        StudyError: it is no study, no name and no study file.
    """
    if isinstance(study, str) and not study.endswith(FILES):
        return study
    return study_of(study).name


def reads_study(function: Callable[Concatenate[Store, str, P], R]) -> "Reading[P, R]":
    """Let a function of a store and a study's name take a path or URL, and a study or its file.

    A store that it opens itself is closed at the end.
    """

    @wraps(function)
    def reading(store: Place, study: Named, /, *args: P.args, **rest: P.kwargs) -> R:
        with Store.opened(store) as opened:
            return function(opened, name_of(study), *args, **rest)

    return reading


Reading: TypeAlias = Callable[Concatenate[Place, Named, P], R]
"""A function of a store and a study, named in any way."""
