"""A study in a store, however the two are named."""

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
    """What a store calls a study.

    Raises:
        StudyError: it is no study, no name and no study file.
    """
    if isinstance(study, str) and not study.endswith(FILES):
        return study
    return study_of(study).name


def stored_study(store: Place, name: str) -> Study:
    """A study as a store holds it, to go on with.

    Raises:
        StoreError: there is none of this name.
        StudyError: it was imported, or is not legal in this version.
    """
    with Store.opened(store) as opened:
        spec = opened.study(name, counted=False).spec
    if "players" not in spec:
        raise StudyError(f'"{name}" was imported; there is nothing to play')
    return parse_study(spec, name)


def with_players(
    study: Study, players: Mapping[str, object] = NO_MORE, rosters: Sequence[str] = ()
) -> Study:
    """A study with more players, or others in place of those of the same label.

    Args:
        players: roster entries as a study file has them, by label.
        rosters: rosters whose players join, as ``NAME_OR_FILE`` or ``NAME_OR_FILE:LABEL,...``.

    Raises:
        StudyError: one of them is none, or cannot sit down.
    """
    data = study.written() | {"roster": list(rosters)}
    data["players"] |= players
    kept = {label: one for label, one in study.factors.items() if label not in players}
    data |= {"factors": kept}
    return Study.model_validate(data)


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
