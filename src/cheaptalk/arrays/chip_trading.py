"""Chip trading as array functions; see :class:`.ChipTrading`.

Arrays take the answers to a proposal one after the other, in the order of the players, and show
nobody what another answered before the turn is over.
"""

from collections.abc import Sequence
from typing import NamedTuple

from cheaptalk.arrays.games import (
    Array,
    ArrayGame,
    NotArrayed,
    expect_few,
    namespace,
    one_hot,
    own,
)
from cheaptalk.arrays.luck import below, different, picked
from cheaptalk.games.chip_trading.events import (
    Briefing,
    Hands,
    Offered,
    Proposal,
    Response,
    TurnEnded,
)
from cheaptalk.games.chip_trading.rules import ChipTrading
from cheaptalk.games.extras import needed
from cheaptalk.rules import Action, Asked, Chance, Deal

np = needed("numpy")

DECLINE, ACCEPT, PROPOSE = 0, 1, 2
"""Actions; from ``PROPOSE`` on they are proposals, see ``ChipTradingArrays.proposed``."""
ANSWERS = ("decline", "accept")
NOBODY = -1


class Market(NamedTuple):
    """Matches of chip trading.

    Attributes:
        order: whose turn to propose comes when, shape (..., players).
        worths: of a chip to each player in cents, shape (..., players, colours).
        lots: numbers in [0, 1) that say who trades if several accept, shape (..., turns).
        holdings: chips, shape (..., players, colours).
        given, wanted: what was proposed in each turn, shape (..., turns, colours).
        willing: who accepted in each turn, shape (..., turns, players).
        partner: who traded with the proposer, or ``NOBODY``, shape (..., turns).
        moves: proposals and answers so far; shape (...).
    """

    order: Array
    worths: Array
    lots: Array
    holdings: Array
    given: Array
    wanted: Array
    willing: Array
    partner: Array
    moves: Array


