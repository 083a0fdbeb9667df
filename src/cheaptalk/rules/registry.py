"""What is found by name: games and all that belongs to them, and whatever else others may add.

A package adds things by entry points, a running program by :func:`register`. Ours are found in the
same way as everyone else's.
"""

import inspect
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, TypeVar

from cheaptalk.rules.box import Check, GameBox, Measure, Series, Strategy, StyleFile
from cheaptalk.rules.display import brief
from cheaptalk.rules.errors import CheaptalkError, counted, describe
from cheaptalk.rules.game import suggest

LOG = logging.getLogger(__name__)
T = TypeVar("T")
OURS = "cheaptalk"
LOADING: ContextVar[frozenset[EntryPoint]] = ContextVar("LOADING", default=frozenset())
"""What is being loaded: a module that itself asks for a game is not looked at once more."""


class UnknownName(CheaptalkError, LookupError):
    """A name that nothing is registered under; the message names the nearest one."""


class PluginWarning(UserWarning):
    """An installed package registers what cannot be used; everything else can."""


def unknown(what: str, name: str, known: list[str]) -> UnknownName:
    """Say that a name is unknown, with the nearest or all of the known ones."""
    return UnknownName(f"unknown {what} {suggest(name, sorted(known))}")


def several(_: str, things: Any) -> Mapping[str, Any]:
    """Reads an entry point that refers to a mapping of things by name.

    Raises:
        TypeError: it refers to something else.
    """
    if not isinstance(things, Mapping):
        raise TypeError("it is no mapping of things by name")
    return things


def single(name: str, thing: T) -> Mapping[str, T]:
    """Reads an entry point that refers to one thing, which goes by the point's name."""
    return {name: thing}


class Registry(Mapping[str, T]):
    """Things of one kind by name: a mapping of all that is registered.

    A package that fails to import, or registers a name that another has, is warned of and hides
    nothing else.

    Args:
        what: what one of them is called.
        group: of entry points that register them.
        holds: whether something is such a thing.
        read: what an entry point registers, by name, from the point's name and what it refers to;
            by default that thing itself under the point's name.
        more: what else there is beside that of packages, such as in a user's file; its errors are
            told to whoever asks for a thing.
    """

    known: ClassVar[list["Registry[Any]"]] = []
    """All registries."""

    def __init__(
        self,
        what: str,
        group: str,
        holds: Callable[[Any], bool],
        read: Callable[[str, Any], Mapping[str, T]] = single,
        more: Callable[[Mapping[str, T]], Mapping[str, T]] = lambda packaged: {},
    ) -> None:
        self.what = what
        self.group = group
        self.holds = holds
        self._read = read
        self._more = more
        self._here: dict[str, T] = {}
        self._packaged: dict[str, T] | None = None
        self._alone: dict[str, T] = {}
        self._found: dict[str, T] | None = None
        self._owners: dict[str, str] = {}
        Registry.known.append(self)

    def __getitem__(self, name: str) -> T:
        if self._packaged is None:
            points = _entry_points().select(group=self.group, name=name)
            if name in self._here:
                return self._here[name]
            if self._read is single and not points:
                raise KeyError(name)
            if len(points) == 1 and (alone := self._ours(*points)) is not None:
                return alone
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __hash__(self) -> int:
        return id(self)

    @property
    def here(self) -> frozenset[str]:
        """The names that this process registered; other processes do not know them."""
        return frozenset(self._here)

    def origin(self, name: str) -> str:
        """Who registers a name: a package, or this program."""
        return "this program" if name in self._here else self._owners.get(name, OURS)

    def __repr__(self) -> str:
        return brief(self, f"{self.what}, {counted(len(self), 'name')}")

    def find(self, name: str) -> T:
        """One thing by its name.

        Raises:
            UnknownName: nothing is registered under it; the message names the nearest one.
        """
        found = self.get(name)
        if found is None:
            raise unknown(self.what, name, list(self))
        return found

    def add(self, name: str, thing: T) -> None:
        """Register a thing in this process; what it registered before is replaced.

        Raises:
            CheaptalkError: it is no such thing, or an installed package registers the name.
        """
        if not self.holds(thing):
            raise CheaptalkError(f"{thing!r} is no {self.what}")
        if name in self._installed():
            raise CheaptalkError(
                f'{self.origin(name)} registers a {self.what} named "{name}"; take another name'
            )
        self._here[name] = thing
        self._changed()

    def put(self, name: str, thing: T) -> None:
        """Register a thing under a name in this process, in place of what has that name."""
        self._here[name] = thing
        self._changed()

    def remove(self, name: str) -> None:
        """Take back what this process registered under a name."""
        del self._here[name]
        self._changed()

    def forget(self) -> None:
        """Look at what packages register anew when it is next asked for."""
        _entry_points.cache_clear()
        self._packaged = None
        self._alone = {}
        self._changed()

    def _changed(self) -> None:
        self._found = None
        games.cache_clear()
        _whole.cache_clear()

    def _ours(self, point: EntryPoint) -> T | None:
        """What an entry point of ours registers under its name, without loading all the others."""
        name = point.name
        if name not in self._alone and _owner(point) == OURS and point not in LOADING.get():
            loaded = self._loaded(point)
            if self._packaged is not None:  # by what was loaded, and so without it
                self._packaged = None
                self._changed()
            self._alone |= {name: loaded[name]} if name in loaded else {}
        return self._alone.get(name)

    def _all(self) -> dict[str, T]:
        if self._found is None:
            self._found = self._installed() | self._here
        return self._found

    def _installed(self) -> dict[str, T]:
        """What packages register, and what is beside it; looked at once, and warned of once."""
        if self._packaged is None:
            found = self._look()
            self._packaged = {**found, **self._more(found)}
            self._changed()  # as what was loaded may have asked before all was there
        return self._packaged

    def _look(self) -> dict[str, T]:
        found: dict[str, T] = {}
        owners: dict[str, str] = {}
        named = _entry_points().select(group=self.group)
        points = [one for one in named if one not in LOADING.get()]
        for point in sorted(points, key=lambda one: (_owner(one) != OURS, _owner(one), one.name)):
            owner = _owner(point)
            for name, thing in self._loaded(point).items():
                if name in found:
                    _warn_of_two(owners[name], owner, f'{self.what} named "{name}"')
                else:
                    found[name], owners[name] = thing, owner
        self._owners = owners
        return found

    def _loaded(self, point: EntryPoint) -> Mapping[str, T]:
        """What an entry point registers; nothing where it cannot be used, which is warned of."""
        before = LOADING.set(LOADING.get() | {point})
        try:
            things = self._read(point.name, point.load())
            LOG.debug("%s of %s loaded: %s", self.what, _owner(point), ", ".join(things))
            for thing in things.values():
                if not self.holds(thing):
                    raise TypeError(f"{thing!r} is no {self.what}")
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a package may even exit; others must load
            owner = _owner(point)
            _warn(
                f'the {self.what} "{point.name}" of {owner} cannot be used '
                f"({describe(error)}); mend, upgrade or uninstall {owner}"
            )
            return {}
        finally:
            LOADING.reset(before)
        return things


