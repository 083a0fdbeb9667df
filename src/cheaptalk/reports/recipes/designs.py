"""Designs with several treatments per participant: orders, and effects of order and treatment."""

from collections.abc import Iterator, Sequence

import polars as pl

from cheaptalk.frames.people import read_plays
from cheaptalk.reports.charts.kinds import HIGH, LOW
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import means
from cheaptalk.reports.recipes.parts import Answer, NoData, Shown
from cheaptalk.reports.recipes.tables import (
    CLUSTERS,
    COUNT,
    ERROR,
    Header,
    ReportTable,
    counts,
    texts,
)
from cheaptalk.rules import counted, game_title
from cheaptalk.statistics import StatisticsError, ols

UNIT = "the game's unit"
EFFECT = {"estimate": "", "low": LOW, "high": HIGH, "error": ERROR, "n": COUNT}
"""The suffix of a column's name for each column of a regression's frame."""


def orders(evidence: Evidence) -> Iterator[Shown]:
    """Show how often each order of treatments was used, and results by treatment and position."""
    plays = read_plays(evidence.store, evidence.study).drop_nulls("sequence")
    plays = plays.filter(pl.col("sequence").str.contains(" > ", literal=True))
    if plays.is_empty():
        raise NoData("no participant has an order of treatments")
    finished = pl.col("state") == "finished"
    people = plays.group_by("participant", "sequence", maintain_order=True).agg(
        games=finished.sum()
    )
    by_order = people.group_by("sequence", maintain_order=True).agg(
        people=pl.len(), completed=(pl.col("games") == people["games"].max()).sum()
    )
    completed = {*by_order["completed"]}
    each = " to ".join(map(str, sorted({min(completed), max(completed)})))
    used = counted(by_order.height, "order")
    yield Answer(
        f"Participants played the treatments in {used}; {each} participants per order played all "
        "games.",
        f"{used} of treatments",
    )
    columns = (
        *texts(sequence="Order"),
        *counts("people", people="Participants", completed="Played all games"),
    )
    yield ReportTable("people-by-order", "Orders of treatments", by_order.sort("sequence"), columns)
    results = plays.filter(finished).drop_nulls("payoff")
    if results.height:
        yield from payoffs(results.with_columns(position=pl.col("number").cast(pl.String)))


def payoffs(results: pl.DataFrame) -> Iterator[ReportTable]:
    """Show payoffs by treatment and position, and the effects of both."""
    grouped = results["matching_group"].null_count() == 0
    cluster = ("matching_group",) if grouped else ("participant",)
    units = ("game", "group" if grouped else "participant")
    key = ["game", "treatment", "position"]
    title = pl.col("game").map_elements(game_title, pl.String).alias("title")
    by_number = ("game", "treatment", pl.col("position").cast(pl.Int64))
    cells = means(results, ["payoff"], key, cluster=cluster).sort(by_number).with_columns(title)
    game, treatment, position = texts(title="Game", treatment="Treatment", position="Position")
    mean = Header("payoff", "Mean payoff", UNIT, 2)
    yield ReportTable(
        "payoffs-by-position",
        "Payoffs by treatment and position",
        cells,
        (game, treatment, position, mean),
        counts=units,
    )
    effects = [row for part in results.partition_by("game") for row in _effects(part, cluster)]
    if effects:
        columns = (
            *texts(title="Game", name="Factor", level="Level", over="Compared with"),
            Header("effect", "Effect on payoffs", UNIT, 2),
            Header("p", "p", "of no effect", 3),
        )
        frame = pl.DataFrame(effects, infer_schema_length=None).with_columns(title)
        yield ReportTable(
            "effects-of-position", "Effects of treatment and position", frame, columns, counts=units
        )


def _effects(results: pl.DataFrame, cluster: Sequence[str]) -> Iterator[dict[str, object]]:
    """Yield the effects of treatment and position on payoffs in a game, if they are identified."""
    factors = [name for name in ("treatment", "position") if results[name].n_unique() > 1]
    reference = {name: results[name].sort()[0] for name in factors}
    try:
        fit = ols(results, "payoff", factors, reference=reference, cluster=cluster)
    except StatisticsError:
        return
    for factor in factors:
        frame = fit.frame.filter(factor=factor)
        (over,) = frame.filter("reference")["level"]
        for row in frame.filter(~pl.col("reference")).iter_rows(named=True):
            yield {
                "game": results["game"][0],
                "name": factor.capitalize(),
                "level": row["level"],
                "over": over,
                "p": row["p"],
                **{f"effect{suffix}": row[name] for name, suffix in EFFECT.items()},
                f"effect{CLUSTERS}": fit.clusters,
            }
