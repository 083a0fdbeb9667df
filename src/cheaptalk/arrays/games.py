"""Array games: matches of a game as arrays, many at once, for search and learning.

An array game plays what the rules play, by pure functions of arrays: NumPy's, or JAX's, which can
be compiled and run on GPUs. All arrays have the same leading axes, one entry a match. Luck comes as
numbers in [0, 1), so that whoever plays chooses where it is drawn from::

    game = array_game(ItemBargaining())
    luck = numpy.random.default_rng(0)
    state = game.deal(luck.random((1_000, game.luck)))
    for _ in range(game.longest):
        state = game.step(state, game.drawn(state, luck.random(1_000)))
    game.returns(state).mean(axis=0)
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, TypeAlias, TypeVar

from cheaptalk.games.extras import needed
from cheaptalk.rules import Action, Asked, Chance, CheaptalkError, Deal, Game, game_box
from cheaptalk.rules.errors import legal
from cheaptalk.rules.registry import Registry

np = needed("numpy")

Array: TypeAlias = Any
"""An array of NumPy's or of JAX's."""
State = TypeVar("State")
Rules = TypeVar("Rules", bound=Game)
MOST_ACTIONS = 100_000
"""Actions up to which a game is played by arrays, as every decision has a mask of them."""


class ArrayGame(ABC, Generic[Rules, State]):
    """A game as array functions.

    Args:
        rules: the game with its parameters; one whose parameters the arrays cannot hold is refused
            with a :class:`NotArrayed`.

    Attributes:
        players: the places of the game, in order; actions and returns count them so.
        actions: how many actions there are; an action is a number below it.
        luck: numbers in [0, 1) that a deal takes, those for what is drawn in play included.
        longest: most steps of a match.
        pieces: the pieces of an observation by name, with how many numbers each has.
    """

    players: tuple[str, ...]
    actions: int
    luck: int
    longest: int
    pieces: Mapping[str, int]

    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    @abstractmethod
    def deal(self, luck: Array) -> State:
        """Matches that begin.

        Args:
            luck: shape (..., ``luck``).
        """

    @abstractmethod
    def of_deals(self, deals: Sequence[Deal]) -> State:
        """Matches that begin with these deals of the rules, in one axis."""

    @abstractmethod
    def every_deal(self) -> tuple[list[Deal], list[float]]:
        """All deals that there are, with their probabilities.

        Raises:
            NotArrayed: there are too many to be listed.
        """

    @abstractmethod
    def deals_of(self, state: State) -> list[Deal]:
        """The deals with which matches in one axis began."""

    def with_chances(self, state: State, chances: Sequence[Chance]) -> State:
        """Matches that begin, with what is drawn in play coming out as at tables of the rules.

        Args:
            chances: those of the tables, one a match. Where nothing is drawn in play, they change
                nothing.
        """
        return state

    def at_table(self, seed: str) -> State:
        """A match in an axis of its own, dealt and drawn as at a table under this seed."""
        return self.with_chances(self.of_deals([self.rules.dealt(seed)]), [Chance(seed)])

    @abstractmethod
    def turn(self, state: State) -> Array:
        """Whose turn it is, by number among the players; shape (...)."""

    @abstractmethod
    def over(self, state: State) -> Array:
        """Which matches have ended; shape (...)."""

    @abstractmethod
    def permitted(self, state: State, number: Array) -> Array:
        """Which of some actions are legal now; none is in a match that has ended.

        Args:
            number: actions from 0 to ``actions`` - 1: the same in every match, shape (some,), or
                others in each, shape (..., some).

        Returns:
            Booleans, shape (..., some).
        """

    def legal(self, state: State) -> Array:
        """Which actions are legal now; shape (..., ``actions``), none of a match that has ended."""
        return self.permitted(state, namespace(self.over(state)).arange(self.actions))

    @abstractmethod
    def drawn(self, state: State, luck: Array) -> Array:
        """A legal action each, all as likely; of a match that has ended any. Shape (...).

        Args:
            luck: shape (...).
        """

    def step(self, state: State, action: Array) -> State:
        """Return the matches after one more action in each.

        The rules refuse an illegal action, and so does this: its match stays as it was, and nobody
        is paid for it. A match that has ended stays as it is.

        Args:
            action: shape (...).
        """
        xp = namespace(action)
        known = (action >= 0) & (action < self.actions)
        action = xp.where(known, action, 0)
        return self.moved(state, action, known & self.permitted(state, action[..., None])[..., 0])

    @abstractmethod
    def moved(self, state: State, action: Array, moves: Array) -> State:
        """Return the matches after one more action where they move; the others as they were.

        Args:
            action: shape (...), between 0 and ``actions`` - 1.
            moves: whether the match goes on and the action is legal, shape (...).
        """

    @abstractmethod
    def observe(self, state: State, player: Array) -> Array:
        """What a player knows, the pieces one behind the other; shape (..., sum of the pieces).

        Args:
            player: by number, shape (...) or a single one.
        """

    @abstractmethod
    def returns(self, state: State) -> Array:
        """What players got, in the unit of the game; shape (..., players), 0 before the end."""

    @abstractmethod
    def scale(self, state: State) -> Array:
        """What players' returns are divided by to be learned from; shape (..., players).

        It is above 0 and known to the player, so that what is best for it stays what it was.
        """

    @abstractmethod
    def position(self, asked: Asked) -> State:
        """Return the match as the seat that must decide knows it, without leading axes.

        It is made of what the seat was asked and told; what the seat can't know is zero. Its legal
        actions are those of the match, and so is the seat's observation unless :meth:`seen` is
        overridden.
        """

    def seen(self, asked: Asked) -> Array:
        """The observation of a seat that is asked, from what it was asked and told alone."""
        return self.observe(self.position(asked), np.array(self.place_number(asked)))

    def legal_at(self, asked: Asked) -> Array:
        """Which actions the seat that must decide may take; shape (``actions``,)."""
        return self.legal(self.position(asked))

    def place_number(self, asked: Asked) -> int:
        """The seat that must decide, by number among the players."""
        return self._numbers[asked.seat]

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        """The players' numbers by the names of their seats."""
        return {seat.name: self.players.index(seat.place) for seat in self.rules.seats}

    @abstractmethod
    def action(self, asked: Asked, number: int) -> Action:
        """The answer that an action stands for, to a seat that is asked."""

    @abstractmethod
    def number(self, asked: Asked, action: Action) -> int:
        """The action that an answer stands for."""

    @property
    def observed(self) -> int:
        """How many numbers an observation has."""
        return sum(self.pieces.values())


