"""The base class of array versions of games with simultaneous decisions in each round.

The answers of a round are processed one by one, in the order of the players, but no answer is
revealed before the round ends.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from cheaptalk.arrays.chance import draw_below
from cheaptalk.arrays.games import Array, ArrayGame, NoArrayGame, entry_at, namespace, one_hot
from cheaptalk.games.extras import needed
from cheaptalk.games.rounds import Rounds
from cheaptalk.rules import Action, DecisionRequest, Instance

np = needed("numpy")

Rules = TypeVar("Rules", bound=Rounds)


class Decided(NamedTuple):
    """States of simultaneous games.

    Attributes:
        choices: the numbers of the chosen options, round by round, then zeros; shape (...,
            rounds x players).
        moves: the number of choices so far; shape (...).
        draws: random draws, shape (..., rounds, players, numbers).
    """

    choices: Array
    moves: Array
    draws: Array


class SimultaneousRounds(ArrayGame[Rules, Decided]):
    """The array version of a game in which N players decide simultaneously in each of K rounds.

    Actions are the indices of the options. A player observes its index, the round, its private
    values (:meth:`private_values`) and the reports of earlier rounds (:meth:`report_values`).

    Attributes:
        options: the possible answers, in order.
    """

    options: Sequence[Any]
    rules: Any

    def __init__(self, rules: Rules) -> None:
        super().__init__(rules)
        self.rounds = self.rules.rounds
        self.options = self.answers()
        self.actions = len(self.options)
        self.check_action_count()
        self.longest = self.rounds * self.count
        (self.field,) = self.rules.actions[0].model_fields

    @abstractmethod
    def answers(self) -> Sequence[Any]:
        """Return the possible answers in order; raise NoArrayGame if they are unlimited."""

    def expect_limits(self) -> None:
        """Raise :class:`NoArrayGame` if the rules do not limit the actions."""
        if not self.rules.limits:
            raise NoArrayGame(
                f"{self.rules.name} has unlimited actions if limits is false; use limits: true"
            )

    @abstractmethod
    def report_units(self) -> Mapping[str, float]:
        """Return the unit by which each number in a round's report is divided, by name."""

    @abstractmethod
    def gains(self, choices: Array, draws: Array) -> Array:
        """Return each player's gain in each round; the shape is that of ``choices``."""

    @abstractmethod
    def report_values(self, choices: Array, draws: Array, player: Array) -> Sequence[Array]:
        """Return each part of the reports unscaled; shape (..., rounds) or (..., rounds, size)."""

    @abstractmethod
    def read_report(self, report: Any) -> Sequence[Any]:
        """Return the value of each part of a report from an event that the rules emit."""

    # Instances, which contain private values in a few of these games

    def draws(self, uniforms: Array) -> Array:
        """Return the random draws; shape (..., rounds, players, numbers)."""
        shape = (*uniforms.shape[:-1], self.rounds, self.count, 0)
        return namespace(uniforms).zeros(shape, np.int32)

    def draws_from(self, instances: Sequence[Any]) -> Array:
        """Return the random draws in the instances, stacked along one axis."""
        return np.zeros((len(instances), self.rounds, self.count, 0), np.int32)

    def private_values(self, draws: Array) -> Mapping[str, Array]:
        """Return a player's private values in a round, by name, as arrays of shape (...)."""
        return {}

    def known_draws(self, question: Any, number: int, player: int) -> Array:
        """Return the draws that an event reveals, others as 0; shape (rounds, players, numbers)."""
        return np.zeros((self.rounds, self.count, 0), np.int32)

    def draw_instance(self, uniforms: Array) -> Decided:
        return self._begun(self.draws(uniforms))

    def from_instances(self, instances: Sequence[Instance]) -> Decided:
        return self._begun(self.draws_from(instances))

    def _begun(self, draws: Array) -> Decided:
        xp, shape = namespace(draws), draws.shape[:-3]
        return Decided(xp.zeros((*shape, self.longest), np.int32), xp.zeros(shape, np.int32), draws)

    # Moves

    def turn(self, state: Decided) -> Array:
        return state.moves % self.count

    def over(self, state: Decided) -> Array:
        return state.moves == self.longest

    def max_action(self, state: Decided) -> Array:
        """Return the highest legal action; shape (...)."""
        return namespace(state.moves).full(state.moves.shape, self.actions - 1, np.int32)

    def possible(self, state: Decided, number: Array) -> Array:
        return number <= self.max_action(state)[..., None]

    def random_action(self, state: Decided, uniforms: Array) -> Array:
        return draw_below(uniforms, self.max_action(state) + 1)

    def moved(self, state: Decided, action: Array, moves: Array) -> Decided:
        xp = namespace(state.moves)
        mask = (xp.arange(self.longest) == state.moves[..., None]) & moves[..., None]
        choices = xp.where(mask, action.astype(np.int32)[..., None], state.choices)
        return state._replace(choices=choices, moves=state.moves + moves)

    def by_round(self, state: Decided) -> Array:
        """Return all choices; shape (..., rounds, players)."""
        return state.choices.reshape(*state.moves.shape, self.rounds, self.count)

    def payoffs(self, state: Decided) -> Array:
        return self.gains(self.by_round(state), state.draws).sum(axis=-2)

    def max_payoff(self) -> float:
        """Return the maximum absolute payoff."""
        return float(max(map(abs, self.rules.payoff_bounds()["player"])))

    # Observations

    def observation(self, state: Decided, player: Array) -> Mapping[str, Array]:
        xp, number = namespace(state.moves), state.moves // self.count
        over = xp.arange(self.rounds) < number[..., None]
        reports = self.report_values(self.by_round(state), state.draws, player)
        shaped = [
            xp.where(over[..., None], report.reshape(*over.shape, -1), 0) for report in reports
        ]
        draws = entry_at(state.draws, xp.minimum(number, self.rounds - 1))
        return self._parts(number, entry_at(draws, player), shaped)

    def _parts(self, number: Array, draws: Array, reports: Sequence[Array]) -> Mapping[str, Array]:
        """Return a player's observation in a round, from 0, with the player's draws."""
        units = self.report_units().items()
        return {
            "round": one_hot(namespace(number), number, self.rounds),
            **self.private_values(draws),
            **{name: report / unit for (name, unit), report in zip(units, reports, strict=True)},
        }

    def position(self, request: DecisionRequest) -> Decided:
        player, number = self.player_index(request), request.event.round - 1
        draws = self.known_draws(request.event, number, player)
        moves = np.array(number * self.count + player)
        return Decided(np.zeros(self.longest, np.int32), moves, draws)

    def observe_request(self, request: DecisionRequest) -> Array:
        """Return the actor's observation, in which only reports contain other players' choices."""
        sizes = [self.features[name] // self.rounds for name in self.report_units()]
        reports = [np.zeros((self.rounds, size)) for size in sizes]
        for event, _ in request.heard:
            if isinstance(event, self.rules.events[2]):
                for array, numbers in zip(reports, self.read_report(event), strict=True):
                    array[event.round - 1] = numbers
        player, number = self.player_index(request), request.event.round - 1
        draws = self.known_draws(request.event, number, player)[number, player]
        return self._joined(np.array(player), self._parts(np.array(number), draws, reports))

    def action(self, request: DecisionRequest, number: int) -> Action:
        kind: type[Action] = self.rules.actions[0]
        return kind.model_validate({self.field: self.options[number]})

    def number(self, request: DecisionRequest, action: Action) -> int:
        return self.options.index(getattr(action, self.field))
