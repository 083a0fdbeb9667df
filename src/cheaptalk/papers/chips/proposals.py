"""Players' proposals: gains, ratios of chips, and acceptance."""

from collections.abc import Iterator
from math import ceil
from typing import NamedTuple

import polars as pl

from cheaptalk.papers.chips.games import Games, games, paper_rows, shown, table
from cheaptalk.reports.charts.chart import Axis, Box, Boxes, Chart, Rule
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import means
from cheaptalk.reports.recipes.parts import Charts, Shown
from cheaptalk.reports.recipes.tables import ERROR
from cheaptalk.rules import COUNT, SHARE, counted
from cheaptalk.statistics.columns import with_matching

BINS = 40
"""The maximum number of bars on each side of a distribution."""
STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)
"""Possible bar widths in dollars; the narrowest that fits is used."""
OCTAVE = 4
"""The number of bars per doubling of a ratio."""
TAIL = 0.005
"""The minimum share of proposals in the outermost bar on each side."""
GAIN, RATIO = pl.col("gain"), pl.col("ratio")
KINDS = {
    "accepted": pl.col("accepted"),
    "loss": GAIN < 0,
    "nothing": GAIN == 0,
    "even": RATIO == 1,
    "single": (RATIO == 1) & (pl.col("chips") == 2),
    "giving": RATIO > 1,
}


class BarScale(NamedTuple):
    """The bars of a histogram, from index ``low`` to ``high``; ``width`` is in units of the axis.

    If ``centred``, an index marks the middle of a bar, and otherwise the left end.
    """

    low: int
    high: int
    width: float
    centred: bool

    def ends(self, index: int) -> tuple[float, float]:
        """Return the left and the right end of a bar."""
        start = index - 0.5 * self.centred
        return start * self.width, (start + 1) * self.width


def table_5(evidence: Evidence) -> Iterator[Shown]:
    """Report gains and chip ratios of accepted and rejected proposals.
    The gain is the value of the trade to the proposer; the ratio is the number of chips given per
    chip requested. Intervals of means are clustered by instance and participant. As in the paper,
    standard deviations are over single proposals.
    """
    data = evidence.once(games)
    turns = _ordered(data)
    by = ["variant", "player", "outcome"]
    values = pl.col("gain", "ratio")
    moments = turns.group_by(by, maintain_order=True).agg(
        pl.len().alias("proposals"),
        values.std().name.suffix("_sd"),
        values.median().name.suffix("_median"),
    )
    frame = with_matching(means(turns, ["gain", "ratio"], by, bounds={"ratio": COUNT}), moments, by)
    kinds = turns.with_columns(**{name: kind.cast(pl.Float64) for name, kind in KINDS.items()})
    shares = means(kinds, [*KINDS], ["variant", "player"], bounds=dict.fromkeys(KINDS, SHARE))
    first, last = (
        table(
            evidence,
            name,
            rows.select("player", pl.exclude("player")),
            leads=lambda row: data.lead(row["variant"], player=row["player"]),
        )
        for name, rows in (("proposals", frame), ("kinds-of-proposals", shares))
    )
    yield first
    if players := shown(evidence, data.players):
        rows = paper_rows(frame, players, "player")
        numbers = (
            column
            for key in ("gain", "ratio")
            for column in (key, pl.col(f"{key}_sd").alias(f"{key}{ERROR}"), f"{key}_median")
        )
        variant = pl.col("variant").str.replace_all(" colours", "-chip", literal=True)
        outcome = pl.col("outcome").str.to_titlecase()
        rows = rows.sort(*data.order("variant"), maintain_order=True)
        yield table(evidence, "table-5", rows.select(variant, "player", outcome, *numbers))
    yield last


