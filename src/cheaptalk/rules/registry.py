"""Registries of games, parts of games, and all other objects that packages can add.

A package adds objects by entry points, as this package does; a running program calls
:func:`register`.
"""

import inspect
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from importlib.metadata import Distribution, EntryPoint, entry_points
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, TypeAlias, TypeVar, overload

from cheaptalk.names import GameName, StrategyName
from cheaptalk.rules.arguments import describe_type
from cheaptalk.rules.display import brief
from cheaptalk.rules.errors import (
    CheaptalkError,
    Named,
    counted,
    describe,
    legal,
    suggest,
    unknown,
)
from cheaptalk.rules.game import Game
from cheaptalk.rules.game_spec import Check, GameSpec, Metric, Series, Strategy, StyleFile

LOG = logging.getLogger(__name__)
T = TypeVar("T")
D = TypeVar("D")
GameLike: TypeAlias = Game | GameName
"""A game, or the name of a game with default parameters."""
SpecLike: TypeAlias = GameSpec | Game | GameName
"""A game's spec, a game, or a game's name."""
describe_type(GameLike, "a game or a game's name")
describe_type(SpecLike, "a game's spec, a game or a game's name")
OURS = "cheaptalk"
LOADING: ContextVar[frozenset[EntryPoint]] = ContextVar("LOADING", default=frozenset())
"""The entry points that are being loaded; they are skipped if their modules look up a game."""


class PluginWarning(UserWarning):
    """A warning that an object registered by an installed package cannot be used."""


def several(_name: str, objects: Any) -> Mapping[str, Any]:
    """Return the objects of an entry point that refers to a mapping from names to objects."""
    if not isinstance(objects, Mapping):
        raise TypeError("the object is not a mapping of objects by name")
    return objects


def single(name: str, thing: T) -> Mapping[str, T]:
    """Return the object of an entry point, registered under the entry point's name."""
    return {name: thing}


class Registry(Mapping[str, T]):
    """A mapping of all registered objects of one kind, by name.

    If a package cannot be imported, or registers a name that is taken, a warning is issued; all
    other objects remain available.

    Args:
        what: the kind of object in words, such as "game".
        group: the entry point group.
        holds: returns whether an object is of this kind.
        read: returns the objects by name that an entry point registers, from the entry point's name
            and object; by default this object under this name.
        more: returns further objects, such as those in a user's file; errors are not caught.
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
        self._built_in: dict[str, T] = {}
        self._merged: dict[str, T] | None = None
        self._owners: dict[str, str] = {}
        Registry.known.append(self)

    def __getitem__(self, name: str) -> T:
        thing = self._lookup(name)
        if thing is None:
            raise unknown(self.what, str(name), self)
        return thing

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._lookup(name) is not None

    @overload
    def get(self, name: str, /) -> T | None: ...

    @overload
    def get(self, name: str, /, default: T | D) -> T | D: ...

    def get(self, name: str, /, default: Any = None) -> Any:
        """Return an object by its name, or a default."""
        thing = self._lookup(name)
        return default if thing is None else thing

    def _lookup(self, name: str) -> T | None:
        if name in self._here:
            return self._here[name]
        if self._packaged is None:
            if name in self._built_in:
                return self._built_in[name]
            points = _entry_points().select(group=self.group, name=name)
            if self._read is single and not points:
                return None
            if len(points) == 1 and (loaded := self._load_built_in(*points)) is not None:
                return loaded
        return self._all().get(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __hash__(self) -> int:
        return id(self)

    @property
    def here(self) -> frozenset[str]:
        """The names that this process registered, which other processes do not know."""
        return frozenset(self._here)

    def origin(self, name: str) -> str:
        """Return the package that registers a name; "this program" if this process does."""
        return "this program" if name in self._here else self._owners.get(name, OURS)

    def __repr__(self) -> str:
        return brief(self, f"{self.what}, {counted(len(self), 'name')}")

    def find(self, name: str) -> T:
        """Return an object by its name; raise :class:`UnknownName` if it is not registered."""
        return self[name]

    def add(self, name: str, thing: T) -> None:
        """Register an object in this process, replacing this process's object of the same name.

        Raises:
            CheaptalkError: the object is of another kind, or an installed package already registers
                the name.
        """
        if not self.holds(thing):
            raise CheaptalkError(f"{thing!r} is not a {self.what}")
        if name in self._installed():
            raise CheaptalkError(
                f'{self.origin(name)} already registers a {self.what} named "{name}"; '
                "choose another name"
            )
        self._here[name] = thing
        self._changed()

    def put(self, name: str, thing: T) -> None:
        """Register an object in this process, replacing any registered object of this name."""
        self._here[name] = thing
        self._changed()

    def remove(self, name: str) -> None:
        """Undo this process's registration of a name."""
        del self._here[name]
        self._changed()

    def forget(self) -> None:
        """Forget all objects from packages, so that the next access rereads the entry points."""
        _entry_points.cache_clear()
        self._packaged = None
        self._built_in = {}
        self._changed()

    def _changed(self) -> None:
        self._merged = None
        games.cache_clear()
        _extended.cache_clear()

    def _load_built_in(self, point: EntryPoint) -> T | None:
        """Load one built-in object without loading other objects; None if it isn't built in."""
        name = point.name
        if name not in self._built_in and _owner(point) == OURS and point not in LOADING.get():
            loaded = self._loaded(point)
            if self._packaged is not None:  # filled by the loaded module, without this object
                self._packaged = None
                self._changed()
            self._built_in |= {name: loaded[name]} if name in loaded else {}
        return self._built_in.get(name)

    def _all(self) -> dict[str, T]:
        if self._merged is None:
            self._merged = self._installed() | self._here
        return self._merged

    def _installed(self) -> dict[str, T]:
        """Return all objects that packages register, reading their entry points only once."""
        if self._packaged is None:
            packaged = self._load_packages()
            self._packaged = {**packaged, **self._more(packaged)}
            self._changed()  # loaded modules may have filled caches before all objects were there
        return self._packaged

    def _load_packages(self) -> dict[str, T]:
        objects: dict[str, T] = {}
        owners: dict[str, str] = {}
        selected = _entry_points().select(group=self.group)
        points = [(_owner(point), point) for point in selected if point not in LOADING.get()]
        for owner, point in sorted(
            points, key=lambda pair: (pair[0] != OURS, pair[0], pair[1].name)
        ):
            for name, thing in self._loaded(point).items():
                if name in objects:
                    _warn_duplicate(owners[name], owner, f'{self.what} named "{name}"')
                else:
                    objects[name], owners[name] = thing, owner
        self._owners = owners
        return objects

    def _loaded(self, point: EntryPoint) -> Mapping[str, T]:
        """Return an entry point's objects; if they cannot be used, warn and return no objects."""
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
    """Return whether an object is a function or method; other callable objects don't count."""
    return inspect.isroutine(thing)


