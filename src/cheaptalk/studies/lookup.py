"""Lookup of stored studies by name, study file or study object."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from types import MappingProxyType
from typing import Concatenate, ParamSpec, TypeAlias, TypeVar

from cheaptalk.records import Store
from cheaptalk.studies.presets import study_of
from cheaptalk.studies.study import FILES, Study, StudyError, parse_study

Place: TypeAlias = Store | Path | str
"""A store, its file or its URL."""
Named: TypeAlias = Study | Path | str
"""A study, its file, or its name in a store."""
NO_MORE: Mapping[str, object] = MappingProxyType({})
P = ParamSpec("P")
R = TypeVar("R")


def name_of(study: Named) -> str:
    """Return the name of a study."""
    if isinstance(study, str) and not study.endswith(FILES):
        return study
    return study_of(study).name


def stored_study(store: Place, name: str) -> Study:
    """Load a study from a store.

    Raises:
        StoreError: the store has no study with this name.
        StudyError: the study was imported, or is invalid in this version.
    """
    with Store.opened(store) as opened:
        spec = opened.study(name, counted=False).spec
    if "players" not in spec:
        raise StudyError(f'"{name}" was imported and cannot be run')
    return parse_study(spec, name)


def with_players(
    study: Study, players: Mapping[str, object] = NO_MORE, rosters: Sequence[str] = ()
) -> Study:
    """Return a study with players added or, if their labels exist, replaced.

    Args:
        rosters: rosters with players to add, as ``NAME_OR_FILE`` or ``NAME_OR_FILE:LABEL,...``.

    Raises:
        StudyError: an entry is invalid or cannot play.
    """
    data = study.written() | {"roster": list(rosters)}
    data["players"] |= players
    factors = {label: levels for label, levels in study.factors.items() if label not in players}
    return Study.model_validate(data | {"factors": factors})


def reads_study(function: Callable[Concatenate[Store, str, P], R]) -> "Reading[P, R]":
    """Decorate a function to accept a store, path or URL, and a study, its file or its name."""

    @wraps(function)
    def reading(store: Place, study: Named, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with Store.opened(store) as opened:
            return function(opened, name_of(study), *args, **kwargs)

    return reading


Reading: TypeAlias = Callable[Concatenate[Place, Named, P], R]
"""A function that accepts a store and a study in any form."""
