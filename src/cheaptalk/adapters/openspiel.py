"""The games as OpenSpiel games, for algorithms such as CFR and best-response computation.

Simultaneous decisions are sequential and unobserved. The instance is drawn at chance
nodes with known probabilities: one outcome per instance if they can be listed, else the bytes of
the instance's seed. The history of actions therefore determines the state.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import quote, unquote

from cheaptalk.arrays.games import ArrayGame, NoArrayGame, read_array_game
from cheaptalk.extras import needing
from cheaptalk.games.extras import needed
from cheaptalk.rules import CheaptalkError, Game, game_title
from cheaptalk.rules.bounds import SLACK
from cheaptalk.rules.errors import expect
from cheaptalk.rules.registry import GameLike

with needing("openspiel"):
    import pyspiel

np = needed("numpy")

MOST_INSTANCES = 10_000
"""Maximum number of instances as outcomes of one chance node."""
BYTES, BYTE = 4, 256
"""Otherwise, chance nodes that draw an instance's seed, and their outcomes."""
PLAIN = '{}[]":\\ '
"""Characters left unquoted in a game string's parameters; OpenSpiel splits at commas and
brackets."""


class SpielGame(pyspiel.Game):  # type: ignore[misc] # OpenSpiel ships no types
    """An OpenSpiel game; each subclass sets ``plays`` to the name of a cheaptalk game.

    One of OpenSpiel's parameters contains the game's as quoted JSON. Play begins after ``draws``
    chance nodes.
    """

    plays: ClassVar[str]

    def __init__(self, parameters: Mapping[str, str]) -> None:
        self.arrays = read_array_game(self.plays, read(parameters["parameters"]))
        try:
            self._instances, chances = self.arrays.every_instance()
        except NoArrayGame:
            self._instances, chances = [], []
        if not 0 < len(self._instances) <= MOST_INSTANCES:
            self._instances, chances = [], [1 / BYTE] * BYTE
        self.draws = BYTES if not self._instances else int(len(self._instances) > 1)
        self.outcomes = list(enumerate(chances))
        bounds = self.arrays.rules.declared_bounds("payoff_bounds").values()
        minimum, maximum = min(low for low, _ in bounds), max(high for _, high in bounds)
        slack = SLACK * max(1.0, abs(minimum), abs(maximum))
        info = pyspiel.GameInfo(
            num_distinct_actions=self.arrays.actions,
            max_chance_outcomes=len(self.outcomes) if self.draws else 0,
            num_players=len(self.arrays.players),
            min_utility=minimum - slack,
            max_utility=maximum + slack,
            utility_sum=shared_sum(self.arrays.rules),
            max_game_length=self.arrays.longest,
        )
        super().__init__(game_type(self.arrays, self.draws), info, parameters)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the game so that it can be loaded in a process where it isn't registered."""
        return loaded, (self.plays, self.get_parameters()["parameters"])

    def new_initial_state(self) -> "SpielState":
        return SpielState(self)

    def max_chance_nodes_in_history(self) -> int:
        return self.draws

    def make_py_observer(self, kind: Any = None, params: Any = None) -> "SpielObserver | None":
        """Return an observer of one player's information; None if another kind is requested."""
        if params:
            raise CheaptalkError(f"observers of {self.arrays.rules.name} take no parameters")
        single_player = pyspiel.PrivateInfoType.SINGLE_PLAYER
        if kind and not (kind.public_info and kind.private_info == single_player):
            return None
        return SpielObserver(self.arrays)

    def begun(self, draws: Sequence[int]) -> Any:
        """Return the initial state that results from the outcomes of the chance nodes."""
        if self._instances:
            return self.arrays.from_instances([self._instances[draws[0] if draws else 0]])
        return self.arrays.from_seed(str(int.from_bytes(draws)))


class SpielState(pyspiel.State):  # type: ignore[misc] # OpenSpiel ships no types
    """State of a match in OpenSpiel's interface; ``match`` is None until the instance is drawn."""

    def __init__(self, game: SpielGame) -> None:
        super().__init__(game)
        self.match: Any = None
        self._drawn: list[int] = []
        self._player = int(pyspiel.PlayerId.CHANCE)
        self._begin_if_drawn(game)

    def _begin_if_drawn(self, game: SpielGame) -> None:
        if len(self._drawn) == game.draws:
            self._go_on(game.begun(self._drawn))

    def _go_on(self, match: Any) -> None:
        self.match = match
        over, turn = self._arrays.over(match)[0], self._arrays.turn(match)[0]
        self._player = int(pyspiel.PlayerId.TERMINAL if over else turn)

    @property
    def _arrays(self) -> Any:
        return self.get_game().arrays

    def current_player(self) -> int:
        return self._player

    def is_terminal(self) -> bool:
        return bool(self._player == pyspiel.PlayerId.TERMINAL)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return list(self.get_game().outcomes)

    def _legal_actions(self, player: int) -> list[int]:
        return list(np.flatnonzero(self._arrays.legal(self.match)[0]).tolist())

    def _apply_action(self, action: int) -> None:
        if action not in self.legal_actions():
            raise CheaptalkError(f"action {action} is not legal here; use one of legal_actions()")
        if self.match is None:
            self._drawn.append(action)
            self._begin_if_drawn(self.get_game())
        else:
            self._go_on(self._arrays.step(self.match, np.array([action])))

    def _action_to_string(self, player: int, action: int) -> str:
        return f"{'draw' if player == pyspiel.PlayerId.CHANCE else 'action'} {action}"

    def returns(self) -> list[float]:
        if self.match is None:
            return [0.0] * len(self._arrays.players)
        return list(self._arrays.returns(self.match)[0].tolist())

    def __str__(self) -> str:
        return "; ".join(
            f"{'nature' if step.player < 0 else self._arrays.players[step.player]}: "
            f"{self._action_to_string(step.player, step.action)}"
            for step in self.full_history()
        )


