"""Decisions that players had reason to regret, and one game as it could have been."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, get_args

import polars as pl

from cheaptalk.games.chip_trading.events import Trading
from cheaptalk.games.chip_trading.regret import (
    Decision,
    Part,
    Regret,
    decisions,
    had_it_been_otherwise,
    stocks_held,
)
from cheaptalk.games.chip_trading.stocks import Stock, chips, worth
from cheaptalk.papers.chips.games import GAME, Games, games, outcome_of
from cheaptalk.papers.chips.surplus import INTERVALS, VARIANT
from cheaptalk.records import MatchRecord
from cheaptalk.records.store.queries import some
from cheaptalk.reports.charts.chart import DASHES, Axis, Chart, Lead, Line, Mark, Points, Tone
from cheaptalk.reports.charts.kinds import bars
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import means
from cheaptalk.reports.recipes.parts import Charts, Lacking
from cheaptalk.reports.recipes.tables import Header, ReportTable
from cheaptalk.rules import SHARE, CheaptalkError, counted
from cheaptalk.text import plain

REGRETS: tuple[Regret, ...] = ("no", "unforced", "forced")
TONE: dict[str, Tone] = {"no": 2, "unforced": 0, "forced": "red"}
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
    found = evidence.once(games)
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
    share = "share of decisions"
    yield ReportTable(
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


def shares(found: Games) -> pl.DataFrame:
    """One row a variant, part and player: decisions, and the share of each kind of regret."""
    variant, player = found.order("variant", "player")
    decided = found.decisions.with_columns(
        (pl.col("regret") == kind).cast(pl.Float64).alias(kind) for kind in REGRETS
    ).sort(variant, pl.col("part").cast(pl.Enum(PARTS)), player, maintain_order=True)
    counts = decided.group_by(BY, maintain_order=True).agg(
        pl.len().alias("decisions"), pl.col("match").n_unique().alias("games")
    )
    rates = means(decided, REGRETS, BY, bounds=dict.fromkeys(REGRETS, SHARE))
    return counts.join(rates, on=BY, maintain_order="left", validate="1:1")


def _panel(frame: pl.DataFrame, title: str) -> Chart:
    rows = frame.rows(named=True)
    labels = tuple(f"{row['player']} ({row['decisions']:,})" for row in rows)
    starts, layers = [0.0] * len(rows), []
    for kind in REGRETS:
        lengths = [
            (place, start, start + row[kind],
             f"{kind} regret\n{row['player']}: {row[kind]:.1%} of {_behind(row)}")
            for place, (start, row) in enumerate(zip(starts, rows, strict=True))
        ]  # fmt: skip
        layers.append(bars(lengths, name=f"{kind} regret", tone=TONE[kind]))
        starts = [end for _, _, end, _ in lengths]
    across = Axis("share of decisions", ends=(0, 1), percent=True)
    return Chart(title, "", layers, across, Axis(names=labels))


def _behind(row: Mapping[str, Any]) -> str:
    return f"{counted(row['decisions'], 'decision')} in {counted(row['games'], 'game')}"


COUNTED = (
    "Of the games that show the most kinds of regret it has the most regretted decisions; of "
    "several such it is the first by its id."
)


ValuePath: TypeAlias = list[float]
"""What a player's chips are worth to it before each turn and at the end, in dollars."""
PlayerPath: TypeAlias = tuple[ValuePath, list[tuple[Decision, ValuePath]]]
"""A game as a player lived through it, and its decisions in the sample with what would have been
otherwise."""


def figures_4_and_10(evidence: Evidence) -> Iterator[Charts | ReportTable]:
    """One game, a panel a player. The line is what the player's chips are worth to it; a dot is a
    decision in the sample of regret, in the colour of its regret. A dashed line shows where the
    worth would have gone had a regretted decision been another: given up for the best offer missed
    where the regret is forced, that offer accepted as well where it is unforced, or a declined
    trade accepted. All else stays as it was, less the player's own trades that it could then not
    have paid for. What the chips would have come to without a decision of no regret stands in the
    table.
    """
    found = evidence.once(games)
    record, why = _chosen(evidence, found)
    outcome, size = outcome_of(record), record.parameters["chips"]
    taken = list(decisions(outcome, size, unforced_proposals=evidence.as_published))
    lives = {place: player_path(outcome, size, place, taken) for place in outcome.worths}
    titles = [f"{plain(place).capitalize()}: {record.label(place)}" for place in lives]
    yield Charts(
        "value-paths", f"What chips were worth in game {record.id}",
        list(map(partial(_path_panel, outcome), titles, lives.values())), f"{why} {LEGEND}",
    )  # fmt: skip
    if taken:
        yield _path_table(found, record, outcome, lives)


