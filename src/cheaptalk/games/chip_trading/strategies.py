"""Scripted traders, what they can propose, and what a Bayesian among them believes.

All of them reason in cents and know only what their seat was told. A belief about another player is
the set of what chips may be worth to that player, all of it equally likely: the prior is uniform,
and what is learnt only rules possibilities out (Strategic Tradeoffs, section 5.3 and appendix A.3).
Beliefs need numpy.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import accumulate, groupby
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from cheaptalk.games.chip_trading.events import (
    Briefing,
    Offered,
    Proposal,
    Response,
    Turn,
    TurnEnded,
)
from cheaptalk.games.chip_trading.stocks import Holdings, Stock, can_give, read
from cheaptalk.games.extras import needed
from cheaptalk.games.tactics import Share
from cheaptalk.rules import Action, Asked, Stream, strategy


class Room(Struct, frozen=True):
    """Proposals that give the same chips for more or fewer of one colour.

    Attributes:
        give, amount: the chips given.
        want: the colour wanted.
        least, most: how many chips of it are wanted, from and to.
    """

    give: str
    amount: int
    want: str
    least: int
    most: int

    @property
    def range(self) -> range:
        """How many chips can be wanted."""
        return range(self.least, self.most + 1)

    def gain(self, wanted: int, worths: Mapping[str, int]) -> int:
        """What the proposal that wants so many chips brings to whom chips are worth so much."""
        return wanted * worths[self.want] - self.amount * worths[self.give]

    def asking(self, wanted: int) -> Proposal:
        """The proposal that wants so many chips."""
        return Proposal.unchecked(
            give=self.give, give_amount=self.amount, want=self.want, want_amount=wanted
        )


def held(asked: Asked) -> tuple[Stock, Stock]:
    """What the seat holds, and the most that any other player holds of each colour."""
    mine: Stock = {}
    others: list[list[int]] = []
    for player, stock in asked.event.stocks:
        if player == asked.seat:
            mine = dict(stock)
        else:
            others.append([number for _, number in stock])
    return mine, dict(zip(mine, map(max, zip(*others, strict=True)), strict=True))


def gainful(asked: Asked) -> list[Room]:
    """The proposals that gain the seat something and that some other player can pay for.

    Where there are none, those that gain it something for a single chip, and nobody can pay for.
    """
    worths = dict(asked.briefing.worths)
    mine, most = held(asked)
    payable = [
        Room(give, amount, want, least, most[want])
        for give, stock in mine.items()
        for want in mine
        if give != want
        for amount in range(1, stock + 1)
        if (least := amount * worths[give] // worths[want] + 1) <= most[want]
    ]
    if payable:
        return payable
    singles = [(give, want) for give in mine if mine[give] for want in mine if give != want]
    enough = [worths[give] // worths[want] + 1 for give, want in singles]
    return [
        Room(give, 1, want, least, least)
        for (give, want), least in zip(singles, enough, strict=True)
    ]


def drawn(rooms: list[Room], stream: Stream) -> Proposal:
    """One of all the proposals in these rooms, each equally likely."""
    ends = list(accumulate([room.most - room.least + 1 for room in rooms]))
    place = stream.integer(1, ends[-1])
    number = bisect_left(ends, place)
    return rooms[number].asking(rooms[number].most - (ends[number] - place))


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
        return Proposal.unchecked(
            give=self.give, give_amount=give, want=self.want, want_amount=want
        )


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


ACCEPT, DECLINE = Response(decision="accept"), Response(decision="decline")


def response(asked: Asked, accept: bool) -> Response:
    """The answer to the open proposal; who does not hold the chips wanted declines."""
    return ACCEPT if accept and asked.event.able else DECLINE


def gains(asked: Asked) -> bool:
    """Whether the proposal that the seat is asked about would gain it something."""
    offered: Offered = asked.event
    return offered.after > offered.worth


@strategy("player")
def random(asked: Asked, *, acceptance: Share = 0.5) -> Action:
    """Propose any trade of chips at hand, and accept with a fixed probability.

    Colours and numbers are drawn in turn, each equally likely, up to the most that the seat or
    any other player holds.

    Args:
        acceptance: the probability of accepting a proposal, in [0, 1].
    """
    if isinstance(asked.event, Offered) and not asked.event.able:
        return DECLINE
    draw = asked.chance("move", asked.request)
    if isinstance(asked.event, Offered):
        return response(asked, draw.happens(acceptance))
    mine, most = held(asked)
    give = draw.pick([colour for colour, number in mine.items() if number])
    want = draw.pick([colour for colour in mine if colour != give])
    amount = draw.integer(1, mine[give])
    wanted = draw.integer(1, max(1, most[want]))
    return Proposal.unchecked(give=give, give_amount=amount, want=want, want_amount=wanted)


@strategy("player")
def zero_intelligence(asked: Asked) -> Action:
    """Propose any trade that gains something, and accept any that does.

    Gode and Sunder (1993), traders under a budget constraint, on chips: each gainful proposal
    that another player can pay for is equally likely.
    """
    if isinstance(asked.event, Offered):
        return response(asked, gains(asked))
    return drawn(gainful(asked), asked.chance("move", asked.request))


@strategy("player")
def greedy(asked: Asked) -> Action:
    """Propose what would gain most and another player can pay for, and accept any gain.

    Whether anybody would accept it is not asked: the opposite of a fair trade.
    """
    if isinstance(asked.event, Offered):
        return response(asked, gains(asked))
    worths = dict(asked.briefing.worths)
    best = max(gainful(asked), key=lambda room: room.gain(room.most, worths))
    return best.asking(best.most)


@strategy("player")
def one_for_one(asked: Asked) -> Action:
    """Propose the trade of one chip for one that gains most, and accept no worse terms.

    The fair trades that people mostly proposed in the study (Strategic Tradeoffs, section 6.2.1).
    It accepts what gains it something and takes no more chips than it brings. Where no trade of
    one for one gains it anything, it proposes the one that gains it least.
    """
    if isinstance(asked.event, Offered):
        offer = asked.event.proposal
        return response(asked, gains(asked) and offer.give_amount >= offer.want_amount)
    worths = dict(asked.briefing.worths)
    rooms = gainful(asked)
    fair = [room for room in rooms if room.least <= room.amount <= room.most]
    if fair:
        best = max(fair, key=lambda room: room.gain(room.amount, worths))
        return best.asking(best.amount)
    least = min(rooms, key=lambda room: room.gain(room.least, worths))
    return least.asking(least.least)


@strategy("player")
def bayesian(asked: Asked, *, learning: Learning = "answers") -> Action:
    """Propose what gains most, times the probability that somebody accepts, and learn from answers.

    It takes others to accept just what they can pay for and gain by, and does so itself. Ties are
    broken at random. Where nobody could accept anything that gains it something, it proposes any
    such trade.

    Args:
        learning: what it learns from. "answers": that a partner gains by a trade and, where
            nobody accepts, that all who could pay do not. "trades": also that the proposer gains
            by the trade, as the paper's text has it. "own": answers to its own proposals.
            "nothing": it keeps the prior.
    """
    if isinstance(asked.event, Offered):
        return response(asked, gains(asked))
    return best_offer(asked, learning, asked.chance("move", asked.request))
