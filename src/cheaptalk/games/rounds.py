"""Games in which all players decide at once, round after round: what their files share."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from statistics import fmean
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from pydantic import Field

from cheaptalk.rules import (
    Ask,
    Asked,
    Chance,
    Deal,
    Event,
    Game,
    Outcome,
    Play,
    Point,
    Result,
    Tell,
    numbered,
)

C = TypeVar("C")

Wholes = Annotated[tuple[Annotated[int, Field(strict=True)], ...], Field(min_length=1)]
"""One or more whole numbers: the setting of a strategy that makes fixed choices in turn."""

REMEMBERED = 4_096
"""Actions that the scripts of a game keep: they choose the same few numbers again and again."""
UNLIMITED = 10**9
"""The greatest size of a number where the rules of a game set no limit to it."""


class RoundsPlayed(Outcome, Generic[C]):
    """What every player chose and got in every round: one row a round, players in order."""

    choices: tuple[tuple[C, ...], ...]
    gains: tuple[tuple[float, ...], ...]


def gain_limits(game: "Rounds") -> tuple[float, float]:
    """The least and the most that a player can gain in a round on average."""
    least, most = game.payoff_bounds()["player"]
    return least / game.rounds, most / game.rounds


class Over(Event):
    """All rounds are played; this is what they brought this player together."""

    rounds: int
    payoff: float


class Rounds(Game):
    """N players decide at once, in each of K rounds, and then each gets a report of its own.

    The players are player_1, player_2 and so on, all of one role. A game of this kind declares its
    parameters, one action of one field (in ``actions``), its events, of which the first is told at
    the start and the second with each question, and two methods: what a round pays (:meth:`gains`)
    and what is told of it (:meth:`reports`). All that nature decides stands in the deal. Each
    player's payoff is the sum of its gains, and is told last (:class:`Over`).
    """

    roles = ("player",)
    outcome_type: ClassVar[type[Outcome]] = RoundsPlayed

    players: int = Field(default=10, ge=2, le=1_000, strict=True)
    """How many players there are (N)."""
    rounds: int = Field(default=20, ge=1, le=10_000, strict=True)
    """How many rounds they play (K). They are told."""

    @property
    def places(self) -> dict[str, str]:
        """player_1 to player_N."""
        return numbered("player", self.players)

    def _told(self, kind: Any, *known: Any) -> list[Event]:
        """The same event for all: what is known, then parameters by the names of its fields."""
        rest = kind.__struct_fields__[len(known) :]
        return [kind(*known, *(getattr(self, name) for name in rest))] * self.players

    def briefings(self, deal: Any) -> list[Event]:
        """What each player knows at the start, in the order of the players."""
        return self._told(self.events[0])

    def questions(self, number: int, deal: Any) -> list[Event]:
        """What each player is told when it is asked in a round, numbered from 1."""
        return self._told(self.events[1], number)

    def objection(self, question: Any, action: Any) -> str | None:
        """Why a player may not choose this when it is asked so, or None if it may."""
        return None

    @abstractmethod
    def gains(self, number: int, choices: Sequence[Any], deal: Any) -> Sequence[float]:
        """What each player gets for these choices in a round."""

    @abstractmethod
    def reports(
        self, number: int, choices: Sequence[Any], gains: Sequence[float], deal: Any
    ) -> Iterable[Event]:
        """What each player is told when a round is over."""

    def outcome(
        self, choices: Sequence[Sequence[Any]], gains: Sequence[Sequence[float]], deal: Any
    ) -> Outcome:
        """How the match ended; a game whose outcome holds more than these makes its own."""
        return self.outcome_type.model_validate({"choices": choices, "gains": gains})

    def play(self, deal: Deal, chance: Chance) -> Play[Outcome]:
        seats = tuple(self.places)
        for seat, briefing in zip(seats, self.briefings(deal), strict=True):
            yield Tell(seat, briefing)
        kind = self.actions[0]
        choice = attrgetter(*kind.model_fields)
        choices: list[tuple[Any, ...]] = []
        gains: list[tuple[float, ...]] = []
        for number in range(1, self.rounds + 1):
            questions = self.questions(number, deal)
            answers = yield tuple(
                [
                    Ask(seat, kind, question, partial(self.objection, question))
                    for seat, question in zip(seats, questions, strict=True)
                ]
            )
            chosen = tuple(map(choice, answers.values()))
            gained = tuple(self.gains(number, chosen, deal))
            reports = self.reports(number, chosen, gained, deal)
            for seat, report in zip(seats, reports, strict=True):
                yield Tell(seat, report)
            choices.append(chosen)
            gains.append(gained)
        outcome = self.outcome(choices, gains, deal)
        for seat, payoff in self.payoffs(outcome).items():
            yield Tell(seat, Over(self.rounds, payoff))
        return outcome

    def payoffs(self, outcome: Any) -> dict[str, float]:
        """The sum of each player's gains."""
        return dict(zip(self.places, map(math.fsum, zip(*outcome.gains, strict=True)), strict=True))


def out_of_range(field: str, value: int, low: int, high: int) -> str | None:
    """Why a number may not stand in a field, or None if it lies from ``low`` to ``high``.

    Where one end is :data:`UNLIMITED`, only the limit that was passed is named.

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
    """The choice of a round, numbered from 1, for a player who makes these over and over.

    >>> [in_turn(("go", "stay"), number) for number in (1, 2, 3)]
    ['go', 'stay', 'go']
    """
    return choices[(number - 1) % len(choices)]


def last_report(asked: Asked) -> Any | None:
    """What this player was told of the round before; None in the first round."""
    return asked.heard[-1].event if len(asked.heard) > 1 else None


def by_player(
    result: Result,
    rows: Iterable[Sequence[float | None]],
    together: Callable[[Sequence[float]], float] = fmean,
) -> Iterator[Point]:
    """Each player's number of each round, and what they make together.

    Args:
        result: a finished match.
        rows: one a round, a number for each player in order; None where it has none.
        together: what all numbers of a round make; their mean, unless said otherwise. None where
            nobody has one.
    """
    places = tuple(result.game.places)
    for number, row in enumerate(rows, 1):
        known = [float(value) for value in row if value is not None]
        yield Point(number, None, together(known) if known else None)
        for place, value in zip(places, row, strict=True):
            yield Point(number, place, None if value is None else float(value))


def gain_by_round(result: Result) -> Iterator[Point]:
    """What each player gets in the round; for all together, the mean."""
    return by_player(result, result.outcome.gains)
