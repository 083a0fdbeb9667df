"""A player's conduct in a match: its decisions, received messages and lapses."""

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.games.bargaining.rules import Bargaining
from cheaptalk.games.deal_or_no_deal.rules import DealOrNoDeal
from cheaptalk.games.deal_or_no_deal.talk import read_offer
from cheaptalk.games.negotiation.rules import Negotiation
from cheaptalk.games.persuasion.events import Pitch, Purchase, Recommendation
from cheaptalk.games.persuasion.rules import Persuasion
from cheaptalk.players import Kind
from cheaptalk.profiles.metrics.attainable import could_have, gain
from cheaptalk.profiles.metrics.statements import statements
from cheaptalk.records import MatchRecord
from cheaptalk.rules import Result

FAIR = 0.5
"""The minimum share of an offer in the last round that counts as fair."""
LOW = 0.085
"""The maximum share of an offer that counts as very low."""
LIES = 4
"""Number of false recommendations after which a buyer can detect that the seller lies."""
LONG = 8
"""Minimum number of rounds of a long match."""
LATE = 5
"""The round from which a long match counts as late."""
DROP = 0.25
"""Minimum difference between a player's last demand and an accepted share that is a lapse."""
WORDS = ("message", "reasoning")


class Conduct(NamedTuple):
    """Counts and indicators of a player's behaviour in a match.

    Attributes:
        course: a digest of the player's moves, of the offers and statements in its messages, and of
            the match's status. The opponent's moves are excluded, because manipulations can contain
            false statements and scripted moves follow from the player's moves.
        reached: whether the player made a decision after a message of the opponent.
        reads: whether the player reads text, including names and wording.
        yielded: whether the player accepted an offer before the last round.
        fair, fair_refused: received offers of at least :data:`FAIR` in the last round; rejections.
        low, low_taken: received offers of at most :data:`LOW` in earlier rounds of bargaining;
            acceptances.
        gift, gift_made: the player's offers before the last round of a negotiation, if it makes the
            last offer and waiting costs nothing; offers that leave it at most :data:`LOW`.
        loss, loss_taken: received offers worse than no agreement before the last round;
            acceptances.
        last_loss, last_loss_taken: received offers worse than no agreement in the last round;
            acceptances.
        tempted, deceived: a seller's statements about products of low quality that an exact check
            can read; false statements among them.
        unread: a seller's pitches about products of low quality that the check cannot read.
        lied, lied_bought: products offered after :data:`LIES` false recommendations of a seller
            that recommends every product; purchases.
        late, early: whether the player lapsed only late, or only early, in a long match; ``late``
            is None if the match ended early.
    """

    course: str
    reached: bool
    reads: bool
    yielded: bool = False
    fair: int = 0
    fair_refused: int = 0
    low: int = 0
    low_taken: int = 0
    gift: int = 0
    gift_made: int = 0
    loss: int = 0
    loss_taken: int = 0
    last_loss: int = 0
    last_loss_taken: int = 0
    tempted: int = 0
    deceived: int = 0
    unread: int = 0
    lied: int = 0
    lied_bought: int = 0
    late: bool | None = None
    early: bool = False


SCHEMA: dict[str, Any] = {
    "course": pl.String, **dict.fromkeys(("reached", "reads", "yielded"), pl.Boolean),
    **dict.fromkeys(
        ("fair", "fair_refused", "low", "low_taken", "gift", "gift_made", "loss", "loss_taken",
         "last_loss", "last_loss_taken", "tempted", "deceived", "unread", "lied", "lied_bought"),
        pl.Int64,
    ),
    "late": pl.Boolean, "early": pl.Boolean,
}  # fmt: skip
"""Columns of :class:`Conduct` in frames."""


class Turn(NamedTuple):
    """An offer that a player made or answered in bargaining or negotiation.

    Attributes:
        stage: the round, from 1.
        share: the player's payoff from the offer, as a share of its attainable payoff.
        taken: whether the player accepted the offer; None for the player's own offers.
    """

    stage: int
    share: float
    taken: bool | None


def conduct(record: MatchRecord, result: Result | None, seat: str) -> Conduct:
    """Return a player's conduct in a match; pass None as ``result`` if it did not finish."""
    base = Conduct(
        _course(record, result, seat),
        _reached(record, seat),
        "model" in record.seats[seat]["spec"],
    )
    if result is None:
        return base._replace(late=_fails_late(record, seat))
    match result.game:
        case Bargaining() | Negotiation():
            turns = [*_turns(result, seat)]
            return base._replace(**_over_offers(result.game, seat, turns))
        case Persuasion():
            return base._replace(**_over_products(result, seat))
        case _:
            return base


def _course(record: MatchRecord, result: Result | None, seat: str) -> str:
    stated = {} if result is None else _stated(result)
    moves: list[Any] = [record.status.value]
    for answer in record.answers:
        if answer.actor != seat:
            continue
        action = answer.action or {}
        move: dict[str, Any] = {
            key: value for key, value in action.items() if key not in WORDS and value is not None
        }
        if isinstance(record.rules, DealOrNoDeal) and action.get("message") and result is not None:
            move["claim"] = read_offer(action["message"], result.instance.context.counts)
        # a reworded pitch is the same move, so the truth of a pitch is ignored
        is_pitch = isinstance(record.rules, Persuasion) and "message" in action
        moves.append([answer.request, move, None if is_pitch else stated.get(answer.request)])
    return sha256(json.dumps(moves, sort_keys=True).encode()).hexdigest()[:16]


