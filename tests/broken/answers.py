"""Games that take what is no answer, or fail without one."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pydantic import Field

from cheaptalk.rules import Action, Ask, Forfeited, Game, GameBox, Tell
from tests.broken.kit import Short, answering, boxed, breaks
from tests.toys import Cards, Guess, GuessNow, Reveal


class Loose(Action):
    """An action that takes true for a number."""

    number: int


class Chatty(Action):
    """An action without a limit to its words."""

    words: str


class Open(Action, extra="ignore"):
    """An action that takes fields of any name."""

    number: int = Field(strict=True)


@breaks("check_schemas", 'Loose accepts True as "number"')
def a_number_that_is_true(folder: Path) -> GameBox:
    return answering(Loose, Loose(number=1), folder)


@breaks("check_schemas", 'Chatty accepts 4,001 characters of "words"')
def endless_text(folder: Path) -> GameBox:
    return answering(Chatty, Chatty(words="Well."), folder)


@breaks("check_schemas", "Open accepts an unknown field")
def an_action_that_takes_anything(folder: Path) -> GameBox:
    return answering(Open, Open(number=1), folder)


def objecting(objection: Callable[[list[int], Guess], str | None]) -> type[Game]:
    """The toy with an objection, which can keep a list for the rest of the match."""

    class Objecting(Short):
        def rest(self, deal: Cards) -> Iterator[Any]:
            notes: list[int] = []
            yield Ask("left", Guess, GuessNow(1), lambda guess: objection(notes, guess))
            yield Tell("left", Reveal(len(notes)))

    return Objecting


@breaks("check_answers", "with refused answers between")
def refused_answers_that_count(_: Path) -> GameBox:
    def negative(notes: list[int], guess: Guess) -> str | None:
        if guess.number < 0:
            notes.append(1)
        return "no card is negative" if guess.number < 0 else None

    return boxed(objecting(negative))


@breaks("check_answers", "is refused without a reason")
def refusals_without_a_reason(_: Path) -> GameBox:
    return boxed(objecting(lambda notes, guess: "" if guess.number < 0 else None))


@breaks("check_answers", "fails with ZeroDivisionError")
def judging_that_fails(_: Path) -> GameBox:
    return boxed(objecting(lambda notes, guess: str(1 / 0) if guess.number < 0 else None))


@breaks("check_forfeits", "a forfeit by left in request 0 fails with RuntimeError")
def a_forfeit_that_crashes(_: Path) -> GameBox:
    class Brittle(Short):
        def rest(self, deal: Cards) -> Iterator[Any]:
            try:
                yield Ask("left", Guess, GuessNow(1))
            except Forfeited as failure:
                raise RuntimeError("nobody thought of that") from failure

    return boxed(Brittle)


@breaks("check_forfeits", "the match ends neither forfeited nor otherwise")
def a_forfeit_of_another(_: Path) -> GameBox:
    class Unjust(Short):
        def rest(self, deal: Cards) -> Iterator[Any]:
            try:
                yield Ask("left", Guess, GuessNow(1))
            except Forfeited as failure:
                raise Forfeited(frozenset({"right"})) from failure

    return boxed(Unjust)
