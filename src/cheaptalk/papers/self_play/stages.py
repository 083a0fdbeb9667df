"""Who played in a study of self-play: iterations of a player, people, others; and their means."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.games.deal_or_no_deal.rules import PLAYERS, DealOrNoDeal
from cheaptalk.players import Kind
from cheaptalk.records.store.reader import specs_of
from cheaptalk.reports.charts.chart import Lead
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import means
from cheaptalk.reports.recipes.parts import Lacking
from cheaptalk.reports.recipes.tables import Header
from cheaptalk.rules.bounds import mean_bounds
from cheaptalk.statistics import DEALS
from cheaptalk.statistics.intervals import Bounds, BoundsColumns

GAME = DealOrNoDeal.name
OBJECTIVES = {0.0: "semi-competitive", 1.0: "cooperative", -1.0: "strictly competitive"}
"""The objectives that the paper plays, by the weight of the partner's points."""
ITSELF, PEOPLE, OTHERS = "itself", "people", "others"
"""Whom a player meets: its copy, a person, or another player."""
ONE_ITERATION = (
    "no player has two iterations; label players by theirs, such as gpt-iteration-0 and "
    "gpt-iteration-1"
)
MEASURES = ("length", "words", "inconsistency")
SHARES = ("agreement", "pareto_optimality", "aborted", "inverted_proposals")
"""The measures of whole matches that the recipe reads."""
NUMBERED = re.compile(r"(?P<name>.*?)[\s._-]*iteration[\s._-]*(?P<number>\d+)", re.IGNORECASE)
CELL = ("objective", "weight", "lineage", "iteration", "player")
WITH = {ITSELF: "self-play", PEOPLE: "with people", OTHERS: "with other players"}
"""What play with each kind of partner is called."""
AMONG_PEOPLE = "among people"
"""What play between people is called, who share a label and are no copies."""
PERCENT = (0.0, 100.0)
OWN, THEIRS = ("own.least", "own.most"), ("theirs.least", "theirs.most")
"""The columns that tell the least and the most that mean payoffs can be."""
HEAD = (Header("player", "Player"), Header("objective", "Objective"))
SERIES = Header("series", "Play")


class Stage(NamedTuple):
    """A player as one of the iterations of a lineage.

    Attributes:
        lineage: what its iterations have in common; the label of a player that is no iteration.
        iteration: which it is; None for a player that is no iteration.
    """

    lineage: str
    iteration: int | None


def stage_of(label: str) -> Stage:
    """The iteration that a label names: it ends in the word "iteration" and a whole number.

    >>> stage_of("gpt-3.5-iteration-3"), stage_of("Iteration 10"), stage_of("gpt-4")
    (Stage(lineage='gpt-3.5', iteration=3), Stage(lineage='', iteration=10), \
Stage(lineage='gpt-4', iteration=None))
    """
    found = NUMBERED.fullmatch(label)
    return Stage(found["name"], int(found["number"])) if found else Stage(label, None)


def objective_name(weight: float) -> str:
    """An objective in words.

    >>> objective_name(1), objective_name(0.5)
    ('cooperative', 'lambda 0.5')
    """
    return OBJECTIVES.get(weight, f"lambda {weight:g}")


