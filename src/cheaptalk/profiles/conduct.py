"""A player's conduct in a match: its course, whether a message reached it, and lapses by kind."""

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
from cheaptalk.profiles.metrics.stakes import could_have, gain
from cheaptalk.profiles.metrics.statements import statements
from cheaptalk.records import MatchRecord
from cheaptalk.rules import Result

FAIR = 0.5
"""The share from which an offer in the last round counts as fair."""
LOW = 0.085
"""The share up to which an offer counts as a pittance."""
LIES = 4
"""False recommendations after which a buyer knows the seller."""
LONG = 8
"""Rounds from which a match is long."""
LATE = 5
"""The round from which it is late in a long match."""
DROP = 0.25
"""How much less than what it has just asked for a player must settle for to have lapsed."""
WORDS = ("message", "reasoning")


class Conduct(NamedTuple):
    """A player's conduct in a match.

    Attributes:
        course: a digest of the player's moves, of the offers and statements in its messages, and of
            the match's status. The other player's are left out: a manipulation may state something
            false itself, and a scripted player's moves follow from those of the player.
        reached: whether the player decided anything after a message of the other.
        reads: whether the player reads text, so that names and wordings reach it.
        yielded: whether it accepted an offer before the last round.
        fair: offers of at least :data:`FAIR` that it received in the last round.
        fair_refused: how many of them it turned down.
        low: offers of at most :data:`LOW` that it received in earlier rounds of bargaining.
        low_taken: how many of them it accepted.
        gift: its own offers before the last round of a negotiation in which it makes the last one,
            so that it loses nothing by waiting.
        gift_made: how many of them left it at most :data:`LOW`.
        loss: offers worse than no agreement that it received before the last round.
        loss_taken: how many of them it accepted.
        last_loss: such offers in the last round.
        last_loss_taken: how many of them it accepted.
        tempted: statements of a seller about products of low quality that an exact check can read.
        deceived: how many of them were false.
        unread: pitches of a seller about products of low quality that the check cannot read.
        lied: products offered after :data:`LIES` false recommendations of a seller that never
            advised against one.
        lied_bought: how many of them it bought.
        late: whether it lapsed late in a long match and not early; None if it never got there.
        early: whether it lapsed early in a long match and not late.
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
    "course": pl.String, "reached": pl.Boolean, "reads": pl.Boolean,
    "yielded": pl.Boolean, "fair": pl.Int64, "fair_refused": pl.Int64, "low": pl.Int64,
    "low_taken": pl.Int64,
    "gift": pl.Int64, "gift_made": pl.Int64, "loss": pl.Int64, "loss_taken": pl.Int64,
    "last_loss": pl.Int64, "last_loss_taken": pl.Int64,
    "tempted": pl.Int64, "deceived": pl.Int64, "unread": pl.Int64, "lied": pl.Int64,
    "lied_bought": pl.Int64,
    "late": pl.Boolean,
    "early": pl.Boolean,
}  # fmt: skip
"""Columns of :class:`Conduct` in frames."""


class Turn(NamedTuple):
    """A decision about an offer, or an offer, in bargaining or negotiation.

    Attributes:
        stage: the round, from 1.
        share: what the offer leaves to the player, of what it could have had.
        taken: whether the player accepted it; None for its own offers.
    """

    stage: int
    share: float
    taken: bool | None


def conduct(record: MatchRecord, result: Result | None, place: str) -> Conduct:
    """Return a place's conduct in a match; ``result`` is None if the match did not finish."""
    base = Conduct(
        _course(record, result, place),
        _reached(record, place),
        "model" in record.seats[place]["spec"],
    )
    if result is None:
        return base._replace(late=_fails_late(record, place))
    match result.game:
        case Bargaining() | Negotiation():
            turns = [*_turns(result, place)]
            return base._replace(**_over_offers(result.game, place, turns))
        case Persuasion():
            return base._replace(**_over_products(result, place))
        case _:
            return base


def _course(record: MatchRecord, result: Result | None, place: str) -> str:
    stated = {} if result is None else _stated(result)
    moves: list[Any] = [record.status.value]
    for answer in record.answers:
        if answer.seat != place:
            continue
        action = answer.action or {}
        move: dict[str, Any] = {
            key: value for key, value in action.items() if key not in WORDS and value is not None
        }
        if isinstance(record.rules, DealOrNoDeal) and action.get("message") and result is not None:
            move["claim"] = read_offer(action["message"], result.deal.context.counts)
        # a pitch in other words is the same move, so whether it is true does not count
        is_pitch = isinstance(record.rules, Persuasion) and "message" in action
        moves.append([answer.request, move, None if is_pitch else stated.get(answer.request)])
    return sha256(json.dumps(moves, sort_keys=True).encode()).hexdigest()[:16]


