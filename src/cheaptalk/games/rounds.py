"""The base class of games in which all players decide simultaneously in every round."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from operator import attrgetter
from statistics import fmean
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from pydantic import Field

import cheaptalk as ct
from cheaptalk.rules import alternative

A = TypeVar("A", bound=ct.Action)
C = TypeVar("C")

Wholes = Annotated[tuple[Annotated[int, Field(strict=True)], ...], Field(min_length=1)]
"""One or more integers: the setting of a strategy that cycles through fixed choices."""

UNLIMITED = 10**9
"""Maximum of a number for which the rules set no limit."""


class RoundsPlayed(ct.Outcome, Generic[C]):
    """Every player's choice and gain in every round: one row per round, players in order."""

    choices: tuple[tuple[C, ...], ...]
    gains: tuple[tuple[float, ...], ...]

    def totals(self) -> list[float]:
        """Return the sum of each player's gains, in the order of the players."""
        return list(map(math.fsum, zip(*self.gains, strict=True)))


def gain_limits(game: "Rounds") -> tuple[float, float]:
    """Return the minimum and maximum of a player's mean gain per round."""
    minimum, maximum = game.payoff_bounds()["player"]
    return minimum / game.rounds, maximum / game.rounds


class Over(ct.Event):
    """The game has ended; ``payoff`` is the player's total."""

    rounds: int
    payoff: float


class Rounds(ct.Game):
    """A game of K rounds in which N players decide simultaneously and then receive reports.

    The players are player_1, player_2 and so on, all in one role. A subclass declares parameters,
    one action with one field, and events: first the briefing, then the event of each request. It
    implements :meth:`gains` and :meth:`reports` for a round. The instance contains all random
    draws. A player's payoff is the sum of its gains, which :class:`Over` reports.
    """

    roles = ("player",)
    outcome_type: ClassVar[type[ct.Outcome]] = RoundsPlayed

    players: int = Field(default=10, ge=2, le=1_000, strict=True)
    """The number of players (N)."""
    rounds: int = Field(default=20, ge=1, le=10_000, strict=True)
    """The number of rounds (K), which the players know."""

    @property
    def seats(self) -> dict[str, str]:
        return ct.rules.numbered_seats("player", self.players)

    def _same_event(self, event_type: Any, *values: Any) -> list[ct.Event]:
        """Return the same event for each player; missing fields come from the game's parameters."""
        field_names = event_type.__struct_fields__[len(values) :]
        return [event_type(*values, *(getattr(self, name) for name in field_names))] * self.players

    def briefings(self, instance: Any) -> list[ct.Event]:
        """Return the briefings in the order of the players."""
        return self._same_event(self.events[0])

    def questions(self, number: int, instance: Any) -> list[ct.Event]:
        """Return each player's request event for a round; rounds are counted from 1."""
        return self._same_event(self.events[1], number)

    def choice_range(self, question: Any) -> tuple[int, int] | None:
        """Return the minimum and maximum of a choice that is a number, or None.

        Args:
            question: the event of the request.
        """
        return None

    @abstractmethod
    def gains(self, number: int, choices: Sequence[Any], instance: Any) -> Sequence[float]:
        """Return each player's gain in a round with these choices."""

    @abstractmethod
    def reports(
        self, number: int, choices: Sequence[Any], gains: Sequence[float], instance: Any
    ) -> Iterable[ct.Event]:
        """Return each player's report on a round."""

    def outcome(
        self, choices: Sequence[Sequence[Any]], gains: Sequence[Sequence[float]], instance: Any
    ) -> ct.Outcome:
        """Return the outcome; override this method to add fields to choices and gains."""
        return self.outcome_type.model_validate({"choices": choices, "gains": gains})

    def play(self, instance: ct.Instance, chance: ct.Chance) -> ct.Play[ct.Outcome]:
        seats = tuple(self.seats)
        for seat, briefing in zip(seats, self.briefings(instance), strict=True):
            yield ct.Tell(seat, briefing)
        kind = self.actions[0]
        choice = attrgetter(*kind.model_fields)
        choices: list[tuple[Any, ...]] = []
        gains: list[tuple[float, ...]] = []
        for number in range(1, self.rounds + 1):
            asks = [
                ct.Ask(seat, kind, question, *range_checks(kind, self.choice_range(question)))
                for seat, question in zip(seats, self.questions(number, instance), strict=True)
            ]
            answers = yield tuple(asks)
            chosen = tuple(map(choice, answers.values()))
            gained = tuple(self.gains(number, chosen, instance))
            reports = self.reports(number, chosen, gained, instance)
            for seat, report in zip(seats, reports, strict=True):
                yield ct.Tell(seat, report)
            choices.append(chosen)
            gains.append(gained)
        outcome = self.outcome(choices, gains, instance)
        for seat, payoff in self.payoffs(outcome).items():
            yield ct.Tell(seat, Over(self.rounds, payoff))
        return outcome

    def payoffs(self, outcome: Any) -> dict[str, float]:
        """Return the sum of each player's gains."""
        return dict(zip(self.seats, outcome.totals(), strict=True))


