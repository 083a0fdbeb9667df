"""Alternating offers of one number, of a grid: what bargaining and negotiation have in common."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

from cheaptalk.arrays.games import Array, ArrayGame, namespace, one_hot
from cheaptalk.arrays.luck import below
from cheaptalk.games.extras import needed
from cheaptalk.rules import Action, Asked, Deal, Game

np = needed("numpy")

Rules = TypeVar("Rules", bound=Game)
ROLES = ("alice", "bob")
RUNNING = -1
"""How a match stands that is under way; one that has ended stands at the answer that ended it."""


class Haggle(NamedTuple):
    """Matches of alternating offers.

    Attributes:
        offers: made so far, by their places on the grid; 0 where none was. Shape (..., rounds).
        moves: offers and answers so far; shape (...).
        stands: ``RUNNING``, or the answer that ended the match; shape (...).
    """

    offers: Array
    moves: Array
    stands: Array


class AlternatingOffers(ArrayGame[Rules, Haggle]):
    """Alice offers in odd stages and Bob answers, in even ones the other way round.

    Actions are the answers, in the order of ``answers``, and behind them the offers of a grid from
    its lowest point to its highest. No luck is dealt.

    Args:
        parts: into which the grid is divided: it has one point more.

    Attributes:
        answers: by the words of the rules; the first is the one after which others may follow.
    """

    answers: ClassVar[Sequence[str]]
    rules: Any

    def __init__(self, rules: Rules, parts: int = 100) -> None:
        super().__init__(rules)
        self.parts = parts
        self.replies = self.possible(rules)
        self.players = ROLES
        self.luck = 0
        self.rounds: int = self.rules.horizon.rounds
        self.longest = 2 * self.rounds
        self.actions = len(self.answers) + parts + 1
        self.pieces = {"player": 2, "moves": self.longest, "offers": self.rounds}

    @staticmethod
    @abstractmethod
    def possible(rules: Any) -> list[bool]:
        """Which of the answers there are with these rules."""

    @abstractmethod
    def paid(self, offer: Array, stage: Array, ended: Array) -> tuple[Array, Array]:
        """What Alice and Bob get where a match ended with this answer to this offer.

        Args:
            offer: as a place on the grid.
            stage: from 0.
            ended: the answer.
        """

    @abstractmethod
    def answer_of(self, word: str) -> Action:
        """An answer to an offer."""

    @abstractmethod
    def offer_of(self, place: int) -> Action:
        """An offer of the grid, without words."""

    @abstractmethod
    def place_of(self, made: Any) -> int:
        """Where on the grid an offer is, or the nearest place; of an event or an answer."""

    def deal(self, luck: Array) -> Haggle:
        xp, shape = namespace(luck), luck.shape[:-1]
        return self._begun(xp, shape)

    def of_deals(self, deals: Sequence[Deal]) -> Haggle:
        return self._begun(np, (len(deals),))

    def every_deal(self) -> tuple[list[Deal], list[float]]:
        return [Deal()], [1.0]

    def deals_of(self, state: Haggle) -> list[Deal]:
        return [Deal() for _ in state.moves]

    def _begun(self, xp: Any, shape: tuple[int, ...]) -> Haggle:
        return Haggle(
            xp.zeros((*shape, self.rounds), np.int32), xp.zeros(shape, np.int32),
            xp.full(shape, RUNNING, np.int32),
        )  # fmt: skip

    def turn(self, state: Haggle) -> Array:
        return (state.moves // 2 + state.moves) % 2

    def over(self, state: Haggle) -> Array:
        return state.stands != RUNNING

    def permitted(self, state: Haggle, number: Array) -> Array:
        xp = namespace(state.moves)
        answering = (state.moves % 2 == 1)[..., None]
        answer = xp.asarray([*self.replies, *[False] * (self.parts + 1)])[number]
        possible = xp.where(answering, answer, number >= len(self.answers))
        return possible & ~self.over(state)[..., None]

    def drawn(self, state: Haggle, luck: Array) -> Array:
        xp = namespace(state.moves)
        answers = xp.asarray(np.flatnonzero(self.replies).astype(np.int32))
        count = xp.where(state.moves % 2 == 1, len(answers), self.parts + 1)
        number = below(luck, count)
        answer = answers[xp.minimum(number, len(answers) - 1)]
        return xp.where(state.moves % 2 == 1, answer, len(self.answers) + number)

    def moved(self, state: Haggle, action: Array, moves: Array) -> Haggle:
        xp = namespace(state.moves)
        answering = state.moves % 2 == 1
        ends = moves & answering & ((action > 0) | (state.moves == self.longest - 1))
        offering = moves & ~answering
        here = (xp.arange(self.rounds) == (state.moves // 2)[..., None]) & offering[..., None]
        offers = xp.where(here, (action - len(self.answers))[..., None], state.offers)
        stands = xp.where(ends, action, state.stands).astype(np.int32)
        return Haggle(offers, state.moves + (moves & ~ends), stands)

    def returns(self, state: Haggle) -> Array:
        xp, stage = namespace(state.moves), state.moves // 2
        offer = xp.take_along_axis(state.offers, stage[..., None], axis=-1)[..., 0]
        both = xp.stack(self.paid(offer, stage, state.stands), axis=-1)
        return xp.where(self.over(state)[..., None], both, 0.0)

    def scale(self, state: Haggle) -> Array:
        """The most that a player can get."""
        most = max(high for _, high in self.rules.payoff_bounds().values())
        xp = namespace(state.moves)
        return xp.full((*state.moves.shape, 2), most, np.float32)

    def observe(self, state: Haggle, player: Array) -> Array:
        xp = namespace(state.moves)
        player = xp.broadcast_to(xp.asarray(player), state.moves.shape)
        pieces = [
            one_hot(xp, player, 2), one_hot(xp, state.moves, self.longest),
            (state.offers / self.parts).astype(np.float32),
        ]  # fmt: skip
        return xp.concatenate(pieces, axis=-1)

    def position(self, asked: Asked) -> Haggle:
        offers = np.zeros(self.rounds, np.int32)
        told = [*asked.heard, (asked.event, None)]
        made = [one for pair in told for one in pair if is_offer(one)]
        offers[: len(made)] = [self.place_of(one) for one in made] or 0
        answering = is_offer(asked.event)
        return Haggle(offers, np.array(2 * len(made) - answering), np.array(RUNNING))

    def action(self, asked: Asked, number: int) -> Action:
        if number < len(self.answers):
            return self.answer_of(self.answers[number])
        return self.offer_of(number - len(self.answers))

    def number(self, asked: Asked, action: Action) -> int:
        decision = getattr(action, "decision", None)
        if decision is not None:
            return self.answers.index(decision)
        return len(self.answers) + self.place_of(action)


def is_offer(told: object) -> bool:
    """Whether something told or answered makes an offer."""
    return hasattr(told, "price") or hasattr(told, "alice_gain")
