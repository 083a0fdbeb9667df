"""Games that are not deterministic."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from pydantic import Field

from cheaptalk.rules import Action, Chance, GameSpec, Play, Tell
from tests.broken.kit import Short, answering, boxed, breaks
from tests.toys import Cards, Guessing, Reveal, Score


@breaks("check_same_seed", "one seed draws the instance Cards(left=")
def instance_outside_the_seed(_: Path) -> GameSpec:
    numbers = count()

    class Lucky(Guessing):
        def draw_instance(self, chance: Chance) -> Cards:
            return Cards(left=next(numbers) % 5, right=0)

    return boxed(Lucky)


@breaks("check_same_seed", 'playing one seed twice, "left" observes')
def event_outside_the_seed(_: Path) -> GameSpec:
    numbers = count()

    class Lucky(Short):
        def rest(self, instance: Cards) -> Iterator[Any]:
            yield Tell("left", Reveal(next(numbers)))

    return boxed(Lucky)


@breaks("check_same_seed", "playing one seed twice, the outcome is Score(left=")
def outcome_outside_the_seed(_: Path) -> GameSpec:
    numbers = count()

    class Lucky(Short):
        def play(self, instance: Cards, chance: Chance) -> Play[Any]:
            yield from super().play(instance, chance)
            return Score(left=next(numbers), right=0)

    return boxed(Lucky)


class Sealed(Action):
    """An action that is lost in JSON."""

    number: int = Field(exclude=True)


class Paired(Action):
    """An action that JSON changes."""

    pair: Any


@breaks("check_replay", "replaying 1 answers failed: recorded answer 0")
def answers_lost_on_replay(folder: Path) -> GameSpec:
    return answering(Sealed, Sealed(number=1), folder)


@breaks("check_replay", 'replaying 1 answers, "left" observes')
def answers_changed_on_replay(folder: Path) -> GameSpec:
    return answering(Paired, Paired(pair=(1, 2)), folder)
