"""Regret of decisions in chip trading, and the value of a player's chips under other decisions."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias, get_args

import polars as pl

from cheaptalk.games.chip_trading.regret import (
    Decision,
    Part,
    Regret,
    counterfactual_stocks,
    decisions,
    stocks_held,
)
from cheaptalk.games.chip_trading.rules import Stock, Trading, chips, worth
from cheaptalk.papers.chips.games import GAME, Games, games, table
from cheaptalk.records import MatchRecord
from cheaptalk.records.store.queries import read_records
from cheaptalk.reports.charts.chart import DASHES, Axis, Chart, Lead, Line, Mark, Points, Tone
from cheaptalk.reports.charts.kinds import bars
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import means
from cheaptalk.reports.recipes.parts import Charts, NoData, Shown
from cheaptalk.rules import SHARE, CheaptalkError, counted
from cheaptalk.statistics.columns import with_matching
from cheaptalk.text import plain

REGRETS: tuple[Regret, ...] = ("no", "unforced", "forced")
TONE: dict[str, Tone] = {"no": 2, "unforced": 0, "forced": "red"}
"""The colours of Figure 5: green, blue and red."""
LEGEND = "Green: no regret; blue: unforced regret; red: forced regret."
UNFORCED = {
    True: "Proposals can have unforced regret here.",
    False: "Proposals with unforced regret count as decisions without regret.",
}
PARTS: tuple[Part, ...] = get_args(Part)
BY = ["variant", "part", "player"]


def figure_5(evidence: Evidence) -> Iterator[Shown]:
    """Classify decisions by the player's regret about later offers.
    The sample contains proposals that led to a trade, and answers to proposals that the player
    could pay for, if the trade would have been a gain to the player. Every player who accepted
    counts as an acceptor, even if not chosen.

    A trade that was made or accepted is compared with the best later offer that would have gained
    more and was not accepted. The regret is unforced if the player could have paid for that offer,
    forced if only this trade made it unaffordable, and none otherwise. A declined trade has
    unforced regret if accepting it would have left the player with chips of a higher value at the
    end. According to the paper's footnote 13, proposals never have unforced regret, but the
    discussion of Figure 5 mentions unforced regret of proposals. The option ``--as-published``
    includes it.
    """
    data = evidence.once(games)
    if data.decisions.is_empty():
        raise NoData(
            "no decision of these games is in the sample: no player gained from a trade or "
            "answered a proposal that would have been a gain; use more rounds or other players"
        )
    frame = shares(data)
    yield Charts(
        "regret",
        "Decisions by their regret",
        [
            _panel(frame.filter(variant=variant, part=part), f"{part.capitalize()}s, {variant}")
            for variant in frame["variant"].unique(maintain_order=True)
            for part in PARTS
            if not frame.filter(variant=variant, part=part).is_empty()
        ],
        f"{LEGEND} Bars show shares of the decisions in the sample; their number follows the "
        f"player's name. {UNFORCED[evidence.as_published]}",
    )
    yield table(
        evidence,
        "regret-of-decisions",
        frame.select("player", pl.exclude("player")),
        leads=lambda row: data.lead(row["variant"], player=row["player"]),
    )


def shares(data: Games) -> pl.DataFrame:
    """Return the number of decisions and the share of each regret by variant, role and player."""
    variant, player = data.order("variant", "player")
    judged = data.decisions.with_columns(
        (pl.col("regret") == kind).cast(pl.Float64).alias(kind) for kind in REGRETS
    ).sort(variant, pl.col("part").cast(pl.Enum(PARTS)), player, maintain_order=True)
    counts = judged.group_by(BY, maintain_order=True).agg(
        pl.len().alias("decisions"), pl.col("match_id").n_unique().alias("games")
    )
    return with_matching(
        counts, means(judged, REGRETS, BY, bounds=dict.fromkeys(REGRETS, SHARE)), BY
    )


def _panel(frame: pl.DataFrame, title: str) -> Chart:
    rows = frame.rows(named=True)
    labels = tuple(f"{row['player']} ({row['decisions']:,})" for row in rows)
    starts, layers = [0.0] * len(rows), []
    for kind in REGRETS:
        lengths = []
        for index, (start, row) in enumerate(zip(starts, rows, strict=True)):
            sample = f"{counted(row['decisions'], 'decision')} in {counted(row['games'], 'game')}"
            text = f"{kind} regret\n{row['player']}: {row[kind]:.1%} of {sample}"
            lengths.append((index, start, start + row[kind], text))
        layers.append(bars(lengths, name=f"{kind} regret", tone=TONE[kind]))
        starts = [end for _, _, end, _ in lengths]
    across = Axis("share of decisions", ends=(0, 1), percent=True)
    return Chart(title, "", layers, across, Axis(names=labels))


SELECTION_NOTE = "Among games with the most kinds of regret, this game has the most regrets."
ValuePath: TypeAlias = list[float]
"""The value of a player's chips to that player before each turn and at the end, in dollars."""
PlayerPath: TypeAlias = tuple[ValuePath, list[tuple[Decision, ValuePath]]]
"""A player's value path, and each decision with the counterfactual value path."""


