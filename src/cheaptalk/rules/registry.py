"""What is found by name: games and all that belongs to them, and whatever else others may add.

A package adds things by entry points, a running program by :func:`register`. Ours are found in the
same way as everyone else's.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any, Generic, TypeVar

from cheaptalk.rules.box import Check, GameBox, Measure, Series, Strategy, StyleFile
from cheaptalk.rules.errors import CheaptalkError
from cheaptalk.rules.game import suggest

T = TypeVar("T")
HERE = "this program"
"""Whose the things are that a running program registers."""
OURS = "cheaptalk"


class UnknownName(CheaptalkError, LookupError):
    """A name that nothing is registered under; the message names the nearest one."""


class PluginWarning(UserWarning):
    """An installed package registers what cannot be used; everything else can."""


def unknown(what: str, name: str, known: list[str]) -> UnknownName:
    """Say that a name is unknown, with the nearest or all of the known ones."""
    return UnknownName(f"unknown {what} {suggest(name, sorted(known))}")


def _alone(name: str, thing: Any) -> Mapping[str, Any]:
    return {name: thing}


def several(_: str, things: Any) -> Mapping[str, Any]:
    """Reads an entry point that refers to a mapping of things by name.

    Raises:
        TypeError: it refers to something else.
    """
    if not isinstance(things, Mapping):
        raise TypeError("it is no mapping of things by name")
    return things


class Registry(Generic[T]):
    """Things of one kind by name.

    Args:
        what: what one of them is called.
        group: of entry points that register them.
        read: what an entry point registers, by name, from the point's name and what it refers to;
            by default that thing itself under the point's name.

    >>> Registry("colour", "cheaptalk.colours").named()
    {}
    """

    def __init__(
        self, what: str, group: str, read: Callable[[str, Any], Mapping[str, T]] = _alone
    ) -> None:
        self.what = what
        self.group = group
        self._read = read
        self._here: dict[str, T] = {}
        self._found: dict[str, T] | None = None

    @property
    def here(self) -> frozenset[str]:
        """The names that this process registered; other processes do not know them."""
        return frozenset(self._here)

    def named(self) -> dict[str, T]:
        """Everything registered, by name, in alphabetical order.

        A package that fails to import, or registers a name that another has, is warned of and
        hides nothing else.
        """
        if self._found is None:
            self._found = self._installed() | self._here
        return dict(sorted(self._found.items()))

    def find(self, name: str) -> T:
        """One thing by its name.

        Raises:
            UnknownName: nothing is registered under it.
        """
        found = self.named()
        if name not in found:
            raise unknown(self.what, name, list(found))
        return found[name]

    def add(self, name: str, thing: T) -> None:
        """Register a thing in this process; what it registered before is replaced.

        Raises:
            CheaptalkError: an installed package registers the name.
        """
        if name in self._installed():
            raise CheaptalkError(
                f'an installed package registers a {self.what} named "{name}"; take another name'
            )
        self._here[name] = thing
        self.forget()

    def remove(self, name: str) -> None:
        """Take back what this process registered under a name."""
        del self._here[name]
        self.forget()

    def forget(self) -> None:
        """Look for everything anew when it is next asked for."""
        self._found = None
        games.cache_clear()

    def _installed(self) -> dict[str, T]:
        found: dict[str, T] = {}
        owners: dict[str, str] = {}
        for point in sorted(_points(self.group), key=_ours_first):
            try:
                things = self._read(point.name, point.load())
            except Exception as error:  # noqa: BLE001 - one broken package must not hide the others
                _warn(
                    f'the {self.what} "{point.name}" of {_owner(point)} cannot be used '
                    f"({type(error).__name__}: {error}); mend, upgrade or uninstall {_owner(point)}"
                )
                continue
            for name, thing in things.items():
                if name in found:
                    _warn(
                        f"{owners[name]} and {_owner(point)} both register a {self.what} named "
                        f'"{name}": the one of {owners[name]} is used; uninstall one of them'
                    )
                    continue
                found[name], owners[name] = thing, _owner(point)
        return found


def _points(group: str) -> Iterator[EntryPoint]:
    yield from entry_points(group=group)


def _owner(point: EntryPoint) -> str:
    """The package that an entry point is of."""
    return point.dist.name if point.dist is not None else point.module


def _ours_first(point: EntryPoint) -> tuple[bool, str, str]:
    return _owner(point) != OURS, _owner(point), point.name


def _warn(message: str) -> None:
    warnings.warn(message, PluginWarning, stacklevel=2)


def _of_game(kind: type[T]) -> Callable[[str, Any], Mapping[str, T]]:
    """Reads entry points named ``GAME.NAME``: a thing for a game, or all that a module holds."""

    def read(name: str, loaded: Any) -> Mapping[str, T]:
        game = name.partition(".")[0]
        held = vars(loaded).values() if isinstance(loaded, ModuleType) else (loaded,)
        found = {f"{game}.{one.name}": one for one in held if isinstance(one, kind)}  # type: ignore[attr-defined]  # what a game has has a name
        if not found:
            raise TypeError(f"it is no {kind.__name__}, nor a module that holds one")
        return found

    return read


def _boxes(_: str, loaded: Any) -> Mapping[str, GameBox]:
    if not isinstance(loaded, GameBox):
        raise TypeError("it is no GameBox")
    return {loaded.name: loaded}


GAMES: Registry[GameBox] = Registry("game", "cheaptalk.games", _boxes)
STRATEGIES = Registry("strategy", "cheaptalk.players", _of_game(Strategy))
MEASURES = Registry("measure", "cheaptalk.measures", _of_game(Measure))
SERIES = Registry("series", "cheaptalk.series", _of_game(Series))
STYLES: Registry[StyleFile] = Registry("style", "cheaptalk.styles")
CHECKS: Registry[Check] = Registry("check", "cheaptalk.checks")
"""What belongs to games that exist is registered as ``GAME.NAME``."""


PARTS: dict[str, Registry[Any]] = {
    "strategies": STRATEGIES, "measures": MEASURES, "series": SERIES, "styles": STYLES,
    "checks": CHECKS,
}  # fmt: skip
"""What others may add to a game, by the field of its box."""


@cache
def games() -> dict[str, GameBox]:
    """All registered games by name, with what is registered for them elsewhere."""
    return {name: _whole(box) for name, box in GAMES.named().items()}


def _whole(box: GameBox) -> GameBox:
    """A box with what others add to it."""
    added: dict[str, Any] = {}
    for field, registry in PARTS.items():
        own = getattr(box, field)
        more = {
            name.removeprefix(f"{box.name}."): thing
            for name, thing in registry.named().items()
            if name.startswith(f"{box.name}.")
        }
        for name in own.keys() & more.keys():
            _warn(
                f'{box.name} has a {registry.what} named "{name}" of its own; the one registered '
                "beside it is not used"
            )
        if more:
            added[field] = {**own, **{name: one for name, one in more.items() if name not in own}}
    return replace(box, **added) if added else box


def game_box(name: str) -> GameBox:
    """The box of a game.

    Raises:
        UnknownName: no game is registered under this name.
    """
    found = games().get(name)
    if found is None:
        raise unknown("game", name, list(games()))
    return found


def strategies(game: str) -> Mapping[str, Strategy]:
    """All strategies for a game by name: its own, then those registered for it elsewhere.

    Raises:
        UnknownName: no game is registered under this name.
    """
    return game_box(game).strategies


def strategy_named(game: str, name: str) -> Strategy:
    """A strategy by its game and name.

    Raises:
        UnknownName: the game has no such strategy.
    """
    found = strategies(game).get(name)
    if found is None:
        raise unknown(f"strategy for {game}", name, list(strategies(game)))
    return found
