"""Iterations, people and other players in a study of self-play: mean results, and charts."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from itertools import cycle
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.games.deal_or_no_deal.rules import PLAYERS, DealOrNoDeal
from cheaptalk.papers.printed import paper_table, position
from cheaptalk.players import Kind
from cheaptalk.records.store.reader import specs_of
from cheaptalk.reports.charts.chart import DASHES, SERIES, Axis, Chart, Lead, Line, Mark
from cheaptalk.reports.charts.kinds import HIGH, LOW, Row, ends, points
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import means
from cheaptalk.reports.recipes.parts import Charts, NoData
from cheaptalk.reports.recipes.tables import CLUSTERS, COUNT
from cheaptalk.rules import counted
from cheaptalk.rules.bounds import mean_bounds
from cheaptalk.statistics import INSTANCES
from cheaptalk.statistics.columns import with_matching
from cheaptalk.statistics.limits import Bounds, BoundsColumns
from cheaptalk.statistics.participants import ANY_PEOPLE
from cheaptalk.text import capital, fixed

GAME = DealOrNoDeal.name
OBJECTIVES = {0.0: "semi-competitive", 1.0: "cooperative", -1.0: "strictly competitive"}
"""The paper's objectives, by the weight of the partner's points."""
ITSELF, PEOPLE, OTHERS = "itself", "people", "others"
"""The kinds of partners: a copy, a person, or another player."""
ONE_ITERATION = (
    "no player has two iterations; use labels with the number of the iteration, such as "
    "gpt-iteration-0 and gpt-iteration-1"
)
METRICS = ("length", "total_words", "inconsistency")
SHARES = ("agreement", "pareto_optimality", "aborted", "inverted_proposals")
NUMBERED = re.compile(
    r"(?P<name>.*?)[\s._-]*iteration[\s._-]*(?P<number>\d+)(?P<study> \(.+\))?", re.IGNORECASE
)
"""The label of an iteration; labels of pooled studies can end in the study's name."""
CELL = ("objective", "weight", "lineage", "iteration", "player")
WITH = {ITSELF: "self-play", PEOPLE: "with people", OTHERS: "with other players"}
AMONG_PEOPLE = "among people"
"""The name of play between people, who share a label."""
PERCENT = (0.0, 100.0)
OWN, THEIRS = ("own.least", "own.most"), ("theirs.least", "theirs.most")
"""The columns with the minimum and maximum of mean payoffs."""
table = partial(paper_table, "self_play")


class Stage(NamedTuple):
    """The lineage and number of an iteration, or another player's label and None."""

    lineage: str
    iteration: int | None


def stage_of(label: str) -> Stage:
    """Return the lineage and iteration in a label such as ``gpt-iteration-3``.

    >>> stage_of("gpt-3.5-iteration-3"), stage_of("Iteration 10"), stage_of("gpt-4")
    (Stage(lineage='gpt-3.5', iteration=3), Stage(lineage='', iteration=10), \
Stage(lineage='gpt-4', iteration=None))
    >>> stage_of("gpt-iteration-3 (pilot)")
    Stage(lineage='gpt (pilot)', iteration=3)
    """
    match = NUMBERED.fullmatch(label)
    if match is None:
        return Stage(label, None)
    return Stage(f"{match['name']}{match['study'] or ''}".strip(), int(match["number"]))


def objective_name(weight: float) -> str:
    """Return the name of an objective, such as "cooperative" or "lambda 0.5"."""
    return OBJECTIVES.get(weight, f"lambda {weight:g}")


class Sides:
    """The scored matches of Deal or No Deal, from the perspective of each studied player.

    Attributes:
        frame: one row per match and player; copies have one row. Excludes people against other
            players and iterations against other iterations, and, if there are iterations, other
            players that do not meet a copy. Columns: ``match_id``, ``configuration``, ``instance``,
            ``objective`` and its ``weight`` (lambda), ``player``, ``lineage``, ``iteration``,
            ``partner`` (``itself``, ``people`` or ``others``), ``opponent`` (a label), ``own`` and
            ``theirs`` (mean payoffs), ``erred`` (100 if one of the player's answers was invalid at
            the first attempt, else 0; null if unknown), ``tokens`` (output of models; null without
            models), match metrics (shares in percent), bounds of ``own`` and ``theirs``, and
            ``people`` (participants) if there are any.
    """

    def __init__(self, evidence: Evidence) -> None:
        scored = evidence.scored(GAME)
        if scored.is_empty():
            raise NoData(f"no match of {GAME} has finished; the preset self-play has such matches")
        specs = specs_of(evidence.store, evidence.study)
        people = (label for label in specs if any(spec.get("person") for spec in specs[label]))
        self.people = set(people)
        frame = _sides(scored, self.people)
        self.staged = frame["iteration"].is_not_null().any()
        """Whether the study has iterations."""
        studied = pl.col("iteration").is_not_null() | (pl.col("partner") == ITSELF)
        kin, crossed = pl.col("met").is_not_null(), pl.col("opponent") != pl.col("player")
        self.kin = frame.filter(kin & (kin & crossed).any().over("lineage", "weight"))
        """Matches between iterations; ``family`` and ``met`` identify the opponent's iteration."""
        self.frame = frame.filter(studied & (~kin | (pl.col("partner") == ITSELF)))
        self.frame = self.frame if self.staged else frame

    def figure(
        self, name: str, title: str, frame: pl.DataFrame, number: "ShownNumber", caption: str = ""
    ) -> Charts:
        """Return charts of one column of numbers, with a panel per objective."""
        return Charts(name, title, panels(frame, number, staged=self.staged), caption)

    @cached_property
    def copies(self) -> pl.DataFrame:
        """The matches between copies of a player; raises NoData if there are none."""
        copies = self.frame.filter(pl.col("partner") == ITSELF)
        if copies.is_empty():
            raise NoData(
                "no player met a copy of itself; add pairings such as [iteration-3, iteration-3], "
                "or use pairing: self"
            )
        return copies


