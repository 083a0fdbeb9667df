"""Array games, which play many matches at once for search and learning.

An array game implements a game's rules by pure functions of NumPy or JAX arrays; with JAX, they can
be compiled and run on GPUs. All arrays have the same leading axes, with one entry per match. The
caller supplies random numbers in [0, 1)::

    game = array_game(ItemBargaining())
    rng = numpy.random.default_rng(0)
    state = game.draw_instance(rng.random((1_000, game.uniforms)))
    for _ in range(game.longest):
        state = game.step(state, game.random_action(state, rng.random(1_000)))
    game.returns(state).mean(axis=0)
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, TypeAlias, TypeVar

from cheaptalk.games.extras import needed
from cheaptalk.rules import (
    Action,
    Chance,
    CheaptalkError,
    DecisionRequest,
    Game,
    Instance,
)
from cheaptalk.rules.registry import GameLike, Registry, game_from, subclasses

np = needed("numpy")

Array: TypeAlias = Any
"""A NumPy or JAX array."""
State = TypeVar("State")
Rules = TypeVar("Rules", bound=Game)
MAX_ACTIONS = 100_000
"""Maximum number of actions, because every decision needs a mask of all actions."""


class ArrayGame(ABC, Generic[Rules, State]):
    """The array version of a game, which plays many matches at once.

    Args:
        rules: the game with its parameters; if arrays can't represent the parameters,
            :class:`NoArrayGame` is raised.

    Attributes:
        players: the seats of the game in order.
        count: the number of players.
        actions: the number of actions; each action is an integer from 0 to ``actions`` - 1.
        uniforms: the number of random numbers per instance, including those for draws in play.
        longest: the maximum number of steps of a match.
    """

    players: tuple[str, ...]
    actions: int
    uniforms: int = 0
    longest: int

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.players = tuple(rules.seats)
        self.count = len(self.players)

    def check_action_count(self) -> None:
        """Raise :class:`NoArrayGame` if the game has more than :data:`MAX_ACTIONS` actions."""
        if self.actions > MAX_ACTIONS:
            raise NoArrayGame(
                f"{self.rules.name} has {self.actions:,} actions with these parameters; array "
                f"games support at most {MAX_ACTIONS:,}; use smaller parameters"
            )

    @abstractmethod
    def draw_instance(self, uniforms: Array) -> State:
        """Return the initial states of matches from random numbers, shape (..., ``uniforms``)."""

    def from_instances(self, instances: Sequence[Instance]) -> State:
        """Return the initial states of matches with the given instances, stacked along one axis.

        Override this method if instances are not empty.
        """
        return self.draw_instance(np.zeros((len(instances), self.uniforms)))

    def every_instance(self) -> tuple[list[Instance], list[float]]:
        """Return all instances and their probabilities; by default, a single empty instance.

        Raises:
            NoArrayGame: the game has too many instances, or draws random numbers in play.
        """
        if self.uniforms:
            raise NoArrayGame(
                f"{self.rules.name} has no list of instances, because it draws random numbers in "
                "play"
            )
        return [Instance()], [1.0]

    def instances_of(self, state: Any) -> list[Instance]:
        """Return each match's instance from one-dimensional states; empty instances by default."""
        return [Instance() for _ in state.moves]

    def with_chances(self, state: State, chances: Sequence[Chance]) -> State:
        """Return initial states with the random draws that the rules would make during play.

        Args:
            chances: one per match; not used by games without random draws in play.
        """
        return state

    def from_seed(self, seed: str) -> State:
        """Return the initial state of one match, with the instance and draws of this seed."""
        state = self.from_instances([self.rules.instance_of(seed)])
        return self.with_chances(state, [Chance(seed)])

    @abstractmethod
    def turn(self, state: State) -> Array:
        """Return the index of the player who moves next; shape (...)."""

    @abstractmethod
    def over(self, state: State) -> Array:
        """Return whether each match has ended; shape (...)."""

    @abstractmethod
    def possible(self, state: State, number: Array) -> Array:
        """Return whether actions are legal in running matches; see :meth:`permitted`."""

    def permitted(self, state: State, number: Array) -> Array:
        """Return whether actions are legal, shape (..., count); False after the end of a match.

        Args:
            number: the actions, shape (count,) for all matches, or shape (..., count) by match.
        """
        return self.possible(state, number) & ~self.over(state)[..., None]

    def legal(self, state: State) -> Array:
        """Return whether each action is legal; shape (..., ``actions``)."""
        return self.permitted(state, namespace(self.over(state)).arange(self.actions))

    @abstractmethod
    def random_action(self, state: State, uniforms: Array) -> Array:
        """Return a random legal action for each random number, or any action in ended matches."""

    def step(self, state: State, action: Array) -> State:
        """Return the states after one more action in each match, shape (...).

        Illegal actions, and actions after the end of a match, do not change the state.
        """
        xp = namespace(action)
        valid = (action >= 0) & (action < self.actions)
        action = xp.where(valid, action, 0)
        return self.moved(state, action, valid & self.permitted(state, action[..., None])[..., 0])

    @abstractmethod
    def moved(self, state: State, action: Array, moves: Array) -> State:
        """Return the states after one more action in some of the matches.

        Args:
            action: actions from 0 to ``actions`` - 1, shape (...).
            moves: whether to apply the action, because it is legal; shape (...).
        """

    @abstractmethod
    def observation(self, state: State, player: Array) -> Mapping[str, Array]:
        """Return what players observe in addition to their own number.

        Args:
            player: the observing player in each match, shape (...).

        Returns:
            The parts of the observations by name, preferably with numbers in [0, 1]; each has the
            shape (...) or (..., sizes).
        """

    def observe(self, state: State, player: Array) -> Array:
        """Return each match's observation for the given player; shape (..., ``observed``)."""
        over = self.over(state)
        xp = namespace(over)
        player = xp.broadcast_to(xp.asarray(player), over.shape)
        return self._joined(player, self.observation(state, player))

    def _joined(self, player: Array, parts: Mapping[str, Array]) -> Array:
        """Return the player's number and the parts of an observation as one row per match."""
        xp = namespace(player)
        rows = [one_hot(xp, player, self.count), *parts.values()]
        flat = [row.reshape(*player.shape, -1).astype(np.float32) for row in rows]
        return xp.concatenate(flat, axis=-1)

    @cached_property
    def features(self) -> Mapping[str, int]:
        """The sizes of the parts of an observation, by name."""
        state = self.draw_instance(np.zeros((1, self.uniforms)))
        parts = self.observation(state, np.zeros(1, np.int32))
        return {"player": self.count} | {name: int(part.size) for name, part in parts.items()}

    @abstractmethod
    def payoffs(self, state: State) -> Array:
        """Return payoffs in the game's unit; any numbers in unfinished matches."""

    def returns(self, state: State) -> Array:
        """Return payoffs in the game's unit, 0 in unfinished matches; shape (..., players)."""
        over = self.over(state)
        return namespace(over).where(over[..., None], self.payoffs(state), 0.0)

    def max_payoff(self) -> float:
        """Return the default of :meth:`scale`, the maximum payoff of any player."""
        return float(max(high for _, high in self.rules.payoff_bounds().values()))

    def scale(self, state: State) -> Array:
        """Return the positive divisors with which learners scale payoffs; shape (..., players).

        Each player knows its own number, so the division doesn't change the best action. By
        default, the divisor is the maximum payoff.
        """
        over = self.over(state)
        return namespace(over).full((*over.shape, self.count), self.max_payoff(), np.float32)

    @abstractmethod
    def position(self, request: DecisionRequest) -> State:
        """Return the actor's knowledge as the unbatched state of a single match.

        Unknown values are 0. The state determines the legal actions and, unless
        :meth:`observe_request` is overridden, the observation.
        """

    def observe_request(self, request: DecisionRequest) -> Array:
        """Return the actor's observation, computed only from the actor's knowledge."""
        return self.observe(self.position(request), np.array(self.player_index(request)))

    def legal_for(self, request: DecisionRequest) -> Array:
        """Return whether each action is legal for a request; shape (``actions``,)."""
        return self.legal(self.position(request))

    def player_index(self, request: DecisionRequest) -> int:
        """Return the index of the player that receives the request."""
        return self._indices[request.actor]

    @cached_property
    def _indices(self) -> Mapping[str, int]:
        return {actor.name: self.players.index(actor.seat) for actor in self.rules.actors}

    @abstractmethod
    def action(self, request: DecisionRequest, number: int) -> Action:
        """Convert an action number to an action of the rules."""

    @abstractmethod
    def number(self, request: DecisionRequest, action: Action) -> int:
        """Convert an action of the rules to its action number."""

    @property
    def observed(self) -> int:
        """The number of values in an observation."""
        return sum(self.features.values())


