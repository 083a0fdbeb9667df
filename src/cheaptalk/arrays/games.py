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
    get_game,
)
from cheaptalk.rules.errors import legal
from cheaptalk.rules.registry import Registry, subclasses

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
        actions: the number of actions; each action is an integer from 0 to ``actions`` - 1.
        uniforms: the number of random numbers per instance, including those for draws in play.
        longest: the maximum number of steps of a match.
        features: the sizes of the parts of an observation, by name.
    """

    players: tuple[str, ...]
    actions: int
    uniforms: int
    longest: int
    features: Mapping[str, int]

    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    @abstractmethod
    def draw_instance(self, uniforms: Array) -> State:
        """Return the initial states of matches from random numbers, shape (..., ``uniforms``)."""

    @abstractmethod
    def from_instances(self, instances: Sequence[Instance]) -> State:
        """Return the initial states of matches with the given instances, stacked along one axis."""

    def every_instance(self) -> tuple[list[Instance], list[float]]:
        """Return all instances and their probabilities; by default, a single empty instance.

        Raises:
            NoArrayGame: the game has too many instances.
        """
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
    def permitted(self, state: State, number: Array) -> Array:
        """Return whether actions are legal, shape (..., count); False after the end of a match.

        Args:
            number: the actions, shape (count,) for all matches, or shape (..., count) by match.
        """

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
    def observe(self, state: State, player: Array) -> Array:
        """Return each match's observation for the given player; shape (..., ``observed``)."""

    @abstractmethod
    def returns(self, state: State) -> Array:
        """Return payoffs in the game's unit, 0 in unfinished matches; shape (..., players)."""

    @abstractmethod
    def scale(self, state: State) -> Array:
        """Return the positive divisors with which learners scale payoffs; shape (..., players).

        Each player knows its own number, so the division doesn't change the best action.
        """

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
    """Return each match's entry (..., rest) of an array (..., entries, rest) at an index (...)."""
    axis = index.ndim
    indices = index.reshape(*index.shape, *(1,) * (array.ndim - axis))
    return namespace(index).take_along_axis(array, indices, axis=axis).squeeze(axis=axis)


def concatenated(player: Array, features: Sequence[Array]) -> Array:
    """Concatenate an observation's features into one row for each entry of ``player``."""
    rows = [feature.reshape(*player.shape, -1).astype(np.float32) for feature in features]
    return namespace(player).concatenate(rows, axis=-1)


def check_action_count(game: str, actions: int) -> None:
    """Raise :class:`NoArrayGame` if a game has more than :data:`MAX_ACTIONS` actions."""
    if actions > MAX_ACTIONS:
        raise NoArrayGame(
            f"{game} has {actions:,} actions with these parameters; array games support at most "
            f"{MAX_ACTIONS:,}; use smaller parameters"
        )


def array_game(rules: Game) -> ArrayGame[Any, Any]:
    """Return the array version of a game.

    Raises:
        UnknownName: the game has no array version.
        NoArrayGame: the array version doesn't support the game's parameters.
    """
    return ARRAYS.find(rules.name)(rules)


def read_array_game(game: str, parameters: Mapping[str, Any] | None) -> ArrayGame[Any, Any]:
    """Return the array version of a game, given the game's name and parameters."""
    return array_game(legal(get_game(game).rules, parameters or {}))


ARRAYS: Registry[type[ArrayGame[Any, Any]]] = Registry(
    "array game", "cheaptalk.arrays", subclasses(ArrayGame)
)
"""The registry of array versions, by the names of the games."""
