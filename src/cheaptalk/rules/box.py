"""A game's box: its rules with the words, strategies and measures that belong to it.

A game is one folder; its box is what the folder registers (entry point group
``cheaptalk.games``), made of its files by :meth:`GameBox.of`. Strategies written elsewhere register
under ``cheaptalk.players``.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from math import inf
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import BaseModel, create_model

from cheaptalk.rules.actions import Action
from cheaptalk.rules.bounds import Bounds
from cheaptalk.rules.display import brief
from cheaptalk.rules.empirical_view import EmpiricalView
from cheaptalk.rules.errors import CheaptalkError, RulesError, counted
from cheaptalk.rules.game import Game, Value
from cheaptalk.rules.play import Decide
from cheaptalk.rules.table import Asked, Result


class Point(NamedTuple):
    """A number of one round.

    Attributes:
        round: the round or turn, from 1.
        place: whose number it is; None where it is of all together.
        value: the number; None where it is undefined.
    """

    round: int
    place: str | None
    value: float | None


T = TypeVar("T")


@dataclass(frozen=True)
class Quantity(Generic[T]):
    """What is read off a finished match.

    Attributes:
        name: what it is called in tables.
        of: the function from a result to what is read off it.
        published: the variant that the published system's code computes, where it differs.
        unit: what it is counted in, for tables and axes.
        bounds: the least and the most that it can be, published or not. No interval leaves them.
        published_unit: what the variant is counted in, where that is something else.
        limits: the same of a game with its parameters, where these tell more.
    """

    name: str
    of: Callable[[Result], T]
    published: Callable[[Result], T] | None = None
    unit: str = ""
    bounds: Bounds = (-inf, inf)
    published_unit: str = ""
    limits: Callable[[Any], Bounds] | None = None

    def bounds_in(self, game: Game) -> Bounds:
        """The least and the most that it can be in a game with its parameters."""
        return self.bounds if self.limits is None else self.limits(game)

    @property
    def meaning(self) -> str:
        """The first line of the function's docstring."""
        return (inspect.getdoc(self.of) or "").partition("\n")[0]

    def variant(self, as_published: bool) -> Callable[[Result], T]:
        """The function, or its published variant where that is wanted and there is one."""
        return self.published if as_published and self.published else self.of


@dataclass(frozen=True)
class Measure(Quantity[float | None]):
    """A number read off a finished match, or None where it is undefined.

    Attributes:
        role: the role whose gain it is, for measures of one role.
    """

    role: str | None = None


@dataclass(frozen=True)
class Series(Quantity[Iterable[Point]]):
    """Numbers by round read off a finished match: at most one for each round and place."""


Check = Callable[[Result], Mapping[tuple[int, str], str]]
"""What can be said exactly of the moves of a match: a category by request and seat, for those moves
of which anything can be said. Judges are held against it."""


@dataclass(frozen=True)
class Strategy:
    """A scripted way to play some roles of one game.

    Attributes:
        name: as in study files.
        roles: the roles it can play.
        function: from what the seat sees (and settings, by keyword) to an action.
        settings: a model of the function's keyword settings, with their defaults and ranges.
        searches: whether it looks through what may follow, which may take minutes.
    """

    name: str
    roles: tuple[str, ...]
    function: Callable[..., Action]
    settings: type[BaseModel]
    searches: bool = False

    @property
    def meaning(self) -> str:
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    def with_settings(self, **values: Any) -> Decide:
        """The strategy with these settings, checked; the rest at their defaults."""
        chosen = self.settings(**values)
        if not values:
            return self.function
        return partial(self.function, **{name: getattr(chosen, name) for name in values})

    def __call__(self, asked: Asked, **values: Any) -> Action:
        return self.function(asked, **values)


def strategy(*roles: str, searches: bool = False) -> Callable[[Callable[..., Action]], Strategy]:
    """Make a strategy of a function: ``@strategy("alice", "bob")``.

    The function's first argument is what the seat sees; the others are settings, each with a
    default, and a type if it is to be checked. Its docstring says what it does and its source.

    Args:
        searches: whether it looks through what may follow, which may take minutes: plans and
            estimates then let another strategy sit in its place.

    Raises:
        CheaptalkError: it takes nothing, or does not answer at once.
        RulesError: a setting has no type or no default.
    """

    def wrap(function: Callable[..., Action]) -> Strategy:
        name = function.__name__
        taken = list(inspect.signature(function, eval_str=True).parameters.values())
        if not taken or inspect.iscoroutinefunction(function):
            raise CheaptalkError(f"write def {name}(asked): ..., which returns an action at once")
        fields: dict[str, Any] = {}
        for setting in taken[1:]:
            for part, given in (("type", setting.annotation), ("default", setting.default)):
                if given is setting.empty:
                    raise RulesError(
                        f'strategy "{name}": its setting "{setting.name}" has no '
                        f"{part}; write {setting.name}: TYPE = DEFAULT"
                    )
            fields[setting.name] = (setting.annotation, setting.default)
        settings = create_model(f"{function.__name__}_settings", __base__=Value, **fields)
        return Strategy(function.__name__, roles, function, settings, searches)

    return wrap


