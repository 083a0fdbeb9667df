"""Registries of games and their parts, and of everything else that packages can add.

A package adds objects by entry points, a running program by :func:`register`. Built-in objects are
registered in the same way.
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

from cheaptalk.rules.display import brief
from cheaptalk.rules.errors import CheaptalkError, counted, describe
from cheaptalk.rules.game import suggest
from cheaptalk.rules.game_spec import Check, GameSpec, Metric, Series, Strategy, StyleFile

LOG = logging.getLogger(__name__)
T = TypeVar("T")
OURS = "cheaptalk"
LOADING: ContextVar[frozenset[EntryPoint]] = ContextVar("LOADING", default=frozenset())
"""The entry points that are being loaded; they are skipped if a module itself asks for a game."""


class UnknownName(CheaptalkError, LookupError):
    """A name that is not registered; the message suggests the nearest one."""


class PluginWarning(UserWarning):
    """An installed package registers an object that cannot be used; all others can."""


def unknown(what: str, name: str, known: list[str]) -> UnknownName:
    """Return an error for an unknown name, with the nearest or all known names."""
    return UnknownName(f"unknown {what} {suggest(name, sorted(known))}")


def several(_name: str, objects: Any) -> Mapping[str, Any]:
    """Read an entry point that refers to a mapping of objects by name.

    Raises:
        TypeError: it refers to something else.
    """
    if not isinstance(objects, Mapping):
        raise TypeError("it is not a mapping of objects by name")
    return objects


def single(name: str, thing: T) -> Mapping[str, T]:
    """Read an entry point that refers to one object, registered under the entry point's name."""
    return {name: thing}


class Registry(Mapping[str, T]):
    """A mapping of all registered objects of one kind, by name.

    If a package fails to import, or registers a name that is taken, a warning is issued; all other
    objects remain available.

    Args:
        what: what one object is called.
        group: the entry point group.
        holds: returns whether an object is of this kind.
        read: returns what an entry point registers, by name, from the entry point's name and
            object; by default the object under that name.
        more: returns further objects, such as those of a user's file; its errors are raised.
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
            if len(points) == 1 and (loaded := self._ours(*points)) is not None:
                return loaded
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
        """Return the package that registers a name, or "this program"."""
        return "this program" if name in self._here else self._owners.get(name, OURS)

    def __repr__(self) -> str:
        return brief(self, f"{self.what}, {counted(len(self), 'name')}")

    def find(self, name: str) -> T:
        """Return an object by its name.

        Raises:
            UnknownName: the name is not registered; the message suggests the nearest one.
        """
        thing = self.get(name)
        if thing is None:
            raise unknown(self.what, name, list(self))
        return thing

    def add(self, name: str, thing: T) -> None:
        """Register an object in this process, replacing what this process registered before.

        Raises:
            CheaptalkError: the object is of another kind, or an installed package registers the
                name.
        """
        if not self.holds(thing):
            raise CheaptalkError(f"{thing!r} is not a {self.what}")
        if name in self._installed():
            raise CheaptalkError(
                f'{self.origin(name)} already registers a {self.what} named "{name}"; choose '
                f"another name"
            )
        self._here[name] = thing
        self._changed()

    def put(self, name: str, thing: T) -> None:
        """Register an object in this process, replacing any object of this name."""
        self._here[name] = thing
        self._changed()

    def remove(self, name: str) -> None:
        """Undo this process's registration of a name."""
        del self._here[name]
        self._changed()

    def forget(self) -> None:
        """Discard what packages registered, so that it is read again on the next access."""
        _entry_points.cache_clear()
        self._packaged = None
        self._alone = {}
        self._changed()

    def _changed(self) -> None:
        self._found = None
        games.cache_clear()
        _whole.cache_clear()

    def _ours(self, point: EntryPoint) -> T | None:
        """Return what a built-in entry point registers, without loading all others."""
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
        """Return what packages register, and further objects; read, and warn, only once."""
        if self._packaged is None:
            packaged = self._look()
            self._packaged = {**packaged, **self._more(packaged)}
            self._changed()  # as what was loaded may have asked before all was there
        return self._packaged

    def _look(self) -> dict[str, T]:
        objects: dict[str, T] = {}
        owners: dict[str, str] = {}
        selected = _entry_points().select(group=self.group)
        points = [entry for entry in selected if entry not in LOADING.get()]
        for point in sorted(
            points, key=lambda entry: (_owner(entry) != OURS, _owner(entry), entry.name)
        ):
            owner = _owner(point)
            for name, thing in self._loaded(point).items():
                if name in objects:
                    _warn_duplicate(owners[name], owner, f'{self.what} named "{name}"')
                else:
                    objects[name], owners[name] = thing, owner
        self._owners = owners
        return objects

    def _loaded(self, point: EntryPoint) -> Mapping[str, T]:
        """Return what an entry point registers; warn and return nothing if it cannot be used."""
        before = LOADING.set(LOADING.get() | {point})
        try:
            things = self._read(point.name, point.load())
            LOG.debug("%s of %s loaded: %s", self.what, _owner(point), ", ".join(things))
            for thing in things.values():
                if not self.holds(thing):
                    raise TypeError(f"{thing!r} is not a {self.what}")
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a package may even exit; others must load
            owner = _owner(point)
            _warn(
                f'the {self.what} "{point.name}" of {owner} cannot be used '
                f"({describe(error)}); fix, upgrade or uninstall {owner}"
            )
            return {}
        finally:
            LOADING.reset(before)
        return things


