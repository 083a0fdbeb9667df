"""The regret of decisions in hindsight (Strategic Tradeoffs, section 6.2.2).

The sample consists of decisions with a clear intent: proposals that led to a trade, and responses
of players who held the requested chips, if the trade would benefit the player. A player who was
willing to accept is an acceptor, whether it was chosen for the trade or not.

A decision is compared with later offers that the player missed: it did not accept them, and they
would have gained more than the decision.

- A proposed or accepted trade causes *unforced* regret if the player could afford the best missed
  offer, *forced* regret if it could afford the offer only without this decision, else *no* regret.
- A declined trade causes *unforced* regret if accepting would have made the player's final chips
  worth more, else *no* regret.

The counterfactual keeps all other proposals and responses, except the player's trades that have
become unaffordable. The paper only gives examples (figures 4 and 10); the choice among several
missed offers is this package's.
"""

from collections.abc import Collection, Iterator
from typing import Literal, NamedTuple, TypeAlias

from cheaptalk.games.chip_trading.rules import Exchange, Stock, Trading, can_give, move, worth

Part: TypeAlias = Literal["proposer", "acceptor", "decliner"]
Regret: TypeAlias = Literal["no", "forced", "unforced"]


class Decision(NamedTuple):
    """A decision with a clear intent, and the regret that it causes in hindsight.

    Attributes:
        turn: the turn of the decision, from 1.
        part: the player's role in the turn.
        gain: the player's gain from the trade in cents.
        missed: the turn of the missed offer that causes the regret; None if there is no such offer.
    """

    turn: int
    player: str
    part: Part
    gain: int
    regret: Regret
    missed: int | None = None


def decisions(
    outcome: Trading, chips: int, *, unforced_proposals: bool = False
) -> Iterator[Decision]:
    """Yield each decision with a clear intent, together with its regret, in order of play.

    Args:
        chips: each player's initial number of chips per colour.
        unforced_proposals: whether proposals can cause unforced regret, as in the discussion of
            figure 5. By default, such proposals cause no regret, as in footnote 13.
    """
    stocks = {player: stocks_held(outcome, chips, player) for player in outcome.worths}
    for index, turn in enumerate(outcome.turns):
        for player, worths in outcome.worths.items():
            part = part_in(turn, player)
            trade = turn.proposal if part == "proposer" else turn.proposal.mirrored
            rejected = part == "proposer" and turn.partner is None
            gain = trade.gain(worths)
            actual = stocks[player]
            if rejected or gain <= 0 or not can_give(actual[index], trade):
                continue
            counterfactual = stocks_held(outcome, chips, player, changed=(index,))
            if part == "decliner":
                lost = worth(counterfactual[-1], worths) > worth(actual[-1], worths)
                yield Decision(index + 1, player, part, gain, "unforced" if lost else "no")
                continue
            missed = _missed(outcome, player, index + 1, actual, counterfactual)
            best = max((option for option in missed if option[0] > gain), default=None)
            if best and part == "proposer" and best[1] == "unforced" and not unforced_proposals:
                best = None
            if best is None:
                yield Decision(index + 1, player, part, gain, "no")
            else:
                yield Decision(index + 1, player, part, gain, *best[1:])


def counterfactual_stocks(outcome: Trading, chips: int, decision: Decision) -> list[Stock]:
    """Return a player's chips before each turn and at the end if one decision had been different.

    A decision without regret, or to decline, is reversed. With forced regret, the missed offer
    replaces the decision; with unforced regret, the missed offer is accepted in addition.
    """
    keeps_decision = decision.missed is not None and decision.regret == "unforced"
    reversed_turns = [None if keeps_decision else decision.turn, decision.missed]
    indices = [turn - 1 for turn in reversed_turns if turn is not None]
    return stocks_held(outcome, chips, decision.player, changed=indices)


def part_in(turn: Exchange, player: str) -> Part:
    """Return a player's role in a turn."""
    if player == turn.proposer:
        return "proposer"
    return "acceptor" if player in turn.willing else "decliner"


def stocks_held(
    outcome: Trading, chips: int, player: str, changed: Collection[int] = ()
) -> list[Stock]:
    """Return a player's chips before each turn and at the end.

    In the ``changed`` turns (from 0), the player's decision is reversed: a trade is not made, and a
    declined trade is made.
    """
    stocks = [dict.fromkeys(outcome.worths[player], chips)]
    for index, turn in enumerate(outcome.turns):
        trade = turn.trade(player)
        if index in changed:
            declined = part_in(turn, player) == "decliner"
            trade = turn.proposal.mirrored if declined else None
        stocks.append(stocks[-1].copy())
        if trade is not None and can_give(stocks[-1], trade):
            move(stocks[-1], trade)
    return stocks


def _missed(
    outcome: Trading, player: str, start: int, actual: list[Stock], changed: list[Stock]
) -> Iterator[tuple[int, Regret, int]]:
    """Yield (gain, kind of regret, turn number) for each affordable offer that a player declined.

    ``start`` is the first of these turns, from 0. The maximum has the highest gain; among equal
    gains, unforced regret; and then the latest turn.
    """
    for index in range(start, len(outcome.turns)):
        offer = outcome.turns[index].proposal.mirrored
        if part_in(outcome.turns[index], player) == "decliner":
            if can_give(actual[index], offer):
                yield offer.gain(outcome.worths[player]), "unforced", index + 1
            elif can_give(changed[index], offer):
                yield offer.gain(outcome.worths[player]), "forced", index + 1