class Sides:
    """The matches of Deal or No Deal that count, from the side of each player that is studied.

    Attributes:
        frame: a row for each match and player: one for a player and its copy, two for two players.
            There are none of people among other players, nor of what a player that is no iteration
            did among others where there are iterations, nor of iterations with other
            iterations. Columns: ``match``, the deal
            (``configuration``, ``deal``), ``objective`` and ``weight`` (its lambda), ``player``,
            ``lineage``, ``iteration``, ``partner`` (``itself``, ``people`` or ``others``),
            ``opponent`` (a label), ``own`` and ``theirs`` (mean payoffs), ``erred`` (100 if an own
            answer was not valid at the first try, else 0; null where that is not known), ``tokens``
            (written by models in the match; null without a model), and the measures of the match,
            shares in percent; and the least and the most that ``own`` and ``theirs`` can be.
    """

    def __init__(self, evidence: Evidence) -> None:
        scored = evidence.scored(GAME)
        if scored.is_empty():
            raise Lacking(f"no match of {GAME} has finished; run the preset self-play")
        specs = specs_of(evidence.store, evidence.study)
        self.people = {label for label, of in specs.items() if any(one.get("person") for one in of)}
        frame = _sides(scored, self.people)
        self.staged = frame["iteration"].is_not_null().any()
        """Whether any player is an iteration; else players stand beside one another."""
        studied = pl.col("iteration").is_not_null() | (pl.col("partner") == ITSELF)
        kin, crossed = pl.col("met").is_not_null(), pl.col("opponent") != pl.col("player")
        self.kin = frame.filter(kin & (kin & crossed).any().over("lineage", "weight"))
        """Rows of iterations with iterations, where any of a lineage met another one; ``family`` is
        the lineage of the one that is met, and ``met`` which it is."""
        self.frame = frame.filter(studied & (~kin | (pl.col("partner") == ITSELF)))
        self.frame = self.frame if self.staged else frame

    @cached_property
    def copies(self) -> pl.DataFrame:
        """The matches between a player and its copy.

        Raises:
            Lacking: there is none.
        """
        found = self.frame.filter(pl.col("partner") == ITSELF)
        if found.is_empty():
            raise Lacking(
                "no player met a copy of itself; list seatings such as [iteration-3, iteration-3], "
                "or write pairing: self"
            )
        return found


def _sides(scored: pl.DataFrame, people: set[str]) -> pl.DataFrame:
    """A row for each match and player."""
    one, two = (f"player.{place}" for place in PLAYERS)
    alike = pl.col(one) == pl.col(two)
    copies = scored.filter(alike).select(
        *_of_match(), *_seats(PLAYERS), pl.lit(ITSELF).alias("partner"),
        pl.col(two).alias("opponent"),
    )  # fmt: skip
    others = [
        scored.filter(~alike, ~_is(place, people) | _is(partner, people)).select(
            *_of_match(), *_seats((place,), (partner,)),
            pl.when(_is(partner, people)).then(pl.lit(PEOPLE)).otherwise(pl.lit(OTHERS))
            .alias("partner"),
            pl.col(f"player.{partner}").alias("opponent"),
        )
        for place, partner in (PLAYERS, PLAYERS[::-1])
    ]  # fmt: skip
    frame = pl.concat([copies, *others])
    weights = frame["weight"].unique().to_list()
    labels = pl.concat([frame["player"], frame["opponent"]]).unique().sort()
    stages = [(label, *stage_of(label)) for label in labels]
    schema = {"player": pl.String, "lineage": pl.String, "iteration": pl.Int64}
    staged = pl.DataFrame(stages, schema=schema, orient="row")
    met = staged.select(
        pl.col("player").alias("opponent"), pl.col("lineage").alias("family"),
        pl.col("iteration").alias("met"),
    )  # fmt: skip
    kin = pl.col("iteration").is_not_null()
    return (
        frame.join(staged, on="player", validate="m:1", maintain_order="left")
        .join(met, on="opponent", how="left", maintain_order="left", validate="m:1")
        .with_columns(met=pl.when(kin).then("met"))
        .with_columns(
            objective=pl.col("weight").replace_strict(
                weights, list(map(objective_name, weights)), return_dtype=pl.String
            )
        )
        .join(
            _limits(weights),
            on=["weight", "filled"],
            how="left",
            maintain_order="left",
            validate="m:1",
        )
    )


def _limits(weights: Iterable[float]) -> pl.DataFrame:
    """What a player's mean payoff can be, and its partner's, by objective and seats filled."""
    rows = []
    for weight in weights:
        game = DealOrNoDeal(objective=weight)
        (own,), (total,) = game.payoff_bounds().values(), game.total_bounds().values()
        one, both = (mean_bounds(own, total, len(PLAYERS), filled) for filled in (1, 2))
        rows += [(weight, 1, *one, *one), (weight, 2, *both, *both)]
    kinds = {"weight": pl.Float64, "filled": pl.Int32} | dict.fromkeys(OWN + THEIRS, pl.Float64)
    return pl.DataFrame(rows, schema=pl.Schema(kinds), orient="row")


def _is(place: str, people: set[str]) -> pl.Expr:
    return pl.col(f"player.{place}").is_in(people)