def instances(*kinds: type) -> Callable[[Any], bool]:
    """Return a predicate that tests whether an object is of one of these types."""
    return lambda thing: isinstance(thing, kinds)


def subclasses(kind: type) -> Callable[[Any], bool]:
    """Return a predicate that tests whether an object is a class derived from a class."""
    return lambda thing: isinstance(thing, type) and issubclass(thing, kind)


@cache
def _entry_points() -> Any:  # the class differs between Python 3.11 and 3.12
    return entry_points()


def _owner(point: EntryPoint) -> str:
    return _package_name(point.dist) if point.dist is not None else point.module


@cache
def _package_name(package: Distribution) -> str:
    """Return the name of an installed package, read once because it is in a file."""
    return package.name


def _warn(message: str) -> None:
    warnings.warn(message, PluginWarning, stacklevel=2)


def _warn_duplicate(first: str, second: str, thing: str) -> None:
    _warn(
        f"{first} and {second} both register a {thing}; that of {first} is used; "
        f"rename that of {second}, or uninstall one of them"
    )


def _of_game(kind: type[T]) -> Callable[[str, Any], Mapping[str, T]]:
    """Return a function that reads a game's parts from an entry point named ``GAME.NAME``."""

    def read(name: str, loaded: Any) -> Mapping[str, T]:
        game = name.partition(".")[0]
        values = vars(loaded).values() if isinstance(loaded, ModuleType) else (loaded,)
        candidates = chain.from_iterable(v if type(v) in (list, tuple) else (v,) for v in values)
        parts: dict[str, T] = {}
        for part in (part for part in candidates if isinstance(part, kind)):
            part_name = part.name  # type: ignore[attr-defined]  # all parts of games have names
            if parts.setdefault(f"{game}.{part_name}", part) is not part:
                raise TypeError(f'two of them are named "{part_name}"')
        if not parts:
            raise TypeError(f"the object neither is nor contains a {kind.__name__}")
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
"""Registries of parts of existing games, with names of the form ``GAME.NAME``."""
PARTS: dict[str, Registry[Any]] = {
    "strategies": STRATEGIES,
    "metrics": METRICS,
    "series": SERIES,
    "styles": STYLES,
    "checks": CHECKS,
}
"""The registries of parts that packages can add to a game, by the field of the game spec."""


