"""Anchoring: the correlation of Alice's first offer with her gain (section 4)."""

from collections.abc import Iterator
from math import atanh, tanh
from typing import Any

import numpy as np
import polars as pl

from cheaptalk.papers.glee.families import families, kinds, table
from cheaptalk.papers.glee.regressions import CLUSTER, KINDS, under
from cheaptalk.reports.charts.chart import SERIES, Axis, Chart, Lead, Line, Mark
from cheaptalk.reports.charts.kinds import HIGH, LOW
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Charts, NoData, Shown
from cheaptalk.reports.recipes.tables import CLUSTERS, COUNT
from cheaptalk.rules import counted
from cheaptalk.statistics import StatisticsError, correlation, mean_intervals
from cheaptalk.statistics.columns import with_matching
from cheaptalk.statistics.limits import t_limits
from cheaptalk.text import capital

FIRST = pl.col("first_move")
OFFERS = {
    "bargaining": ("alice_gain", FIRST / pl.col("game_money")),
    "negotiation": ("price", FIRST / pl.col("game_scale") - pl.col("game_seller_factor")),
}
"""The field of Alice's first move with her offer, and her gain if Bob accepted the offer."""
ALL = "all"
LEVEL = 0.95
BINS = 20
"""The number of equal steps of first offers in figures."""


def anchoring(evidence: Evidence) -> Iterator[Shown]:
    """Report Pearson's correlation of Alice's first offer with her final gain.

    The first offer is measured as Alice's gain if Bob accepted it: her share of the money in
    bargaining, and the price minus her value in multiples of M in negotiation. A strong correlation
    means that the first offer anchors Bob. In bargaining, the paper finds 0.63 if Bob is a person
    and Alice a model, and 0.18 in the opposite case (section 4).

    Classical intervals treat matches as independent (Fisher's z). Clustered intervals allow for
    similar matches within a configuration. With a and b the standardised offer and gain, the
    influence of a match on r is ab - r (a² + b²) / 2. The clustered standard error (CR1) of the
    mean influence, divided by 1 - r², is the standard error of Fisher's z.
    """
    frame = evidence.once(first_offers)
    if frame.is_empty():
        raise NoData(
            "no match of bargaining or negotiation has finished; the preset glee has such matches"
        )
    yield Charts(
        "anchoring-figures",
        "Alice's gain by her first offer",
        [_panel(game, part) for (game,), part in frame.group_by("game", maintain_order=True)],
        f"First offers are grouped in {BINS} equal steps from the minimum to the maximum. A dot is "
        "the mean of a step's matches; larger dots have more matches. Colours show Bob's kind.",
    )
    rows = [
        _row(str(game), alice, bob, part)
        for (game,), family in frame.group_by("game", maintain_order=True)
        for alice, bob, part in _groups(family)
    ]
    players = set(frame["player"])
    yield table(
        evidence,
        "anchoring",
        pl.DataFrame(rows, infer_schema_length=None),
        leads=lambda row: Lead(
            row["family"].lower(),
            {"status": "finished"} | ({"player_bob": row["bob"]} if row["bob"] in players else {}),
        ),
    )


def first_offers(evidence: Evidence) -> pl.DataFrame:
    """Return one row per match: the players' kinds, Alice's first ``offer`` and her ``gain``."""
    moves = evidence.moves.select("match_id", "first_move").unique().drop_nulls()
    parts, labels = [], evidence.once(kinds)
    for family in evidence.once(families):
        if family.game in OFFERS:
            field, offer = OFFERS[family.game]
            first = FIRST.str.json_path_match(f"$.{field}").cast(pl.Float64)
            offered = with_matching(family.frame, moves, "match_id").with_columns(first)
            parts.append(
                offered.drop_nulls("first_move").select(
                    pl.lit(family.game).alias("game"),
                    "match_id",
                    *CLUSTER,
                    pl.col("Alice").replace_strict(labels).alias("alice"),
                    pl.col("Bob").replace_strict(labels).alias("bob"),
                    pl.col("Bob").alias("player"),
                    offer.alias("offer"),
                    pl.col("self_gain_alice").alias("gain"),
                )
            )
    return pl.concat(parts) if parts else pl.DataFrame()


