"""The base class of array versions of games with simultaneous decisions in each round.

The answers of a round are processed one by one, in the order of the players, but no answer is
revealed before the round ends.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

from cheaptalk.arrays.chance import draw_below
from cheaptalk.arrays.games import (
    Array,
    ArrayGame,
    NoArrayGame,
    check_action_count,
    concatenated,
    entry_at,
    namespace,
    one_hot,
)
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


class Feature(NamedTuple):
    """A feature that players observe after a round: ``width`` numbers, divided by ``unit``."""

    width: int
    unit: float


class SimultaneousRounds(ArrayGame[Rules, Decided]):
    """The array version of a game in which N players decide simultaneously in each of K rounds.

    Actions are the indices of the options. A player observes its index, the round, its private
    values (:meth:`private_values`) and the reports of earlier rounds (:meth:`report_values`).

    Attributes:
        options: the possible answers, in order.
        private_features: the sizes of the features of a player's private values in a round.
        report_features: the features of the report after a round.
    """

    options: Sequence[Any]
    private_features: ClassVar[Mapping[str, int]] = {}
    report_features: Mapping[str, Feature]
    rules: Any

    def __init__(self, rules: Rules) -> None:
        super().__init__(rules)
        self.players = tuple(rules.seats)
        self.rounds = rules.rounds
        self.options = self.answers(rules)
        self.report_features = self.feature_specs(rules)
        self.actions = len(self.options)
        check_action_count(self.rules.name, self.actions)
        self.uniforms = 0
        self.longest = self.rounds * len(self.players)
        (self.field,) = self.rules.actions[0].model_fields
        reports = self.report_features.items()
        self.features = {
            "player": len(self.players),
            "round": self.rounds,
            **self.private_features,
            **{name: self.rounds * feature.width for name, feature in reports},
        }

    @staticmethod
    @abstractmethod
    def answers(rules: Any) -> Sequence[Any]:
        """Return the possible answers in order; raise NoArrayGame if they are unlimited."""

    @staticmethod
    @abstractmethod
    def feature_specs(rules: Any) -> Mapping[str, Feature]:
        """Return the features of a round's report, by name."""

    @abstractmethod
    def gains(self, choices: Array, draws: Array) -> Array:
        """Return each player's gain in each round; the shape is that of ``choices``."""

    @abstractmethod
    def report_values(self, choices: Array, draws: Array, player: Array) -> Sequence[Array]:
        """Return each report feature unscaled; shape (..., rounds) or (..., rounds, width)."""

    @abstractmethod
    def read_report(self, report: Any) -> Sequence[Any]:
        """Return the value of each report feature from an event that the rules emit."""

    # Instances, which contain private values in a few of these games

    def draws(self, uniforms: Array) -> Array:
        """Return the random draws; shape (..., rounds, players, numbers)."""
        shape = (*uniforms.shape[:-1], self.rounds, len(self.players), 0)
        return namespace(uniforms).zeros(shape, np.int32)

    def draws_from(self, instances: Sequence[Any]) -> Array:
        """Return the random draws in the instances, stacked along one axis."""
        return np.zeros((len(instances), self.rounds, len(self.players), 0), np.int32)

    def private_values(self, draws: Array) -> Sequence[Array]:
        """Return a player's private values in a round as arrays of shape (...)."""
        return ()

    def read_private_values(self, question: Any) -> Sequence[float]:
        """Return a player's private values from an event that the game's rules emit."""
        return ()

    def known_draws(self, question: Any, number: int, player: int) -> Array:
        """Return the draws that an event reveals, others as 0; shape (rounds, players, numbers)."""
        return np.zeros((self.rounds, len(self.players), 0), np.int32)

    def draw_instance(self, uniforms: Array) -> Decided:
        return self._begun(self.draws(uniforms))

    def from_instances(self, instances: Sequence[Instance]) -> Decided:
        return self._begun(self.draws_from(instances))

    def _begun(self, draws: Array) -> Decided:
        xp, shape = namespace(draws), draws.shape[:-3]
        return Decided(xp.zeros((*shape, self.longest), np.int32), xp.zeros(shape, np.int32), draws)

    # Moves

    def turn(self, state: Decided) -> Array:
        return state.moves % len(self.players)

    def over(self, state: Decided) -> Array:
        return state.moves == self.longest

    def max_action(self, state: Decided) -> Array:
        """Return the highest legal action; shape (...)."""
        return namespace(state.moves).full(state.moves.shape, self.actions - 1, np.int32)

    def permitted(self, state: Decided, number: Array) -> Array:
        return (number <= self.max_action(state)[..., None]) & ~self.over(state)[..., None]

    def random_action(self, state: Decided, uniforms: Array) -> Array:
        return draw_below(uniforms, self.max_action(state) + 1)

    def moved(self, state: Decided, action: Array, moves: Array) -> Decided:
        xp = namespace(state.moves)
        mask = (xp.arange(self.longest) == state.moves[..., None]) & moves[..., None]
        choices = xp.where(mask, action.astype(np.int32)[..., None], state.choices)
        return state._replace(choices=choices, moves=state.moves + moves)

    def by_round(self, state: Decided) -> Array:
        """Return all choices; shape (..., rounds, players)."""
        return state.choices.reshape(*state.moves.shape, self.rounds, len(self.players))

    def returns(self, state: Decided) -> Array:
        xp = namespace(state.moves)
        gains = self.gains(self.by_round(state), state.draws).sum(axis=-2)
        return xp.where(self.over(state)[..., None], gains, 0.0)

    def scale(self, state: Decided) -> Array:
        """Return the maximum absolute payoff."""
        maximum = max(map(abs, self.rules.payoff_bounds()["player"]))
        xp, shape = namespace(state.moves), (*state.moves.shape, len(self.players))
        return xp.full(shape, maximum, np.float32)

    # Observations

    def observe(self, state: Decided, player: Array) -> Array:
        xp, shape = namespace(state.moves), state.moves.shape
        player = xp.broadcast_to(xp.asarray(player), shape)
        number = state.moves // len(self.players)
        over = xp.arange(self.rounds) < number[..., None]
        reports = self.report_values(self.by_round(state), state.draws, player)
        shaped = [
            xp.where(over[..., None], report.reshape(*over.shape, -1), 0) for report in reports
        ]
        draws = entry_at(state.draws, xp.minimum(number, self.rounds - 1))
        private = self.private_values(entry_at(draws, player))
        return self._observation(player, number, private, shaped)

    def _observation(
        self, player: Array, number: Array, private: Sequence[Array], reports: Sequence[Array]
    ) -> Array:
        """Return a player's observation in a round; rounds are counted from 0."""
        xp, pairs = namespace(number), zip(reports, self.report_features.values(), strict=True)
        return concatenated(
            player,
            [
                one_hot(xp, player, len(self.players)),
                one_hot(xp, number, self.rounds),
                *private,
                *(report / feature.unit for report, feature in pairs),
            ],
        )

    def position(self, request: DecisionRequest) -> Decided:
        player, number = self.player_index(request), request.event.round - 1
        draws = self.known_draws(request.event, number, player)
        moves = np.array(number * len(self.players) + player)
        return Decided(np.zeros(self.longest, np.int32), moves, draws)

    def observe_request(self, request: DecisionRequest) -> Array:
        """Return the actor's observation, in which only reports contain other players' choices."""
        widths = [feature.width for feature in self.report_features.values()]
        reports = [np.zeros((self.rounds, width)) for width in widths]
        for event, _ in request.heard:
            if isinstance(event, self.rules.events[2]):
                for array, numbers in zip(reports, self.read_report(event), strict=True):
                    array[event.round - 1] = numbers
        player = np.array(self.player_index(request))
        private = [np.array(value) for value in self.read_private_values(request.event)]
        return self._observation(player, np.array(request.event.round - 1), private, reports)

    def action(self, request: DecisionRequest, number: int) -> Action:
        kind: type[Action] = self.rules.actions[0]
        return kind.model_validate({self.field: self.options[number]})

    def number(self, request: DecisionRequest, action: Action) -> int:
        return self.options.index(getattr(action, self.field))


def expect_limits(rules: Any) -> None:
    """Raise :class:`NoArrayGame` if the rules do not limit the actions."""
    if not rules.limits:
        raise NoArrayGame(
            f"{rules.name} has unlimited actions if limits is false; use limits: true"
        )