@lru_cache
def range_checks(action: type[ct.Action], limits: tuple[int, int] | None) -> tuple[Any, ...]:
    """Return the arguments of a request for an action whose only field is a whole number.

    Args:
        action: the action's class.
        limits: the minimum and maximum of the number, or None if the rules set none.

    Returns:
        The objection and the alternatives of :class:`cheaptalk.Ask`; nothing without limits.
    """
    if limits is None:
        return ()
    (field,) = action.model_fields
    return partial(_objection, field, *limits), partial(_alternatives, field, *limits)


def _objection(field: str, low: int, high: int, action: ct.Action) -> str | None:
    return out_of_range(field, getattr(action, field), low, high)


def _alternatives(field: str, low: int, high: int) -> list[ct.rules.Schema]:
    return [alternative({field: range(low, high + 1)})]


def out_of_range(field: str, value: int, low: int, high: int) -> str | None:
    """Return why a number is invalid, or None if it is between ``low`` and ``high``, inclusive.

    The message does not mention a bound that is :data:`UNLIMITED`.

    >>> out_of_range("bid", 1200, 0, 1000)
    '"bid" must be from 0 to 1000, not 1200'
    >>> out_of_range("bid", -5, 0, UNLIMITED)
    '"bid" must be 0 or more, not -5'
    """
    if low <= value <= high:
        return None
    if UNLIMITED in (-low, high):
        bounds = f"{low} or more" if value < low else f"{high} or less"
    else:
        bounds = f"from {low} to {high}" if low < high else f"{low}"
    return f'"{field}" must be {bounds}, not {value}'


def in_turn(choices: Sequence[C], number: int) -> C:
    """Return the choice for a round when cycling through choices; rounds are counted from 1.

    >>> [in_turn(("go", "stay"), number) for number in (1, 2, 3)]
    ['go', 'stay', 'go']
    """
    return choices[(number - 1) % len(choices)]


def cached(action: type[A]) -> Callable[[int], A]:
    """Return a function that creates an action with one number.

    The actions are cached, because scripted strategies choose the same few numbers repeatedly.
    """
    (field,) = action.model_fields

    @lru_cache(maxsize=4_096)
    def create(number: int) -> A:
        return action.model_validate({field: number})

    return create


def last_report(request: ct.DecisionRequest) -> Any | None:
    """Return the player's report on the previous round; None in the first round."""
    return request.heard[-1].event if len(request.heard) > 1 else None


def by_player(
    result: ct.Result,
    rows: Iterable[Sequence[float | None]],
    total: Callable[[Sequence[float]], float] = fmean,
) -> Iterator[ct.rules.Point]:
    """Yield each player's value in each round, and an aggregate over all players.

    Args:
        rows: one row per round with a number, or None, for each player in order.
        total: aggregates the numbers of a round, if there are any; by default the mean.
    """
    seats = tuple(result.game.seats)
    for number, row in enumerate(rows, 1):
        present = [float(value) for value in row if value is not None]
        yield ct.rules.Point(number, None, total(present) if present else None)
        for seat, value in zip(seats, row, strict=True):
            yield ct.rules.Point(number, seat, None if value is None else float(value))


def gain_by_round(result: ct.Result) -> Iterator[ct.rules.Point]:
    """Each player's gain in the round, and the mean gain of all players."""
    return by_player(result, result.outcome.gains)