def densities(evidence: Evidence) -> Iterator[Charts]:
    """Show the distribution of each player's proposals as bars.
    Accepted proposals are above the line and rejected proposals below. Bars are shares of all
    proposals of a player, without smoothing. The tallest bars of all players have the same height.

    A bar of gains excludes its left end and includes its right end, so that bars to the right of 0
    contain only gains. Ratios have a logarithmic axis, on which 2 for 1 and 1 for 2 are equally far
    from 1 for 1. The outermost bars contain all values beyond them.
    """
    data = evidence.once(games)
    turns = _ordered(data)
    low, high = _ends(turns["gain"])
    low, high = min(low, 0.0), max(high, 0.0)
    width = next((step for step in STEPS if (high - low) / step < BINS - 1), (high - low) / BINS)
    first, last = (ceil(end / width - 1e-9) - 1 for end in (low, high))
    gains = BarScale(first, max(0, last), width, centred=False)
    ratios = turns["ratio"].log(2) * OCTAVE
    low, high = _ends(ratios.round())
    terms = BarScale(int(low), int(high), 1 / OCTAVE, centred=True)
    ticks = range(-((1 - terms.low) // OCTAVE), (terms.high + 1) // OCTAVE + 1)
    ratio = Axis(
        "chips given : chips requested",
        ticks=tuple((tick, _terms(2.0**tick)) for tick in ticks),
        ends=((terms.low - 1) / OCTAVE, (terms.high + 1) / OCTAVE),
    )
    binned = turns.with_columns(
        gain_bar=((pl.col("gain") / gains.width - 1e-9).ceil() - 1)
        .cast(pl.Int64)
        .clip(gains.low, gains.high),
        ratio_bar=ratios.round().cast(pl.Int64).clip(terms.low, terms.high),
    )
    axis = Axis("gain to the proposer, dollars")
    for name, title, bar, scale, across in (
        ("gains-of-proposals", "Gains of proposals", "gain_bar", gains, axis),
        ("ratios-of-proposals", "Chips given per chip requested", "ratio_bar", terms, ratio),
    ):
        parts = [(each.name, binned.filter(variant=each.name)) for each in data.variants]
        panels = [_panel(part, variant, bar, scale, across) for variant, part in parts]
        yield Charts(name, title, panels)


def _ordered(data: Games) -> pl.DataFrame:
    outcome = pl.when("accepted").then(pl.lit("accepted")).otherwise(pl.lit("rejected"))
    turns = data.turns.with_columns(outcome=outcome)
    return turns.sort(*data.order("variant", "player"), "outcome", maintain_order=True)


def _ends(values: pl.Series) -> tuple[float, float]:
    low, high = (values.quantile(share, "nearest") for share in (TAIL, 1 - TAIL))
    assert low is not None
    assert high is not None
    return low, high


def _terms(ratio: float) -> str:
    """Format a ratio of chips with 1 as the smaller number.

    >>> _terms(0.5), _terms(1.19), _terms(4.0)
    ('1:2', '1.2:1', '4:1')
    """
    return f"1:{1 / ratio:.2g}" if ratio < 1 else f"{ratio:.2g}:1"


def _panel(turns: pl.DataFrame, title: str, bar: str, scale: BarScale, axis: Axis) -> Chart:
    players = turns["player"].unique(maintain_order=True).to_list()
    size = pl.len().over("player")
    groups = turns.with_columns(all=size).group_by("player", "accepted", bar, maintain_order=True)
    tally = groups.agg(n=pl.len(), share=pl.len() / pl.col("all").first()).sort("player", bar)
    tally = tally.with_columns(height=0.46 * pl.col("share") / pl.col("share").max().over("player"))
    layers = [
        _bars(tally.filter(player=player, accepted=accepted), bar, scale, row, accepted)
        for row, player in enumerate(players)
        for accepted in (True, False)
    ]
    return Chart(
        title,
        "share of a player's proposals",
        [*layers, Rule(x=0)],
        axis,
        Axis(names=tuple(players)),
        80.0 * len(players),
    )


def _bars(tally: pl.DataFrame, bar: str, scale: BarScale, row: int, accepted: bool) -> Boxes:
    """Bars of accepted proposals point upwards, and bars of rejected proposals downwards."""
    outcome, sign = ("accepted", -1) if accepted else ("rejected", 1)
    boxes = []
    for index, height, share, n in tally.select(bar, "height", "share", "n").iter_rows():
        text = f"{share:.1%} {outcome}, {counted(n, 'proposal')}\n{_within(scale, index)}"
        boxes.append(Box(scale.ends(index), (row, row + sign * height), text))
    return Boxes(boxes, outcome, 0 if accepted else 1)


def _within(scale: BarScale, index: int) -> str:
    write = (lambda end: _terms(2.0**end)) if scale.centred else "${:.2f}".format
    low, high = map(write, scale.ends(index))
    if index == scale.low:
        return f"up to {high}"
    return f"over {low}" if index == scale.high else f"{low} to {high}"
