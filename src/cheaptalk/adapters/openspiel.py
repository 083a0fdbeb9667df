"""The games as games of OpenSpiel, for its algorithms: trees, regrets, best responses, learning.

Players who decide at once do so one after the other, unseen. What nature deals is drawn at chance
nodes that say how likely each outcome is: a deal each where they can be listed, else the seed that
a deal is drawn by, byte for byte. So a history of actions is all there is to a state.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import quote, unquote

from cheaptalk.arrays.games import ArrayGame, NotArrayed, read_array_game
from cheaptalk.games.extras import needed
from cheaptalk.rules import CheaptalkError, Game, game_title
from cheaptalk.rules.bounds import SLACK
from cheaptalk.rules.errors import expect

try:
    import pyspiel
except ModuleNotFoundError as lacking:
    raise CheaptalkError(
        f'games of OpenSpiel need {lacking.name}: pip install "cheaptalk[openspiel]"'
    ) from lacking

np = needed("numpy")

MOST_DEALS = 10_000
"""Deals up to which each is an outcome of one chance node."""
BYTES, BYTE = 4, 256
"""Chance nodes that draw the seed of a deal where there are more, and the outcomes of each."""
PLAIN = '{}[]":\\ '
"""What stands in the parameters of a game's string as it is; commas and brackets cut it."""


