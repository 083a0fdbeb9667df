"""Games whose declarations are wrong."""

import math
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

import cheaptalk as ct
from tests import toys
from tests.broken.kit import Short, boxed, breaks, reworded
from tests.toys import Cards, Guess, Guesses, Guessing, GuessNow, Score, YourCard


@breaks("check_seats", "two actors are named left")
class DuplicateActorNames(Guessing):
    @property
    def actors(self) -> tuple[ct.Actor, ...]:
        return ct.Actor("left", "left"), ct.Actor("left", "right")


@breaks("check_seats", 'the seat "umpire" of actor "up" is not declared')
class UndeclaredSeat(Guessing):
    @property
    def actors(self) -> tuple[ct.Actor, ...]:
        return *super().actors, ct.Actor("up", "umpire")


@breaks("check_seats", 'the seat "right" has no actor')
class SeatWithoutAnActor(Guessing):
    @property
    def actors(self) -> tuple[ct.Actor, ...]:
        return (ct.Actor("left", "left"),)


@breaks("check_seats", 'the role "umpire" of seat "up" is not declared')
class UndeclaredRole(Guessing):
    @property
    def seats(self) -> dict[str, str]:
        return {**super().seats, "up": "umpire"}


@breaks("check_seats", 'the role "right" has no seat')
class RoleWithoutASeat(Guessing):
    @property
    def seats(self) -> dict[str, str]:
        return ct.numbered("left", 2)


@breaks(
    "check_seats",
    'play() of RequestToUnknownActor: the game asks "middle" (GuessNow), which is not an actor',
)
class RequestToUnknownActor(Short):
    def rest(self, instance: Cards) -> Iterator[Any]:
        yield ct.Ask("middle", Guess, GuessNow(1))


@breaks(
    "check_seats",
    'play() of EventForUnknownActor: the game tells "middle" (GuessNow), which is not an actor',
)
class EventForUnknownActor(Short):
    def rest(self, instance: Cards) -> Iterator[Any]:
        yield ct.Tell("middle", GuessNow(1))


@breaks("check_seats", "a match does not end within 10,000 requests; let the rules end it")
def rules_without_an_end(_: Path) -> ct.GameSpec:
    class Endless(Short):
        def rest(self, instance: Cards) -> Iterator[Any]:
            while True:
                yield ct.Ask("left", Guess, GuessNow(1))

    return boxed(Endless)


@breaks("check_seats", 'payoffs() returns nan for "left", which is not a finite number')
class PayoffThatIsNotANumber(Guessing):
    def payoffs(self, outcome: Score) -> dict[str, float]:
        return {"left": math.nan, "right": 0.0}


class Mean(ct.Outcome):
    """An outcome whose number can be infinite."""

    mean: float


@breaks("check_seats", 'the outcome has inf as "mean"; matches are stored as JSON,')
class OutcomeWithInfiniteNumber(Short):
    outcome_type: ClassVar[type[ct.Outcome]] = Mean

    def play(self, instance: Cards, chance: ct.Chance) -> ct.Play[Any]:
        yield from super().play(instance, chance)
        return Mean(mean=math.inf)

    def payoffs(self, outcome: Any) -> dict[str, float]:
        return {"left": 0.0, "right": 0.0}


@breaks("check_seats", '"left" gets a request before its first event')
def request_without_a_briefing(_: Path) -> ct.GameSpec:
    class Brusque(Guessing):
        def play(self, instance: Cards, chance: ct.Chance) -> ct.Play[Score]:
            yield ct.Ask("left", toys.SpokenGuess, GuessNow(1))
            return (yield from super().play(instance, chance))

    @ct.strategy("left", "right")
    def random(request: ct.DecisionRequest) -> ct.Action:
        """Answer with the requested action type."""
        return request.ask.action.model_validate({"number": 16, "message": ""})

    return boxed(Brusque, random)


@breaks("check_seats", 'has no strategy "random" for all its roles')
def missing_random_strategy(_: Path) -> ct.GameSpec:
    return boxed(Guessing, strategies={"own_card": toys.own_card})


@breaks(
    "check_seats", 'the answer of "left", by random, to GuessNow(round=1) is refused: expected a'
)
def illegal_random_strategy(_: Path) -> ct.GameSpec:
    @ct.strategy("left", "right")
    def random(request: ct.DecisionRequest) -> ct.Action:
        """Answer with another action."""
        return Guess(number=9)

    return boxed(Guessing, random)


@breaks("check_words", 'Reveal has no text in style "plain"')
def missing_template_block(folder: Path) -> ct.GameSpec:
    game_spec = boxed(Guessing, **reworded(folder))
    full = folder / "guessing.jinja"
    full.write_text(full.read_text().replace("block reveal", "block revel"))
    return game_spec


@breaks("check_words", "in block reveal: 'number' is undefined")
def template_with_unknown_variable(folder: Path) -> ct.GameSpec:
    return boxed(Guessing, **reworded(folder, reveal="{{ number }}"))


