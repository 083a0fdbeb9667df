"""What a Bayesian player believes, and what is best by it. It needs numpy.

A belief about another player is the set of what chips may be worth to that player, all of it
equally likely: the prior is uniform, and what is learnt only rules possibilities out (Strategic
Tradeoffs, section 5.3 and appendix A.3).
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Any, Literal, NamedTuple

from cheaptalk.games.chip_trading.choices import Room, gainful
from cheaptalk.games.chip_trading.events import Briefing, Offered, Proposal, Turn, TurnEnded
from cheaptalk.games.chip_trading.stocks import Holdings, can_give, read
from cheaptalk.games.extras import needed
from cheaptalk.rules import Asked, Stream

np = needed("numpy")

Learning = Literal["answers", "trades", "own", "nothing"]
Possible = dict[str, Any]
"""What chips may be worth to a player: for each colour an array, an entry for each possibility."""
MOST = 1_000_000
"""How many possibilities there may be."""
TIE = 1e-9
"""By how much less, in proportion, expected gains are still the same."""


class Weighed(NamedTuple):
    """Proposals of chips of one colour for another; numbers and expected gains are arrays."""

    give: str
    amounts: Any
    want: str
    wanted: Any
    expected: Any

    def offer(self, place: int) -> Proposal:
        """One of the proposals."""
        give, want = int(self.amounts[place]), int(self.wanted[place])
        return Proposal(give=self.give, give_amount=give, want=self.want, want_amount=want)


def best_offer(asked: Asked, learning: Learning, stream: Stream) -> Proposal:
    """The gainful proposal with the greatest expected gain, ties drawn from a stream.

    Where nobody would accept any, all gainful ones are as good.
    """
    holdings = read(asked.event.stocks)
    others = beliefs(asked, learning)
    worths = dict(asked.briefing.worths)
    weighed = [
        weigh(list(pair), worths, holdings, others)
        for _, pair in groupby(gainful(asked), key=lambda room: (room.give, room.want))
    ]
    enough = max(one.expected.max() for one in weighed) * (1 - TIE)
    best = [(one, place) for one in weighed for place in np.flatnonzero(one.expected >= enough)]
    one, place = stream.pick(best)
    return one.offer(place)


def weigh(
    rooms: list[Room], worths: dict[str, int], holdings: Holdings, others: dict[str, Possible]
) -> Weighed:
    """Own gain times the probability that somebody accepts, for proposals of a pair of colours.

    A player to whom a chip wanted is worth r times as much as a chip given gains by giving y for
    x just if r < x / y. The others' values are independent.
    """
    give, want = rooms[0].give, rooms[0].want
    amounts = np.repeat([room.amount for room in rooms], [len(room.range) for room in rooms])
    wanted = np.concatenate([np.array(room.range) for room in rooms])
    nobody = np.ones(len(wanted))
    for player, possible in others.items():
        ratios = np.sort(possible[want] / possible[give])
        accepts = np.searchsorted(ratios, amounts / wanted) / len(ratios)
        nobody *= 1 - np.where(wanted <= holdings[player][want], accepts, 0)
    gain = wanted * worths[want] - amounts * worths[give]
    return Weighed(give, amounts, want, wanted, gain * (1 - nobody))


def prior(briefing: Briefing) -> Possible:
    """What chips may be worth to any other player.

    Raises:
        ValueError: there are more possibilities than beliefs can hold.
    """
    (common, cents), *private = briefing.worths
    count = len(briefing.values) ** len(private)
    if count > MOST:
        raise ValueError(f"beliefs over {count:,} values of a player; {MOST:,} can be held")
    grid = np.meshgrid(*[np.array(briefing.values)] * len(private), indexing="ij")
    columns = zip((colour for colour, _ in private), grid, strict=True)
    return {common: np.full(count, cents)} | {colour: one.ravel() for colour, one in columns}


def beliefs(asked: Asked, learning: Learning) -> dict[str, Possible]:
    """What chips may be worth to each other player, after all that the seat has heard.

    What contradicts all that is still thought possible, and so the assumption that others accept
    just what they gain by, teaches nothing.
    """
    start = prior(asked.briefing)
    found = {player: start for player in asked.briefing.order if player != asked.seat}
    if learning == "nothing":
        return found
    holdings: Holdings = {}
    for event, _ in asked.heard:
        if isinstance(event, TurnEnded):
            for player, trade, gainful in lessons(event, holdings, learning, asked.seat):
                if player in found:
                    found[player] = narrowed(found[player], trade, gainful)
        elif isinstance(event, Turn | Offered):
            holdings = read(event.stocks)
    return found


def lessons(
    event: TurnEnded, holdings: Holdings, learning: Learning, seat: str
) -> Iterator[tuple[str, Proposal, bool]]:
    """What a turn teaches: a player, a trade as this player sees it, and whether it gains by it."""
    offer, trade = event.proposal, event.proposal.mirrored
    if learning == "own" and event.proposer != seat:
        return
    if event.partner is not None:
        yield event.partner, trade, True
        if learning == "trades":
            yield event.proposer, offer, True
        return
    for player, stock in holdings.items():
        if player != event.proposer and can_give(stock, trade):
            yield player, trade, False


def narrowed(possible: Possible, trade: Proposal, gainful: bool) -> Possible:
    """The possibilities in which a player gains by a trade, or does not; all if it is in none."""
    gain = trade.want_amount * possible[trade.want] - trade.give_amount * possible[trade.give]
    fits = (gain > 0) == gainful
    return {colour: one[fits] for colour, one in possible.items()} if fits.any() else possible