def figures_4_and_10(evidence: Evidence) -> Iterator[Shown]:
    """Show one game, with a panel per player.
    The line is the value of the player's chips to this player. Dots are decisions in the regret
    sample, coloured by regret. A dashed line shows the value with another decision. With forced
    regret, the player replaces the trade by the best missed offer. With unforced regret, the player
    also accepts that offer, or accepts the declined trade. Everything else remains the same, except
    for trades that the player could no longer pay for. For decisions without regret, the table
    shows the final value without the trade.
    """
    data = evidence.once(games)
    record, reason = _select_game(evidence, data)
    outcome, size = Trading.model_validate(record.outcome), record.parameters["chips"]
    judged = list(decisions(outcome, size, unforced_proposals=evidence.as_published))
    paths = {seat: player_path(outcome, size, seat, judged) for seat in outcome.worths}
    titles = [f"{plain(seat).capitalize()}: {record.label(seat)}" for seat in paths]
    yield Charts(
        "value-paths",
        f"Value of chips in game {record.id}",
        list(map(partial(_path_panel, outcome), titles, paths.values())),
        f"{reason} {LEGEND}",
    )
    if judged:
        rows = [
            {
                "turn": decision.turn,
                "player": plain(seat),
                "part": decision.part,
                "trade": _turn_text(outcome, decision.turn),
                "gain": decision.gain / 100,
                "regret": decision.regret,
                "missed": decision.missed,
                "end": values[-1],
                "otherwise": counterfactual[-1],
            }
            for seat, (values, judged) in paths.items()
            for decision, counterfactual in judged
        ]
        frame = pl.DataFrame(rows, schema_overrides={"missed": pl.Int64}).sort("turn", "player")
        seated = {f"player_{seat}": record.label(seat) for seat in record.seats}
        digests = data.matches.filter(match_id=record.id)["configuration"]
        lead = Lead(GAME, seated | {"status": "finished", "configuration": digests[0]})
        facts = {"match": record.id}
        yield table(evidence, "value-paths", frame, facts=facts, leads=lambda _: lead)


def _select_game(evidence: Evidence, data: Games) -> tuple[MatchRecord, str]:
    """Return the game to show, and the reason for its selection."""
    match: Any = evidence.options.get("match")
    if match is not None:
        if match not in set(data.matches["match_id"]):
            raise CheaptalkError(
                f'match "{match}" is not a finished game of chip_trading in {evidence.study}; '
                "use an ID from the viewer"
            )
        reason = "Selected by the option match."
    else:
        counts = (
            data.decisions.group_by("match_id", maintain_order=True)
            .agg(pl.col("regret").n_unique().alias("kinds"), (pl.col("regret") != "no").sum())
            .sort("kinds", "regret", "match_id", descending=[True, True, False])
        )
        match = counts["match_id"][0] if counts.height else data.matches["match_id"].min()
        reason = SELECTION_NOTE if counts.height else "No decision of any game is in the sample."
    return next(read_records(evidence.store, evidence.study, [str(match)])), reason


def player_path(outcome: Trading, size: int, seat: str, judged: Sequence[Decision]) -> PlayerPath:
    """Return the value of a player's chips by turn, and the counterfactual values by decision.

    ``size`` is each player's initial number of chips of each colour.
    """

    def dollars(stocks: Sequence[Stock]) -> ValuePath:
        return [worth(stock, outcome.worths[seat]) / 100 for stock in stocks]

    own = [decision for decision in judged if decision.player == seat]
    counterfactuals = [dollars(counterfactual_stocks(outcome, size, decision)) for decision in own]
    return dollars(stocks_held(outcome, size, seat)), list(zip(own, counterfactuals, strict=True))


def _path_panel(outcome: Trading, title: str, value_path: PlayerPath) -> Chart:
    values, judged = value_path
    layers: list[Line | Points] = []
    for decision, counterfactual in judged:
        start = min(decision.turn, decision.missed or decision.turn) - 1
        if decision.regret == "no" or counterfactual == values:
            continue
        other = f"with another decision in turn {decision.turn}"
        marks = [
            Mark(turn, worth, f"{other}: ${worth:.2f} after turn {turn}", size=1)
            for turn, worth in enumerate(counterfactual)
            if turn >= start
        ]
        layers.append(Line(marks, tone="soft", dash=DASHES[1], steps=True))
    path = [Mark(turn, worth) for turn, worth in enumerate(values)]
    layers.append(Line(path, tone=3, width=2, dots=False, steps=True))
    decisions = [
        Mark(
            decision.turn,
            values[decision.turn],
            f"turn {decision.turn}, {decision.part}: {decision.regret} regret\n"
            f"{_turn_text(outcome, decision.turn)}",
            size=4.5,
            tone=TONE[decision.regret],
        )
        for decision, _ in judged
    ]
    layers.append(Points(decisions))
    up = Axis("value of all chips, dollars")
    return Chart(title, "", layers, Axis("turns played", integer=True), up)


def _turn_text(outcome: Trading, turn: int) -> str:
    played = outcome.turns[turn - 1]
    gives = chips(played.proposal.give_amount, played.proposal.give)
    wants = chips(played.proposal.want_amount, played.proposal.want)
    result = f"trades with {plain(played.partner)}" if played.partner else "no one accepts"
    return f"{plain(played.proposer)} offers {gives} for {wants}: {result}"