class SpielObserver:
    """An observer of a seat with perfect recall; its tensor is 0 until the instance is drawn.

    ``dict`` contains the tensor's parts by name, which share its memory.
    """

    def __init__(self, arrays: ArrayGame[Any, Any]) -> None:
        self._arrays = arrays
        self.tensor = np.zeros(arrays.observed, np.float32)
        ends = np.cumsum(list(arrays.features.values()))
        self.dict = dict(zip(arrays.features, np.split(self.tensor, ends[:-1]), strict=True))

    def set_from(self, state: SpielState, player: int) -> None:
        """Set the tensor to the observation of the player with the given number."""
        has_match = state.match is not None
        self.tensor[:] = self._arrays.observe(state.match, player)[0] if has_match else 0

    def string_from(self, state: SpielState, player: int) -> str:
        """Return a seat's observation as text; equal texts mean equal information."""
        self.set_from(state, player)
        return "; ".join(f"{name} {' '.join(map(str, piece))}" for name, piece in self.dict.items())


def shared_sum(rules: Game) -> float | None:
    """Return the sum of all payoffs if it is constant, else None."""
    bounds = rules.declared_bounds("total_bounds").values()
    minimum, maximum = sum(low for low, _ in bounds), sum(high for _, high in bounds)
    return float(minimum) if minimum == maximum else None


def game_type(arrays: ArrayGame[Any, Any], draws: int) -> Any:
    """Return OpenSpiel's type description of a game."""
    name, count, kinds = arrays.rules.name, len(arrays.players), pyspiel.GameType
    chance, sums = kinds.ChanceMode, kinds.Utility
    return kinds(
        short_name=f"cheaptalk_{name}",
        long_name=f"{game_title(name)} (cheaptalk)",
        dynamics=kinds.Dynamics.SEQUENTIAL,
        chance_mode=chance.EXPLICIT_STOCHASTIC if draws else chance.DETERMINISTIC,
        information=kinds.Information.IMPERFECT_INFORMATION,
        utility=sums.GENERAL_SUM if shared_sum(arrays.rules) is None else sums.CONSTANT_SUM,
        reward_model=kinds.RewardModel.TERMINAL,
        max_num_players=count,
        min_num_players=count,
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification={"parameters": "{}"},
    )


def read(quoted: str) -> dict[str, Any]:
    """Parse a game's parameters from the quoted JSON text that OpenSpiel passes."""
    try:
        data: dict[str, Any] = json.loads(unquote(quoted))
    except json.JSONDecodeError as error:
        raise CheaptalkError(f"parameters: {error}") from None
    expect(data, dict, 'parameters by name, such as {"rounds":1}')
    return data


def loaded(game: str, quoted: str) -> SpielGame:
    """Load a game from OpenSpiel's registry, registering it on first use.

    OpenSpiel releases the registered object after Python's shutdown, which works with a class but
    not with a function.
    """
    name = f"cheaptalk_{game}"
    if name not in pyspiel.registered_names():
        game_class = type(name, (SpielGame,), {"plays": game})
        pyspiel.register_game(game_type(read_array_game(game, read(quoted)), 1), game_class)
    spiel_game: SpielGame = pyspiel.load_game(name, {"parameters": quoted})
    return spiel_game


def openspiel_game(game: GameLike, parameters: Mapping[str, Any] | None = None) -> SpielGame:
    """Return a game as an OpenSpiel game and register it as ``cheaptalk_GAME``.

    Args:
        game: the game's name, or a game.
        parameters: parameters that differ from the defaults, if the game is given by its name.

    Raises:
        UnknownName: there is no such game, or it has no array game.
        CheaptalkError: the array game doesn't support these parameters, or OpenSpiel isn't
            installed.

    >>> game = openspiel_game("public_goods", {"players": 2, "rounds": 1, "tokens": 2})
    >>> print(game)
    cheaptalk_public_goods(parameters={"players":2%2C"rounds":1%2C"tokens":2})
    >>> state = game.new_initial_state()
    >>> for contribution in (2, 0):
    ...     state.apply_action(contribution)
    >>> state.returns()
    [2.0, 4.0]
    """
    rules = read_array_game(game, parameters).rules
    return loaded(rules.name, quote(rules.model_dump_json(exclude_unset=True), safe=PLAIN))
