"""Guess the average: comparison with people, and play with information about other players."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import polars as pl

from cheaptalk.papers.gama.rounds import choices, lines, mean_line
from cheaptalk.papers.gama.scores import lead, single_player_runs, table
from cheaptalk.papers.printed import position
from cheaptalk.reports.charts.chart import Axis, Chart
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import means
from cheaptalk.reports.recipes.parts import Charts, NoData, Shown
from cheaptalk.reports.recipes.tables import ReportTable
from cheaptalk.rules import COUNT
from cheaptalk.statistics import STRATA
from cheaptalk.statistics.columns import with_matching

PEOPLE = pl.read_csv(Path(__file__).with_name("people.csv")).with_columns(player=pl.lit("people"))
"""People's mean number in the first round, from 0 to 100, as cited by GAMA-Bench (section 4.3)."""
GAME = "guess_the_average"
NUMBERS = ("first_round", "mean_number")
TOLD = {
    "nothing": "nothing",
    "equilibrium": "(a) they always choose the equilibrium",
    "smart": "(b) they are smart",
    "random": "(c) they choose at random",
}
"""Readable names of the information that players receive."""


def people(evidence: Evidence) -> Iterator[ReportTable]:
    """Compare the numbers chosen by a player that fills all seats with those chosen by people.

    People chose once, so compare their means with first rounds. The paper compares them with the
    mean of all rounds, which is also shown. Numbers range from 0 to 100. 95 % confidence intervals
    are clustered by instance (CR1, Student's t); the sources report no intervals for people.
    """
    frame = _single_player_matches(evidence).filter(minimum=0, maximum=100, told="nothing")
    if frame.is_empty():
        raise NoData(
            "guess the average from 0 to 100: no match of one player in all seats; the "
            "preset gama-settings has such matches"
        )
    bounds = dict.fromkeys(NUMBERS, (0.0, 100.0))
    averages = means(frame, NUMBERS, ["ratio", "player"], bounds=bounds, strata=STRATA)
    human = PEOPLE.filter(pl.col("ratio").is_in(averages["ratio"].implode()))
    combined = pl.concat([averages.with_columns(source=pl.lit("")), human], how="diagonal")
    order = pl.Series([float(Fraction(ratio)) for ratio in combined["ratio"]])
    yield table(
        evidence,
        "numbers-and-people",
        combined.sort(order, pl.col("player") == "people", "player"),
        leads=lambda row: lead(frame.filter(ratio=row["ratio"]), GAME, row["player"]),
    )


def _single_player_matches(evidence: Evidence) -> pl.DataFrame:
    runs = (
        evidence.once(single_player_runs)
        .filter(game=GAME)
        .select("match_id", "player", "game", "seats")
    )
    if runs.is_empty():
        raise NoData(
            "guess the average: no match of one player in all seats; the "
            "preset gama has such matches"
        )
    names = {f"game_{name}": name for name in ("minimum", "maximum", "ratio", "told")}
    keep = ["match_id", "configuration", "instance", *NUMBERS]
    scored = evidence.scored(GAME).select(*keep, *names).rename(names)
    return scored.join(runs, on="match_id", maintain_order="left", validate="1:1")


def told(evidence: Evidence) -> Iterator[Shown]:
    """Report the numbers that players choose if prompts describe the other players (appendix G).

    The prompt states, truthfully or not, that the other players always choose the equilibrium (a),
    are smart (b) or choose at random (c). The table shows the mean number in the first round and
    over all rounds, and the mean number of rounds in which all players chose the minimum. Lines are
    means over seats and matches by round, separately for each ratio.
    """
    frame = _single_player_matches(evidence).filter(pl.col("told").n_unique().over("ratio") > 1)
    if frame.is_empty():
        raise NoData(
            "no player in all seats of guess the average played with different information; add "
            "the grid told: [nothing, equilibrium, smart, random]"
        )
    settings = frame.select("match_id", "ratio", "told", "minimum")
    seats = choices(evidence, GAME).join(
        settings, on="match_id", validate="m:1", maintain_order="left"
    )
    at_minimum = (
        seats.group_by("match_id", "round", maintain_order=True)
        .agg((pl.col("choice") == pl.col("minimum")).all())
        .group_by("match_id", maintain_order=True)
        .agg(pl.col("choice").cast(pl.Int64).sum().alias("least"))
    )
    by, values = ["ratio", "player", "told"], [*NUMBERS, "least"]
    bounds = dict.fromkeys(NUMBERS, ("minimum", "maximum")) | {"least": COUNT}
    joined = with_matching(frame, at_minimum, "match_id")
    averages = means(joined, values, by, bounds=bounds, strata=STRATA)
    averages = averages.sort("ratio", "player", position("told", TOLD))
    shown = averages.with_columns(pl.col("told").replace_strict(TOLD))
    keys = {text: key for key, text in TOLD.items()}
    yield table(
        evidence,
        "claims-about-others",
        shown,
        leads=lambda row: lead(
            frame.filter(ratio=row["ratio"], told=keys[row["told"]]), GAME, row["player"]
        ),
    )
    line = lines(seats, GAME, ["player", "ratio", "told"])
    panels, across = [], Axis("round", integer=True)
    for (player, ratio), part in line.group_by("player", "ratio", maintain_order=True):
        layers = [
            mean_line(key, part.filter(told=key).to_dicts(), index)
            for index, key in enumerate(TOLD)
            if key in set(part["told"])
        ]
        panels.append(Chart(f"{player}, ratio {ratio}", "", layers, across, Axis(zero=True)))
    yield Charts("claims-about-others", "Numbers by round", panels)