def _sides(scored: pl.DataFrame, people: set[str]) -> pl.DataFrame:
    first, second = (pl.col(f"player_{seat}") for seat in PLAYERS)
    alike, parts = first == second, []
    match = (
        pl.col("match_id", *INSTANCES, *METRICS),
        ANY_PEOPLE,
        pl.col(*SHARES) * 100,
        pl.when(pl.col("calls") > 0).then("output_tokens").cast(pl.Float64).alias("tokens"),
        pl.col("game_objective").cast(pl.Float64).alias("weight"),
    )
    itself = pl.lit(ITSELF).alias("partner"), second.alias("opponent")
    parts.append(scored.filter(alike).select(*match, *_seats(PLAYERS, PLAYERS), *itself))
    for seat, partner in (PLAYERS, PLAYERS[::-1]):
        opponent = pl.col(f"player_{partner}")
        is_person = opponent.is_in(people)
        kind = pl.when(is_person).then(pl.lit(PEOPLE)).otherwise(pl.lit(OTHERS)).alias("partner")
        met = scored.filter(~alike, ~pl.col(f"player_{seat}").is_in(people) | is_person)
        seats = _seats((seat,), (partner,))
        parts.append(met.select(*match, *seats, kind, opponent.alias("opponent")))
    frame = pl.concat(parts)
    weights = frame["weight"].unique().to_list()
    labels = pl.concat([frame["player"], frame["opponent"]]).unique().sort()
    stages = [(label, *stage_of(label)) for label in labels]
    schema = {"player": pl.String, "lineage": pl.String, "iteration": pl.Int64}
    staged = pl.DataFrame(stages, schema=schema, orient="row")
    met = staged.select(opponent="player", family="lineage", met="iteration")
    frame = with_matching(with_matching(frame, staged, "player", "m:1"), met, "opponent", "m:1")
    names = list(map(objective_name, weights))
    named = frame.with_columns(
        met=pl.when(pl.col("iteration").is_not_null()).then("met"),
        objective=pl.col("weight").replace_strict(weights, names, return_dtype=pl.String),
    )
    return with_matching(named, _limits(weights), ["weight", "filled"], "m:1")


def _limits(weights: Iterable[float]) -> pl.DataFrame:
    """The bounds of both players' mean payoffs by objective and seats per player."""
    rows = []
    for weight in weights:
        game = DealOrNoDeal(objective=weight)
        (own,), (total,) = game.payoff_bounds().values(), game.total_bounds().values()
        single, both = (mean_bounds(own, total, len(PLAYERS), filled) for filled in (1, 2))
        rows += [(weight, 1, *single, *single), (weight, 2, *both, *both)]
    kinds = {"weight": pl.Float64, "filled": pl.Int32} | dict.fromkeys(OWN + THEIRS, pl.Float64)
    return pl.DataFrame(rows, schema=pl.Schema(kinds), orient="row")


def _seats(seats: Sequence[str], partners: Sequence[str]) -> list[pl.Expr]:
    faults = [
        pl.col(f"answers_{seat}_{kind}") for seat in seats for kind in Kind if kind is not Kind.OK
    ]
    return [
        pl.col(f"player_{seats[0]}").alias("player"),
        pl.mean_horizontal([f"payoff_{seat}" for seat in seats]).alias("own"),
        pl.mean_horizontal([f"payoff_{seat}" for seat in partners]).alias("theirs"),
        pl.lit(len(seats), pl.Int32).alias("filled"),
        pl.when(pl.all_horizontal(count.is_not_null() for count in faults))
        .then(pl.any_horizontal(count > 0 for count in faults) * 100.0)
        .alias("erred"),
    ]


def cells(
    sides: Sides,
    frame: pl.DataFrame,
    values: Sequence[str],
    bounds: Mapping[str, Bounds | BoundsColumns],
    by: str = "partner",
) -> pl.DataFrame:
    """Return the mean and interval of each value by :data:`CELL` and the column ``by``."""
    averages = means(frame, values, [*CELL, by], bounds=bounds)
    return ordered(sides, averages, by)