def register(thing: Any, *, name: str | None = None, game: GameLike | None = None) -> None:
    """Register an object in this process, as an installed package does by an entry point.

    >>> def spoken_moves(result):
    ...     "Number of moves of both players with a message."
    ...     return float(sum(bool(given.action.message) for given in result.given()))
    >>> ct.register(ct.Metric("spoken_moves", spoken_moves), game="negotiation")
    >>> "spoken_moves" in ct.get_game("negotiation").metrics
    True

    Args:
        thing: a game spec; a strategy, metric, series, style or check of an existing game; a kind
            of player, a recipe, or any other object for which a registry exists.
        name: the object's name, if the object has no attribute ``name``.
        game: the game to which the object belongs.

    Raises:
        UnknownName: the game does not exist.
        CheaptalkError: no registry holds such objects, the object has no name, or the game or an
            installed package already uses the name.
    """
    if isinstance(thing, Path):
        raise CheaptalkError(
            f"{thing} may be a preset, a roster or a rubric; add it directly to that registry, "
            "as in ct.judges.RUBRICS.add(NAME, PATH)"
        )
    named = name or getattr(thing, "name", None)
    if not isinstance(named, str):
        raise CheaptalkError(f"{thing!r} has no name; pass name=...")
    game = game.name if isinstance(game, Game) else game
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
    """Return all registered games by name, including parts that other packages add to a game."""
    for registry in PARTS.values():
        for name in registry:
            game, dot, _ = name.partition(".")
            if not dot or game not in GAMES:
                _warn(
                    f'the {registry.what} "{name}" of {registry.origin(name)} belongs to no game; '
                    f"name it GAME.NAME; unknown game {suggest(game, sorted(GAMES))}"
                )
    return {name: _extended(name) for name in sorted(GAMES)}


@cache
def _extended(name: str) -> GameSpec:
    """Return a game spec, including parts such as metrics that other packages add to it."""
    game_spec = GAMES.find(name)
    game, prefix = game_spec.name, f"{game_spec.name}."
    extended: dict[str, Any] = {}
    for field, registry in PARTS.items():
        own = getattr(game_spec, field)
        parts = {key: part for key, part in registry.items() if key.startswith(prefix)}
        additions = {key.removeprefix(prefix): part for key, part in parts.items()}
        for key in own.keys() & additions.keys():
            if own[key] is not additions[key]:
                owners = GAMES.origin(game), registry.origin(f"{prefix}{key}")
                _warn_duplicate(*owners, f'{registry.what} named "{key}" for {game}')
        if additions:
            extended[field] = Named.of(registry.what, {**own, **additions, **own})
    return replace(game_spec, **extended) if extended else game_spec


def get_game(name: SpecLike) -> GameSpec:
    """Return the spec of a game; raise :class:`UnknownName` if no game has this name.

    >>> list(ct.get_game("persuasion").strategies)[:3]
    ['honest', 'always_recommend', 'kamenica_gentzkow']
    """
    if isinstance(name, GameSpec):
        return name
    return _extended(name if isinstance(name, str) else name.name)


def game_from(game: GameLike, parameters: Mapping[str, Any] | None = None) -> Game:
    """Return a game that is given by its name and parameters, or as an object.

    Raises:
        UnknownName: there is no such game.
        CheaptalkError: a parameter is invalid, or an object is combined with parameters.
    """
    if isinstance(game, str):
        return legal(get_game(game).rules, parameters or {})
    if parameters:
        raise CheaptalkError(f"{game.name} has its parameters; set {', '.join(parameters)} there")
    return game


def game_title(name: str) -> str:
    """Return a game's title for display; if the game isn't installed, derive it from the name.

    >>> game_title("diners_dilemma"), game_title("tic_tac_toe")
    ("Diner's dilemma", 'Tic tac toe')
    """
    spec = GAMES.get(name)
    words = name.replace("_", " ")
    return (spec.rules.title if spec else "") or words[:1].upper() + words[1:]


def strategies(game: SpecLike) -> Mapping[str, Strategy]:
    """Return all strategies of a game by name: built-in strategies, then those of packages."""
    return get_game(game).strategies


def strategy_named(game: SpecLike, name: StrategyName) -> Strategy:
    """Return a strategy of a game; raise :class:`UnknownName` if the game has no such strategy."""
    game_spec = get_game(game)
    strategy = game_spec.strategies.get(name)
    if strategy is None:
        raise unknown(f"strategy for {game_spec.name}", name, list(game_spec.strategies))
    return strategy
