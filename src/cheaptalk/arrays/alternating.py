"""Alternating offers on a grid: the base class of array versions of bargaining and negotiation.

These games are bargaining, with offers of shares of a sum, and negotiation, with offers of a price.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

from cheaptalk.arrays.chance import draw_below
from cheaptalk.arrays.games import Array, ArrayGame, concatenated, entry_at, namespace, one_hot
from cheaptalk.games.extras import needed
from cheaptalk.rules import Action, DecisionRequest, Game, Instance

np = needed("numpy")

Rules = TypeVar("Rules", bound=Game)
ROLES = ("alice", "bob")
RUNNING = -1
"""The status of a running match; after the end, the status is the number of the last answer."""


class Haggle(NamedTuple):
    """States of matches; ``offers`` holds the offers so far, then zeros, shape (..., rounds).

    ``moves`` counts offers and answers; ``status`` is ``RUNNING``, or the answer that ended the
    match.
    """

    offers: Array
    moves: Array
    status: Array


class AlternatingOffers(ArrayGame[Rules, Haggle]):
    """A game of alternating offers: Alice proposes in odd stages, and Bob in even stages.

    The first actions are ``answers`` in order, of which all but the first end the match, followed
    by the points of the grid, which has ``parts`` intervals, in ascending order. The game has no
    random draws.
    """

    answers: ClassVar[Sequence[str]]
    rules: Any

    def __init__(self, rules: Rules, parts: int = 100) -> None:
        super().__init__(rules)
        self.parts = parts
        self.replies = self.possible(rules)
        self.players = ROLES
        self.uniforms = 0
        self.rounds: int = self.rules.horizon.rounds
        self.longest = 2 * self.rounds
        self.actions = len(self.answers) + parts + 1
        self.features = {"player": 2, "moves": self.longest, "offers": self.rounds}

    @staticmethod
    @abstractmethod
    def possible(rules: Any) -> list[bool]:
        """Return whether each answer to an offer is legal under the rules."""

    @abstractmethod
    def paid(self, offer: Array, stage: Array, ended: Array) -> tuple[Array, Array]:
        """Return both payoffs after an answer (``ended``) to the offer of a stage, from 0."""

    @abstractmethod
    def answer(self, word: str) -> Action:
        """Convert an answer to an offer, such as ``accept``, to an action of the rules."""

    @abstractmethod
    def grid_offer(self, point: int) -> Action:
        """Return the action that makes the offer of a grid point, without a message."""

    @abstractmethod
    def grid_point(self, offer: Any) -> int:
        """Return the grid point nearest to an offer in an event or an action."""

    def draw_instance(self, uniforms: Array) -> Haggle:
        xp, shape = namespace(uniforms), uniforms.shape[:-1]
        moves = xp.zeros(shape, np.int32)
        return Haggle(xp.zeros((*shape, self.rounds), np.int32), moves, moves + RUNNING)

    def from_instances(self, instances: Sequence[Instance]) -> Haggle:
        return self.draw_instance(np.zeros((len(instances), 0)))

    def turn(self, state: Haggle) -> Array:
        return (state.moves // 2 + state.moves) % 2

    def over(self, state: Haggle) -> Array:
        return state.status != RUNNING

    def permitted(self, state: Haggle, number: Array) -> Array:
        xp = namespace(state.moves)
        answering = (state.moves % 2 == 1)[..., None]
        answer = xp.asarray([*self.replies, *[False] * (self.parts + 1)])[number]
        possible = xp.where(answering, answer, number >= len(self.answers))
        return possible & ~self.over(state)[..., None]

    def random_action(self, state: Haggle, uniforms: Array) -> Array:
        xp = namespace(state.moves)
        answers = xp.asarray(np.flatnonzero(self.replies).astype(np.int32))
        number = draw_below(uniforms, xp.where(state.moves % 2 == 1, len(answers), self.parts + 1))
        answer = answers[xp.minimum(number, len(answers) - 1)]
        return xp.where(state.moves % 2 == 1, answer, len(self.answers) + number)

    def moved(self, state: Haggle, action: Array, moves: Array) -> Haggle:
        xp = namespace(state.moves)
        answering = state.moves % 2 == 1
        ends = moves & answering & ((action > 0) | (state.moves == self.longest - 1))
        offering = moves & ~answering
        mask = (xp.arange(self.rounds) == (state.moves // 2)[..., None]) & offering[..., None]
        offers = xp.where(mask, (action - len(self.answers))[..., None], state.offers)
        status = xp.where(ends, action, state.status).astype(np.int32)
        return Haggle(offers, state.moves + (moves & ~ends), status)

    def returns(self, state: Haggle) -> Array:
        xp, stage = namespace(state.moves), state.moves // 2
        payoffs = xp.stack(self.paid(entry_at(state.offers, stage), stage, state.status), axis=-1)
        return xp.where(self.over(state)[..., None], payoffs, 0.0)

    def scale(self, state: Haggle) -> Array:
        """Return the maximum payoff."""
        maximum = max(high for _, high in self.rules.payoff_bounds().values())
        return namespace(state.moves).full((*state.moves.shape, 2), maximum, np.float32)

    def observe(self, state: Haggle, player: Array) -> Array:
        xp = namespace(state.moves)
        player = xp.broadcast_to(xp.asarray(player), state.moves.shape)
        moves = one_hot(xp, state.moves, self.longest)
        return concatenated(player, [one_hot(xp, player, 2), moves, state.offers / self.parts])

    def position(self, request: DecisionRequest) -> Haggle:
        offers = np.zeros(self.rounds, np.int32)
        history = [*request.heard, (request.event, None)]
        offers_made = [entry for pair in history for entry in pair if is_offer(entry)]
        offers[: len(offers_made)] = [self.grid_point(entry) for entry in offers_made] or 0
        answering = is_offer(request.event)
        return Haggle(offers, np.array(2 * len(offers_made) - answering), np.array(RUNNING))

    def action(self, request: DecisionRequest, number: int) -> Action:
        if number < len(self.answers):
            return self.answer(self.answers[number])
        return self.grid_offer(number - len(self.answers))

    def number(self, request: DecisionRequest, action: Action) -> int:
        decision = getattr(action, "decision", None)
        if decision is not None:
            return self.answers.index(decision)
        return len(self.answers) + self.grid_point(action)


def is_offer(entry: object) -> bool:
    """Return whether an event or action makes an offer."""
    return hasattr(entry, "price") or hasattr(entry, "alice_gain")
