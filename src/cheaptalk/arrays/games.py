"""Array games: many matches at once, as arrays, for search and learning.

An array game plays by a game's rules with pure functions of NumPy or JAX arrays; the latter can be
compiled and run on GPUs. All arrays have the same leading axes, with one entry per match. The
caller supplies randomness as numbers in [0, 1)::

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
from cheaptalk.rules.registry import Registry

np = needed("numpy")

Array: TypeAlias = Any
"""A NumPy or JAX array."""
State = TypeVar("State")
Rules = TypeVar("Rules", bound=Game)
MAX_ACTIONS = 100_000
"""The maximum number of actions of an array game, because each decision has a mask of them."""


class ArrayGame(ABC, Generic[Rules, State]):
    """A game as array functions.

    Args:
        rules: the game with its parameters; if arrays can't represent them, :class:`NotArrayed` is
            raised.

    Attributes:
        players: the seats of the game in order, which is also the order of actions and returns.
        actions: the number of actions; an action is a number below it.
        uniforms: the number of random numbers in [0, 1) per instance, including those used in play.
        longest: the maximum number of steps of a match.
        features: the parts of an observation, with their sizes.
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
        """Return the initial states of randomly drawn matches.

        Args:
            uniforms: shape (..., ``uniforms``).
        """

    @abstractmethod
    def from_instances(self, instances: Sequence[Instance]) -> State:
        """Return the initial states of matches with these instances, along one axis."""

    @abstractmethod
    def every_instance(self) -> tuple[list[Instance], list[float]]:
        """Return all instances, with their probabilities.

        Raises:
            NotArrayed: there are too many to be listed.
        """

    @abstractmethod
    def instances_of(self, state: State) -> list[Instance]:
        """Return the instances of matches along one axis."""

    def with_chances(self, state: State, chances: Sequence[Chance]) -> State:
        """Return initial states whose random draws in play equal those of matches under the rules.

        Args:
            chances: one per match. They have no effect if the game draws nothing in play.
        """
        return state

    def from_seed(self, seed: str) -> State:
        """Return one initial state, drawn like a match of the rules with this seed."""
        return self.with_chances(
            self.from_instances([self.rules.instance_of(seed)]), [Chance(seed)]
        )

    @abstractmethod
    def turn(self, state: State) -> Array:
        """Return the index of the player who moves next; shape (...)."""

    @abstractmethod
    def over(self, state: State) -> Array:
        """Return which matches have ended; shape (...)."""

    @abstractmethod
    def permitted(self, state: State, number: Array) -> Array:
        """Return which of the given actions are legal; none is after the end of a match.

        Args:
            number: actions from 0 to ``actions`` - 1: the same in every match, shape (count,), or
                different ones, shape (..., count).

        Returns:
            Booleans, shape (..., count).
        """

    def legal(self, state: State) -> Array:
        """Return which actions are legal; shape (..., ``actions``). None is after the end."""
        return self.permitted(state, namespace(self.over(state)).arange(self.actions))

    @abstractmethod
    def random_action(self, state: State, uniforms: Array) -> Array:
        """Draw a uniform legal action per match, or any action after its end; shape (...).

        Args:
            uniforms: shape (...).
        """

    def step(self, state: State, action: Array) -> State:
        """Return the states after one more action in each match.

        An illegal action, or one after the end of a match, leaves the state unchanged.

        Args:
            action: shape (...).
        """
        xp = namespace(action)
        valid = (action >= 0) & (action < self.actions)
        action = xp.where(valid, action, 0)
        return self.moved(state, action, valid & self.permitted(state, action[..., None])[..., 0])

    @abstractmethod
    def moved(self, state: State, action: Array, moves: Array) -> State:
        """Return the states after one more action in the matches that move.

        Args:
            action: shape (...), from 0 to ``actions`` - 1.
            moves: whether the match is running and the action is legal, shape (...).
        """

    @abstractmethod
    def observe(self, state: State, player: Array) -> Array:
        """Return a player's observation, all features concatenated; shape (..., ``observed``).

        Args:
            player: the player's index, shape (...) or a single number.
        """

    @abstractmethod
    def returns(self, state: State) -> Array:
        """Return payoffs in the game's unit; shape (..., players), 0 before the end."""

    @abstractmethod
    def scale(self, state: State) -> Array:
        """Return the numbers by which learners divide returns; shape (..., players).

        They are positive and known to the player, so dividing by them doesn't change the best
        action.
        """

    @abstractmethod
    def position(self, request: DecisionRequest) -> State:
        """Return the state of the match as the requested actor knows it, without leading axes.

        Unknown values are 0. Legal actions follow from this state, and so does the observation
        unless :meth:`observe_request` is overridden.
        """

    def observe_request(self, request: DecisionRequest) -> Array:
        """Return the observation of the requested actor, computed only from what it was shown."""
        return self.observe(self.position(request), np.array(self.player_index(request)))

    def legal_for(self, request: DecisionRequest) -> Array:
        """Return which actions are legal for this request; shape (``actions``,)."""
        return self.legal(self.position(request))

    def player_index(self, request: DecisionRequest) -> int:
        """Return the index of the player to whom the request is addressed."""
        return self._numbers[request.actor]

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        """The players' indices by their actors' names."""
        return {seat.name: self.players.index(seat.seat) for seat in self.rules.actors}

    @abstractmethod
    def action(self, request: DecisionRequest, number: int) -> Action:
        """Convert an action number to an action of the rules."""

    @abstractmethod
    def number(self, request: DecisionRequest, action: Action) -> int:
        """Convert an action of the rules to its action number."""

    @property
    def observed(self) -> int:
        """The size of an observation."""
        return sum(self.features.values())