def is_function(thing: Any) -> bool:
    """Whether something is a function or a method, and not a class or an object to be called."""
    return inspect.isroutine(thing)


def instances(*kinds: type) -> Callable[[Any], bool]:
    """Whether something is of one of these types."""
    return lambda thing: isinstance(thing, kinds)


@cache
def _entry_points() -> Any:  # of another class in Python 3.12 than in 3.11
    """What all packages register; to look at their files takes milliseconds."""
    return entry_points()


def _owner(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.module


def _warn(message: str) -> None:
    warnings.warn(message, PluginWarning, stacklevel=2)


def _warn_of_two(first: str, second: str, thing: str) -> None:
    """Warn that two register what can stand for one thing only."""
    _warn(
        f"{first} and {second} both register a {thing}: the one of {first} is used; "
        f"rename that of {second}, or uninstall one of them"
    )


def _of_game(kind: type[T]) -> Callable[[str, Any], Mapping[str, T]]:
    """Reads entry points named ``GAME.NAME``: a thing for a game, several, or a module of them."""

    def read(name: str, loaded: Any) -> Mapping[str, T]:
        game = name.partition(".")[0]
        values = vars(loaded).values() if isinstance(loaded, ModuleType) else (loaded,)
        listed = chain.from_iterable(v if type(v) in (list, tuple) else (v,) for v in values)
        found: dict[str, T] = {}
        for one in (one for one in listed if isinstance(one, kind)):
            own = one.name  # type: ignore[attr-defined]  # what a game has has a name
            if found.setdefault(f"{game}.{own}", one) is not one:
                raise TypeError(f'two of them are named "{own}"')
        if not found:
            raise TypeError(f"it is no {kind.__name__}, nor a list or module that holds one")
        return found

    return read


GAMES: Registry[GameBox] = Registry(
    "game", "cheaptalk.games", instances(GameBox), lambda _, box: {box.name: box}
)
STRATEGIES: Registry[Strategy] = Registry(
    "strategy", "cheaptalk.players", instances(Strategy), _of_game(Strategy)
)
MEASURES: Registry[Measure] = Registry(
    "measure", "cheaptalk.measures", instances(Measure), _of_game(Measure)
)
SERIES: Registry[Series] = Registry(
    "series", "cheaptalk.series", instances(Series), _of_game(Series)
)
STYLES: Registry[StyleFile] = Registry("style", "cheaptalk.styles", instances(StyleFile))
CHECKS: Registry[Check] = Registry("check", "cheaptalk.checks", is_function)
"""What belongs to games that exist is registered as ``GAME.NAME``."""
PARTS: dict[str, Registry[Any]] = {
    "strategies": STRATEGIES, "measures": MEASURES, "series": SERIES, "styles": STYLES,
    "checks": CHECKS,
}  # fmt: skip
"""What others may add to a game, by the field of its box."""


def register(thing: Any, *, name: str | None = None, game: str | None = None) -> None:
    """Register a thing in this process, as an installed package does by an entry point.

    Args:
        thing: a game's box; a strategy, measure, series or style of a game that exists, or a check
            of what is said in it; a kind of player, a recipe, or anything else that a registry
            holds.
        name: what it is called, where it has no name of its own.
        game: the game that it belongs to.

    Raises:
        UnknownName: there is no such game.
        CheaptalkError: no registry holds such things, it has no name, or the game or an installed
            package has the name already.
    """
    if isinstance(thing, Path):
        raise CheaptalkError(
            f"{thing} may be a preset, a roster or a rubric: add it to that registry itself, "
            "as in ct.judges.RUBRICS.add(NAME, PATH)"
        )
    named = name or getattr(thing, "name", None)
    if not isinstance(named, str):
        raise CheaptalkError(f"{thing!r} has no name of its own; give it one: name=...")
    if game is not None:
        game_box(game)
    apart = set(PARTS.values())
    holding = [
        one for one in Registry.known if (one in apart) is (game is not None) and one.holds(thing)
    ]
    if len(holding) > 1:
        kinds = " or ".join(f"a {one.what}" for one in holding)
        raise CheaptalkError(f"{thing!r} may be {kinds}; add it to that registry itself")
    if not holding:
        of = f" of {game}" if game else "; what belongs to a game is registered with game=..."
        raise CheaptalkError(f"{thing!r} is nothing that can be registered{of}")
    if game is not None:
        field = next(one for one, registry in PARTS.items() if registry is holding[0])
        if named in getattr(GAMES[game], field):
            raise CheaptalkError(
                f'{game} has a {holding[0].what} named "{named}" already; take another name'
            )
        named = f"{game}.{named}"
    holding[0].add(named, thing)


@cache
def games() -> dict[str, GameBox]:
    """All registered games by name, with what is registered for them elsewhere."""
    for registry in PARTS.values():
        for name in registry:
            game, dot, _ = name.partition(".")
            if not dot or game not in GAMES:
                _warn(
                    f'the {registry.what} "{name}" of {registry.origin(name)} belongs to no game: '
                    f"it is named GAME.NAME, and there is no game {suggest(game, sorted(GAMES))}"
                )
    return {name: _whole(name) for name in sorted(GAMES)}


@cache
def _whole(name: str) -> GameBox:
    """A game's box with what others add to it."""
    box = GAMES.find(name)
    added: dict[str, Any] = {}
    for field, registry in PARTS.items():
        own = getattr(box, field)
        more = {
            name.removeprefix(f"{box.name}."): thing
            for name, thing in registry.items()
            if name.startswith(f"{box.name}.")
        }
        for name in (one for one in own.keys() & more.keys() if own[one] is not more[one]):
            first, second = GAMES.origin(box.name), registry.origin(f"{box.name}.{name}")
            _warn_of_two(first, second, f'{registry.what} named "{name}" for {box.name}')
        if more:
            added[field] = {**own, **{name: one for name, one in more.items() if name not in own}}
    return replace(box, **added) if added else box


def game_box(name: str) -> GameBox:
    """The box of a game.

    Raises:
        UnknownName: no game is registered under this name.
    """
    return _whole(name)


def game_title(name: str) -> str:
    """What people read of a game, be it installed or not.

    >>> game_title("diners_dilemma"), game_title("tic_tac_toe")
    ("Diner's dilemma", 'Tic tac toe')
    """
    found = GAMES.get(name)
    words = name.replace("_", " ")
    return (found.rules.title if found else "") or words[:1].upper() + words[1:]


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
