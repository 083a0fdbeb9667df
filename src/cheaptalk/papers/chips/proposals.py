"""What players propose: what it would gain them, on what terms, and whether it is accepted."""

from collections.abc import Iterator
from math import ceil
from typing import NamedTuple

import polars as pl

from cheaptalk.papers.chips import paper_tables
from cheaptalk.papers.chips.games import Games, games
from cheaptalk.papers.chips.surplus import INTERVALS, VARIANT
from cheaptalk.reports.charts.chart import Axis, Box, Boxes, Chart, Rule
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import means
from cheaptalk.reports.recipes.parts import Charts
from cheaptalk.reports.recipes.tables import Header, ReportTable
from cheaptalk.rules import COUNT, SHARE, counted

BINS = 40
"""Bars on each side of a distribution, at most."""
STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)
"""Widths of a bar, in dollars, of which the narrowest that will do is taken."""
OCTAVE = 4
"""Bars that a ratio passes through until it has doubled."""
TAIL = 0.005
"""The share of proposals on each side that the outermost bars take together."""
PLAYER = Header("player", "Player", about="Who proposed, at whatever table.")
OF = "share of proposals"
GAIN, RATIO = pl.col("gain"), pl.col("ratio")
SINGLE = (RATIO == 1) & (pl.col("chips") == 2)
KINDS = (
    (Header("accepted", "Accepted", OF, 2), pl.col("accepted")),
    (Header("loss", "At a loss", OF, 2, "They would cost their proposer something."), GAIN < 0),
    (Header("nothing", "Of no gain", OF, 2, "They would leave it as it is."), GAIN == 0),
    (Header("even", "Even", OF, 2, "As many chips are given as wanted."), RATIO == 1),
    (Header("single", "One chip for one", OF, 2, "One chip is given for one other."), SINGLE),
    (Header("giving", "Giving more", OF, 2, "More chips are given than wanted."), RATIO > 1),
)
"""Kinds of proposals of which the shares are shown."""


class BarScale(NamedTuple):
    """How a quantity is put into bars.

    Attributes:
        low, high: the places of the first and the last bar.
        width: of a bar, on its axis.
        centred: whether a bar's place is its middle, rather than where it begins.
    """

    low: int
    high: int
    width: float
    centred: bool

    @property
    def middles(self) -> list[float]:
        """Where the bars stand."""
        shift = 0.0 if self.centred else 0.5
        return [(place + shift) * self.width for place in range(self.low, self.high + 1)]


