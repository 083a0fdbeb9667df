"""Alternating offers on a grid: the base class of array versions of bargaining and negotiation.

These games are bargaining, with offers of shares of a sum, and negotiation, with offers of a price.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

from cheaptalk.arrays.chance import draw_below
from cheaptalk.arrays.games import Array, ArrayGame, entry_at, namespace, one_hot
from cheaptalk.games.extras import needed
from cheaptalk.rules import Action, DecisionRequest, Game

np = needed("numpy")

Rules = TypeVar("Rules", bound=Game)
RUNNING = -1
"""The status of a running match; after the end, the status is the number of the last answer."""


class Haggle(NamedTuple):
    """States of matches with alternating offers.

    Attributes:
        offers: the offers so far as points of the grid, then zeros; shape (..., rounds).
        moves: the number of offers and answers so far; shape (...).
        status: ``RUNNING``, or the answer that ended the match; shape (...).
    """

    offers: Array
    moves: Array
    status: Array


class AlternatingOffers(ArrayGame[Rules, Haggle]):
    """A game of alternating offers: Alice proposes in odd stages, and Bob in even stages.

    The first actions are ``answers`` in order, followed by the points of the grid in ascending
    order. The game has no random draws.

    Args:
        parts: the number of intervals of the grid.

    Attributes:
        answers: the answers as the rules name them; all but the first answer end the match.
        replies: whether each answer is legal under the rules.
    """

    answers: ClassVar[Sequence[str]]
    rules: Any

    def __init__(self, rules: Rules, parts: int = 100) -> None:
        super().__init__(rules)
        self.parts = parts
        self.replies = [True] * len(self.answers)
        self.rounds: int = self.rules.horizon.rounds
        self.longest = 2 * self.rounds
        self.actions = len(self.answers) + parts + 1

    @abstractmethod
    def paid(self, offer: Array, stage: Array, ended: Array) -> tuple[Array, Array]:
        """Return the payoffs of Alice and Bob at the end of a match.

        Args:
            offer: the last offer, as a point of the grid.
            stage: the stage of the last offer, from 0.
            ended: the number of the answer that ended the match.
        """

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

    def turn(self, state: Haggle) -> Array:
        return (state.moves // 2 + state.moves) % 2

    def over(self, state: Haggle) -> Array:
        return state.status != RUNNING

    def possible(self, state: Haggle, number: Array) -> Array:
        xp = namespace(state.moves)
        answering = (state.moves % 2 == 1)[..., None]
        answer = xp.asarray([*self.replies, *[False] * (self.parts + 1)])[number]
        return xp.where(answering, answer, number >= len(self.answers))

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

    def payoffs(self, state: Haggle) -> Array:
        xp, stage = namespace(state.moves), state.moves // 2
        offer = entry_at(state.offers, stage)
        return xp.stack(self.paid(offer, stage, state.status), axis=-1)

    def observation(self, state: Haggle, player: Array) -> Mapping[str, Array]:
        moves = one_hot(namespace(player), state.moves, self.longest)
        return {"moves": moves, "offers": state.offers / self.parts}

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
