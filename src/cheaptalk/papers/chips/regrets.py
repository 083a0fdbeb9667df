"""What players regret of what they did, seen from the end of their games."""

from collections.abc import Iterator
from typing import get_args

import polars as pl

from cheaptalk.games.chip_trading.regret import Part, Regret
from cheaptalk.papers.chips.games import Games, games
from cheaptalk.papers.chips.proposals import VARIANT
from cheaptalk.papers.chips.surplus import INTERVALS
from cheaptalk.reports.figures import COLOURS, Panel, Trace, short
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import means
from cheaptalk.reports.recipes.parts import Charts, Header, Lacking, ReportTable
from cheaptalk.rules import SHARE, counted

REGRETS: tuple[Regret, ...] = ("no", "unforced", "forced")
COLOUR: dict[str, str] = dict(zip(REGRETS, (COLOURS[2], COLOURS[0], COLOURS[1]), strict=True))
"""Green, blue and red, as in figure 5."""
LEGEND = "Green: no regret; blue: unforced regret; red: forced regret."
UNFORCED = {
    True: "Proposals can be of unforced regret here.",
    False: "Proposals of unforced regret count as of none.",
}
PARTS: tuple[Part, ...] = get_args(Part)
BY = ["variant", "part", "player"]


def figure_5(evidence: Evidence) -> Iterator[Charts | ReportTable]:
    """Decisions are judged by what came later. In the sample are proposals that led to a trade, and
    answers to proposals that the player could pay for, all of them only where the trade would gain
    the player something; who was willing to accept counts as an acceptor, chosen or not.

    A trade made or accepted is held against the best offer that came later, would have gained more
    and was not accepted. Could the player have paid for it, the regret is unforced; could it have
    but for this very trade, it is forced; otherwise there is none. A trade declined is of unforced
    regret if the player's chips would be worth more at the end had it been accepted. By footnote 13
    of the paper proposals are never of unforced regret, though its discussion of figure 5 speaks of
    it: measured as published, they can be.
    """
    found = games(evidence)
    if found.decisions.is_empty():
        raise Lacking(
            "no decision of these games is in the sample: nobody made a trade that gained, or "
            "answered a proposal that would have; let the games have more rounds or other players"
        )
    frame = shares(found)
    yield Charts(
        "regret", "Decisions by their regret",
        [_panel(frame.filter(variant=one, part=part), f"{part.capitalize()}s, {one}")
         for one in frame["variant"].unique(maintain_order=True) for part in PARTS
         if not frame.filter(variant=one, part=part).is_empty()],
        f"{LEGEND} Shares are of the decisions in the sample, whose number stands behind the "
        f"player's name. {UNFORCED[evidence.as_published]}",
    )  # fmt: skip
    yield _table(found, frame)


def shares(found: Games) -> pl.DataFrame:
    """One row a variant, part and player: decisions, and the share of each kind of regret."""
    decided = found.decisions.with_columns(
        place=pl.col("variant").cast(pl.Enum([one.name for one in found.variants])),
        role=pl.col("part").cast(pl.Enum(PARTS)),
        who=pl.col("player").cast(pl.Enum(found.players)),
        **{kind: (pl.col("regret") == kind).cast(pl.Float64) for kind in REGRETS},
    ).sort("place", "role", "who", maintain_order=True)
    counts = decided.group_by(BY, maintain_order=True).agg(
        pl.len().alias("decisions"), pl.col("match").n_unique().alias("games")
    )
    rates = means(decided, REGRETS, BY, bounds=dict.fromkeys(REGRETS, SHARE))
    return counts.join(rates, on=BY, maintain_order="left")


def _panel(frame: pl.DataFrame, title: str) -> Panel:
    rows = frame.rows(named=True)[::-1]
    labels = [f"{short(row['player'])} ({row['decisions']:,})" for row in rows]
    data: list[Trace] = [
        {
            "type": "bar", "orientation": "h", "name": f"{kind} regret",
            "y": labels, "x": [row[kind] for row in rows],
            "marker": {"color": COLOUR[kind], "line": {"width": 0}}, "width": 0.7,
            "text": [
                f"{row['player']}: {row[kind]:.1%} of {counted(row['decisions'], 'decision')}"
                f" in {counted(row['games'], 'game')}"
                for row in rows
            ],
            "textposition": "none", "hovertemplate": f"{kind} regret<br>%{{text}}<extra></extra>",
        }
        for kind in REGRETS
    ]  # fmt: skip
    layout = {
        "barmode": "stack",
        "xaxis": {"title": {"text": "share of decisions"}, "tickformat": ".0%", "range": [0, 1]},
        "yaxis": {"type": "category"},
    }
    return Panel(title, "", 80 + 28 * len(rows), data, layout)


def _table(found: Games, frame: pl.DataFrame) -> ReportTable:
    share = "share of decisions"
    return ReportTable(
        "regret-of-decisions", "Regret of decisions", frame.select("player", pl.exclude("player")),
        (
            Header("player", "Player", about="Whose decisions they are, at whatever table."),
            VARIANT,
            Header("part", "Part"),
            Header("decisions", "Decisions", "in the sample", 0),
            *(Header(kind, f"{kind.capitalize()} regret", share, 3) for kind in REGRETS),
        ),
        INTERVALS, leads=lambda row: found.lead(row["variant"], player=row["player"]),
    )  # fmt: skip