def table_5(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """Each proposal has a gain, what it would bring its proposer if it came to a trade, and a ratio
    of chips given to chips wanted. They are shown apart by whether the proposal led to a trade.
    Means stand with intervals that take games on the same deal as one cluster; deviations are of
    single proposals, as in the paper's table.
    """
    found = evidence.once(games)
    turns = _ordered(found)
    by = ["variant", "player", "outcome"]
    moments = turns.group_by(by, maintain_order=True).agg(
        pl.len().alias("proposals"),
        *(pl.col(name).std().alias(f"{name}_sd") for name in ("gain", "ratio")),
        *(pl.col(name).median().alias(f"{name}_median") for name in ("gain", "ratio")),
    )
    frame = means(turns, ["gain", "ratio"], by, bounds={"ratio": COUNT}).join(
        moments, on=by, maintain_order="left", validate="1:1"
    )
    yield ReportTable(
        "proposals", "Gain and ratio of proposals",
        frame.select("player", pl.exclude("player")),
        (
            PLAYER, VARIANT, Header("outcome", "Proposal"),
            Header("proposals", "Proposals", "", 0),
            Header("gain", "Gain, mean", "dollars", 3),
            Header("gain_sd", "Gain, s.d.", "dollars", 3),
            Header("gain_median", "Gain, median", "dollars", 3),
            Header("ratio", "Ratio, mean", "chips given a chip wanted", 3),
            Header("ratio_sd", "Ratio, s.d.", "", 3),
            Header("ratio_median", "Ratio, median", "", 3),
        ),
        INTERVALS, leads=lambda row: found.lead(row["variant"], player=row["player"]),
    )  # fmt: skip
    yield from paper_tables.proposals(evidence, found, frame)
    yield _kinds(found, turns)


def _kinds(found: Games, turns: pl.DataFrame) -> ReportTable:
    names = [column.key for column, _ in KINDS]
    kinds = turns.with_columns(is_one.cast(pl.Float64).alias(of.key) for of, is_one in KINDS)
    frame = means(kinds, names, ["variant", "player"], bounds=dict.fromkeys(names, SHARE))
    return ReportTable(
        "kinds-of-proposals", "Kinds of proposals", frame.select("player", pl.exclude("player")),
        (PLAYER, VARIANT, *(column for column, _ in KINDS)),
        INTERVALS, leads=lambda row: found.lead(row["variant"], player=row["player"]),
    )  # fmt: skip


def densities(evidence: Evidence) -> Iterator[Charts]:
    """How proposals are spread, for each player: above the line those that led to a trade, below it
    those that nobody accepted. Bars are shares of all that the player proposed, so that its two
    areas compare; every player's tallest bar is drawn as high as the others'. Nothing is smoothed.

    A bar of gains takes what lies above its left end up to its right end, so that bars right of 0
    hold gains only. Ratios stand on a logarithmic axis, on which 2 for 1 is as far from 1 for 1 as
    1 for 2 is. The outermost bars hold all that lies beyond.
    """
    found = evidence.once(games)
    turns = _ordered(found)
    gains = _gain_scale(turns["gain"])
    ratios = turns["ratio"].log(2) * OCTAVE
    low, high = _ends(ratios.round())
    terms = BarScale(int(low), int(high), 1 / OCTAVE, centred=True)
    binned = turns.with_columns(
        gain_bar=((pl.col("gain") / gains.width - 1e-9).ceil() - 1)
        .cast(pl.Int64).clip(gains.low, gains.high),
        ratio_bar=ratios.round().cast(pl.Int64).clip(terms.low, terms.high),
    )  # fmt: skip
    axis = Axis("gain to the proposer, dollars")
    ratio = _ratio_axis(terms)
    for name, title, bar, scale, across in (
        ("gains-of-proposals", "What proposals would gain", "gain_bar", gains, axis),
        ("ratios-of-proposals", "Chips given to chips wanted", "ratio_bar", terms, ratio),
    ):
        parts = [(one.name, binned.filter(variant=one.name)) for one in found.variants]
        panels = [_panel(part, variant, bar, scale, across) for variant, part in parts]
        yield Charts(name, title, panels)


def _ordered(found: Games) -> pl.DataFrame:
    """All proposals, by variant, player and outcome as tables have them."""
    outcome = pl.when("accepted").then(pl.lit("accepted")).otherwise(pl.lit("rejected"))
    turns = found.turns.with_columns(outcome=outcome)
    return turns.sort(*found.order("variant", "player"), "outcome", maintain_order=True)


def _ends(values: pl.Series) -> tuple[float, float]:
    low = values.quantile(TAIL, "nearest")
    high = values.quantile(1 - TAIL, "nearest")
    assert low is not None
    assert high is not None
    return low, high


def _gain_scale(gains: pl.Series) -> BarScale:
    """Bars over all gains but the outermost ones, and over 0."""
    low, high = _ends(gains)
    low, high = min(low, 0.0), max(high, 0.0)
    width = next((one for one in STEPS if (high - low) / one < BINS - 1), (high - low) / BINS)
    return BarScale(
        ceil(low / width - 1e-9) - 1, max(0, ceil(high / width - 1e-9) - 1), width, False
    )


def _ratio_axis(scale: BarScale) -> Axis:
    ticks = range(scale.low // OCTAVE, -(-scale.high // OCTAVE) + 1)
    return Axis(
        "chips given : chips wanted", ticks=tuple((tick, _terms(2.0**tick)) for tick in ticks),
        ends=((scale.low - 1) / OCTAVE, (scale.high + 1) / OCTAVE),
    )  # fmt: skip


def _terms(ratio: float) -> str:
    """A ratio as people write it, the smaller number being 1.

    >>> _terms(0.5), _terms(1.19), _terms(4.0)
    ('1:2', '1.2:1', '4:1')
    """
    return f"1:{1 / ratio:.2g}" if ratio < 1 else f"{ratio:.2g}:1"


def _panel(turns: pl.DataFrame, title: str, bar: str, scale: BarScale, axis: Axis) -> Chart:
    players = turns["player"].unique(maintain_order=True).to_list()
    size = pl.len().over("player")
    groups = turns.with_columns(all=size).group_by("player", "accepted", bar, maintain_order=True)
    tally = groups.agg(
        pl.len().alias("n"), (pl.len() / pl.col("all").first()).alias("share")
    ).sort("player", bar)  # fmt: skip
    tally = tally.with_columns(height=0.46 * pl.col("share") / pl.col("share").max().over("player"))
    layers = [
        _bars(tally.filter(player=player, accepted=accepted), bar, scale, row, accepted)
        for row, player in enumerate(players)
        for accepted in (True, False)
    ]
    return Chart(
        title, "share of a player's proposals", [*layers, Rule(x=0)], axis,
        Axis(names=tuple(players)), 80.0 * len(players),
    )  # fmt: skip


def _bars(tally: pl.DataFrame, bar: str, scale: BarScale, row: int, accepted: bool) -> Boxes:
    """The bars of a player's proposals with one outcome, upwards where they were accepted."""
    said, sign = ("accepted", -1) if accepted else ("rejected", 1)
    boxes = []
    for place, height, share, n in tally.select(bar, "height", "share", "n").iter_rows():
        middle = scale.middles[place - scale.low]
        boxes.append(
            Box(
                (middle - scale.width / 2, middle + scale.width / 2), (row, row + sign * height),
                f"{share:.1%} {said}, {counted(n, 'proposal')}\n{_within(scale, place)}",
            )
        )  # fmt: skip
    return Boxes(boxes, said, 0 if accepted else 1)


def _within(scale: BarScale, place: int) -> str:
    """What a bar holds, in words."""
    ends = [(place + one - (0.5 if scale.centred else 0)) * scale.width for one in (0, 1)]
    if scale.centred:
        low, high = (_terms(2.0**end) for end in ends)
    else:
        low, high = (f"${end:.2f}" for end in ends)
    if place == scale.low:
        return f"up to {high}"
    return f"over {low}" if place == scale.high else f"{low} to {high}"
