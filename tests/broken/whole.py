"""Games with faults that no single match shows."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from cheaptalk.rules import Event, GameSpec, Play, Tell
from tests.broken.kit import Short, boxed, breaks, reworded
from tests.toys import Cards, Guessing, Reveal


class Never(Event):
    """An event that never occurs."""


@breaks("check_events", "Never did not occur in any match")
def event_that_never_occurs(folder: Path) -> GameSpec:
    class Promising(Guessing):
        events: ClassVar[tuple[type[Event], ...]] = (*Guessing.events, Never)

    return boxed(Promising, **reworded(folder, never="Never."))


@breaks("check_parameters", "rounds: 0 is a legal setting, and playing it failed: play() of Param")
class ParameterWithoutBounds(Guessing):
    rounds: int = 2

    def play(self, instance: Cards, chance: Any) -> Play[Any]:
        share = 1 / self.rounds
        assert share
        return (yield from super().play(instance, chance))


class Hashing(Guessing):
    """The toy game with events in the order of a set."""

    def play(self, instance: Cards, chance: Any) -> Play[Any]:
        outcome = yield from super().play(instance, chance)
        for word in {"one", "two", "three", "four", "five"}:
            yield Tell("left", Reveal(len(word)))
        return outcome


HASHING = boxed(Hashing)


class Spinning(Short):
    """The toy game with rules that never return after the answer."""

    def rest(self, instance: Cards) -> Iterator[Any]:
        yield from super().rest(instance)
        while True:
            with suppress(Exception):
                instance.model_dump()


class Dividing(Short):
    """The toy game with rules that fail in every match."""

    def rest(self, instance: Cards) -> Iterator[Any]:
        yield from super().rest(instance)
        raise ZeroDivisionError


DIVIDING = boxed(Dividing)
SPINNING = boxed(Spinning)


@breaks("check_processes", "two processes play the same match differently: ")
def set_order_in_events(_: Path) -> GameSpec:
    return HASHING
