"""Games whose declarations are wrong."""

import math
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

import cheaptalk as ct
from cheaptalk.rules import Assessment, Missed, Statement
from tests import toys
from tests.broken.kit import Broken, Short, always, boxed, breaks, broken, returning, reworded
from tests.toys import Cards, Guess, Guesses, Guessing, GuessNow, Score, YourCard

LEFT = ct.rules.Actor("left", "left")
RIGHT = ct.rules.Actor("right", "right")
BOTH = ("left", "right")
CONSTANTS: dict[str, dict[str, dict[str, Any]]] = {
    "check_seats": {
        "two actors are named left": {"actors": (LEFT, ct.rules.Actor("left", "right"))},
        'the seat "umpire" of actor "up" is not declared': {
            "actors": (LEFT, RIGHT, ct.rules.Actor("up", "umpire"))
        },
        'the seat "right" has no actor': {"actors": (LEFT,)},
        'the role "umpire" of seat "up" is not declared': {
            "seats": {"left": "left", "right": "right", "up": "umpire"}
        },
        'the role "right" has no seat': {"seats": ct.rules.numbered_seats("left", 2)},
        'payoffs() returns nan for "left", which is not a finite number': {
            "payoffs": {"left": math.nan, "right": 0.0}
        },
        'payoffs() returns None; return a payoff by actor, as in {"ACTOR": 0.0}': {"payoffs": None},
    },
    "check_payoffs": {
        'the payoff of "left" is 100, which is not between 0 and 2': {
            "payoffs": {"left": 100.0, "right": 0.0}
        },
        "payoffs() pays left, but the actors are left, right": {"payoffs": {"left": 0.0}},
        'payoff_bounds() has no bounds for the role "right"': {
            "payoff_bounds": {"left": (0.0, 2.0)}
        },
        "payoff_bounds() returns (0.0, 2.0); return the minimum and maximum by": {
            "payoff_bounds": (0.0, 2.0)
        },
        "(0, 1, 2)}; return the minimum and maximum by role, as in {": {
            "payoff_bounds": dict.fromkeys(BOTH, (0, 1, 2))
        },
        "0.0 to inf, are invalid": {"payoff_bounds": dict.fromkeys(BOTH, (0.0, math.inf))},
        'total_bounds() has no bounds for the role "left"': {"total_bounds": {"right": (0.0, 2.0)}},
    },
    "check_secrets": {
        "secrets() returns None; yield a ct.rules.Secret for each, or omit the method": {
            "secrets": None
        },
    },
}
"""Constants that the properties and methods of broken games return, by check and message."""
RETURNING = [
    broken(check, saying, returning(**constants))
    for check, cases in CONSTANTS.items()
    for saying, constants in cases.items()
]


@breaks(
    "check_seats",
    'play() of RequestToUnknownActor: the game asks "middle" (GuessNow), which is not an actor',
)
class RequestToUnknownActor(Short):
    def rest(self, instance: Cards) -> Iterator[Any]:
        yield ct.Ask("middle", Guess, GuessNow(1))


@breaks("check_seats", "a match does not end within 10,000 requests; let the rules end it")
def rules_without_an_end(_: Path) -> ct.GameSpec:
    class Endless(Short):
        def rest(self, instance: Cards) -> Iterator[Any]:
            while True:
                yield ct.Ask("left", Guess, GuessNow(1))

    return boxed(Endless)


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
    return boxed(Guessing, always(Guess(number=9)))


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


def constant(value: Any, **changes: Any) -> ct.GameSpec:
    """Return the toy game with a metric that is constant."""

    def odd(result: ct.Result) -> Any:
        """A constant."""
        return value

    return with_metrics(ct.Metric("odd", odd, **changes))


METRICS = [
    broken("check_metrics", 'metric "odd" of Score', constant(math.nan)),
    broken(
        "check_metrics",
        'metric "odd" failed: TypeError: must be real number, not str',
        constant("yes"),
    ),
    broken(
        "check_metrics",
        "is 1.5, which is not between 0 and 1",
        constant(1.5, bounds=ct.rules.SHARE),
    ),
    broken(
        "check_metrics",
        'metric "mute" has no docstring',
        with_metrics(ct.Metric("mute", lambda result: 1.0)),
    ),
    broken(
        "check_metrics",
        'metric "hits" failed: ZeroDivisionError',
        with_metrics(ct.Metric("hits", toys.hits, published=lambda result: 1 / 0)),
    ),
]


