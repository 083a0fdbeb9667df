"""Games whose assessments are wrong."""

from math import nan
from pathlib import Path
from typing import Any

from cheaptalk.rules import Assessment, GameSpec, Given, Missed, Result, Statement
from tests.broken.kit import boxed, breaks
from tests.toys import Guessing


@breaks("check_assessment", 'statements() names request 99 of "left"')
def statement_in_unknown_request(_: Path) -> GameSpec:
    class Stating(Assessment):
        def statements(self, result: Result) -> list[Statement]:
            return [Statement(99, "left", true=True)]

    return boxed(Guessing, assessment=Stating())


@breaks("check_assessment", 'the attainable payoff of "left" is 1,000')
def attainable_payoff_beyond_the_bound(_: Path) -> GameSpec:
    class Hopeful(Assessment):
        def attainable(self, game: Any, instance: Any, seat: str) -> float:
            return 1_000

    return boxed(Guessing, assessment=Hopeful())


@breaks("check_assessment", 'demands() returns nan for "left"')
def demand_without_a_value(_: Path) -> GameSpec:
    class Undefined(Assessment):
        def offered(self, result: Result, seat: str, answer: Given) -> float:
            return nan

    return boxed(Guessing, assessment=Undefined())


@breaks("check_assessment", "missed() yields request 99")
def missed_payoff_in_unknown_request(_: Path) -> GameSpec:
    class Missing(Assessment):
        def missed(self, result: Result, seat: str) -> Any:
            yield Missed(99, 1.0)

    return boxed(Guessing, assessment=Missing())
