"""Games in which all players decide at once, round after round, as array functions.

Arrays take the answers of a round one after the other, in the order of the players, and show
nobody what was answered in a round before it is over: it comes to the same.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

from cheaptalk.arrays.games import (
    Array,
    ArrayGame,
    NotArrayed,
    expect_few,
    namespace,
    one_hot,
    own,
)
from cheaptalk.arrays.luck import below
from cheaptalk.games.extras import needed
from cheaptalk.games.rounds import Rounds
from cheaptalk.rules import Action, Asked, Deal

np = needed("numpy")

Rules = TypeVar("Rules", bound=Rounds)


class Decided(NamedTuple):
    """Matches of rounds.

    Attributes:
        choices: made so far, by their places among the options, round after round; 0 where none
            was. Shape (..., rounds x players).
        moves: how many were made; shape (...).
        dealt: what nature dealt; shape (..., rounds, players, numbers).
    """

    choices: Array
    moves: Array
    dealt: Array


class Told(NamedTuple):
    """A piece of what players are told after a round.

    Attributes:
        width: how many numbers it has.
        unit: what they are divided by.
    """

    width: int
    unit: float


class SimultaneousRounds(ArrayGame[Rules, Decided]):
    """N players who decide at once in each of K rounds, many matches at once.

    Actions are the options of the rules in order. A player observes who it is, the round, what it
    knows in it (:meth:`now`), and what it was told after each round before (:meth:`told`).

    Attributes:
        options: what can be answered, in order.
        known: the pieces of what is known in a round, with how many numbers each has.
        news: the pieces of what is told after a round.
    """

    options: Sequence[Any]
    known: ClassVar[Mapping[str, int]] = {}
    news: Mapping[str, Told]
    rules: Any

    def __init__(self, rules: Rules) -> None:
        super().__init__(rules)
        self.players = tuple(rules.places)
        self.rounds = rules.rounds
        self.options = self.answers(rules)
        self.news = self.told_of(rules)
        self.actions = len(self.options)
        expect_few(self.rules.name, self.actions)
        self.luck = 0
        self.longest = self.rounds * len(self.players)
        (self.field,) = self.rules.actions[0].model_fields
        told = {name: self.rounds * piece.width for name, piece in self.news.items()}
        self.pieces = {
            "player": len(self.players), "round": self.rounds, **self.known, **told
        }  # fmt: skip

    @staticmethod
    @abstractmethod
    def answers(rules: Any) -> Sequence[Any]:
        """What can be answered with these rules, in order.

        Raises:
            NotArrayed: it cannot be listed.
        """

    @staticmethod
    @abstractmethod
    def told_of(rules: Any) -> Mapping[str, Told]:
        """The pieces of what is told after a round."""

    @abstractmethod
    def gains(self, choices: Array, dealt: Array) -> Array:
        """What each round brings each player; shape (..., rounds, players), as are the choices."""

    @abstractmethod
    def told(self, choices: Array, dealt: Array, player: Array) -> Sequence[Array]:
        """What a player is told after each round, piece by piece, before it is divided by its unit.

        Returns:
            for each piece shape (..., rounds, numbers), or (..., rounds) where it has one.
        """

    @abstractmethod
    def heard(self, report: Any) -> Sequence[Any]:
        """The same of one report: for each piece its numbers, or its number."""

    # Deals, which few such games have

    def dealt(self, luck: Array) -> Array:
        """What nature deals; shape (..., rounds, players, numbers)."""
        shape = (*luck.shape[:-1], self.rounds, len(self.players), 0)
        return namespace(luck).zeros(shape, np.int32)

    def dealt_of(self, deals: Sequence[Any]) -> Array:
        """What these deals say, in one axis."""
        return np.zeros((len(deals), self.rounds, len(self.players), 0), np.int32)

    def now(self, dealt: Array) -> Sequence[Array]:
        """What a player knows in a round besides, from what was dealt to it; shape (...) each."""
        return ()

    def asked_now(self, question: Any) -> Sequence[float]:
        """The same of a question."""
        return ()

    def dealt_now(self, question: Any, number: int, player: int) -> Array:
        """What a question says of what nature dealt, zeros elsewhere; shape (rounds, players,
        numbers)."""
        return np.zeros((self.rounds, len(self.players), 0), np.int32)

    def deals_of(self, state: Decided) -> list[Deal]:
        return [Deal() for _ in state.moves]

    def every_deal(self) -> tuple[list[Deal], list[float]]:
        return [Deal()], [1.0]

    def deal(self, luck: Array) -> Decided:
        return self._begun(self.dealt(luck))

    def of_deals(self, deals: Sequence[Deal]) -> Decided:
        return self._begun(self.dealt_of(deals))

    def _begun(self, dealt: Array) -> Decided:
        xp, shape = namespace(dealt), dealt.shape[:-3]
        choices = xp.zeros((*shape, self.longest), np.int32)
        return Decided(choices, xp.zeros(shape, np.int32), dealt)

    # Moves

    def turn(self, state: Decided) -> Array:
        return state.moves % len(self.players)

    def over(self, state: Decided) -> Array:
        return state.moves == self.longest

    def most(self, state: Decided) -> Array:
        """The last action that is legal now; shape (...)."""
        return namespace(state.moves).full(state.moves.shape, self.actions - 1, np.int32)

    def permitted(self, state: Decided, number: Array) -> Array:
        return (number <= self.most(state)[..., None]) & ~self.over(state)[..., None]

    def drawn(self, state: Decided, luck: Array) -> Array:
        return below(luck, self.most(state) + 1)

    def moved(self, state: Decided, action: Array, moves: Array) -> Decided:
        xp = namespace(state.moves)
        here = (xp.arange(self.longest) == state.moves[..., None]) & moves[..., None]
        choices = xp.where(here, action.astype(np.int32)[..., None], state.choices)
        return state._replace(choices=choices, moves=state.moves + moves)

    def by_round(self, state: Decided) -> Array:
        """All choices; shape (..., rounds, players)."""
        return state.choices.reshape(*state.moves.shape, self.rounds, len(self.players))

    def returns(self, state: Decided) -> Array:
        xp = namespace(state.moves)
        gains = self.gains(self.by_round(state), state.dealt).sum(axis=-2)
        return xp.where(self.over(state)[..., None], gains, 0.0)

    def scale(self, state: Decided) -> Array:
        """The most that a player can gain, or lose where that is more."""
        most = max(map(abs, self.rules.payoff_bounds()["player"]))
        xp, shape = namespace(state.moves), (*state.moves.shape, len(self.players))
        return xp.full(shape, most, np.float32)

    # What players know

    def observe(self, state: Decided, player: Array) -> Array:
        xp, shape = namespace(state.moves), state.moves.shape
        player = xp.broadcast_to(xp.asarray(player), shape)
        number = state.moves // len(self.players)
        over = xp.arange(self.rounds) < number[..., None]
        told = self.told(self.by_round(state), state.dealt, player)
        shaped = [xp.where(over[..., None], one.reshape(*over.shape, -1), 0) for one in told]
        round_now = xp.minimum(number, self.rounds - 1)[..., None, None, None]
        dealt = xp.take_along_axis(state.dealt, round_now, axis=-3)[..., 0, :, :]
        return self._seen(player, number, self.now(own(dealt, player)), shaped)

    def _seen(
        self, player: Array, number: Array, known: Sequence[Array], told: Sequence[Array]
    ) -> Array:
        """The observation of a player in a round, counted from 0."""
        xp, shape = namespace(number), number.shape
        scaled = [(one / piece.unit).reshape(*shape, -1)
                  for one, piece in zip(told, self.news.values(), strict=True)]  # fmt: skip
        pieces = [
            one_hot(xp, player, len(self.players)), one_hot(xp, number, self.rounds),
            *(one[..., None] for one in known), *scaled,
        ]  # fmt: skip
        return xp.concatenate([one.astype(np.float32) for one in pieces], axis=-1)

    def position(self, asked: Asked) -> Decided:
        player, number = self.place_number(asked), asked.event.round - 1
        dealt = self.dealt_now(asked.event, number, player)
        moves = np.array(number * len(self.players) + player)
        return Decided(np.zeros(self.longest, np.int32), moves, dealt)

    def seen(self, asked: Asked) -> Array:
        """Return the observation; of the others' choices a seat knows only what it was told."""
        told = [np.zeros((self.rounds, piece.width)) for piece in self.news.values()]
        for event, _ in asked.heard:
            if isinstance(event, self.rules.events[2]):
                for array, numbers in zip(told, self.heard(event), strict=True):
                    array[event.round - 1] = numbers
        player = np.array(self.place_number(asked))
        known = [np.array(one) for one in self.asked_now(asked.event)]
        return self._seen(player, np.array(asked.event.round - 1), known, told)

    def action(self, asked: Asked, number: int) -> Action:
        kind: type[Action] = self.rules.actions[0]
        return kind.model_validate({self.field: self.options[number]})

    def number(self, asked: Asked, action: Action) -> int:
        return self.options.index(getattr(action, self.field))


def expect_limits(rules: Any) -> None:
    """Refuse rules that let any number pass.

    Raises:
        NotArrayed: with the parameter that would bound them.
    """
    if not rules.limits:
        raise NotArrayed(
            f"{rules.name} has no end of actions where limits is false; arrays play it with "
            "limits: true"
        )