class NotArrayed(CheaptalkError):
    """A game, or its parameters, that no array game plays."""


def namespace(array: Array) -> Any:
    """The functions of arrays of this kind: NumPy or ``jax.numpy``."""
    return array.__array_namespace__()


def one_hot(xp: Any, number: Array, width: int) -> Array:
    """A row of zeros with a one where a number says; shape (..., ``width``)."""
    return (number[..., None] == xp.arange(width)).astype(np.float32)


def own(array: Array, player: Array) -> Array:
    """A player's part of an array with an entry for each player in the axis behind the matches'.

    Args:
        array: shape (..., players, rest).
        player: by number, shape (...).
    """
    xp = namespace(player)
    at = player.reshape(*player.shape, *(1,) * (array.ndim - player.ndim))
    return xp.take_along_axis(array, at, axis=player.ndim).squeeze(axis=player.ndim)


def expect_few(game: str, actions: int) -> None:
    """Refuse a game with more actions than arrays can hold.

    Raises:
        NotArrayed: with how many there are.
    """
    if actions > MOST_ACTIONS:
        raise NotArrayed(
            f"{game} has {actions:,} actions with these parameters, and arrays play games with up "
            f"to {MOST_ACTIONS:,}; take smaller ones"
        )


def array_game(rules: Game) -> ArrayGame[Any, Any]:
    """A game as array functions.

    Raises:
        UnknownName: no array game plays it.
        NotArrayed: none plays it with its parameters.
    """
    return ARRAYS.find(rules.name)(rules)


def read_array_game(game: str, parameters: Mapping[str, Any] | None) -> ArrayGame[Any, Any]:
    """A game as array functions, as study files write games.

    Raises:
        UnknownName: there is no such game, or no array game plays it.
        NotArrayed: none plays it with its parameters.
        CheaptalkError: a parameter is wrong.
    """
    return array_game(legal(game_box(game).rules, parameters or {}))


def _is_array_game(thing: object) -> bool:
    return isinstance(thing, type) and issubclass(thing, ArrayGame)


ARRAYS: Registry[type[ArrayGame[Any, Any]]] = Registry(
    "array game", "cheaptalk.arrays", _is_array_game
)
"""The array games by the names of the games that they play."""
