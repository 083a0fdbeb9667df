"""The regret of what players did, seen from the end of the game (Strategic Tradeoffs, 6.2.2).

The sample is of decisions whose intent is clear: proposals that led to a trade, and answers to
proposals that the player could pay for, all of them only where the trade would gain the player
something. Who was willing to accept counts as an acceptor, chosen or not.

A decision is compared with the offers that others made to the player later on. An offer is missed
if it would have gained more than the decision and the player did not accept it.

- A trade made or accepted is of *unforced* regret if the best offer missed could be paid for, of
  *forced* regret if it could have been but for this very decision, else of *no* regret.
- A trade declined is of *unforced* regret if the player's chips would be worth more at the end had
  it been accepted, else of *no* regret: what was kept was put to as good a use. Declining keeps
  the chips, so that it forces nothing.

What would have been otherwise is worked out with all other proposals and answers as they were,
less the player's own trades that it could then no longer have paid for. The paper shows it by
examples (figures 4 and 10); which of several offers missed counts is our choice.
"""

from collections.abc import Collection, Iterator
from typing import Literal, NamedTuple, TypeAlias

from cheaptalk.games.chip_trading.events import Exchange, Trading
from cheaptalk.games.chip_trading.stocks import Stock, can_give, move, worth

Part: TypeAlias = Literal["proposer", "acceptor", "decliner"]
Regret: TypeAlias = Literal["no", "forced", "unforced"]


class Decision(NamedTuple):
    """A decision in the sample.

    Attributes:
        turn: its turn, from 1.
        player: whose it is.
        part: what the player was in the turn.
        gain: what the trade gained the player or would have, in cents.
        regret: of what kind it is.
        missed: the turn of the best offer missed that makes it one of regret; None without.
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
    """The decisions of a game that are in the sample, in order, with their regret.

    Args:
        outcome: the game as it was played.
        chips: how many chips of each colour every player started with.
        unforced_proposals: whether proposals can be of unforced regret, as the discussion of
            figure 5 has it; by footnote 13 they cannot, and are then of no regret.
    """
    stocks = {player: stocks_held(outcome, chips, player) for player in outcome.worths}
    for place, turn in enumerate(outcome.turns):
        for player, worths in outcome.worths.items():
            part = part_in(turn, player)
            trade = turn.proposal if part == "proposer" else turn.proposal.mirrored
            rejected = part == "proposer" and turn.partner is None
            gain = trade.gain(worths)
            did = stocks[player]
            if rejected or gain <= 0 or not can_give(did[place], trade):
                continue
            otherwise = stocks_held(outcome, chips, player, otherwise=(place,))
            if part == "decliner":
                lost = worth(otherwise[-1], worths) > worth(did[-1], worths)
                yield Decision(place + 1, player, part, gain, "unforced" if lost else "no")
                continue
            missed = _missed(outcome, player, place + 1, did, otherwise)
            better = max((one for one in missed if one[0] > gain), default=None)
            if better and part == "proposer" and better[1] == "unforced" and not unforced_proposals:
                better = None
            if better is None:
                yield Decision(place + 1, player, part, gain, "no")
            else:
                yield Decision(place + 1, player, part, gain, *better[1:])


def had_it_been_otherwise(outcome: Trading, chips: int, decision: Decision) -> list[Stock]:
    """What a player would hold before each turn and at the end, had it decided otherwise.

    A decision without regret, or to decline, is turned round. In its stead, or where the regret is
    unforced besides it, the best offer missed is accepted. See :func:`stocks_held` for the rest.
    """
    stands = decision.missed is not None and decision.regret == "unforced"
    turned = [None if stands else decision.turn, decision.missed]
    places = [turn - 1 for turn in turned if turn is not None]
    return stocks_held(outcome, chips, decision.player, otherwise=places)


def part_in(turn: Exchange, player: str) -> Part:
    """What a player is in a turn."""
    if player == turn.proposer:
        return "proposer"
    return "acceptor" if player in turn.willing else "decliner"


def stocks_held(
    outcome: Trading, chips: int, player: str, otherwise: Collection[int] = ()
) -> list[Stock]:
    """What a player holds before each turn and at the end, or would have had it done otherwise.

    Otherwise means, in these turns (from 0), to decline or not to propose what it traded, and to
    accept what it declined.
    """
    stocks = [dict.fromkeys(outcome.worths[player], chips)]
    for place, turn in enumerate(outcome.turns):
        trade = turn.trade(player)
        if place in otherwise:
            declined = part_in(turn, player) == "decliner"
            trade = turn.proposal.mirrored if declined else None
        stocks.append(stocks[-1].copy())
        if trade is not None and can_give(stocks[-1], trade):
            move(stocks[-1], trade)
    return stocks


def _missed(
    outcome: Trading, player: str, start: int, did: list[Stock], otherwise: list[Stock]
) -> Iterator[tuple[int, Regret, int]]:
    """What offers that a player declined from a turn on (from 0) would have gained it.

    Each comes with the regret that it makes and its turn (from 1); of two as good, the unforced
    one is the greater, and then the later.
    """
    for place in range(start, len(outcome.turns)):
        offer = outcome.turns[place].proposal.mirrored
        if part_in(outcome.turns[place], player) == "decliner":
            if can_give(did[place], offer):
                yield offer.gain(outcome.worths[player]), "unforced", place + 1
            elif can_give(otherwise[place], offer):
                yield offer.gain(outcome.worths[player]), "forced", place + 1