class ChipTradingArrays(ArrayGame[ChipTrading, Market]):
    """Chip trading, many matches at once.

    A proposal wants as many chips of a colour as there are at the most; one that wants more is seen
    as one that wants all.
    """

    def __init__(self, rules: ChipTrading) -> None:
        super().__init__(rules)
        self.players = tuple(rules.places)
        self.count, self.colours = len(self.players), len(rules.colours)
        self.turns = rules.rounds * self.count
        self.total = rules.players * rules.chips
        self.ways = (self.colours - 1) * self.total
        self.actions = PROPOSE + self.colours * self.ways * self.total
        expect_few(rules.name, self.actions)
        self.luck = self.count + self.count * (self.colours - 1) + self.turns
        self.longest = self.turns * self.count
        self.pieces = {
            "player": self.count, "turn": self.turns, "order": self.count * self.count,
            "worths": self.colours, "holdings": self.count * self.colours,
            "given": self.turns * self.colours, "wanted": self.turns * self.colours,
            "accepted": self.turns, "partners": self.turns * self.count,
        }  # fmt: skip

    # Deals

    def deal(self, luck: Array) -> Market:
        xp, shape, count = namespace(luck), luck.shape[:-1], self.count
        order = different(luck[..., :count], count, count).astype(np.int32)
        own_luck = luck[..., count : -self.turns].reshape(*shape, count, self.colours - 1)
        known = xp.asarray(self.rules.values, dtype=np.int32)
        values = known[below(own_luck, len(self.rules.values))]
        return self._begun(order, values, luck[..., -self.turns :])

    def of_deals(self, deals: Sequence[Deal]) -> Market:
        hands = [one for one in deals if isinstance(one, Hands)]
        order = np.array([[self.players.index(one) for one in hand.order] for hand in hands])
        values = np.array([
            [[hand.values[place][colour] for colour in self.rules.colours[1:]]
             for place in self.players]
            for hand in hands
        ])  # fmt: skip
        begun = self._begun(order.astype(np.int32), values, np.zeros((len(hands), self.turns)))
        return self.with_chances(begun, [Chance("arrays", number) for number in range(len(hands))])

    def with_chances(self, state: Market, chances: Sequence[Chance]) -> Market:
        lots = [
            [one("partner", turn + 1).uniform() for turn in range(self.turns)] for one in chances
        ]
        return state._replace(lots=np.array(lots))

    def _begun(self, order: Array, values: Array, lots: Array) -> Market:
        xp, shape = namespace(order), order.shape[:-1]
        common = xp.full((*shape, self.count, 1), self.rules.common_value, np.int32)
        worths = xp.concatenate([common, values.astype(np.int32)], axis=-1)
        none = xp.zeros((*shape, self.turns, self.colours), np.int32)
        return Market(
            order, worths, lots, xp.full(worths.shape, self.rules.chips, np.int32), none, none,
            xp.zeros((*shape, self.turns, self.count), bool),
            xp.full((*shape, self.turns), NOBODY, np.int32), xp.zeros(shape, np.int32),
        )  # fmt: skip

    def every_deal(self) -> tuple[list[Deal], list[float]]:
        raise NotArrayed("chip_trading has too many deals to list, as it draws in play, too")

    def deals_of(self, state: Market) -> list[Deal]:
        orders, worths = np.asarray(state.order).tolist(), np.asarray(state.worths).tolist()
        return [
            Hands(
                order=[self.players[at] for at in order],
                values={
                    place: dict(zip(self.rules.colours[1:], row[1:], strict=True))
                    for place, row in zip(self.players, rows, strict=True)
                },
            )
            for order, rows in zip(orders, worths, strict=True)
        ]

    # Moves

    def over(self, state: Market) -> Array:
        return state.moves == self.longest

    def _proposer(self, state: Market) -> Array:
        """Whose turn it is to propose; shape (...)."""
        at = state.moves // self.count % self.count
        return namespace(state.moves).take_along_axis(state.order, at[..., None], axis=-1)[..., 0]

    def turn(self, state: Market) -> Array:
        xp, proposer = namespace(state.moves), self._proposer(state)
        number = state.moves % self.count - 1
        return xp.where(number < 0, proposer, number + (number >= proposer))

    def _now(self, state: Market, by_turn: Array) -> Array:
        """What stands in an array for this turn, or the last; shape (..., what the array has)."""
        return own(by_turn, namespace(by_turn).minimum(state.moves // self.count, self.turns - 1))

    def _able(self, state: Market, player: Array) -> Array:
        """Whether a player holds the chips wanted; shape (...)."""
        return (own(state.holdings, player) >= self._now(state, state.wanted)).all(axis=-1)

    def permitted(self, state: Market, number: Array) -> Array:
        xp, player = namespace(state.moves), self.turn(state)
        place = xp.maximum(number - PROPOSE, 0)
        colour, amount = place // (self.ways * self.total), place // self.ways % self.total + 1
        colour = xp.broadcast_to(colour, (*state.moves.shape, number.shape[-1]))
        holds = xp.take_along_axis(own(state.holdings, player), colour, axis=-1) >= amount
        able = self._able(state, player)[..., None]
        answers = (number == DECLINE) | ((number == ACCEPT) & able)
        proposing = (state.moves % self.count == 0)[..., None]
        possible = xp.where(proposing, (number >= PROPOSE) & holds, answers)
        return possible & ~self.over(state)[..., None]

    def drawn(self, state: Market, luck: Array) -> Array:
        xp, player = namespace(state.moves), self.turn(state)
        stock = own(state.holdings, player)
        proposing = state.moves % self.count == 0
        count = xp.where(
            proposing, stock.sum(axis=-1) * self.ways, 1 + self._able(state, player)
        )  # fmt: skip
        number = below(luck, count)
        chip, rest = number // self.ways, number % self.ways
        before = stock.cumsum(axis=-1)
        colour = (before <= chip[..., None]).sum(axis=-1)
        others = xp.where(xp.arange(self.colours) < colour[..., None], stock, 0).sum(axis=-1)
        place = (colour * self.total + chip - others) * self.ways + rest
        return xp.where(proposing, PROPOSE + place, number).astype(np.int32)

    def proposed(self, action: Array) -> tuple[Array, Array]:
        """The chips that an action gives and wants, shape (..., colours) each.

        Its number counts the colour that is given, its amount, the colour that is wanted, without
        the one that is given, and its amount, the last one fastest.
        """
        xp, place = namespace(action), action - PROPOSE
        wanted = place % self.total + 1
        want = place // self.total % (self.colours - 1)
        given = place // self.ways % self.total + 1
        give = place // (self.ways * self.total)
        want = want + (want >= give)
        colour = xp.arange(self.colours)
        return (
            xp.where(colour == give[..., None], given[..., None], 0),
            xp.where(colour == want[..., None], wanted[..., None], 0),
        )

    def moved(self, state: Market, action: Array, moves: Array) -> Market:
        xp, phase, player = namespace(state.moves), state.moves % self.count, self.turn(state)
        here = (xp.arange(self.turns) == (state.moves // self.count)[..., None]) & moves[..., None]
        given, wanted = self.proposed(xp.maximum(action, PROPOSE))
        proposes = (here & (phase == 0)[..., None])[..., None]
        accepts = here & ((phase > 0) & (action == ACCEPT))[..., None]
        is_player = xp.arange(self.count) == player[..., None]
        after = state._replace(
            given=xp.where(proposes, given[..., None, :], state.given),
            wanted=xp.where(proposes, wanted[..., None, :], state.wanted),
            willing=state.willing | (accepts[..., None] & is_player[..., None, :]),
        )
        closed = self._closed(after, here & (phase == self.count - 1)[..., None])
        return closed._replace(moves=state.moves + moves)

    def _closed(self, state: Market, here: Array) -> Market:
        """Matches after the last answer of a turn, where it is the last of this one."""
        xp, willing = namespace(state.moves), self._now(state, state.willing)
        ends = here.any(axis=-1) & willing.any(axis=-1)
        partner = picked(willing, self._now(state, state.lots)).astype(np.int32)
        players, proposer = xp.arange(self.count), self._proposer(state)
        sign = (players == proposer[..., None]) * 1 - (players == partner[..., None])
        change = self._now(state, state.wanted) - self._now(state, state.given)
        moved = sign[..., None] * change[..., None, :] * ends[..., None, None]
        traded = here & ends[..., None]
        return state._replace(
            holdings=(state.holdings + moved).astype(np.int32),
            partner=xp.where(traded, partner[..., None], state.partner),
        )

    def gained(self, state: Market) -> Array:
        """What each player's chips have gained in worth to it, in cents; shape (..., players)."""
        return (state.worths * (state.holdings - self.rules.chips)).sum(axis=-1)

    def returns(self, state: Market) -> Array:
        xp = namespace(state.moves)
        gained = xp.maximum(self.gained(state), 0) / 100
        return xp.where(self.over(state)[..., None], gained, 0.0)

    def scale(self, state: Market) -> Array:
        """What a player's first chips are worth to it, in dollars."""
        return (state.worths.sum(axis=-1) * self.rules.chips / 100).astype(np.float32)

    # What players know

    def observe(self, state: Market, player: Array) -> Array:
        xp = namespace(state.moves)
        player = xp.broadcast_to(xp.asarray(player), state.moves.shape)
        dearest = max(self.rules.common_value, *self.rules.values)
        pieces = [  # shares of the largest possible numbers, in [0, 1]
            one_hot(xp, player, self.count), one_hot(xp, state.moves // self.count, self.turns),
            one_hot(xp, state.order, self.count), own(state.worths, player) / dearest,
            *(chips / self.total for chips in (state.holdings, state.given, state.wanted)),
            own(state.willing.swapaxes(-1, -2), player), one_hot(xp, state.partner, self.count),
        ]  # fmt: skip
        flat = [piece.reshape(*state.moves.shape, -1).astype(np.float32) for piece in pieces]
        return xp.concatenate(flat, axis=-1)

    def position(self, asked: Asked) -> Market:
        briefing: Briefing = asked.briefing
        player = self.place_number(asked)
        given, wanted = chips = np.zeros((2, self.turns, self.colours), np.int32)
        willing = np.zeros((self.turns, self.count), bool)
        partner = np.full(self.turns, NOBODY)
        for event, action in [*asked.heard, (asked.event, None)]:
            if isinstance(event, (Offered, TurnEnded)):
                chips[:, event.turn - 1] = self._chips(event.proposal)
            if isinstance(event, TurnEnded) and event.partner is not None:
                partner[event.turn - 1] = self.players.index(event.partner)
            if isinstance(event, Offered) and isinstance(action, Response):
                willing[event.turn - 1, player] = action.decision == "accept"
        holdings = np.array([[count for _, count in stock] for _, stock in asked.event.stocks])
        order = np.array([self.players.index(one) for one in briefing.order])
        worths = np.zeros((self.count, self.colours), np.int32)
        worths[player] = [worth for _, worth in briefing.worths]
        turn = asked.event.turn - 1
        proposer = order[turn % self.count]
        phase = player - (player > proposer) + 1 if isinstance(asked.event, Offered) else 0
        return Market(
            order,
            worths,
            np.zeros(self.turns),
            holdings,
            given,
            wanted,
            willing,
            partner,
            np.array(turn * self.count + phase),
        )

    def _chips(self, proposal: Proposal) -> list[list[int]]:
        """The chips that a proposal gives and wants."""
        sides = {proposal.give: proposal.give_amount}, {proposal.want: proposal.want_amount}
        return [[min(side.get(one, 0), self.total) for one in self.rules.colours] for side in sides]

    def action(self, asked: Asked, number: int) -> Action:
        if number < PROPOSE:
            return Response.model_validate({"decision": ANSWERS[number]})
        given, wanted = (side.tolist() for side in self.proposed(np.array(number)))
        (give,), (want,) = (np.flatnonzero(side) for side in (given, wanted))
        return Proposal(
            give=self.rules.colours[give], give_amount=given[give],
            want=self.rules.colours[want], want_amount=wanted[want],
        )  # fmt: skip

    def number(self, asked: Asked, action: Action) -> int:
        if isinstance(action, Response):
            return ANSWERS.index(action.decision)
        assert isinstance(action, Proposal)
        give, want = (self.rules.colours.index(one) for one in (action.give, action.want))
        colours = give * self.total + action.give_amount - 1
        wanted = min(action.want_amount, self.total) - 1
        return PROPOSE + colours * self.ways + (want - (want > give)) * self.total + wanted
