"""Game specs: the rules of a game with its templates, strategies and metrics.

:meth:`GameSpec.of` builds a game spec from the files in the game's folder. Packages register game
specs in the entry point group ``cheaptalk.games`` and further strategies in ``cheaptalk.players``.
"""

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from math import inf
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import BaseModel, create_model

from cheaptalk.rules.actions import Action
from cheaptalk.rules.assessment import UNASSESSED, Assessment
from cheaptalk.rules.bounds import Bounds
from cheaptalk.rules.deciders import is_class, makes_calls, player_name
from cheaptalk.rules.display import brief
from cheaptalk.rules.errors import CheaptalkError, Named, RulesError, counted
from cheaptalk.rules.game import Game, Value
from cheaptalk.rules.table import Decide, DecisionRequest, Result


class Point(NamedTuple):
    """The value of a per-round metric in one round.

    Attributes:
        round: the round or turn, from 1.
        seat: None if the value is that of all seats together.
        value: None if the value is undefined.
    """

    round: int
    seat: str | None
    value: float | None


T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class Quantity(Generic[T]):
    """A quantity computed from a finished match.

    Attributes:
        name: the name in tables.
        of: the function that computes the quantity from a result.
        published: the function that the published system's code uses, if it differs.
        unit: the unit for tables and axes.
        bounds: the minimum and maximum of both functions; confidence intervals end at the bounds.
        published_unit: the unit of the published function's values, if it differs.
        limits: returns tighter bounds for a game, if the bounds depend on its parameters.
    """

    name: str
    of: Callable[[Result], T]
    published: Callable[[Result], T] | None = None
    unit: str = ""
    bounds: Bounds = (-inf, inf)
    published_unit: str = ""
    limits: Callable[[Any], Bounds] | None = None

    def __repr__(self) -> str:
        return brief(self, f"{self.name}: {self.meaning}")

    def bounds_in(self, game: Game) -> Bounds:
        """Return the quantity's minimum and maximum for a game with specific parameters."""
        return self.bounds if self.limits is None else self.limits(game)

    @property
    def meaning(self) -> str:
        """A description of the quantity: the first line of the docstring of its function."""
        return (inspect.getdoc(self.of) or "").partition("\n")[0]

    def variant(self, as_published: bool) -> Callable[[Result], T]:
        """Return the quantity's function or, if requested and available, its published variant."""
        return self.published if as_published and self.published else self.of


@dataclass(frozen=True, repr=False)
class Metric(Quantity[float | None]):
    """A number computed from a finished match, or None if it is undefined.

    >>> def answers(result):
    ...     "Number of answers of all players."
    ...     return float(len(result.given()))
    >>> ct.Metric("answers", answers).meaning
    'Number of answers of all players.'

    Attributes:
        role: the role whose payoff this metric measures, if it measures one.
    """

    role: str | None = None


@dataclass(frozen=True, repr=False)
class Series(Quantity[Iterable[Point]]):
    """A per-round metric of a finished match: at most one number for each round and seat.

    Attributes:
        payoff: whether the numbers of a seat are its payoffs in the rounds, which add up to its
            payoff in the match.
    """

    payoff: bool = False


Check = Callable[[Result], Mapping[tuple[int, str], str]]
"""A function that returns the exact category of moves, by request and actor, if there is one.
Judges are validated against these categories."""


