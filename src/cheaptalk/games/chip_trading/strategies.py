"""Scripted strategies of chip trading, which depend only on observations.

A belief about another player is the set of that player's possible values, all equally likely. The
prior is uniform, and observations exclude possibilities (Strategic Tradeoffs, section 5.3 and
appendix A.3). Beliefs need numpy.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import accumulate, groupby, permutations
from typing import Any, Literal

from msgspec import Struct

from cheaptalk.games.chip_trading import rules
from cheaptalk.games.extras import needed
from cheaptalk.games.tactics import Share
from cheaptalk.rules import Action, DecisionRequest, Stream, strategy


class Room(Struct, frozen=True):
    """Proposals that offer the same chips for varying numbers of chips of another colour."""

    give: str
    amount: int
    want: str
    min_wanted: int
    max_wanted: int

    @property
    def range(self) -> range:
        return range(self.min_wanted, self.max_wanted + 1)

    def gain(self, amount_wanted: int, worths: Mapping[str, int]) -> int:
        """Return the player's gain if the proposal requests ``amount_wanted`` chips."""
        return amount_wanted * worths[self.want] - self.amount * worths[self.give]

    def proposal(self, amount_wanted: int) -> rules.Proposal:
        return rules.Proposal.of(self.give, self.amount, self.want, amount_wanted)


def held(request: DecisionRequest) -> tuple[rules.Stock, rules.Stock]:
    """Return the player's chips, and the most chips of each colour that any other player holds."""
    rival_stocks = rules.read(request.event.stocks)
    own_stock = rival_stocks.pop(request.actor)
    maxima = {colour: max(stock[colour] for stock in rival_stocks.values()) for colour in own_stock}
    return own_stock, maxima