class SpielGame(pyspiel.Game):  # type: ignore[misc] # OpenSpiel ships no types
    """A game with its parameters; a subclass for each game says which one it plays.

    Args:
        parameters: OpenSpiel's own, one of which holds the game's as quoted JSON.

    Attributes:
        arrays: the game as array functions.
        draws: how many chance nodes come before play.
        outcomes: what each may come to, with its probability.
    """

    plays: ClassVar[str]

    def __init__(self, parameters: Mapping[str, str]) -> None:
        self.arrays = read_array_game(self.plays, read(parameters["parameters"]))
        self._deals, chances = listed(self.arrays)
        self.draws = BYTES if not self._deals else int(len(self._deals) > 1)
        self.outcomes = list(enumerate(chances))
        super().__init__(game_type(self.arrays, self.draws), self._info(), parameters)

    def _info(self) -> Any:
        rules = self.arrays.rules
        bounds = rules.declared_bounds("payoff_bounds").values()
        least, most = min(low for low, _ in bounds), max(high for _, high in bounds)
        slack = SLACK * max(1.0, abs(least), abs(most))
        return pyspiel.GameInfo(
            num_distinct_actions=self.arrays.actions,
            max_chance_outcomes=len(self.outcomes) if self.draws else 0,
            num_players=len(self.arrays.players),
            min_utility=least - slack,
            max_utility=most + slack,
            utility_sum=shared_sum(rules),
            max_game_length=self.arrays.longest,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """As what makes it, in a process that has not registered it, too."""
        return loaded, (self.plays, self.get_parameters()["parameters"])

    def new_initial_state(self) -> "SpielState":
        return SpielState(self)

    def max_chance_nodes_in_history(self) -> int:
        return self.draws

    def make_py_observer(self, kind: Any = None, params: Any = None) -> "SpielObserver | None":
        """What sees a state from a seat; None where public and private knowledge are asked for
        apart, which the arrays do not tell.

        Raises:
            CheaptalkError: there are parameters, of which it takes none.
        """
        if params:
            raise CheaptalkError(f"observers of {self.arrays.rules.name} take no parameters")
        own = pyspiel.PrivateInfoType.SINGLE_PLAYER
        if kind and not (kind.public_info and kind.private_info == own):
            return None
        return SpielObserver(self.arrays)

    def begun(self, drawn: Sequence[int]) -> Any:
        """The match that nature's draws begin, as arrays."""
        if self._deals:
            return self.arrays.of_deals([self._deals[drawn[0] if drawn else 0]])
        return self.arrays.at_table(str(int.from_bytes(drawn)))


class SpielState(pyspiel.State):  # type: ignore[misc] # OpenSpiel ships no types
    """A match under way.

    Attributes:
        match: as arrays; None until nature has dealt.
    """

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
    def _arrays(self) -> ArrayGame[Any, Any]:
        arrays: ArrayGame[Any, Any] = self.get_game().arrays
        return arrays

    def current_player(self) -> int:
        return self._player

    def is_terminal(self) -> bool:
        return bool(self._player == pyspiel.PlayerId.TERMINAL)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        outcomes: list[tuple[int, float]] = self.get_game().outcomes
        return outcomes

    def _legal_actions(self, player: int) -> list[int]:
        legal: list[int] = np.flatnonzero(self._arrays.legal(self.match)[0]).tolist()
        return legal

    def _apply_action(self, action: int) -> None:
        if action not in self.legal_actions():
            raise CheaptalkError(f"action {action} is not legal here; legal_actions() has those")
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
        paid: list[float] = self._arrays.returns(self.match)[0].tolist()
        return paid

    def __str__(self) -> str:
        return "; ".join(
            f"{'nature' if one.player < 0 else self._arrays.players[one.player]}: "
            f"{self._action_to_string(one.player, one.action)}"
            for one in self.full_history()
        )


class SpielObserver:
    """What a seat knows, which is also all it ever knew; zeros until nature has dealt.

    Attributes:
        tensor: the observation of the arrays.
        dict: its pieces by name; they share the tensor's memory.
    """

    def __init__(self, arrays: ArrayGame[Any, Any]) -> None:
        self._arrays = arrays
        self.tensor = np.zeros(arrays.observed, np.float32)
        ends = np.cumsum(list(arrays.pieces.values()))
        self.dict = dict(zip(arrays.pieces, np.split(self.tensor, ends[:-1]), strict=True))

    def set_from(self, state: SpielState, player: int) -> None:
        """Look at a state from a seat, by number."""
        known = state.match is not None
        self.tensor[:] = self._arrays.observe(state.match, player)[0] if known else 0

    def string_from(self, state: SpielState, player: int) -> str:
        """The pieces in words: equal texts are equal knowledge."""
        self.set_from(state, player)
        return "; ".join(f"{name} {' '.join(map(str, piece))}" for name, piece in self.dict.items())


def listed(arrays: ArrayGame[Any, Any]) -> tuple[list[Any], list[float]]:
    """All deals with their chances; where there are too many, none, and the chances of a byte."""
    try:
        deals, chances = arrays.every_deal()
    except NotArrayed:
        deals, chances = [], []
    if 0 < len(deals) <= MOST_DEALS:
        return deals, chances
    return [], [1 / BYTE] * BYTE


def shared_sum(rules: Game) -> float | None:
    """What all players get together, where that is the same however they play."""
    bounds = rules.declared_bounds("total_bounds").values()
    least, most = sum(low for low, _ in bounds), sum(high for _, high in bounds)
    return float(least) if least == most else None


def game_type(arrays: ArrayGame[Any, Any], draws: int) -> Any:
    """What OpenSpiel is told of a game, with what may come before play."""
    name, count, kinds = arrays.rules.name, len(arrays.players), pyspiel.GameType
    chance, sums = kinds.ChanceMode, kinds.Utility
    return kinds(
        short_name=short_name(name),
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


def short_name(game: str) -> str:
    """What a game is called in OpenSpiel."""
    return f"cheaptalk_{game}"


def read(quoted: str) -> dict[str, Any]:
    """The parameters of a game, from those of OpenSpiel."""
    try:
        found: dict[str, Any] = json.loads(unquote(quoted))
    except json.JSONDecodeError as error:
        raise CheaptalkError(f"parameters: {error}") from None
    expect(found, dict, 'parameters by name, such as {"rounds":1},')
    return found


def loaded(game: str, quoted: str) -> SpielGame:
    """A game from OpenSpiel's registry, in which it is put when it is first asked for.

    OpenSpiel gives back what it holds after Python has ended, which a class survives and a function
    does not.
    """
    name = short_name(game)
    if name not in pyspiel.registered_names():
        made = type(name, (SpielGame,), {"plays": game})
        pyspiel.register_game(game_type(read_array_game(game, read(quoted)), 1), made)
    found: SpielGame = pyspiel.load_game(name, {"parameters": quoted})
    return found


def openspiel_game(game: str, parameters: Mapping[str, Any] | None = None) -> SpielGame:
    """A game as one of OpenSpiel's, which from then on loads it by its name, ``cheaptalk_GAME``.

    Args:
        parameters: those of the game that are not its defaults.

    Raises:
        UnknownName: there is no such game, or no array game plays it.
        CheaptalkError: no array game plays it with these parameters, or OpenSpiel is missing.

    >>> game = openspiel_game("public_goods", {"players": 2, "rounds": 1, "tokens": 2})
    >>> print(game)
    cheaptalk_public_goods(parameters={"players":2%2C"rounds":1%2C"tokens":2})
    >>> state = game.new_initial_state()
    >>> for contribution in (2, 0):
    ...     state.apply_action(contribution)
    >>> state.returns()
    [2.0, 4.0]
    """
    written = read_array_game(game, parameters).rules.model_dump_json(exclude_unset=True)
    return loaded(game, quote(written, safe=PLAIN))