@breaks("check_words", 'style "plain" renders Reveal')
def empty_template_block(folder: Path) -> ct.GameSpec:
    return boxed(Guessing, **reworded(folder, reveal=""))


@breaks("check_words", '"left" observes or takes Reveal, which is not declared')
class UndeclaredEvent(Guessing):
    events: ClassVar[tuple[type[ct.Event], ...]] = (YourCard, GuessNow, Guesses)


@breaks("check_words", "observes or takes SpokenGuess, which is not declared")
class UndeclaredAction(Guessing):
    actions: ClassVar[tuple[type[ct.Action], ...]] = (Guess,)


@breaks("check_words", "two events or actions share the block guess_now")
def duplicate_template_block(_: Path) -> ct.GameSpec:
    other = type("GuessNow", (ct.Event,), {})

    class Doubled(Guessing):
        events: ClassVar[tuple[type[ct.Event], ...]] = (*Guessing.events, other)

    return boxed(Doubled)


@breaks("check_words", "which must be immutable, failed: TypeError: unhash")
class EventWithAList(Short):
    def rest(self, instance: Cards) -> Iterator[Any]:
        guesses: Any = [("left", 1, "")]
        yield ct.Tell("left", Guesses(1, guesses))


@breaks("check_words", "hashing Note(), which must be immutable")
def mutable_event(folder: Path) -> ct.GameSpec:
    class Note(ct.Event, frozen=False):  # type: ignore[misc]  # the fault
        pass

    class Loose(Short):
        events: ClassVar[tuple[type[ct.Event], ...]] = (*Guessing.events, Note)

        def rest(self, instance: Cards) -> Iterator[Any]:
            yield ct.Tell("left", Note())

    return boxed(Loose, **reworded(folder, note="Note."))


@breaks("check_payoffs", 'the payoff of "left" is 100, which is not between 0 and 2')
def unbounded_payoffs(_: Path) -> ct.GameSpec:
    class Generous(Guessing):
        def payoffs(self, outcome: Score) -> dict[str, float]:
            return {"left": 100.0, "right": 0.0}

    return boxed(Generous)


@breaks("check_payoffs", 'payoff_bounds() has no bounds for the role "right"')
class MissingBounds(Guessing):
    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        return {"left": (0.0, 2.0)}


@breaks("check_payoffs", "payoff_bounds() returns (0.0, 2.0); return the minimum and maximum by")
class BoundsWithoutRoles(Guessing):
    def payoff_bounds(self) -> Any:
        return 0.0, 2.0


@breaks("check_payoffs", "(0, 1, 2)}; return the minimum and maximum by role, as in {")
class ThreeNumbersAsBounds(Guessing):
    def payoff_bounds(self) -> Any:
        return dict.fromkeys(self.roles, (0, 1, 2))


@breaks("check_payoffs", 'total_bounds() has no bounds for the role "left"')
class MissingTotalBounds(Guessing):
    def total_bounds(self) -> dict[str, tuple[float, float]]:
        return {"right": (0.0, 2.0)}


@breaks("check_payoffs", "0.0 to inf, are invalid")
class InfiniteBounds(Guessing):
    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        return dict.fromkeys(self.roles, (0.0, math.inf))


@breaks("check_seats", 'payoffs() returns None; return a payoff by actor, as in {"ACTOR": 0.0}')
class PayoffsReturningNone(Guessing):
    def payoffs(self, outcome: Score) -> Any:
        """Return nothing."""


@breaks("check_payoffs", "payoffs() pays left, but the actors are left, right")
class SeatWithoutAPayoff(Guessing):
    def payoffs(self, outcome: Score) -> dict[str, float]:
        return {"left": 0.0}


@breaks("check_seats", "but outcome_type is Score; return an object")
class UndeclaredOutcomeType(Short):
    def play(self, instance: Cards, chance: ct.Chance) -> ct.Play[Any]:
        yield from super().play(instance, chance)
        return ct.Outcome()

    def payoffs(self, outcome: Any) -> dict[str, float]:
        return {"left": 0.0, "right": 0.0}


def with_metrics(*metrics: ct.Metric) -> ct.GameSpec:
    """Return the toy game with other metrics."""
    return boxed(Guessing, metrics={metric.name: metric for metric in metrics})


@breaks("check_metrics", 'metric "odd" of Score')
def metric_that_is_not_a_number(_: Path) -> ct.GameSpec:
    def odd(result: ct.Result) -> float:
        """Nothing."""
        return math.nan

    return with_metrics(ct.Metric("odd", odd))


@breaks("check_metrics", 'metric "worded" failed: TypeError: must be real number, not str')
def metric_returning_text(_: Path) -> ct.GameSpec:
    def worded(result: ct.Result) -> Any:
        """Yes."""
        return "yes"

    return with_metrics(ct.Metric("worded", worded))