def _chosen(evidence: Evidence, found: Games) -> tuple[MatchRecord, str]:
    """The game that was asked for, else the most regretted one, and why it is shown."""
    chosen: Any = evidence.options.get("match")
    if chosen is not None:
        if chosen not in set(found.matches["match"]):
            raise CheaptalkError(
                f'match "{chosen}" is no finished game of chip_trading in {evidence.study}; take '
                "an id from the viewer"
            )
        why = "It was asked for."
    else:
        counts = (
            found.decisions.group_by("match", maintain_order=True)
            .agg(pl.col("regret").n_unique().alias("kinds"), (pl.col("regret") != "no").sum())
            .sort("kinds", "regret", "match", descending=[True, True, False])
        )
        chosen = counts["match"][0] if counts.height else found.matches["match"].min()
        why = COUNTED if counts.height else "No decision of any game is in the sample of regret."
    return next(some(evidence.store, evidence.study, [str(chosen)])), why


def player_path(outcome: Trading, size: int, place: str, taken: Sequence[Decision]) -> PlayerPath:
    """How a player's chips, so many of each colour at the start, rose and fell, and would have."""

    def dollars(stocks: Sequence[Stock]) -> ValuePath:
        return [worth(stock, outcome.worths[place]) / 100 for stock in stocks]

    own = [one for one in taken if one.player == place]
    otherwise = [dollars(had_it_been_otherwise(outcome, size, one)) for one in own]
    return dollars(stocks_held(outcome, size, place)), list(zip(own, otherwise, strict=True))


def _path_panel(outcome: Trading, title: str, life: PlayerPath) -> Chart:
    worths, decided = life
    layers: list[Line | Points] = []
    for one, otherwise in decided:
        start = min(one.turn, one.missed or one.turn) - 1
        if one.regret == "no" or otherwise == worths:
            continue
        marks = [
            Mark(turn, worth, f"had turn {one.turn} been otherwise: ${worth:.2f} after turn {turn}",
                 size=1)
            for turn, worth in enumerate(otherwise) if turn >= start
        ]  # fmt: skip
        layers.append(Line(marks, tone="soft", dash=DASHES[1], steps=True))
    path = [Mark(turn, worth) for turn, worth in enumerate(worths)]
    layers.append(Line(path, tone=3, width=2, dots=False, steps=True))
    decisions = [
        Mark(
            one.turn, worths[one.turn],
            f"turn {one.turn}, {one.part}: {one.regret} regret\n{_turn_text(outcome, one.turn)}",
            size=4.5, tone=TONE[one.regret],
        )
        for one, _ in decided
    ]  # fmt: skip
    layers.append(Points(decisions))
    return Chart(
        title, "", layers, Axis("turns played", whole=True), Axis("worth of all chips, dollars"),
    )  # fmt: skip


def _turn_text(outcome: Trading, turn: int) -> str:
    """A turn in words."""
    one = outcome.turns[turn - 1]
    gives = chips(one.proposal.give_amount, one.proposal.give)
    wants = chips(one.proposal.want_amount, one.proposal.want)
    ended = f"trades with {plain(one.partner)}" if one.partner else "nobody accepts"
    return f"{plain(one.proposer)} gives {gives} for {wants}: {ended}"


def _path_table(
    found: Games, record: MatchRecord, outcome: Trading, lives: Mapping[str, PlayerPath]
) -> ReportTable:
    rows = [
        {
            "turn": one.turn, "player": plain(place), "part": one.part,
            "trade": _turn_text(outcome, one.turn), "gain": one.gain / 100, "regret": one.regret,
            "missed": one.missed, "end": worths[-1], "otherwise": otherwise[-1],
        }
        for place, (worths, decided) in lives.items()
        for one, otherwise in decided
    ]  # fmt: skip
    seated = {f"player.{place}": record.label(place) for place in record.seats}
    digests = found.matches.filter(match=record.id)["configuration"]
    lead = Lead(GAME, seated | {"status": "finished", "configuration": digests[0]})
    return ReportTable(
        "value-paths", f"Decisions in game {record.id}",
        pl.DataFrame(rows, schema_overrides={"missed": pl.Int64}).sort("turn", "player"),
        (
            Header("turn", "Turn"),
            Header("player", "Player"),
            Header("part", "Part"),
            Header("trade", "Trade"),
            Header("gain", "Gain", "dollars", 2, "What the trade gained it, or would have."),
            Header("regret", "Regret"),
            Header("missed", "Offer missed", "turn", 0, "When the best offer missed came."),
            Header("end", "At the end", "dollars", 2, "What the player's chips came to be worth."),
            Header("otherwise", "Otherwise", "dollars", 2, "What they would have come to."),
        ),
        f"All of it: cheaptalk show {record.id}",
        leads=lambda _: lead,
    )  # fmt: skip
