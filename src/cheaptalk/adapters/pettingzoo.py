"""The games as PettingZoo environments, with agents that act in turns or simultaneously.

An agent is a seat of the game. It observes numbers, takes one of finitely many actions, masked by
legality, and receives its payoff as the reward at the end.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from cheaptalk.arrays.games import ArrayGame, read_array_game
from cheaptalk.arrays.simultaneous.rounds import SimultaneousRounds
from cheaptalk.extras import needing
from cheaptalk.games.extras import needed
from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.errors import counted
from cheaptalk.rules.registry import GameLike

with needing("pettingzoo"):
    from gymnasium.spaces import Box, Dict, Discrete
    from pettingzoo import AECEnv, ParallelEnv

np = needed("numpy")

NO_MATCH = "no match is in progress; call reset"
Observation: TypeAlias = dict[str, Any]
"""An agent's observation: ``observation``, and ``action_mask`` with a 1 for each legal action."""


class Seats:
    """The seats of a game as agents, which play one match after another.

    The seed applies until ``reset`` sets a new one.
    """

    def __init__(self, game: ArrayGame[Any, Any], seed: int) -> None:
        self.metadata = {
            "name": f"cheaptalk_{game.rules.name}_v{game.rules.version}",
            "render_modes": [],
            "is_parallelizable": isinstance(game, SimultaneousRounds),
        }
        self.possible_agents = list(game.players)
        self.agents: list[str] = []
        numbers = Box(-np.inf, np.inf, (game.observed,), np.float32)
        mask = Box(0, 1, (game.actions,), np.int8)
        self._spaces = {
            agent: (Dict({"observation": numbers, "action_mask": mask}), Discrete(game.actions))
            for agent in self.possible_agents
        }
        self._game = game
        self._seed, self._matches = seed, 0
        self._state: Any = None

    def observation_space(self, agent: str) -> Dict:
        return self._spaces[agent][0]

    def action_space(self, agent: str) -> Discrete:
        return self._spaces[agent][1]

    def _begin(self, seed: int | None) -> None:
        if seed is not None:
            self._seed, self._matches = seed, 0
        self._state = self._game.from_seed(f"{self._seed}/{self._matches}")
        self._matches += 1
        self.agents = list(self.possible_agents)

    @property
    def _over(self) -> bool:
        return bool(self._game.over(self._state)[0])

    @property
    def _turn(self) -> str:
        return self.possible_agents[int(self._game.turn(self._state)[0])]

    @property
    def _payoffs(self) -> dict[str, float]:
        returns = self._game.returns(self._state)[0].tolist()
        return dict(zip(self.possible_agents, returns, strict=True))

    def _simultaneous_observations(self) -> dict[str, Observation]:
        """Return the observations of all agents before simultaneous actions.

        Legal actions don't depend on other agents' simultaneous actions.
        """
        observations, state = {}, self._state
        for agent in self.possible_agents:
            legal = self._game.legal(state)[0]
            observations[agent] = self._observation(agent, legal)
            state = self._game.step(state, legal.argmax(keepdims=True))
        return observations

    def _observation(self, agent: str, legal: Any) -> Observation:
        numbers = self._game.observe(self._state, self.possible_agents.index(agent))[0]
        return {"observation": numbers, "action_mask": legal.astype(np.int8)}

    def _take(self, actions: Mapping[str, Any]) -> None:
        """Apply actions in order; if one is illegal, apply none and raise a CheaptalkError."""
        state = self._state
        for agent, action in actions.items():
            legal = self._game.legal(state)[0]
            if not self.action_space(agent).contains(action) or not legal[action]:
                raise CheaptalkError(
                    f"{agent} may not take action {action} now; its action_mask allows "
                    f"{counted(int(legal.sum()), 'action')} of {len(legal):,}"
                )
            state = self._game.step(state, np.array([action]))
        self._state = state