def gainful(request: DecisionRequest) -> list[Room]:
    """Return the proposals that benefit the player and that another player can afford.

    If there are none, return unaffordable proposals that give a single chip and benefit the player.
    """
    worths = dict(request.briefing.worths)
    stock, maxima = held(request)
    pairs = list(permutations(stock, 2))
    payable = [
        Room(give, amount, want, minimum, maxima[want])
        for give, want in pairs
        for amount in range(1, stock[give] + 1)
        if (minimum := amount * worths[give] // worths[want] + 1) <= maxima[want]
    ]
    if payable:
        return payable
    singles = [(*pair, worths[pair[0]] // worths[pair[1]] + 1) for pair in pairs if stock[pair[0]]]
    return [Room(give, 1, want, minimum, minimum) for give, want, minimum in singles]


def draw_proposal(rooms: list[Room], stream: Stream) -> rules.Proposal:
    """Draw a proposal from several ranges, with equal probability for each proposal."""
    ends = list(accumulate([room.max_wanted - room.min_wanted + 1 for room in rooms]))
    draw = stream.integer(1, ends[-1])
    number = bisect_left(ends, draw)
    return rooms[number].proposal(rooms[number].max_wanted - (ends[number] - draw))


np = needed("numpy")

Learning = Literal["answers", "trades", "own", "nothing"]
Possible = dict[str, Any]
"""The possible values of a player's chips: an array by colour, with one entry per possibility."""
MAX_VALUE_PROFILES = 1_000_000
"""Maximum number of possible combinations of a player's values."""
TIE = 1e-9
"""Maximum relative difference of expected gains that are treated as equal."""


def best_offer(request: DecisionRequest, learning: Learning, stream: Stream) -> rules.Proposal:
    """Return the profitable proposal with the greatest expected gain; ties are broken at random."""
    holdings = rules.read(request.event.stocks)
    rivals = beliefs(request, learning)
    worths = dict(request.briefing.worths)
    weighed = [
        (*pair, *weigh(list(rooms), worths, holdings, rivals))
        for pair, rooms in groupby(gainful(request), key=lambda room: (room.give, room.want))
    ]
    threshold = max(expected.max() for *_, expected in weighed) * (1 - TIE)
    best = [
        (give, amounts[index], want, wanted_amounts[index])
        for give, want, amounts, wanted_amounts, expected in weighed
        for index in np.flatnonzero(expected >= threshold)
    ]
    give, amount, want, wanted_amount = stream.pick(best)
    return rules.Proposal.of(give, int(amount), want, int(wanted_amount))


def weigh(
    rooms: list[Room], worths: dict[str, int], holdings: rules.Holdings, rivals: dict[str, Possible]
) -> tuple[Any, Any, Any]:
    """Return arrays of given amounts, requested amounts and expected gains of proposals.

    The proposals are for one pair of colours. A player gains by giving y requested chips for x
    offered chips if and only if a requested chip is worth less than x / y offered chips. The other
    players' values are independent.
    """
    give, want = rooms[0].give, rooms[0].want
    amounts = np.repeat([room.amount for room in rooms], [len(room.range) for room in rooms])
    wanted_amounts = np.concatenate([np.array(room.range) for room in rooms])
    none_accept = np.ones(len(wanted_amounts))
    for player, possible in rivals.items():
        ratios = np.sort(possible[want] / possible[give])
        accepts = np.searchsorted(ratios, amounts / wanted_amounts) / len(ratios)
        none_accept *= 1 - np.where(wanted_amounts <= holdings[player][want], accepts, 0)
    gain = wanted_amounts * worths[want] - amounts * worths[give]
    return amounts, wanted_amounts, gain * (1 - none_accept)


def prior(briefing: rules.Briefing) -> Possible:
    """Return the values that another player may have, before any observation."""
    (common, cents), *private = briefing.worths
    count = len(briefing.values) ** len(private)
    if count > MAX_VALUE_PROFILES:
        raise ValueError(
            f"beliefs over {count:,} values of a player are too large; the maximum is "
            f"{MAX_VALUE_PROFILES:,}"
        )
    grid = np.meshgrid(*[np.array(briefing.values)] * len(private), indexing="ij")
    columns = zip((colour for colour, _ in private), grid, strict=True)
    return {common: np.full(count, cents)} | {colour: values.ravel() for colour, values in columns}


def beliefs(request: DecisionRequest, learning: Learning) -> dict[str, Possible]:
    """Return each other player's possible values, given all observations.

    Beliefs assume that players accept exactly the trades that benefit them. An observation that
    contradicts a belief leaves the belief unchanged.
    """
    start = prior(request.briefing)
    believed = {player: start for player in request.briefing.order if player != request.actor}
    if learning == "nothing":
        return believed
    holdings: rules.Holdings = {}
    for event, _ in request.heard:
        if isinstance(event, rules.TurnEnded):
            for player, trade, gainful in training_examples(
                event, holdings, learning, request.actor
            ):
                if player in believed:
                    believed[player] = narrowed(believed[player], trade, gainful)
        elif isinstance(event, rules.Turn | rules.Offered):
            holdings = rules.read(event.stocks)
    return believed


def training_examples(
    event: rules.TurnEnded, holdings: rules.Holdings, learning: Learning, seat: str
) -> Iterator[tuple[str, rules.Proposal, bool]]:
    """Yield what a turn reveals, as (player, trade, whether the player gains from the trade)."""
    offer, trade = event.proposal, event.proposal.mirrored
    if learning == "own" and event.proposer != seat:
        return
    if event.partner is not None:
        yield event.partner, trade, True
        if learning == "trades":
            yield event.proposer, offer, True
        return
    for player, stock in holdings.items():
        if player != event.proposer and rules.can_give(stock, trade):
            yield player, trade, False


def narrowed(possible: Possible, trade: rules.Proposal, gainful: bool) -> Possible:
    """Return the values that fit an observed trade or refusal, or all values if none fit."""
    gain = trade.want_amount * possible[trade.want] - trade.give_amount * possible[trade.give]
    fits = (gain > 0) == gainful
    return {colour: values[fits] for colour, values in possible.items()} if fits.any() else possible


ACCEPT, DECLINE = rules.Response(decision="accept"), rules.Response(decision="decline")


def response(request: DecisionRequest, accept: bool) -> rules.Response:
    """Return an answer to a proposal, always declining if the player lacks the requested chips."""
    return ACCEPT if accept and request.event.able else DECLINE


def gains(request: DecisionRequest) -> bool:
    """Return whether the proposal would benefit the player."""
    offered: rules.Offered = request.event
    return offered.after > offered.worth


@strategy("player")
def random(request: DecisionRequest, *, acceptance: Share = 0.5) -> Action:
    """Propose a random trade of available chips, and accept with a fixed probability.

    Colours and numbers are drawn one after another, each equally likely, up to the numbers that
    players hold.

    Args:
        acceptance: the probability of accepting a proposal, in [0, 1].
    """
    if isinstance(request.event, rules.Offered) and not request.event.able:
        return DECLINE
    draw = request.chance("move", request.number)
    if isinstance(request.event, rules.Offered):
        return response(request, draw.happens(acceptance))
    stock, maxima = held(request)
    give = draw.pick([colour for colour, number in stock.items() if number])
    want = draw.pick([colour for colour in stock if colour != give])
    amount = draw.integer(1, stock[give])
    return rules.Proposal.of(give, amount, want, draw.integer(1, max(1, maxima[want])))


@strategy("player")
def zero_intelligence(request: DecisionRequest) -> Action:
    """Propose a random profitable trade, and accept any profitable trade.

    The budget-constrained zero-intelligence traders of Gode and Sunder (1993), applied to chips:
    each gainful proposal that another player can afford is equally likely.
    """
    if isinstance(request.event, rules.Offered):
        return response(request, gains(request))
    return draw_proposal(gainful(request), request.chance("move", request.number))


@strategy("player")
def greedy(request: DecisionRequest) -> Action:
    """Propose the most profitable trade that another player can afford, and accept any gain.

    The strategy ignores whether another player would accept the trade.
    """
    if isinstance(request.event, rules.Offered):
        return response(request, gains(request))
    worths = dict(request.briefing.worths)
    best = max(gainful(request), key=lambda room: room.gain(room.max_wanted, worths))
    return best.proposal(best.max_wanted)


@strategy("player")
def one_for_one(request: DecisionRequest) -> Action:
    """Propose the most profitable one-for-one trade, and accept equal or better terms.

    People tended to propose such trades (Strategic Tradeoffs, section 6.2.1). The strategy accepts
    gainful trades that bring at least as many chips as they cost. If no one-for-one trade is
    gainful, it proposes the trade with the smallest gain.
    """
    if isinstance(request.event, rules.Offered):
        offer = request.event.proposal
        return response(request, gains(request) and offer.give_amount >= offer.want_amount)
    worths = dict(request.briefing.worths)
    rooms = gainful(request)
    fair = [room for room in rooms if room.min_wanted <= room.amount <= room.max_wanted]
    if fair:
        best = max(fair, key=lambda room: room.gain(room.amount, worths))
        return best.proposal(best.amount)
    smallest = min(rooms, key=lambda room: room.gain(room.min_wanted, worths))
    return smallest.proposal(smallest.min_wanted)


@strategy("player")
def bayesian(request: DecisionRequest, *, learning: Learning = "answers") -> Action:
    """Maximise the gain times the probability of acceptance, learning from responses.

    The strategy accepts exactly the trades that benefit it, and assumes the same of other players.
    Ties are broken at random. If no player could accept any gainful trade, the strategy proposes a
    random gainful trade.

    Args:
        learning: the evidence used. "answers": a partner gains by a trade, and players who could
            afford a rejected trade do not. "trades": in addition, the proposer gains by a trade, as
            in the paper's text. "own": only responses to the strategy's proposals. "nothing": no
            evidence.
    """
    if isinstance(request.event, rules.Offered):
        return response(request, gains(request))
    return best_offer(request, learning, request.chance("move", request.number))