@dataclass(frozen=True, repr=False)
class Strategy:
    """A scripted strategy for some roles of one game.

    Attributes:
        name: the name in study files.
        roles: the roles that the strategy can play.
        function: returns an action for a decision request (and settings, by keyword); or another
            Python player, see :func:`.decider`.
        settings: a model of the function's keyword settings, with their defaults and ranges.
        searches: whether the strategy searches a game tree, which may take minutes.
    """

    name: str
    roles: tuple[str, ...]
    function: Callable[..., Action]
    settings: type[BaseModel]
    searches: bool = False

    def __repr__(self) -> str:
        return brief(self, f"{self.name}: {self.meaning}")

    @property
    def meaning(self) -> str:
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    def with_settings(self, **values: Any) -> Decide:
        """Return the strategy's function with validated settings."""
        settings = self.settings(**values)
        if not values:
            return self.function
        return partial(self.function, **{name: getattr(settings, name) for name in values})

    def __call__(self, request: DecisionRequest, **values: Any) -> Action:
        return self.function(request, **values)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the function, or the name of this strategy if it has replaced its function."""
        name = getattr(self.function, "__module__", ""), getattr(self.function, "__qualname__", "")
        if name[0] != "__main__" and getattr(sys.modules.get(name[0]), name[1], None) is self:
            return _imported, name
        return _restored, (self.function, self.roles, self.searches)


def _imported(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


def _restored(function: Callable[..., Any], roles: tuple[str, ...], searches: bool) -> Strategy:
    return strategy(*roles, searches=searches)(function)


def strategy(*roles: str, searches: bool = False) -> Callable[[Callable[..., Action]], Strategy]:
    """Turn a function into a strategy: ``@strategy("alice", "bob")``.

    The function's first argument is the decision request; all others are settings, with a type and
    a default. The docstring describes the strategy and cites its source.

    >>> @ct.strategy("alice", "bob")
    ... def stubborn(request, *, share: float = 0.9):
    ...     "Demand a share of the money, and accept no less."
    ...     return ct.games.bargaining.strategies.fixed_demand(request, share=share)
    >>> stubborn.roles, stubborn.settings().share
    (('alice', 'bob'), 0.9)

    Args:
        searches: whether the strategy searches a game tree, which may take minutes. Plans and
            estimates then use a substitute strategy.

    Raises:
        CheaptalkError: the function takes no argument.
        RulesError: a setting has no type or no default.
    """

    def wrap(function: Callable[..., Action]) -> Strategy:
        name = player_name(function)
        fields: dict[str, Any] = {}
        for setting in _settings_of(function):
            for part, value in (("type", setting.annotation), ("default", setting.default)):
                if value is setting.empty:
                    raise RulesError(
                        f'strategy "{name}": its setting "{setting.name}" has no '
                        f"{part}; write {setting.name}: TYPE = DEFAULT"
                    )
            fields[setting.name] = (setting.annotation, setting.default)
        settings = create_model(f"{name}_settings", __base__=Value, **fields)
        return Strategy(name, roles, function, settings, searches)

    return wrap


def _settings_of(player: Any) -> list[inspect.Parameter]:
    """Return the parameters of a class, or those of a function after the decision request."""
    if is_class(player):
        return list(inspect.signature(player, eval_str=True).parameters.values())
    function = player.answer if makes_calls(player) else player
    parameters = list(inspect.signature(function, eval_str=True).parameters.values())
    if not parameters:
        name = player_name(player)
        raise CheaptalkError(f"write def {name}(request): ... as a function that returns an action")
    return parameters[1:]


LOCALE = Path(__file__).parents[1] / "locale"
"""The folder with a folder of translation catalogues for each language."""
SOURCE_LANGUAGE = "en"
LANGUAGES = (
    SOURCE_LANGUAGE,
    *sorted({path.name for path in LOCALE.iterdir() if path.is_dir()} - {SOURCE_LANGUAGE}),
)
"""Codes of the languages for people, and names of the styles with their translations."""
PEOPLE = "people"
"""Name of the template that all styles for people share."""


@dataclass(frozen=True)
class StyleFile:
    """A prompt style's template and answer format.

    Attributes:
        template: the name of the template file.
        codec: the name of the codec that reads and writes answers.
        folder: the template's folder; None for the game's own folder of templates.
    """

    template: str
    codec: str = "json"
    folder: Path | None = None

    def __post_init__(self) -> None:
        if self.folder is not None and not (self.folder / self.template).is_file():
            raise FileNotFoundError(f"template not found: {self.folder / self.template}")


DECLARED = ("name", "roles", "events", "actions", "outcome_type")
"""Attributes that every game class must declare."""
PARTS = {"strategies": "strategy", "metrics": "metric", "styles": "style"}
"""The parts that the representation of a game spec counts, with their singular."""


class ScaledMetric(NamedTuple):
    """A table column: its header, the name of its metric, and a positive divisor of the means."""

    title: str
    metric: str
    scale: float = 1.0


class MetricTable(NamedTuple):
    """A table of metrics with a title and one or two sentences that explain the numbers."""

    title: str
    about: str
    columns: tuple[ScaledMetric, ...]


class Radar(NamedTuple):
    """A radar chart of metrics with a common unit, for each player matched against itself.

    Attributes:
        axes: the metrics' names by the labels of their axes, clockwise.
    """

    title: str
    unit: str
    axes: Mapping[str, str]


class Histogram(NamedTuple):
    """A histogram of an instance-level metric from 0 to ``top``, with bins of equal width."""

    title: str
    metric: str
    axis: str
    top: float


@dataclass(frozen=True)
class EmpiricalView:
    """The metrics, tables and figures that pages of empirical games show for a game.

    Attributes:
        metrics: the names of the metrics in tables and figures.
        tables: a function that returns the tables of metrics at equilibrium for a mixture of
            configurations, or no tables if these configurations have no common scale.
        given: the name, without the seat at its end, of the metric that measures how much each
            seat's offers concede; empty if the game has no such metric.
        configurations: parameters by their names in publications.
        mixtures: names of configurations by the name of their uniform mixture.
        methods: explanations of the metrics for readers of a page, by heading.
    """

    metrics: tuple[str, ...]
    tables: Callable[[Sequence[Game]], Sequence[MetricTable]]
    given: str = ""
    configurations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    mixtures: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    radars: tuple[Radar, ...] = ()
    histograms: tuple[Histogram, ...] = ()
    methods: Mapping[str, str] = field(default_factory=dict)
    about_figures: str = ""


@dataclass(frozen=True)
class GameSpec:
    """A registered game with its templates, strategies and metrics.

    >>> ct.get_game("negotiation")
    <GameSpec: negotiation, 11 strategies, 7 metrics, 7 styles>
    >>> ct.get_game("negotiation").metrics["efficiency"].unit
    'share of matches'

    Attributes:
        rules: the game's class.
        words: the folder of the game's templates.
        styles: the styles by name; the first is the default.
        strategies: the scripted strategies by name.
        metrics: the metrics by name.
        series: the per-round metrics by name.
        checks: exact checks of messages and moves, by the name of the rubric that they validate.
        view: the content of pages of empirical games; None for all metrics of the match.
        assessment: what profiles need to know about the game.
    """

    rules: type[Game]
    words: Path
    styles: Mapping[str, StyleFile]
    strategies: Mapping[str, Strategy]
    metrics: Mapping[str, Metric]
    series: Mapping[str, Series] = field(default_factory=dict)
    checks: Mapping[str, Check] = field(default_factory=dict)
    view: EmpiricalView | None = None
    assessment: Assessment = UNASSESSED

    @property
    def name(self) -> str:
        return self.rules.name

    @property
    def written_styles(self) -> list[str]:
        """The names of the styles that are not translations of the English style for people."""
        return [
            name
            for name, file in self.styles.items()
            if name not in LANGUAGES[1:] or ((file.folder or self.words) / file.template).exists()
        ]

    def __repr__(self) -> str:
        parts = (counted(len(getattr(self, part)), noun) for part, noun in PARTS.items())
        return brief(self, f"{self.name}, {', '.join(parts)}")

    @classmethod
    def of(
        cls,
        package: str,
        *,
        styles: Sequence[str] = (),
        codecs: Mapping[str, str] | None = None,
        assessment: Assessment = UNASSESSED,
    ) -> "GameSpec":
        """Build a game spec from the game's package.

        The module ``rules`` contains the game, ``strategies`` its strategies, and ``metrics`` the
        constant ``METRICS`` and, optionally, ``SERIES`` and ``CHECKS``. The folder ``styles``
        contains a template for each style.

        Args:
            package: the dotted name of the package: ``__name__`` in its ``__init__.py``.
            styles: the names of the styles, the default first; by default all templates in
                alphabetical order, except that of the styles for people.
            codecs: the codecs of styles by name, for styles with another answer format than JSON.
            assessment: what profiles need to know about the game, if it defines any of it.

        Raises:
            TypeError: the module ``rules`` contains no game, or several games.
            ValueError: a codec is given for an unknown style.
            RulesError: the game lacks a declaration, or two objects have the same name.
        """
        rules = import_module(f"{package}.rules")
        strategies = import_module(f"{package}.strategies")
        metrics = import_module(f"{package}.metrics")
        classes = [value for value in vars(rules).values() if isinstance(value, type)]
        games = [kind for kind in classes if issubclass(kind, Game)]
        games = [kind for kind in games if kind.__module__ == rules.__name__]
        if len(games) != 1:
            raise TypeError(f"{rules.__name__} must contain one game, not {len(games)}")
        game = games[0]
        if missing := [name for name in DECLARED if not hasattr(game, name)]:
            raise RulesError(f"{game.__name__} does not declare {', '.join(missing)}")
        for name, parameter in game.model_fields.items():
            if parameter.is_required():
                raise RulesError(
                    f'{game.__name__}: its parameter "{name}" has no default; '
                    "write NAME: TYPE = DEFAULT"
                )
        parts = vars(strategies).values()  # isinstance() would load modules imported lazily
        words = Path(str(rules.__file__)).parent / "styles"
        stems = {path.stem for path in words.glob("*.jinja")}
        names = [*(styles or sorted(stems - {PEOPLE})), *(LANGUAGES if PEOPLE in stems else ())]
        codecs = codecs or {}
        if not set(codecs) <= set(names):
            raise ValueError(f"codecs: unknown style {', '.join(set(codecs) - set(names))}")
        return cls(
            rules=game,
            words=words,
            styles={name: StyleFile(f"{name}.jinja", codecs.get(name, "json")) for name in names},
            strategies=by_name([part for part in parts if issubclass(type(part), Strategy)]),
            metrics=by_name(metrics.METRICS),
            series=by_name(getattr(metrics, "SERIES", ())),
            checks=getattr(metrics, "CHECKS", {}),
            assessment=assessment,
        )


def by_name(items: Sequence[Any]) -> Named[Any]:
    """Return objects by name; raise a :class:`RulesError` if two have the same name."""
    kind = type(items[0]).__name__.lower() if items else "name"
    named = Named[Any].of(kind, {})
    for item in items:
        if named.setdefault(item.name, item) is not item:
            raise RulesError(f'two {kind} entries are named "{item.name}"; rename one')
    return named
