"""Games that accept invalid answers or fail on a missing one."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

import cheaptalk as ct
from tests.broken.kit import Paying, Short, answering, boxed, breaks, reworded
from tests.toys import Cards, Guess, GuessNow, Reveal, YourCard


class Loose(ct.Action):
    """An action that accepts true as a number."""

    number: int


class Chatty(ct.Action):
    """An action whose text is unlimited."""

    words: str


class Open(ct.Action, extra="ignore"):
    """An action that accepts unknown fields."""

    number: int = Field(strict=True)


@breaks("check_schemas", 'Loose accepts True as "number"')
def boolean_accepted_as_number(folder: Path) -> ct.GameSpec:
    return answering(Loose, Loose(number=1), folder)


@breaks("check_schemas", 'Chatty accepts 4,001 characters of "words"')
def unlimited_text(folder: Path) -> ct.GameSpec:
    return answering(Chatty, Chatty(words="Well."), folder)


@breaks("check_schemas", "Open accepts an unknown field")
def unknown_fields_accepted(folder: Path) -> ct.GameSpec:
    return answering(Open, Open(number=1), folder)


@breaks("check_alternatives", "creating Guess from {'number': 2")
def alternative_that_the_action_refuses(_: Path) -> ct.GameSpec:
    class Overdeclared(Short):
        def rest(self, instance: Cards) -> Iterator[Any]:
            beyond = [ct.rules.alternative(number=range(20, 30))]
            yield ct.Ask("left", Guess, GuessNow(1), alternatives=lambda: beyond)

    return boxed(Overdeclared)


def objecting(objection: Callable[[list[int], Guess], str | None]) -> type[ct.Game]:
    """Return the toy game with an objection that can keep notes during the match."""

    class Objecting(Short):
        def rest(self, instance: Cards) -> Iterator[Any]:
            notes: list[int] = []
            yield ct.Ask("left", Guess, GuessNow(1), lambda guess: objection(notes, guess))
            yield ct.Tell("left", Reveal(len(notes)))

    return Objecting


@breaks("check_answers", "with refused answers between")
def refused_answers_change_the_match(_: Path) -> ct.GameSpec:
    def negative(notes: list[int], guess: Guess) -> str | None:
        if guess.number < 0:
            notes.append(1)
        return "no card is negative" if guess.number < 0 else None

    return boxed(objecting(negative))


@breaks("check_answers", "is refused without a reason")
def refusal_without_a_reason(_: Path) -> ct.GameSpec:
    return boxed(objecting(lambda notes, guess: "" if guess.number < 0 else None))


@breaks("check_answers", "fails: ZeroDivisionError")
def objection_that_fails(_: Path) -> ct.GameSpec:
    return boxed(objecting(lambda notes, guess: str(1 / 0) if guess.number < 0 else None))


class Bid(ct.Action):
    """An action without bounds."""

    number: float = Field(allow_inf_nan=False, strict=True)


@breaks("check_extremes", '"left" may answer Bid(number=1000000000.0) in request 0, and continuing')
def answer_without_a_maximum(folder: Path) -> ct.GameSpec:
    return bidding(folder, lambda bid: "too little" if bid.number < 0 else None)


@breaks("check_extremes", '"left" may answer Bid(number=-1.0) in request 0, and continuing')
def answer_without_a_minimum(folder: Path) -> ct.GameSpec:
    return bidding(folder, lambda bid: "too much" if bid.number > 2 else None)


def bidding(folder: Path, objection: Callable[[Bid], str | None]) -> ct.GameSpec:
    """Return the toy game in which the left seat is paid its bid."""

    class Paid(ct.Outcome):
        left: float

    class Bidding(Paying):
        actions: ClassVar[tuple[type[ct.Action], ...]] = (Bid,)
        outcome_type: ClassVar[type[ct.Outcome]] = Paid

        def play(self, instance: Cards, chance: ct.Chance) -> ct.Play[Any]:
            for seat in self.roles:
                yield ct.Tell(seat, YourCard(getattr(instance, seat), None))
            bid: Bid = yield ct.Ask("left", Bid, GuessNow(1), objection)
            return Paid(left=bid.number)

        def payoffs(self, outcome: Any) -> dict[str, float]:
            return {"left": outcome.left, "right": 0.0}

    @ct.strategy("left", "right")
    def random(request: ct.DecisionRequest) -> ct.Action:
        """Bid modestly."""
        return Bid(number=request.chance("bid", request.number).uniform(0, 2))

    words = reworded(folder, bid="{{ form }}")
    return boxed(Bidding, strategies={"random": random}, metrics={}, **words)


@breaks(
    "check_forfeits",
    "a forfeit by left in request 0 failed: play() of ForfeitThatCrashes: the game",
)
class ForfeitThatCrashes(Short):
    def rest(self, instance: Cards) -> Iterator[Any]:
        try:
            yield ct.Ask("left", Guess, GuessNow(1))
        except ct.rules.Forfeited as failure:
            raise RuntimeError("forfeits are not supported") from failure


@breaks("check_forfeits", "the match has no outcome and is not forfeited")
class ForfeitOfAnotherSeat(Short):
    def rest(self, instance: Cards) -> Iterator[Any]:
        try:
            yield ct.Ask("left", Guess, GuessNow(1))
        except ct.rules.Forfeited as failure:
            raise ct.rules.Forfeited(frozenset({"right"})) from failure