def _groups(family: pl.DataFrame) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """Yield groups of matches: all, by both players' kinds, and by the player in Bob's role."""
    yield ALL, ALL, family
    pairs = family.sort("alice", "bob").group_by("alice", "bob", maintain_order=True)
    by_kind = [(str(alice), str(bob), part) for (alice, bob), part in pairs]
    yield from by_kind if len(by_kind) > 1 else ()
    players = family.sort("player").group_by("player", maintain_order=True)
    by_player = [(ALL, str(player), part) for (player,), part in players]
    yield from by_player if len(by_player) > 1 else ()


def _row(game: str, alice: str, bob: str, part: pl.DataFrame) -> dict[str, Any]:
    row: dict[str, Any] = {"family": capital(game), "alice": alice, "bob": bob}
    named = dict.fromkeys(under("r", f"{kind}{end}") for kind in KINDS for end in ("", LOW, HIGH))
    row |= named | {under("r", f"{kind}{COUNT}"): part.height for kind in KINDS}
    try:
        plain = correlation(part, "offer", "gain", interval="fisher", level=LEVEL)
    except StatisticsError:
        return row
    low, high, clusters = _clustered(part, plain.estimate)
    return row | {
        "r": plain.estimate,
        f"r{LOW}": plain.low,
        f"r{HIGH}": plain.high,
        "r clustered": plain.estimate,
        f"r clustered{LOW}": low,
        f"r clustered{HIGH}": high,
        f"r clustered{CLUSTERS}": clusters,
    }


def _clustered(part: pl.DataFrame, r: float) -> tuple[float | None, float | None, int]:
    a, b = (
        (pl.col(name) - pl.col(name).mean()) / pl.col(name).std(ddof=0)
        for name in ("offer", "gain")
    )
    influence = part.select(*CLUSTER, (a * b - r * (a**2 + b**2) / 2).alias("influence"))
    mean = mean_intervals(influence, ["influence"], cluster=CLUSTER).row(0, named=True)
    error, clusters = mean["error"], mean["clusters"]
    if error is None or abs(r) >= 1:
        return None, None, clusters
    low, high = t_limits(atanh(r), error / (1 - r**2), mean["freedom"], LEVEL)
    return tanh(low), tanh(high), clusters


def _panel(game: object, part: pl.DataFrame) -> Chart:
    offers = part["offer"].to_numpy()
    step = (pl.col("offer") - offers.min()) / (np.ptp(offers) or 1) * BINS
    binned = part.with_columns(step.floor().clip(0, BINS - 1).alias("bin"))
    kinds = part["bob"].unique().sort().to_list()[:SERIES]
    layers = [_line(binned.filter(bob=bob), bob, tone) for tone, bob in enumerate(kinds)]
    across = Axis("Alice's first offer: her gain if accepted")
    up = Axis("Alice's gain")
    return Chart(capital(str(game)), "shares of M", layers, across, up, 240)


def _line(part: pl.DataFrame, bob: str, tone: int) -> Line:
    values = pl.col("offer", "gain").mean()
    cells = part.group_by("bin", maintain_order=True).agg(values, pl.len().alias("n")).sort("bin")
    maximum, marks = max(cells["n"]), []
    for offer, gain, n in cells.drop("bin").iter_rows():
        text = f"Bob is {bob}\noffer {offer:.2f}, gain {gain:.2f}\n{counted(n, 'match')}"
        marks.append(Mark(offer, gain, text, size=2 + 5 * (n / maximum) ** 0.5))
    return Line(marks, bob, tone, width=1)