class PettingZooEnv(Seats, AECEnv):  # type: ignore[misc] # PettingZoo ships no types
    """A turn-based environment that hides simultaneous actions until all agents have acted."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start the next match or, if a seed is given, the first match of the seed's sequence."""
        self._begin(seed)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self.agent_selection = self._turn

    def observe(self, agent: str) -> Observation:
        """Return an agent's observation, in which only the agent to move has legal actions."""
        legal = self._game.legal(self._state)[0]
        return self._observation(agent, legal & (agent == self.agent_selection))

    def step(self, action: Any) -> None:
        """Take the current agent's action; pass None after the match has ended.

        Raises:
            CheaptalkError: the action isn't legal, or no match is in progress.
        """
        if not self.agents:
            raise CheaptalkError(NO_MATCH)
        if self.terminations[self.agent_selection]:
            self._was_dead_step(action)
            return
        self._take({self.agent_selection: action})
        if self._over:
            self.rewards = self._payoffs
            self.terminations = dict.fromkeys(self.agents, True)
            self._accumulate_rewards()
        else:
            self.agent_selection = self._turn


class PettingZooParallelEnv(Seats, ParallelEnv):  # type: ignore[misc] # PettingZoo ships no types
    """An environment in which all agents act simultaneously in each round."""

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Start the next match or, if a seed is given, the first match of the seed's sequence."""
        self._begin(seed)
        return self._simultaneous_observations(), {agent: {} for agent in self.agents}

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        """Take the simultaneous actions of all agents.

        Returns:
            observations, rewards, terminations, truncations and infos, each by agent.

        Raises:
            CheaptalkError: an action is missing or not legal, or no match is in progress; the
                state is unchanged.
        """
        if not self.agents:
            raise CheaptalkError(NO_MATCH)
        agents = self.agents
        for agent in agents:
            if agent not in actions:
                raise CheaptalkError(f"no action of {agent}; pass an action for every agent")
        self._take({agent: actions[agent] for agent in agents})
        over = self._over
        if over:
            self.agents = []
        return (
            self._simultaneous_observations(),
            self._payoffs,
            dict.fromkeys(agents, over),
            dict.fromkeys(agents, False),
            {agent: {} for agent in agents},
        )


def pettingzoo_env(
    game: GameLike, parameters: Mapping[str, Any] | None = None, *, seed: int = 0
) -> PettingZooEnv:
    """Return a game as a PettingZoo environment in which agents act in turns (AEC).

    The N-th match after ``reset(seed=S)``, counted from 0, has the instance and random draws of
    the seed ``"S/N"``.

    Args:
        game: the game's name, or a game.
        parameters: parameters that differ from the defaults, if the game is given by its name.
        seed: seed of matches until ``reset`` sets another.

    Raises:
        UnknownName: there is no such game, or it has no array game.
        CheaptalkError: the array game doesn't support these parameters, or PettingZoo isn't
            installed.

    >>> env = pettingzoo_env("bargaining", {"money": 100, "horizon": 2, "messages": False})
    >>> env.reset(seed=7)
    >>> env.agent_selection, env.action_space("alice")
    ('alice', Discrete(103))
    """
    return PettingZooEnv(read_array_game(game, parameters), seed)


def pettingzoo_parallel_env(
    game: GameLike, parameters: Mapping[str, Any] | None = None, *, seed: int = 0
) -> PettingZooParallelEnv:
    """Return a game as a PettingZoo environment in which all agents act simultaneously.

    Args: see :func:`pettingzoo_env`.

    Raises:
        UnknownName: there is no such game, or it has no array game.
        CheaptalkError: players don't act simultaneously, the array game doesn't support these
            parameters, or PettingZoo isn't installed.

    >>> env = pettingzoo_parallel_env("public_goods", {"players": 3, "rounds": 2})
    >>> observations, _ = env.reset(seed=7)
    >>> rewards = env.step(dict.fromkeys(env.agents, 5))[1]
    >>> list(observations), rewards["player_1"]
    (['player_1', 'player_2', 'player_3'], 0.0)
    """
    arrays = read_array_game(game, parameters)
    if not isinstance(arrays, SimultaneousRounds):
        raise CheaptalkError(
            f"the players of {arrays.rules.name} don't act simultaneously; use pettingzoo_env"
        )
    return PettingZooParallelEnv(arrays, seed)
