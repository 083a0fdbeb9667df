"""Games that tell what is private."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from cheaptalk.rules import (
    Action,
    Ask,
    Chance,
    DecisionRequest,
    Event,
    GameSpec,
    Secret,
    Tell,
    strategy,
)
from tests.broken.kit import Short, boxed, breaks, reworded
from tests.toys import Cards, Guess, Guessing, GuessNow, Reveal


@breaks("check_simultaneous", "observes simultaneous answers in ")
def simultaneous_answers_shown(folder: Path) -> GameSpec:
    class Said(dict[str, int]):
        def __hash__(self) -> int:  # type: ignore[override]  # what the kit looks for is worse
            return 0

    class Live(Event):
        said: Said

    class Peeking(Short):
        events: ClassVar[tuple[type[Event], ...]] = (*Guessing.events, Live)

        def rest(self, instance: Cards) -> Iterator[Any]:
            said = Said()

            def note(guess: Guess) -> None:
                said["somebody"] = guess.number

            yield tuple(Ask(seat, Guess, Live(said), note) for seat in self.roles)

    return boxed(Peeking, **reworded(folder, live="Guess."))


@breaks("check_simultaneous", "after simultaneous answers failed: IllegalAction: taken")
def first_come_first_served(_: Path) -> GameSpec:
    class Grabbing(Short):
        def rest(self, instance: Cards) -> Iterator[Any]:
            taken: list[int] = []

            def free(guess: Guess) -> str | None:
                taken.append(guess.number)
                return "taken" if taken == [2, 1] else None

            yield tuple(Ask(seat, Guess, GuessNow(1), free) for seat in self.roles)

    @strategy("left", "right")
    def random(asked: DecisionRequest) -> Action:
        """Guess one's own number."""
        return Guess(number=1 if asked.actor == "left" else 2)

    return boxed(Grabbing, random)


@breaks("check_secrets", '"right" observes Reveal(target=')
def a_secret_told(_: Path) -> GameSpec:
    class Leaky(Short):
        def rest(self, instance: Cards) -> Iterator[Any]:
            yield Tell("right", Reveal(instance.left))

        def secrets(self, instance: Cards) -> Iterator[Secret]:
            for secret in super().secrets(instance):
                yield replace(secret, revealed=lambda event: False)

    return boxed(Leaky)


@breaks(
    "check_secrets",
    'the text of GuessNow(round=1) for "right" changes with private informat',
)
def a_secret_in_words_alone(folder: Path) -> GameSpec:
    class Renamed(Guessing):
        def secrets(self, instance: Cards) -> Iterator[Secret]:
            game = self.model_copy(update={"names": {"left": "The ace"}})
            yield Secret(frozenset({"left"}), game, instance)

    return boxed(Renamed, **reworded(folder, guess_now="Guess before {{ names.left }} does."))


@breaks("check_secrets", "observes Refused(reason='too low')")
def a_secret_in_a_refusal(_: Path) -> GameSpec:
    class Grudging(Short):
        def rest(self, instance: Cards) -> Iterator[Any]:
            yield Ask(
                "right", Guess, GuessNow(1), lambda _: "too low" if instance.left == 3 else None
            )

        def draw_instance(self, chance: Chance) -> Cards:
            return Cards(left=2, right=0)

    @strategy("left", "right")
    def random(asked: DecisionRequest) -> Action:
        """Guess low."""
        return Guess(number=0)

    return boxed(Grudging, random)


@breaks(
    "check_secrets",
    "but no further observation if private information of left changes: left from 1 to 2",
)
def a_secret_in_the_length(_: Path) -> GameSpec:
    class Hasty(Short):
        def rest(self, instance: Cards) -> Iterator[Any]:
            if instance.left == 1:
                yield Tell("right", GuessNow(1))

        def draw_instance(self, chance: Chance) -> Cards:
            return Cards(left=1, right=0)

    return boxed(Hasty)


@breaks("check_secrets", "a secret of left changes neither instance nor game; change one")
def a_secret_that_changes_nothing(_: Path) -> GameSpec:
    class Vain(Guessing):
        def secrets(self, instance: Cards) -> Iterator[Secret]:
            yield Secret(frozenset({"left"}), self, instance)

    return boxed(Vain)


@breaks("check_secrets", "secrets() returns None; yield a ct.Secret for each, or omit the method")
def no_secrets_at_all(_: Path) -> GameSpec:
    class Empty(Guessing):
        def secrets(self, instance: Cards) -> Any:
            """Nothing is yielded."""

    return boxed(Empty)


@breaks("check_secrets", "a secret has the unknown owner umpire; the actors are left, right")
def a_secret_of_nobody_there(_: Path) -> GameSpec:
    class Strange(Guessing):
        def secrets(self, instance: Cards) -> Iterator[Secret]:
            yield Secret(frozenset({"umpire"}), self, Cards(left=2, right=2))

    return boxed(Strange)


@breaks("check_secrets", "a secret of left doesn't change their observations: lenient from False")
def a_secret_that_its_owner_is_not_told(_: Path) -> GameSpec:
    class Vain(Guessing):
        def secrets(self, instance: Cards) -> Iterator[Secret]:
            yield Secret(frozenset({"left"}), self.model_copy(update={"lenient": True}), instance)

    return boxed(Vain)
