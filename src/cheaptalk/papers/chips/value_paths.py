"""One game as each player lived through it: what its chips were worth, and could have been."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.games.chip_trading.events import Trading
from cheaptalk.games.chip_trading.regret import (
    Decision,
    decisions,
    had_it_been_otherwise,
    stocks_held,
)
from cheaptalk.games.chip_trading.stocks import Stock, chips, worth
from cheaptalk.papers.chips.games import GAME, Games, games, outcome_of
from cheaptalk.papers.chips.regrets import COLOUR, LEGEND
from cheaptalk.records import MatchRecord
from cheaptalk.records.store.queries import some
from cheaptalk.reports.figures import COLOURS, Panel, Trace
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Charts, Header, Lead, ReportTable
from cheaptalk.rules import CheaptalkError
from cheaptalk.text import plain

COUNTED = (
    "Of the games that show the most kinds of regret it has the most regretted decisions; of "
    "several such it is the first by its id."
)
GREY = "#888888"


class PlayerPath(NamedTuple):
    """A game as one player lived through it.

    Attributes:
        place, label: the player's.
        worths: what its chips were worth to it before each turn and at the end, in dollars.
        decided: its decisions in the sample, with what its chips would have been worth otherwise.
    """

    place: str
    label: str
    worths: list[float]
    decided: list[tuple[Decision, list[float]]]


def figures_4_and_10(evidence: Evidence) -> Iterator[Charts | ReportTable]:
    """One game, a panel a player. The line is what the player's chips are worth to it; a dot is a
    decision in the sample of regret, in the colour of its regret. A dashed line shows where the
    worth would have gone had a regretted decision been another: given up for the best offer missed
    where the regret is forced, that offer accepted as well where it is unforced, or a declined
    trade accepted. All else stays as it was, less the player's own trades that it could then not
    have paid for. What the chips would have come to without a decision of no regret stands in the
    table.
    """
    found = games(evidence)
    record, why = _chosen(evidence, found)
    outcome, size = outcome_of(record), record.parameters["chips"]
    taken = list(decisions(outcome, size, unforced_proposals=evidence.as_published))
    lives = [player_path(record, outcome, place, taken) for place in outcome.worths]
    yield Charts(
        "value-paths", f"What chips were worth in game {record.id}",
        [_panel(one, outcome) for one in lives],
        f"{why} {LEGEND}",
    )  # fmt: skip
    if taken:
        yield _table(found, record, outcome, lives)


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
            found.decisions.group_by("match")
            .agg(pl.col("regret").n_unique().alias("kinds"), (pl.col("regret") != "no").sum())
            .sort("kinds", "regret", "match", descending=[True, True, False])
        )
        chosen = counts["match"][0] if counts.height else found.matches["match"].min()
        why = COUNTED if counts.height else "No decision of any game is in the sample of regret."
    return next(some(evidence.store, evidence.study, [str(chosen)])), why


def player_path(
    record: MatchRecord, outcome: Trading, place: str, taken: Sequence[Decision]
) -> PlayerPath:
    """How a player's chips rose and fell, and would have."""
    size, worths = record.parameters["chips"], outcome.worths[place]

    def dollars(stocks: Sequence[Stock]) -> list[float]:
        return [worth(stock, worths) / 100 for stock in stocks]

    return PlayerPath(
        place, record.label(place), dollars(stocks_held(outcome, size, place)),
        [(one, dollars(had_it_been_otherwise(outcome, size, one)))
         for one in taken if one.player == place],
    )  # fmt: skip


def _panel(life: PlayerPath, outcome: Trading) -> Panel:
    turns = list(range(len(life.worths)))
    data: list[Trace] = []
    for one, otherwise in life.decided:
        start = min(one.turn, one.missed or one.turn) - 1
        if one.regret == "no" or otherwise == life.worths:
            continue
        data.append(
            {
                "type": "scatter", "mode": "lines", "x": turns[start:], "y": otherwise[start:],
                "line": {"color": GREY, "dash": "dash", "width": 1.5, "shape": "hv"},
                "text": [f"had turn {one.turn} been otherwise: ${otherwise[turn]:.2f}"
                         for turn in turns[start:]],
                "hovertemplate": "%{text} after turn %{x}<extra></extra>",
            }
        )  # fmt: skip
    data.append(
        {
            "type": "scatter", "mode": "lines", "x": turns, "y": life.worths,
            "line": {"color": COLOURS[3], "width": 2, "shape": "hv"}, "hoverinfo": "skip",
        }
    )  # fmt: skip
    data.append(_dots(life, outcome))
    layout = {
        "xaxis": {"title": {"text": "turns played"}, "dtick": max(1, len(turns) // 9)},
        "yaxis": {"title": {"text": "worth of all chips, dollars"}},
    }
    return Panel(f"{plain(life.place).capitalize()}: {life.label}", "", 280, data, layout)


def _dots(life: PlayerPath, outcome: Trading) -> Trace:
    decided = [one for one, _ in life.decided]
    return {
        "type": "scatter", "mode": "markers", "cliponaxis": False,
        "x": [one.turn for one in decided], "y": [life.worths[one.turn] for one in decided],
        "marker": {"color": [COLOUR[one.regret] for one in decided], "size": 9},
        "text": [f"turn {one.turn}, {one.part}: {one.regret} regret<br>"
                 f"{_turn_text(outcome, one.turn)}" for one in decided],
        "hovertemplate": "%{text}<extra></extra>",
    }  # fmt: skip


def _turn_text(outcome: Trading, turn: int) -> str:
    """A turn in words."""
    one = outcome.turns[turn - 1]
    gives = chips(one.proposal.give_amount, one.proposal.give)
    wants = chips(one.proposal.want_amount, one.proposal.want)
    ended = f"trades with {plain(one.partner)}" if one.partner else "nobody accepts"
    return f"{plain(one.proposer)} gives {gives} for {wants}: {ended}"


def _table(
    found: Games, record: MatchRecord, outcome: Trading, lives: Sequence[PlayerPath]
) -> ReportTable:
    rows = [
        {
            "turn": one.turn, "player": plain(life.place), "part": one.part,
            "trade": _turn_text(outcome, one.turn), "gain": one.gain / 100, "regret": one.regret,
            "missed": one.missed, "end": life.worths[-1], "otherwise": otherwise[-1],
        }
        for life in lives
        for one, otherwise in life.decided
    ]  # fmt: skip
    schema = {
        "turn": pl.Int64, "player": pl.String, "part": pl.String, "trade": pl.String,
        "gain": pl.Float64, "regret": pl.String, "missed": pl.Int64, "end": pl.Float64,
        "otherwise": pl.Float64,
    }  # fmt: skip
    seated = {f"player.{place}": record.label(place) for place in record.seats}
    digests = found.matches.filter(match=record.id)["configuration"]
    lead = Lead(GAME, seated | {"status": "finished", "configuration": digests[0]})
    return ReportTable(
        "value-paths", f"Decisions in game {record.id}",
        pl.DataFrame(rows, schema=schema).sort("turn", "player"),
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