@breaks("check_metrics", "is 1.5, which is not between 0 and 1")
def metric_out_of_bounds(_: Path) -> ct.GameSpec:
    def bold(result: ct.Result) -> float:
        """More than a share can be."""
        return 1.5

    return with_metrics(ct.Metric("bold", bold, bounds=ct.SHARE))


@breaks("check_metrics", 'metric "mute" has no docstring')
def metric_without_a_docstring(_: Path) -> ct.GameSpec:
    return with_metrics(ct.Metric("mute", lambda result: 1.0))


@breaks("check_metrics", 'metric "hits" failed: ZeroDivisionError')
def published_metric_that_fails(_: Path) -> ct.GameSpec:
    return with_metrics(ct.Metric("hits", toys.hits, published=lambda result: 1 / 0))


def with_series(*points: tuple[int, str | None, float | None], **changes: Any) -> ct.GameSpec:
    """Return the toy game with a series of these points."""

    def steps(result: ct.Result) -> list[ct.Point]:
        """The given points."""
        return [ct.Point(*point) for point in points]

    return boxed(Guessing, series={"steps": ct.Series("steps", steps, **changes)})


@breaks("check_series", 'series "steps" is nan in round 1')
def series_that_is_not_a_number(_: Path) -> ct.GameSpec:
    return with_series((1, "left", math.nan))


@breaks("check_series", 'series "steps" in round 2 is 1.5, which is not between 0 and 1')
def series_out_of_bounds(_: Path) -> ct.GameSpec:
    return with_series((1, None, 0.5), (2, None, 1.5), bounds=ct.SHARE)


@breaks("check_series", 'series "steps" has a round 0 in a match of')
def series_starting_at_round_zero(_: Path) -> ct.GameSpec:
    return with_series((0, "left", 1.0))


@breaks("check_series", 'series "steps" has a round 999 in a match of')
def series_longer_than_the_match(_: Path) -> ct.GameSpec:
    return with_series((1, "left", 1.0), (999, "left", None))


@breaks("check_series", 'series "steps" has a seat "middle", which is not declared')
def series_of_unknown_seat(_: Path) -> ct.GameSpec:
    return with_series((1, "middle", 1.0))


@breaks("check_series", 'series "steps" has 2 numbers for left in round 1')
def series_with_duplicate_points(_: Path) -> ct.GameSpec:
    return with_series((1, "left", 1.0), (1, "right", 1.0), (1, "left", 2.0))


@breaks("check_series", 'series "mute" has no docstring')
def series_without_a_docstring(_: Path) -> ct.GameSpec:
    return boxed(Guessing, series={"mute": ct.Series("mute", lambda result: [])})


@breaks("check_series", 'series "steps" failed: ZeroDivisionError')
def series_that_fails_late(_: Path) -> ct.GameSpec:
    def steps(result: ct.Result) -> Iterator[ct.Point]:
        """The given points."""
        yield ct.Point(1, "left", 1.0)
        yield ct.Point(2, "left", 1 / 0)

    return boxed(Guessing, series={"steps": ct.Series("steps", steps)})


class Noted(Score):
    """An outcome that JSON changes."""

    note: int = Field(default=0, exclude=True)


@breaks("check_json", "is read back from JSON as Noted(left=0, right=0, note=0)")
class OutcomeChangedByJson(Short):
    outcome_type: ClassVar[type[ct.Outcome]] = Noted

    def play(self, instance: Cards, chance: ct.Chance) -> ct.Play[Any]:
        yield from super().play(instance, chance)
        return Noted(left=0, right=0, note=1)


@breaks("check_talk", 'reads a message of another player without the filter "quoted"')
def unquoted_message_unused_by_random(folder: Path) -> ct.GameSpec:
    class Remark(ct.Action):
        """A message, or none."""

        words: ct.Message | None = None

    class Remarking(Short):
        actions: ClassVar[tuple[type[ct.Action], ...]] = (Remark,)

        def rest(self, instance: Cards) -> Generator[Any, Any, None]:
            remark: Remark = yield ct.Ask("left", Remark, GuessNow(1))
            yield ct.Tell("right", Guesses(1, (("left", 1, remark.words or ""),)))

    @ct.strategy("left", "right")
    def random(request: ct.DecisionRequest) -> ct.Action:
        """Say nothing."""
        return Remark()

    block = "{% for seat, number, message in guesses %}{{ names[seat] }}: {{ message }}{% endfor %}"
    words = reworded(folder, guesses=block, remark="{{ form }}")
    return boxed(Remarking, strategies={"random": random}, **words)


@breaks("check_talk", 'reads a message of another player without the filter "quoted"')
def unquoted_message(folder: Path) -> ct.GameSpec:
    block = "{% for seat, number, message in guesses %}{{ names[seat] }}: {{ message }}{% endfor %}"
    return boxed(Guessing, **reworded(folder, guesses=block))