LANGUAGES = ("english", "german")
"""Styles of these names are words for people. They come last, so that none is a game's default."""


@dataclass(frozen=True)
class StyleFile:
    """Where a style's words lie and how its answers are written down.

    Attributes:
        template: the file's name.
        codec: the name of the codec.
        folder: where the file lies; None for the game's own folder of templates, which those of
            every style may extend.
    """

    template: str
    codec: str = "json"
    folder: Path | None = None

    def __post_init__(self) -> None:
        if self.folder is not None and not (self.folder / self.template).is_file():
            raise FileNotFoundError(f"there is no template {self.folder / self.template}")


DECLARED = ("name", "roles", "events", "actions", "outcome_type")
"""What the class of every game declares of itself."""
PARTS = {"strategies": "strategy", "measures": "measure", "styles": "style"}
"""What a box is counted by, and what one of each is called."""


@dataclass(frozen=True)
class GameBox:
    """Everything that belongs to one game.

    Attributes:
        rules: the game's class.
        words: the folder of its templates.
        styles: its styles by name; the first is the default.
        strategies: its scripted strategies by name.
        measures: its measures by name.
        series: its numbers by round, by name.
        checks: exact checks of what is said and done, by the name of the rubric they check.
        view: what pages of empirical games show; all measures of the whole match without one.
    """

    rules: type[Game]
    words: Path
    styles: Mapping[str, StyleFile]
    strategies: Mapping[str, Strategy]
    measures: Mapping[str, Measure]
    series: Mapping[str, Series] = field(default_factory=dict)
    checks: Mapping[str, Check] = field(default_factory=dict)
    view: EmpiricalView | None = None

    @property
    def name(self) -> str:
        return self.rules.name

    def __repr__(self) -> str:
        parts = (counted(len(getattr(self, part)), one) for part, one in PARTS.items())
        return brief(self, f"{self.name}, {', '.join(parts)}")

    @classmethod
    def of(
        cls, package: str, *, styles: Sequence[str] = (), codecs: Mapping[str, str] | None = None
    ) -> "GameBox":
        """The box of a game from its folder, a package.

        Its module ``rules`` holds one game and ``strategies`` its strategies; ``measures`` holds
        ``MEASURES`` and, if there are any, ``SERIES`` and ``CHECKS``; the folder ``styles`` holds a
        template for each style.

        Args:
            package: its dotted name: ``__name__`` in the package itself.
            styles: the names of its styles, the default first; if none are named, those of all
                templates, in alphabetical order, those for people last.
            codecs: the codecs of styles whose answers are not JSON, by the name of the style.

        Raises:
            TypeError: the rules hold no game or several.
            ValueError: a codec is given for no style.
            RulesError: the game does not declare all that it must, or two things have one name.
        """
        rules = import_module(f"{package}.rules")
        strategies = import_module(f"{package}.strategies")
        measures = import_module(f"{package}.measures")
        held = [one for one in vars(rules).values() if isinstance(one, type)]
        made = [one for one in held if issubclass(one, Game) and one.__module__ == rules.__name__]
        if len(made) != 1:
            raise TypeError(f"{rules.__name__} must hold one game, not {len(made)}")
        lacking = [one for one in DECLARED if not hasattr(made[0], one)]
        if lacking:
            raise RulesError(f"{made[0].__name__} does not declare {', '.join(lacking)}")
        for name, parameter in made[0].model_fields.items():
            if parameter.is_required():
                raise RulesError(
                    f'{made[0].__name__}: its parameter "{name}" has no default; '
                    "write NAME: TYPE = DEFAULT"
                )
        words = Path(str(rules.__file__)).parent / "styles"
        found = (path.stem for path in words.glob("*.jinja"))
        names = styles or sorted(found, key=lambda name: (name in LANGUAGES, name))
        codecs = codecs or {}
        if not set(codecs) <= set(names):
            raise ValueError(f"codecs: no style is named {', '.join(set(codecs) - set(names))}")
        return cls(
            rules=made[0],
            words=words,
            styles={name: StyleFile(f"{name}.jinja", codecs.get(name, "json")) for name in names},
            strategies=_strategies_in(strategies),
            measures=by_name(measures.MEASURES),
            series=by_name(getattr(measures, "SERIES", ())),
            checks=getattr(measures, "CHECKS", {}),
        )


def by_name(items: Sequence[Any]) -> dict[str, Any]:
    """Things with a name, by their names.

    Raises:
        RulesError: two of them have one name.
    """
    found: dict[str, Any] = {}
    for item in items:
        if found.setdefault(item.name, item) is not item:
            kind = type(item).__name__.lower()
            raise RulesError(f'two {kind} entries are called "{item.name}"; give each its own name')
    return found


def _strategies_in(module: ModuleType) -> dict[str, Strategy]:
    """The strategies in a module, by name, in the order written.

    Types are asked, not values: a value may be a module that is loaded when first used.
    """
    return by_name([one for one in vars(module).values() if issubclass(type(one), Strategy)])