class NoArrayGame(CheaptalkError):
    """An error about a game or configuration that has no array version."""


def namespace(array: Array) -> Any:
    """Return the array namespace: NumPy or ``jax.numpy``."""
    return array.__array_namespace__()


def one_hot(xp: Any, number: Array, width: int) -> Array:
    """Return the one-hot encoding of each number; shape (..., ``width``)."""
    return (number[..., None] == xp.arange(width)).astype(np.float32)


def entry_at(array: Array, index: Array) -> Array:
    """Return each match's entry at an index, for example a player's entry; shape (..., rest).

    Args:
        array: shape (..., entries, rest).
        index: the index of the entry in each match, shape (...).
    """
    axis = index.ndim
    indices = index.reshape(*index.shape, *(1,) * (array.ndim - axis))
    return namespace(index).take_along_axis(array, indices, axis=axis).squeeze(axis=axis)


def array_game(rules: GameLike) -> ArrayGame[Any, Any]:
    """Return the array version of a game.

    Raises:
        UnknownName: the game has no array version.
        NoArrayGame: the array version doesn't support the game's parameters.
    """
    rules = game_from(rules)
    return ARRAYS.find(rules.name)(rules)


def read_array_game(game: GameLike, parameters: Mapping[str, Any] | None) -> ArrayGame[Any, Any]:
    """Return the array version of a game with the given parameters.

    Raises:
        UnknownName: the game is unknown or has no array version.
        NoArrayGame: the array version doesn't support these parameters.
        CheaptalkError: a parameter is invalid.
    """
    return array_game(game_from(game, parameters))


ARRAYS: Registry[type[ArrayGame[Any, Any]]] = Registry(
    "array game", "cheaptalk.arrays", subclasses(ArrayGame)
)
"""The registry of array versions, by the names of the games."""