class NotArrayed(CheaptalkError):
    """A game, or a configuration of it, that can't be played as an array game."""


def namespace(array: Array) -> Any:
    """Return the array namespace: NumPy or ``jax.numpy``."""
    return array.__array_namespace__()


def one_hot(xp: Any, number: Array, width: int) -> Array:
    """Return one-hot rows; shape (..., ``width``)."""
    return (number[..., None] == xp.arange(width)).astype(np.float32)


def of_player(array: Array, player: Array) -> Array:
    """Return a player's entry of an array that has an axis of players after the matches' axes.

    Args:
        array: shape (..., players, rest).
        player: the player's index, shape (...).
    """
    xp = namespace(player)
    index = player.reshape(*player.shape, *(1,) * (array.ndim - player.ndim))
    return xp.take_along_axis(array, index, axis=player.ndim).squeeze(axis=player.ndim)


def check_action_count(game: str, actions: int) -> None:
    """Check that arrays can represent this number of actions.

    Raises:
        NotArrayed: there are more than :data:`MAX_ACTIONS`.
    """
    if actions > MAX_ACTIONS:
        raise NotArrayed(
            f"{game} has {actions:,} actions with these parameters; array games support at most "
            f"{MAX_ACTIONS:,}; use smaller parameters"
        )


def array_game(rules: Game) -> ArrayGame[Any, Any]:
    """Return a game as array functions.

    Raises:
        UnknownName: there is no array version of the game.
        NotArrayed: the array version doesn't support these parameters.
    """
    return ARRAYS.find(rules.name)(rules)


def read_array_game(game: str, parameters: Mapping[str, Any] | None) -> ArrayGame[Any, Any]:
    """Return the array version of a game that is given by its name and parameters.

    Raises:
        UnknownName: the game is unknown or has no array version.
        NotArrayed: the array version doesn't support these parameters.
        CheaptalkError: a parameter is invalid.
    """
    return array_game(legal(get_game(game).rules, parameters or {}))


def _is_array_game(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, ArrayGame)


ARRAYS: Registry[type[ArrayGame[Any, Any]]] = Registry(
    "array game", "cheaptalk.arrays", _is_array_game
)
"""The array games by the names of their games."""
