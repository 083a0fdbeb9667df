"""Guess the average: what people chose, and what players do who are told of the others."""

from collections.abc import Iterator
from fractions import Fraction

import polars as pl

from cheaptalk.papers.gama import charts as drawing
from cheaptalk.papers.gama.rounds import choices, lines
from cheaptalk.papers.gama.scores import alone, lead
from cheaptalk.reports.charts.chart import Axis, Chart
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import means
from cheaptalk.reports.recipes.parts import Charts, Lacking
from cheaptalk.reports.recipes.tables import Header, ReportTable
from cheaptalk.rules import COUNT
from cheaptalk.statistics import STRATA

NAGEL = (
    "Nagel (1995), Unraveling in Guessing Games, American Economic Review 85(5); 15 to 18 subjects"
)
RUBINSTEIN = (
    "Rubinstein (2007), Instinctive and Cognitive Reasoning, Economic Journal 117(523); "
    "2,423 subjects"
)
PEOPLE = pl.DataFrame(
    [("1/2", 27.05, NAGEL), ("2/3", 36.73, NAGEL), ("4/3", 60.12, NAGEL),
     ("2/3", 36.2, RUBINSTEIN)],
    ("ratio", "first_round", "source"), orient="row",
).with_columns(player=pl.lit("people"))  # fmt: skip
"""The mean of the numbers that people chose first, from 0 to 100, as GAMA-Bench cites it (section
4.3), by what the average was multiplied by; Nagel's groups were of different size."""
GAME = "guess_the_average"
NUMBERS = ("first_round", "mean_number")
TOLD = {
    "nothing": "nothing", "equilibrium": "(a) they always choose the equilibrium",
    "smart": "(b) they are smart", "random": "(c) they choose at random",
}  # fmt: skip
"""What players are told, in the words of the page."""


def people(evidence: Evidence) -> Iterator[ReportTable]:
    """Numbers that players chose alone at their tables beside those that people chose.

    People chose once, so their means are to be held against first rounds; the paper compares them
    with the mean of all rounds, which is shown too. Ranges are 0 to 100 throughout. 95 % intervals
    are clustered by deal (CR1, Student's t); the sources give none for people.
    """
    frame = _alone(evidence).filter(minimum=0, maximum=100, told="nothing")
    if frame.is_empty():
        raise Lacking(
            "no player has guessed the average from 0 to 100 alone at its table; run the preset "
            "gama-settings"
        )
    bounds = dict.fromkeys(NUMBERS, (0.0, 100.0))
    found = means(frame, NUMBERS, ["ratio", "player"], bounds=bounds, strata=STRATA)
    known = PEOPLE.filter(pl.col("ratio").is_in(found["ratio"].implode()))
    every = pl.concat([found.with_columns(source=pl.lit("")), known], how="diagonal")
    order = pl.Series([float(Fraction(ratio)) for ratio in every["ratio"]])
    columns = (
        Header("ratio", "Ratio"), Header("player", "Player"),
        Header("first_round", "First round", "mean", 1),
        Header("mean_number", "All rounds", "mean", 1),
        Header("source", "Source"),
    )  # fmt: skip
    yield ReportTable(
        "numbers-and-people", "Numbers beside people's",
        every.sort(order, pl.col("player") == "people", "player"), columns,
        leads=lambda row: lead(frame.filter(ratio=row["ratio"]), GAME, row["player"]),
    )  # fmt: skip


def _alone(evidence: Evidence) -> pl.DataFrame:
    """The matches of guess the average in which one player fills all seats."""
    runs = evidence.once(alone).filter(game=GAME).select("match", "player", "game", "seats")
    if runs.is_empty():
        raise Lacking("no player has guessed the average alone at its table; run the preset gama")
    names = {f"game.{name}": name for name in ("minimum", "maximum", "ratio", "told")}
    keep = ["match", "configuration", "deal", *NUMBERS]
    scored = evidence.scored(GAME).select(*keep, *names).rename(names)
    return scored.join(runs, on="match", maintain_order="left", validate="1:1")


def told(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """How players guess who are told of the others: appendix G's settings (a) to (c).

    They are told, true or not, that the others will always choose the equilibrium (a), that they
    are smart (b), or that they choose at random (c); or nothing. The table shows the mean number in
    the first round and over all rounds, and in how many rounds of a match, on average, all chose
    the least number. Lines are means over seats and matches, by round. Each ratio stands apart.
    """
    frame = _alone(evidence).filter(pl.col("told").n_unique().over("ratio") > 1)
    if frame.is_empty():
        raise Lacking(
            "guess the average was not played alone with players told different things; give it "
            "the grid told: [nothing, equilibrium, smart, random]"
        )
    seats = choices(evidence, GAME).join(
        frame.select("match", "ratio", "told", "minimum"),
        on="match",
        validate="m:1",
        maintain_order="left",
    )
    least = (
        seats.group_by("match", "round", maintain_order=True)
        .agg((pl.col("choice") == pl.col("minimum")).all())
        .group_by("match", maintain_order=True)
        .agg(pl.col("choice").cast(pl.Int64).sum().alias("least"))
    )  # fmt: skip
    by, values = ["ratio", "player", "told"], [*NUMBERS, "least"]
    bounds = dict.fromkeys(NUMBERS, ("minimum", "maximum")) | {"least": COUNT}
    found = means(
        frame.join(least, on="match", how="left", validate="1:1", maintain_order="left"),
        values,
        by,
        bounds=bounds,
        strata=STRATA,
    )
    order = pl.col("told").replace_strict(list(TOLD), range(len(TOLD)))
    shown = found.sort("ratio", "player", order).with_columns(pl.col("told").replace_strict(TOLD))
    columns = (
        Header("player", "Player"), Header("told", "Told of the others"), Header("ratio", "Ratio"),
        Header("first_round", "First round", "mean", 1),
        Header("mean_number", "All rounds", "mean", 1),
        Header("least", "All at the least number", "rounds", 1),
    )  # fmt: skip
    told_of = {words: short for short, words in TOLD.items()}
    yield ReportTable(
        "told-of-others", "Told of the others", shown, columns,
        leads=lambda row: lead(
            frame.filter(ratio=row["ratio"], told=told_of[row["told"]]), GAME, row["player"]
        ),
    )  # fmt: skip
    line = lines(seats, GAME, ["player", "ratio", "told"])
    pairs = line.group_by("player", "ratio", maintain_order=True)
    panels = [_panel(str(who), str(ratio), part) for (who, ratio), part in pairs]
    yield Charts("told-of-others", "Numbers by round", panels)


def _panel(player: str, ratio: str, line: pl.DataFrame) -> Chart:
    told = [one for one in TOLD if one in set(line["told"])]
    layers = [
        drawing.line(one, line.filter(told=one).to_dicts(), list(TOLD).index(one)) for one in told
    ]
    across, up = Axis("round", whole=True), Axis(zero=True)
    return Chart(f"{player}, ratio {ratio}", "", layers, across, up)