def _reached(record: MatchRecord, seat: str) -> bool:
    """Return whether a seat answered a request after an opponent had sent a message."""
    spoken = False
    for answer in record.answers:
        if answer.actor == seat and spoken:
            return True
        spoken |= answer.actor != seat and bool((answer.action or {}).get("message"))
    return False


def _turns(result: Result, seat: str) -> Iterator[Turn]:
    attainable = could_have(result.game, result.instance, seat)
    offered = 0.0
    for request, actor, action in result.given():
        if action is None or attainable is None:
            continue
        named = gain(result.game, seat, action)
        if named is not None and actor != seat:
            offered = named / attainable
        elif named is not None:
            yield Turn(request // 2 + 1, named / attainable, None)
        elif actor == seat:
            taken = getattr(action, "decision", "") == "accept"
            yield Turn(request // 2 + 1, offered, taken)


def _over_offers(game: Bargaining | Negotiation, seat: str, turns: list[Turn]) -> dict[str, Any]:
    rounds = game.horizon.rounds
    answers = [turn for turn in turns if turn.taken is not None]
    fair = [answer for answer in answers
            if answer.share >= FAIR and answer.stage == rounds
            and not game.horizon.hidden]  # fmt: skip
    low = [answer for answer in answers if answer.share <= LOW and answer.stage < rounds]
    low = low if isinstance(game, Bargaining) and rounds < LONG else []
    losses = [answer for answer in answers if answer.share < -1e-3]
    last_word = rounds % 2 == (seat == "alice") and not game.horizon.hidden
    gifts = [turn for turn in turns if turn.taken is None and turn.stage < rounds]
    gifts = gifts if isinstance(game, Negotiation) and last_word else []
    early = [loss for loss in losses if loss.stage < rounds]
    last = [loss for loss in losses if loss.stage == rounds]
    lapse = _first_lapse(turns, rounds) if rounds >= LONG else None
    reached = any(turn.stage >= LATE for turn in turns) and rounds >= LONG
    return {
        "yielded": any(answer.taken and answer.stage < rounds for answer in answers),
        "fair": len(fair), "fair_refused": sum(not offer.taken for offer in fair),
        "low": len(low), "low_taken": sum(bool(offer.taken) for offer in low),
        "gift": len(gifts), "gift_made": sum(offer.share <= LOW for offer in gifts),
        "loss": len(early), "loss_taken": sum(bool(offer.taken) for offer in early),
        "last_loss": len(last), "last_loss_taken": sum(bool(offer.taken) for offer in last),
        "late": lapse is not None and lapse >= LATE if reached else None,
        "early": lapse is not None and lapse < LATE,
    }  # fmt: skip


def _first_lapse(turns: list[Turn], rounds: int) -> int | None:
    """Return the first round in which a player accepts or demands far less than it did before.

    The last two rounds are excluded, because any share is better than none there.
    """
    demand: float | None = None
    for turn in turns:
        if turn.stage >= rounds - 1:
            return None
        if turn.taken is False:
            continue
        if demand is not None and turn.share <= min(2 * LOW, demand - DROP):
            return turn.stage
        demand = turn.share
    return None


def _stated(result: Result) -> dict[int, bool]:
    """Return, by request, whether each checkable statement is true."""
    return {statement.request: statement.true for statement in statements(result)}


def _over_products(result: Result, seat: str) -> dict[str, Any]:
    qualities = result.instance.qualities
    true_of = _stated(result)
    stated = [true_of.get(request) for request, _, action in result.given()
              if isinstance(action, Recommendation | Pitch)]  # fmt: skip
    bought = [action.decision == "yes" for _, _, action in result.given()
              if isinstance(action, Purchase)]  # fmt: skip
    of_low = [true for true, high in zip(stated, qualities, strict=False) if not high]
    unread = of_low.count(None)
    tempted = {}
    if seat == "alice":
        checkable, deceived = len(of_low) - unread, of_low.count(False)
        tempted = {"tempted": checkable, "deceived": deceived, "unread": unread}
    read = None not in stated and len(stated) == len(bought)  # every message of the seller
    if len(bought) < LONG or (seat == "alice" and not read):
        return tempted
    if seat == "alice":
        wrong = [not statement for statement in stated]
    else:
        wrong = [yes != high for yes, high in zip(bought, qualities, strict=False)]
    lied = [n for n in range(len(bought)) if read and stated[:n].count(False) >= LIES]
    praised = read and all(true == high for true, high in zip(stated, qualities, strict=False))
    if seat == "bob" and praised and not all(stated):
        return {"lied": len(lied), "lied_bought": sum(bought[number] for number in lied)}
    # windows of the same length, so that random errors are equally likely early and late
    excess = sum(wrong[LATE : 2 * LATE]) - sum(wrong[:LATE])
    return {"late": excess > 1, "early": excess < -1} | tempted


def _fails_late(record: MatchRecord, seat: str) -> bool | None:
    """Return whether a seat's first failed answer came late in a long match."""
    rounds = getattr(getattr(record.rules, "horizon", None), "rounds", 0)
    answers = [answer for answer in record.answers if answer.actor == seat]
    if rounds < LONG or not answers:
        return None
    failed = [row.request for row in answers if row.kind not in (Kind.OK, Kind.REPAIRED)]
    return bool(failed) and min(failed) >= 2 * LATE - 2