def _of_match() -> list[pl.Expr]:
    """What a match has as a whole."""
    tokens = pl.when(pl.col("calls") > 0).then(pl.col("output_tokens"))
    return [
        pl.col("match", *DEALS, *MEASURES), pl.col(*SHARES) * 100,
        tokens.cast(pl.Float64).alias("tokens"),
        pl.col("game.objective").cast(pl.Float64).alias("weight"),
    ]  # fmt: skip


def _seats(places: Iterable[str], partners: Iterable[str] = PLAYERS) -> list[pl.Expr]:
    """What the player in these places did and got."""
    places = list(places)
    faults = [
        pl.col(f"kind.{place}.{kind}") for place in places for kind in Kind if kind is not Kind.OK
    ]
    return [
        pl.col(f"player.{places[0]}").alias("player"),
        pl.mean_horizontal([f"payoff.{place}" for place in places]).alias("own"),
        pl.mean_horizontal([f"payoff.{place}" for place in partners]).alias("theirs"),
        pl.lit(len(places), pl.Int32).alias("filled"),
        pl.when(pl.all_horizontal(one.is_not_null() for one in faults))
        .then(pl.any_horizontal(one > 0 for one in faults) * 100.0)
        .alias("erred"),
    ]


def cells(
    sides: Sides,
    frame: pl.DataFrame,
    values: Sequence[str],
    bounds: Mapping[str, Bounds | BoundsColumns],
    by: str = "partner",
) -> pl.DataFrame:
    """One row a cell, each value ``x`` with ``x.low``, ``x.high`` and so on, and ``series``.

    Args:
        sides: where the frame comes from.
        frame: one row an observation, with the columns of ``CELL`` and ``by``.
        values: columns to take means of.
        bounds: the least and the most that values can be.
        by: a column that tells rows of one player and objective apart.
    """
    made = means(frame, values, [*CELL, by], bounds=bounds)
    return ordered(sides, made, by)


def ordered(sides: Sides, frame: pl.DataFrame, by: str = "partner") -> pl.DataFrame:
    """Rows by objective as the paper names them, lineage, iteration and ``by``; with ``series``.

    A series is what the line of a row is called: its lineage where there are several, and ``by``.
    """
    what = pl.col(by).replace(list(WITH), list(WITH.values()))
    if sides.people:
        among = pl.col("player").is_in(list(sides.people)) & (pl.col(by) == ITSELF)
        what = pl.when(among).then(pl.lit(AMONG_PEOPLE)).otherwise(what)
    series = what
    if sides.staged:
        named = pl.format("{}, {}", "lineage", what).str.strip_prefix(", ")
        several = sides.frame.drop_nulls("iteration")["lineage"].n_unique() > 1
        alone = pl.when(pl.col(by) == ITSELF).then("lineage").otherwise(named)
        own = pl.col("iteration").is_not_null()
        series = pl.when(own).then(named if several else what).otherwise(alone)
    return frame.with_columns(series=series).sort(
        place("weight", OBJECTIVES), "weight", "lineage", "iteration", "player",
        place(by, WITH), by, nulls_last=True, maintain_order=True,
    )  # fmt: skip


def place(column: str, known: Iterable[Any]) -> pl.Expr:
    """For sorting: the place of a column's value among those that are known, then all others."""
    values = list(known)
    places = range(len(values))
    return pl.col(column).replace_strict(values, places, default=99, return_dtype=pl.Int64)


def leads(frame: pl.DataFrame, by: str = "partner") -> Callable[[Mapping[str, Any]], Lead | None]:
    """What leads from rows of :func:`cells` to their matches, where a query can tell these."""
    cell = ["player", "weight", by]
    found = frame.group_by(cell, maintain_order=True).agg(
        pl.col("opponent", "configuration").unique().sort()
    )
    places = {tuple(row[:3]): row[3:] for row in found.iter_rows()}

    def lead(row: Mapping[str, Any]) -> Lead | None:
        player, opponents, configurations = row["player"], *places[tuple(row[key] for key in cell)]
        if len(opponents) > 1:
            return None
        query = {"status": "finished", "configuration": ",".join(configurations)}
        if opponents == [player]:
            return Lead(GAME, query | {f"player.{place}": player for place in PLAYERS})
        return Lead(GAME, query | {"player": player, "player.player": opponents[0]})

    return lead