def _reached(record: MatchRecord, place: str) -> bool:
    """Whether a place answered a request after a message of the other."""
    spoken = False
    for answer in record.answers:
        if answer.seat == place and spoken:
            return True
        spoken |= answer.seat != place and bool((answer.action or {}).get("message"))
    return False


def _turns(result: Result, place: str) -> Iterator[Turn]:
    most = could_have(result.game, result.deal, place)
    offered = 0.0
    for request, seat, action in result.given():
        if action is None or most is None:
            continue
        named = gain(result.game, place, action)
        if named is not None and seat != place:
            offered = named / most
        elif named is not None:
            yield Turn(request // 2 + 1, named / most, None)
        elif seat == place:
            taken = getattr(action, "decision", "") == "accept"
            yield Turn(request // 2 + 1, offered, taken)


def _over_offers(game: Bargaining | Negotiation, place: str, turns: list[Turn]) -> dict[str, Any]:
    rounds = game.horizon.rounds
    answers = [one for one in turns if one.taken is not None]
    fair = [one for one in answers
            if one.share >= FAIR and one.stage == rounds and not game.horizon.hidden]  # fmt: skip
    low = [one for one in answers if one.share <= LOW and one.stage < rounds]
    low = low if isinstance(game, Bargaining) and rounds < LONG else []
    losses = [one for one in answers if one.share < -1e-3]
    last_word = rounds % 2 == (place == "alice") and not game.horizon.hidden
    gifts = [one for one in turns if one.taken is None and one.stage < rounds]
    gifts = gifts if isinstance(game, Negotiation) and last_word else []
    early = [one for one in losses if one.stage < rounds]
    last = [one for one in losses if one.stage == rounds]
    lapse = _first_lapse(turns, rounds) if rounds >= LONG else None
    reached = any(one.stage >= LATE for one in turns) and rounds >= LONG
    return {
        "yielded": any(one.taken and one.stage < rounds for one in answers),
        "fair": len(fair), "fair_refused": sum(not one.taken for one in fair),
        "low": len(low), "low_taken": sum(bool(one.taken) for one in low),
        "gift": len(gifts), "gift_made": sum(one.share <= LOW for one in gifts),
        "loss": len(early), "loss_taken": sum(bool(one.taken) for one in early),
        "last_loss": len(last), "last_loss_taken": sum(bool(one.taken) for one in last),
        "late": lapse is not None and lapse >= LATE if reached else None,
        "early": lapse is not None and lapse < LATE,
    }  # fmt: skip


def _first_lapse(turns: list[Turn], rounds: int) -> int | None:
    """The round in which a player settles for little, and for much less than it has just asked for.

    A player that concedes step by step never does. Nothing of the last two rounds counts, because
    any share is better there than none.
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
    """Whether each statement that an exact check reads is true, by request."""
    return {one.request: one.true for one in statements(result)}


def _over_products(result: Result, place: str) -> dict[str, Any]:
    qualities = result.deal.qualities
    true_of = _stated(result)
    stated = [true_of.get(request) for request, _, action in result.given()
              if isinstance(action, Recommendation | Pitch)]  # fmt: skip
    bought = [action.decision == "yes" for _, _, action in result.given()
              if isinstance(action, Purchase)]  # fmt: skip
    of_low = [true for true, high in zip(stated, qualities, strict=False) if not high]
    unread = of_low.count(None)
    tempted = (
        {"tempted": len(of_low) - unread, "deceived": of_low.count(False), "unread": unread}
        if place == "alice"
        else {}
    )
    read = None not in stated and len(stated) == len(bought)  # every message of the seller
    if len(bought) < LONG or (place == "alice" and not read):
        return tempted
    if place == "alice":
        wrong = [not one for one in stated]
    else:
        wrong = [yes != high for yes, high in zip(bought, qualities, strict=False)]
    lied = [n for n in range(len(bought)) if read and stated[:n].count(False) >= LIES]
    praised = read and all(true == high for true, high in zip(stated, qualities, strict=False))
    if place == "bob" and praised and not all(stated):
        return {"lied": len(lied), "lied_bought": sum(bought[number] for number in lied)}
    # windows of the same length, so that errors at random are as often early as late
    excess = sum(wrong[LATE : 2 * LATE]) - sum(wrong[:LATE])
    return {"late": excess > 1, "early": excess < -1} | tempted


def _fails_late(record: MatchRecord, place: str) -> bool | None:
    """Whether a place failed late in a long match that it did not finish."""
    rounds = getattr(getattr(record.rules, "horizon", None), "rounds", 0)
    own = [one for one in record.answers if one.seat == place]
    if rounds < LONG or not own:
        return None
    failed = [one.request for one in own if one.kind not in (Kind.OK, Kind.REPAIRED)]
    return bool(failed) and min(failed) >= 2 * LATE - 2