def ordered(sides: Sides, frame: pl.DataFrame, by: str = "partner") -> pl.DataFrame:
    """Sort rows for charts and tables, and add the name of each row's chart line as ``series``."""
    play = pl.col(by).replace(list(WITH), list(WITH.values()))
    if sides.people:
        among = pl.col("player").is_in(list(sides.people)) & (pl.col(by) == ITSELF)
        play = pl.when(among).then(pl.lit(AMONG_PEOPLE)).otherwise(play)
    series = play
    if sides.staged:
        named = pl.format("{}, {}", "lineage", play).str.strip_prefix(", ")
        several = sides.frame.drop_nulls("iteration")["lineage"].n_unique() > 1
        player_series = pl.when(pl.col(by) == ITSELF).then("lineage").otherwise(named)
        is_iteration = pl.col("iteration").is_not_null()
        series = pl.when(is_iteration).then(named if several else play).otherwise(player_series)
    return frame.with_columns(series=series).sort(
        position("weight", OBJECTIVES),
        "weight",
        "lineage",
        "iteration",
        "player",
        position(by, WITH),
        by,
        nulls_last=True,
        maintain_order=True,
    )


def leads(frame: pl.DataFrame, by: str = "partner") -> Callable[[Mapping[str, Any]], Lead | None]:
    """Return a function that links a row of means to the row's matches."""
    cell = ["player", "weight", by]
    groups = frame.group_by(cell, maintain_order=True).agg(
        pl.col("opponent", "configuration").unique().sort()
    )
    lists = {tuple(row[:3]): row[3:] for row in groups.iter_rows()}

    def lead(row: Mapping[str, Any]) -> Lead | None:
        player, opponents, configurations = row["player"], *lists[tuple(row[key] for key in cell)]
        if len(opponents) > 1:
            return None
        query = {"status": "finished", "configuration": ",".join(configurations)}
        if opponents == [player]:
            return Lead(GAME, query | {f"player_{seat}": player for seat in PLAYERS})
        return Lead(GAME, query | {"player": player, "player_player": opponents[0]})

    return lead


class ShownNumber(NamedTuple):
    """A column of numbers with the title of its axis; ``unit`` is that of observations."""

    key: str
    title: str
    decimals: int = 1
    unit: str = "match"
    zero: bool = True

    @property
    def axis(self) -> Axis:
        return Axis(self.title, zero=self.zero)


def panels(
    frame: pl.DataFrame, number: ShownNumber, *, staged: bool, by: str = "objective"
) -> list[Chart]:
    """Return charts of one column of numbers, with one chart for each value of the column ``by``.

    If ``staged``, the axis shows iterations, with other players as dashed horizontal lines, instead
    of one row per player. Numbers that no iteration has are shown by player.
    """
    numbers = frame.drop_nulls(number.key)
    staged = staged and numbers["iteration"].count() > 0
    make = _over_iterations if staged else _by_player
    return [
        make(capital(value), part, number)
        for (value,), part in numbers.group_by(by, maintain_order=True)
    ]


def _over_iterations(title: str, frame: pl.DataFrame, number: ShownNumber) -> Chart:
    """Draw a line for each series; series without iterations are horizontal lines."""
    iterations = frame["iteration"].drop_nulls().to_list()
    reach = (min(iterations, default=0) - 0.5, max(iterations, default=0) + 0.5)
    lines, key = [], number.key
    dashes = cycle(DASHES[1:])
    for index, ((series,), part) in enumerate(frame.group_by("series", maintain_order=True)):
        rows = [(row, _hover_text(row, number)) for row in part.sort("iteration").to_dicts()]
        if rows[0][0]["iteration"] is None:
            row, text = rows[0]
            marks = [Mark(end, row[key], text, size=1) for end in reach]
            lines.append(Line(marks, str(series), index % SERIES, next(dashes)))
        else:
            marks = [
                Mark(row["iteration"], row[key], text, y_ends=ends(row, key)) for row, text in rows
            ]
            lines.append(Line(marks, str(series), index))
    return Chart(title, "", lines, Axis("iteration", ends=reach, integer=True), number.axis, 220)


def _by_player(title: str, frame: pl.DataFrame, number: ShownNumber) -> Chart:
    order = frame["player"].unique(maintain_order=True).to_list()
    layers = []
    for index, ((series,), part) in enumerate(frame.group_by("series", maintain_order=True)):
        rows = part.to_dicts()
        texts = [_hover_text(row, number) for row in rows]
        names = [row["player"] for row in rows]
        layers.append(points(names, rows, number.key, texts, name=str(series), tone=index % SERIES))
    return Chart(title, "", layers, number.axis, Axis(names=tuple(order)))


def _hover_text(row: Row, number: ShownNumber) -> str:
    key, decimals = number.key, number.decimals
    text = fixed(row[key], decimals)
    if row[key + LOW] is not None:
        low, high = fixed(row[key + LOW], decimals), fixed(row[key + HIGH], decimals)
        text += f", 95 % interval {low} to {high}"
    base = f"{counted(row[key + COUNT], number.unit)} in {counted(row[key + CLUSTERS], 'instance')}"
    return f"{row['player']}, {row['series']}\n{text}\n{base}"
