"""Chip trading as an array game, which plays many matches at once.

Responses to a proposal are processed one by one, in the order of the players, but no response is
revealed before the turn ends.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cheaptalk.arrays.chance import draw_below, draw_distinct, pick
from cheaptalk.arrays.games import Array, ArrayGame, entry_at, namespace, one_hot
from cheaptalk.games.chip_trading.rules import (
    Briefing,
    ChipTrading,
    Hands,
    Offered,
    Proposal,
    Response,
    TurnEnded,
)
from cheaptalk.games.extras import needed
from cheaptalk.rules import Action, Chance, DecisionRequest, Instance
from cheaptalk.rules.errors import expect

np = needed("numpy")

DECLINE, ACCEPT, PROPOSE = 0, 1, 2
"""Action numbers; ``PROPOSE`` and higher numbers are proposals, see ``ChipTradingArrays.proposed``.
"""
ANSWERS = ("decline", "accept")
NO_PARTNER = -1


class Market(NamedTuple):
    """States of chip trading.

    Attributes:
        order: the players in the order of their proposals, shape (..., players).
        worths: a chip's value to each player in cents, shape (..., players, colours).
        lots: random numbers that choose between players who accept, shape (..., turns).
        holdings: the number of chips, shape (..., players, colours).
        given, wanted: the chips in the proposal of each turn, shape (..., turns, colours).
        willing: whether each player accepted in each turn, shape (..., turns, players).
        partner: the player who traded with the proposer, or ``NO_PARTNER``; shape (..., turns).
        moves: the number of proposals and responses so far; shape (...).
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
    """Chip trading as an array game, which plays many matches at once.

    A proposal that requests more chips of a colour than exist is a request for all of them.
    """

    def __init__(self, rules: ChipTrading) -> None:
        super().__init__(rules)
        self.colours = len(rules.colours)
        self.turns = rules.rounds * self.count
        self.total = rules.players * rules.chips
        self.ways = (self.colours - 1) * self.total
        self.actions = PROPOSE + self.colours * self.ways * self.total
        self.check_action_count()
        self.uniforms = self.count + self.count * (self.colours - 1) + self.turns
        self.longest = self.turns * self.count

    # Instances

    def draw_instance(self, uniforms: Array) -> Market:
        xp, shape, count = namespace(uniforms), uniforms.shape[:-1], self.count
        order = draw_distinct(uniforms[..., :count], count, count).astype(np.int32)
        own_uniforms = uniforms[..., count : -self.turns].reshape(*shape, count, self.colours - 1)
        private_values = xp.asarray(self.rules.values, dtype=np.int32)
        values = private_values[draw_below(own_uniforms, len(self.rules.values))]
        return self._begun(order, values, uniforms[..., -self.turns :])

    def from_instances(self, instances: Sequence[Instance]) -> Market:
        hands = [instance for instance in instances if isinstance(instance, Hands)]
        order = np.array([[self.players.index(name) for name in hand.order] for hand in hands])
        values = np.array(
            [
                [
                    [hand.values[seat][colour] for colour in self.rules.colours[1:]]
                    for seat in self.players
                ]
                for hand in hands
            ]
        )
        begun = self._begun(order.astype(np.int32), values, np.zeros((len(hands), self.turns)))
        return self.with_chances(begun, [Chance("arrays", number) for number in range(len(hands))])

    def with_chances(self, state: Market, chances: Sequence[Chance]) -> Market:
        lots = [
            [chance("partner", turn + 1).uniform() for turn in range(self.turns)]
            for chance in chances
        ]
        return state._replace(lots=np.array(lots))

    def _begun(self, order: Array, values: Array, lots: Array) -> Market:
        xp, shape = namespace(order), order.shape[:-1]
        common = xp.full((*shape, self.count, 1), self.rules.common_value, np.int32)
        worths = xp.concatenate([common, values.astype(np.int32)], axis=-1)
        none = xp.zeros((*shape, self.turns, self.colours), np.int32)
        return Market(
            order,
            worths,
            lots,
            xp.full(worths.shape, self.rules.chips, np.int32),
            none,
            none,
            xp.zeros((*shape, self.turns, self.count), bool),
            xp.full((*shape, self.turns), NO_PARTNER, np.int32),
            xp.zeros(shape, np.int32),
        )

    def instances_of(self, state: Market) -> list[Instance]:
        orders, worths = np.asarray(state.order).tolist(), np.asarray(state.worths).tolist()
        return [
            Hands(
                order=[self.players[index] for index in order],
                values={
                    seat: dict(zip(self.rules.colours[1:], row[1:], strict=True))
                    for seat, row in zip(self.players, rows, strict=True)
                },
            )
            for order, rows in zip(orders, worths, strict=True)
        ]

    # Moves

    def over(self, state: Market) -> Array:
        return state.moves == self.longest

    def _proposer(self, state: Market) -> Array:
        """Return the index of the player who proposes in this turn; shape (...)."""
        return entry_at(state.order, state.moves // self.count % self.count)

    def turn(self, state: Market) -> Array:
        xp, proposer = namespace(state.moves), self._proposer(state)
        number = state.moves % self.count - 1
        return xp.where(number < 0, proposer, number + (number >= proposer))

    def _in_this_turn(self, state: Market, by_turn: Array) -> Array:
        """Return an array's entry for the current turn, or the last turn of a finished match."""
        turn = namespace(by_turn).minimum(state.moves // self.count, self.turns - 1)
        return entry_at(by_turn, turn)

    def _able(self, state: Market, player: Array) -> Array:
        """Return whether a player holds the requested chips; shape (...)."""
        requested = self._in_this_turn(state, state.wanted)
        return (entry_at(state.holdings, player) >= requested).all(axis=-1)

    def possible(self, state: Market, number: Array) -> Array:
        xp, player = namespace(state.moves), self.turn(state)
        code = xp.maximum(number - PROPOSE, 0)
        colour, amount = code // (self.ways * self.total), code // self.ways % self.total + 1
        colour = xp.broadcast_to(colour, (*state.moves.shape, number.shape[-1]))
        holds = xp.take_along_axis(entry_at(state.holdings, player), colour, axis=-1) >= amount
        able = self._able(state, player)[..., None]
        answers = (number == DECLINE) | ((number == ACCEPT) & able)
        proposing = (state.moves % self.count == 0)[..., None]
        return xp.where(proposing, (number >= PROPOSE) & holds, answers)

    def random_action(self, state: Market, uniforms: Array) -> Array:
        xp, player = namespace(state.moves), self.turn(state)
        stock = entry_at(state.holdings, player)
        proposing = state.moves % self.count == 0
        answers = 1 + self._able(state, player)
        number = draw_below(uniforms, xp.where(proposing, stock.sum(axis=-1) * self.ways, answers))
        chip, want_code = number // self.ways, number % self.ways
        colour = (stock.cumsum(axis=-1) <= chip[..., None]).sum(axis=-1)
        earlier_chips = xp.where(xp.arange(self.colours) < colour[..., None], stock, 0).sum(axis=-1)
        code = (colour * self.total + chip - earlier_chips) * self.ways + want_code
        return xp.where(proposing, PROPOSE + code, number).astype(np.int32)

    def proposed(self, action: Array) -> tuple[Array, Array]:
        """Return the chips that an action gives and requests, shape (..., colours) each.

        The digits of the action number are, from slowest to fastest: the given colour, its amount,
        the requested colour (without the given colour) and its amount.
        """
        xp, code = namespace(action), action - PROPOSE
        amount_wanted = code % self.total + 1
        want = code // self.total % (self.colours - 1)
        amount_given = code // self.ways % self.total + 1
        give = code // (self.ways * self.total)
        want = want + (want >= give)
        colour = xp.arange(self.colours)
        return (
            xp.where(colour == give[..., None], amount_given[..., None], 0),
            xp.where(colour == want[..., None], amount_wanted[..., None], 0),
        )

    def moved(self, state: Market, action: Array, moves: Array) -> Market:
        xp, phase, player = namespace(state.moves), state.moves % self.count, self.turn(state)
        mask = (xp.arange(self.turns) == (state.moves // self.count)[..., None]) & moves[..., None]
        chips_given, chips_requested = self.proposed(xp.maximum(action, PROPOSE))
        proposes = (mask & (phase == 0)[..., None])[..., None]
        accepts = mask & ((phase > 0) & (action == ACCEPT))[..., None]
        is_player = xp.arange(self.count) == player[..., None]
        updated = state._replace(
            given=xp.where(proposes, chips_given[..., None, :], state.given),
            wanted=xp.where(proposes, chips_requested[..., None, :], state.wanted),
            willing=state.willing | (accepts[..., None] & is_player[..., None, :]),
        )
        closed = self._closed(updated, mask & (phase == self.count - 1)[..., None])
        return closed._replace(moves=state.moves + moves)

    def _closed(self, state: Market, mask: Array) -> Market:
        """Carry out the trades of completed turns, selected by ``mask``, and return the states."""
        xp, willing = namespace(state.moves), self._in_this_turn(state, state.willing)
        ends = mask.any(axis=-1) & willing.any(axis=-1)
        partner = pick(willing, self._in_this_turn(state, state.lots)).astype(np.int32)
        players, proposer = xp.arange(self.count), self._proposer(state)
        sign = (players == proposer[..., None]) * 1 - (players == partner[..., None])
        change = self._in_this_turn(state, state.wanted) - self._in_this_turn(state, state.given)
        moved = sign[..., None] * change[..., None, :] * ends[..., None, None]
        return state._replace(
            holdings=(state.holdings + moved).astype(np.int32),
            partner=xp.where(mask & ends[..., None], partner[..., None], state.partner),
        )

    def gained(self, state: Market) -> Array:
        """Return the gain of each player in cents; shape (..., players)."""
        return (state.worths * (state.holdings - self.rules.chips)).sum(axis=-1)

    def payoffs(self, state: Market) -> Array:
        return namespace(state.moves).maximum(self.gained(state), 0) / 100

    def scale(self, state: Market) -> Array:
        """Return the initial worth of each player's chips in dollars."""
        return (state.worths.sum(axis=-1) * self.rules.chips / 100).astype(np.float32)

    # Observations

    def observation(self, state: Market, player: Array) -> Mapping[str, Array]:
        xp = namespace(state.moves)
        max_worth = max(self.rules.common_value, *self.rules.values)
        return {
            "turn": one_hot(xp, state.moves // self.count, self.turns),
            "order": one_hot(xp, state.order, self.count),
            "worths": entry_at(state.worths, player) / max_worth,
            "holdings": state.holdings / self.total,
            "given": state.given / self.total,
            "wanted": state.wanted / self.total,
            "accepted": entry_at(state.willing.swapaxes(-1, -2), player),
            "partners": one_hot(xp, state.partner, self.count),
        }

    def position(self, request: DecisionRequest) -> Market:
        briefing: Briefing = request.briefing
        player = self.player_index(request)
        chips_given, chips_requested = chips = np.zeros((2, self.turns, self.colours), np.int32)
        willing = np.zeros((self.turns, self.count), bool)
        partner = np.full(self.turns, NO_PARTNER)
        for event, action in [*request.heard, (request.event, None)]:
            if isinstance(event, (Offered, TurnEnded)):
                chips[:, event.turn - 1] = self._chips(event.proposal)
            if isinstance(event, TurnEnded) and event.partner is not None:
                partner[event.turn - 1] = self.players.index(event.partner)
            if isinstance(event, Offered) and isinstance(action, Response):
                willing[event.turn - 1, player] = action.decision == "accept"
        holdings = np.array([[count for _, count in stock] for _, stock in request.event.stocks])
        order = np.array([self.players.index(name) for name in briefing.order])
        worths = np.zeros((self.count, self.colours), np.int32)
        worths[player] = [worth for _, worth in briefing.worths]
        turn = request.event.turn - 1
        proposer = order[turn % self.count]
        phase = player - (player > proposer) + 1 if isinstance(request.event, Offered) else 0
        return Market(
            order,
            worths,
            np.zeros(self.turns),
            holdings,
            chips_given,
            chips_requested,
            willing,
            partner,
            np.array(turn * self.count + phase),
        )

    def _chips(self, proposal: Proposal) -> list[list[int]]:
        """Return the chips that a proposal gives and requests."""
        sides = {proposal.give: proposal.give_amount}, {proposal.want: proposal.want_amount}
        return [
            [min(side.get(colour, 0), self.total) for colour in self.rules.colours]
            for side in sides
        ]

    def action(self, request: DecisionRequest, number: int) -> Action:
        if number < PROPOSE:
            return Response.model_validate({"decision": ANSWERS[number]})
        chips_given, chips_requested = (side.tolist() for side in self.proposed(np.array(number)))
        (give,), (want,) = (np.flatnonzero(side) for side in (chips_given, chips_requested))
        return Proposal(
            give=self.rules.colours[give],
            give_amount=chips_given[give],
            want=self.rules.colours[want],
            want_amount=chips_requested[want],
        )

    def number(self, request: DecisionRequest, action: Action) -> int:
        if isinstance(action, Response):
            return ANSWERS.index(action.decision)
        action = expect(action, Proposal, "a Proposal")
        give, want = (self.rules.colours.index(colour) for colour in (action.give, action.want))
        colours = give * self.total + action.give_amount - 1
        amount = min(action.want_amount, self.total) - 1
        return PROPOSE + colours * self.ways + (want - (want > give)) * self.total + amount