def is_function(thing: Any) -> bool:
    """Return whether an object is a function or method, not a class or a callable object."""
    return inspect.isroutine(thing)


def instances(*kinds: type) -> Callable[[Any], bool]:
    """Return a function that checks whether an object is of one of these types."""
    return lambda thing: isinstance(thing, kinds)


@cache
def _entry_points() -> Any:  # of another class in Python 3.12 than in 3.11
    """Return all packages' entry points; reading them takes milliseconds."""
    return entry_points()


def _owner(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.module


def _warn(message: str) -> None:
    warnings.warn(message, PluginWarning, stacklevel=2)


def _warn_duplicate(first: str, second: str, thing: str) -> None:
    """Warn that two packages register the same name."""
    _warn(
        f"{first} and {second} both register a {thing}; that of {first} is used; "
        f"rename that of {second}, or uninstall one of them"
    )


def _of_game(kind: type[T]) -> Callable[[str, Any], Mapping[str, T]]:
    """Return a reader of entry points named ``GAME.NAME`` for one object, a list or a module."""

    def read(name: str, loaded: Any) -> Mapping[str, T]:
        game = name.partition(".")[0]
        values = vars(loaded).values() if isinstance(loaded, ModuleType) else (loaded,)
        candidates = chain.from_iterable(v if type(v) in (list, tuple) else (v,) for v in values)
        parts: dict[str, T] = {}
        for part in (part for part in candidates if isinstance(part, kind)):
            part_name = part.name  # type: ignore[attr-defined]  # what a game has has a name
            if parts.setdefault(f"{game}.{part_name}", part) is not part:
                raise TypeError(f'two of them are named "{part_name}"')
        if not parts:
            raise TypeError(f"it is not a {kind.__name__}, nor a list or module that contains one")
        return parts

    return read


GAMES: Registry[GameSpec] = Registry(
    "game", "cheaptalk.games", instances(GameSpec), lambda _, game_spec: {game_spec.name: game_spec}
)
STRATEGIES: Registry[Strategy] = Registry(
    "strategy", "cheaptalk.players", instances(Strategy), _of_game(Strategy)
)
METRICS: Registry[Metric] = Registry(
    "metric", "cheaptalk.metrics", instances(Metric), _of_game(Metric)
)
SERIES: Registry[Series] = Registry(
    "series", "cheaptalk.series", instances(Series), _of_game(Series)
)
STYLES: Registry[StyleFile] = Registry("style", "cheaptalk.styles", instances(StyleFile))
CHECKS: Registry[Check] = Registry("check", "cheaptalk.checks", is_function)
"""Parts of existing games are registered as ``GAME.NAME``."""
PARTS: dict[str, Registry[Any]] = {
    "strategies": STRATEGIES, "metrics": METRICS, "series": SERIES, "styles": STYLES,
    "checks": CHECKS,
}  # fmt: skip
"""The registries of what packages can add to a game, by the field of its game spec."""


def register(thing: Any, *, name: str | None = None, game: str | None = None) -> None:
    """Register an object in this process, as an installed package does by an entry point.

    Args:
        thing: a game spec; a strategy, metric, series, style or check of an existing game; a kind
            of player, a recipe, or any other object that a registry holds.
        name: its name, if the object itself has none.
        game: the game that it belongs to.

    Raises:
        UnknownName: there is no such game.
        CheaptalkError: no registry holds such objects, it has no name, or the name is taken by the
            game or an installed package.
    """
    if isinstance(thing, Path):
        raise CheaptalkError(
            f"{thing} may be a preset, a roster or a rubric; add it directly to that registry, "
            "as in ct.judges.RUBRICS.add(NAME, PATH)"
        )
    named = name or getattr(thing, "name", None)
    if not isinstance(named, str):
        raise CheaptalkError(f"{thing!r} has no name; pass name=...")
    if game is not None:
        get_game(game)
    part_registries = set(PARTS.values())
    holding = [
        registry
        for registry in Registry.known
        if (registry in part_registries) is (game is not None) and registry.holds(thing)
    ]
    if len(holding) > 1:
        kinds = " or ".join(f"a {registry.what}" for registry in holding)
        raise CheaptalkError(f"{thing!r} may be {kinds}; add it directly to that registry")
    if not holding:
        suffix = f" of {game}" if game else "; pass game=... to register a part of a game"
        raise CheaptalkError(f"{thing!r} cannot be registered{suffix}")
    if game is not None:
        field = next(part for part, registry in PARTS.items() if registry is holding[0])
        if named in getattr(GAMES[game], field):
            raise CheaptalkError(
                f'{game} already has a {holding[0].what} named "{named}"; choose another name'
            )
        named = f"{game}.{named}"
    holding[0].add(named, thing)


@cache
def games() -> dict[str, GameSpec]:
    """Return all registered games by name, with the parts that packages register for them."""
    for registry in PARTS.values():
        for name in registry:
            game, dot, _ = name.partition(".")
            if not dot or game not in GAMES:
                _warn(
                    f'the {registry.what} "{name}" of {registry.origin(name)} belongs to no game; '
                    f"name it GAME.NAME; unknown game {suggest(game, sorted(GAMES))}"
                )
    return {name: _whole(name) for name in sorted(GAMES)}


@cache
def _whole(name: str) -> GameSpec:
    """Return a game spec with the parts that packages add to it."""
    game_spec = GAMES.find(name)
    extended: dict[str, Any] = {}
    for field, registry in PARTS.items():
        own = getattr(game_spec, field)
        additions = {
            name.removeprefix(f"{game_spec.name}."): thing
            for name, thing in registry.items()
            if name.startswith(f"{game_spec.name}.")
        }
        for name in (
            key for key in own.keys() & additions.keys() if own[key] is not additions[key]
        ):
            first, second = (
                GAMES.origin(game_spec.name),
                registry.origin(f"{game_spec.name}.{name}"),
            )
            _warn_duplicate(first, second, f'{registry.what} named "{name}" for {game_spec.name}')
        if additions:
            extended[field] = {
                **own,
                **{name: part for name, part in additions.items() if name not in own},
            }
    return replace(game_spec, **extended) if extended else game_spec


def get_game(name: str) -> GameSpec:
    """Return the spec of a game.

    Raises:
        UnknownName: no game is registered under this name.
    """
    return _whole(name)


def game_title(name: str) -> str:
    """Return a game's title for display, whether it is installed or not.

    >>> game_title("diners_dilemma"), game_title("tic_tac_toe")
    ("Diner's dilemma", 'Tic tac toe')
    """
    spec = GAMES.get(name)
    words = name.replace("_", " ")
    return (spec.rules.title if spec else "") or words[:1].upper() + words[1:]


def strategies(game: str) -> Mapping[str, Strategy]:
    """Return all strategies of a game by name: its own, then those registered by packages.

    Raises:
        UnknownName: no game is registered under this name.
    """
    return get_game(game).strategies


def strategy_named(game: str, name: str) -> Strategy:
    """Return a strategy by its game and name.

    Raises:
        UnknownName: the game has no such strategy.
    """
    strategy = strategies(game).get(name)
    if strategy is None:
        raise unknown(f"strategy for {game}", name, list(strategies(game)))
    return strategy