def with_series(*points: tuple[int, str | None, float | None], **changes: Any) -> ct.GameSpec:
    """Return the toy game with a series of these points."""

    def steps(result: ct.Result) -> list[ct.rules.Point]:
        """The given points."""
        return [ct.rules.Point(*point) for point in points]

    return boxed(Guessing, series={"steps": ct.rules.Series("steps", steps, **changes)})


SERIES = [
    broken("check_series", f'series "steps" {saying}', game_spec)
    for saying, game_spec in (
        ("is nan in round 1", with_series((1, "left", math.nan))),
        (
            "in round 2 is 1.5, which is not between 0 and 1",
            with_series((1, None, 0.5), (2, None, 1.5), bounds=ct.rules.SHARE),
        ),
        ("has a round 0 in a match of", with_series((0, "left", 1.0))),
        ("has a round 999 in a match of", with_series((1, "left", 1.0), (999, "left", None))),
        ('has a seat "middle", which is not declared', with_series((1, "middle", 1.0))),
        (
            "has 2 numbers for left in round 1",
            with_series((1, "left", 1.0), (1, "right", 1.0), (1, "left", 2.0)),
        ),
        (
            "adds up to 900.0 for left, whose payoff is",
            with_series((1, "left", 900.0), payoff=True),
        ),
    )
]


@breaks("check_series", 'series "mute" has no docstring')
def series_without_a_docstring(_: Path) -> ct.GameSpec:
    return boxed(Guessing, series={"mute": ct.rules.Series("mute", lambda result: [])})


@breaks("check_series", 'series "steps" failed: ZeroDivisionError')
def series_that_fails_late(_: Path) -> ct.GameSpec:
    def steps(result: ct.Result) -> Iterator[ct.rules.Point]:
        """The given points."""
        yield ct.rules.Point(1, "left", 1.0)
        yield ct.rules.Point(2, "left", 1 / 0)

    return boxed(Guessing, series={"steps": ct.rules.Series("steps", steps)})


class Noted(Score):
    """An outcome that JSON changes."""

    note: int = Field(default=0, exclude=True)


@breaks("check_json", "is read back from JSON as Noted(left=0, right=0, note=0)")
class OutcomeChangedByJson(Short):
    outcome_type: ClassVar[type[ct.Outcome]] = Noted

    def play(self, instance: Cards, chance: ct.Chance) -> ct.Play[Any]:
        yield from super().play(instance, chance)
        return Noted(left=0, right=0, note=1)


UNQUOTED = 'reads a message of another player without the filter "quoted"'
GUESSES = "{% for seat, number, message in guesses %}{{ names[seat] }}: {{ message }}{% endfor %}"


@breaks("check_talk", UNQUOTED)
def unquoted_message_unused_by_random(folder: Path) -> ct.GameSpec:
    class Remark(ct.Action):
        """A message, or none."""

        words: ct.Message | None = None

    class Remarking(Short):
        actions: ClassVar[tuple[type[ct.Action], ...]] = (Remark,)

        def rest(self, instance: Cards) -> Generator[Any, Any, None]:
            remark: Remark = yield ct.Ask("left", Remark, GuessNow(1))
            yield ct.Tell("right", Guesses(1, (("left", 1, remark.words or ""),)))

    words = reworded(folder, guesses=GUESSES, remark="{{ form }}")
    return boxed(Remarking, strategies={"random": always(Remark())}, **words)


@breaks("check_talk", UNQUOTED)
def unquoted_message(folder: Path) -> ct.GameSpec:
    return boxed(Guessing, **reworded(folder, guesses=GUESSES))


def assessed(saying: str, **methods: Any) -> Broken:
    """Return the toy game with an assessment that has these methods."""
    assessment = type("Odd", (Assessment,), methods)()
    return broken("check_assessment", saying, boxed(Guessing, assessment=assessment))


ASSESSMENTS = [
    assessed(
        'statements() names request 99 of "left"',
        statements=lambda self, result: [Statement(99, "left", true=True)],
    ),
    assessed(
        'the attainable payoff of "left" is 1,000',
        attainable=lambda self, game, instance, seat: 1_000,
    ),
    assessed('demands() returns nan for "left"', offered=lambda self, result, *_: math.nan),
    assessed("missed() yields request 99", missed=lambda self, result, seat: [Missed(99, 1.0)]),
]
