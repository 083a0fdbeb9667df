"""Games that reveal private information."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import cheaptalk as ct
from tests.broken.kit import Short, always, boxed, breaks, reworded
from tests.toys import Cards, Guess, Guessing, GuessNow, Reveal


@breaks("check_simultaneous", "observes simultaneous answers in ")
def simultaneous_answers_shown(folder: Path) -> ct.GameSpec:
    class Guesses(dict[str, int]):
        def __hash__(self) -> int:  # type: ignore[override]  # ignored: the check looks for another fault
            return 0

    class Live(ct.Event):
        guesses: Guesses

    class Peeking(Short):
        events: ClassVar[tuple[type[ct.Event], ...]] = (*Guessing.events, Live)

        def rest(self, instance: Cards) -> Iterator[Any]:
            guesses = Guesses()

            def note(guess: Guess) -> None:
                guesses["somebody"] = guess.number

            yield tuple(ct.Ask(seat, Guess, Live(guesses), note) for seat in self.roles)

    return boxed(Peeking, **reworded(folder, live="Guess."))


@breaks("check_simultaneous", "after simultaneous answers failed: taken")
def first_come_first_served(_: Path) -> ct.GameSpec:
    class Grabbing(Short):
        def rest(self, instance: Cards) -> Iterator[Any]:
            taken: list[int] = []

            def free(guess: Guess) -> str | None:
                taken.append(guess.number)
                return "taken" if taken == [2, 1] else None

            yield tuple(ct.Ask(seat, Guess, GuessNow(1), free) for seat in self.roles)

    @ct.strategy("left", "right")
    def random(request: ct.DecisionRequest) -> ct.Action:
        """Guess one's own number."""
        return Guess(number=1 if request.actor == "left" else 2)

    return boxed(Grabbing, random)


@breaks("check_secrets", '"right" observes Reveal(target=')
class SecretInAnEvent(Short):
    def rest(self, instance: Cards) -> Iterator[Any]:
        yield ct.Tell("right", Reveal(instance.left))

    def secrets(self, instance: Cards) -> Iterator[ct.rules.Secret]:
        for secret in super().secrets(instance):
            yield replace(secret, revealed=lambda event: False)


@breaks("check_secrets", 'the text of GuessNow(round=1) for "right" changes with private informat')
def secret_in_text_only(folder: Path) -> ct.GameSpec:
    class Renamed(Guessing):
        def secrets(self, instance: Cards) -> Iterator[ct.rules.Secret]:
            game = self.model_copy(update={"names": {"left": "The ace"}})
            yield ct.rules.Secret(frozenset({"left"}), game, instance)

    return boxed(Renamed, **reworded(folder, guess_now="Guess before {{ names.left }} does."))


@breaks("check_secrets", "observes Refused(reason='too low')")
def secret_in_a_refusal(_: Path) -> ct.GameSpec:
    class Grudging(Short):
        def rest(self, instance: Cards) -> Iterator[Any]:
            yield ct.Ask(
                "right", Guess, GuessNow(1), lambda _: "too low" if instance.left == 3 else None
            )

        def draw_instance(self, chance: ct.Chance) -> Cards:
            return Cards(left=2, right=0)

    return boxed(Grudging, always(Guess(number=0)))


@breaks(
    "check_secrets",
    "but no further observation if private information of left changes: left from 1 to 2",
)
class SecretInTheNumberOfEvents(Short):
    def rest(self, instance: Cards) -> Iterator[Any]:
        if instance.left == 1:
            yield ct.Tell("right", GuessNow(1))

    def draw_instance(self, chance: ct.Chance) -> Cards:
        return Cards(left=1, right=0)


@breaks("check_secrets", "a secret of left changes neither instance nor game; change one")
class SecretThatChangesNothing(Guessing):
    def secrets(self, instance: Cards) -> Iterator[ct.rules.Secret]:
        yield ct.rules.Secret(frozenset({"left"}), self, instance)


@breaks("check_secrets", "a secret has the unknown owner umpire; the actors are left, right")
class SecretOfUnknownOwner(Guessing):
    def secrets(self, instance: Cards) -> Iterator[ct.rules.Secret]:
        yield ct.rules.Secret(frozenset({"umpire"}), self, Cards(left=2, right=2))


@breaks("check_secrets", "a secret of left doesn't change their observations: lenient from False")
class SecretUnknownToItsOwner(Guessing):
    def secrets(self, instance: Cards) -> Iterator[ct.rules.Secret]:
        yield ct.rules.Secret(
            frozenset({"left"}), self.model_copy(update={"lenient": True}), instance
        )
