"""A small game for tests: two seats with private cards guess simultaneously."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

import cheaptalk as ct

Card = Annotated[int, Field(ge=0, le=4, strict=True)]


class Guess(ct.Action):
    """A guess at the target."""

    number: Annotated[int, Field(ge=0, le=16, strict=True)]


class SpokenGuess(Guess):
    """A guess with a message that the other seat reads after the round."""

    message: ct.Message


class YourCard(ct.Event):
    """The private card of a seat."""

    card: int
    rounds: int | None


class GuessNow(ct.Event):
    """Both seats guess simultaneously."""

    round: int


class Guesses(ct.Event):
    """The guesses and messages of a round, by seat; forfeited seats are omitted."""

    round: int
    guesses: tuple[tuple[str, int, str], ...]


class Reveal(ct.Event):
    """The target is shown and the game is over."""

    target: int


class Cards(ct.Instance):
    """The two cards."""

    left: Card
    right: Card


class Score(ct.Outcome):
    """The number of correct guesses by seat."""

    left: int
    right: int


class Guessing(ct.Game):
    """Two seats guess the sum or the product of their cards, simultaneously in each round."""

    name: ClassVar[str] = "guessing"
    roles: ClassVar[tuple[str, ...]] = ("left", "right")
    events: ClassVar[tuple[type[ct.Event], ...]] = (YourCard, GuessNow, Guesses, Reveal)
    actions: ClassVar[tuple[type[ct.Action], ...]] = (Guess, SpokenGuess)
    instance_type: ClassVar[type[ct.Instance]] = Cards
    outcome_type: ClassVar[type[ct.Outcome]] = Score

    horizon: ct.rules.Horizon = ct.rules.Horizon(rounds=2)
    talk: bool = True
    lenient: bool = False
    target: Literal["sum", "product"] = "sum"

    def draw_instance(self, chance: ct.Chance) -> Cards:
        left, right = (chance("card", seat).integer(0, 4) for seat in self.roles)
        return Cards(left=left, right=right)

    def play(self, instance: Cards, chance: ct.Chance) -> ct.Play[Score]:
        for seat in self.roles:
            yield ct.Tell(seat, YourCard(getattr(instance, seat), self.horizon.told))
        target = (
            instance.left + instance.right
            if self.target == "sum"
            else instance.left * instance.right
        )
        hits = dict.fromkeys(self.roles, 0)
        for number in range(1, self.horizon.rounds + 1):
            try:
                guesses: dict[str, Guess] = yield self._questions(instance, number)
            except ct.rules.Forfeited as failure:
                if not self.lenient:
                    raise
                guesses = failure.answers  # type: ignore[assignment]  # only guesses were requested
            for seat, guess in guesses.items():
                hits[seat] += guess.number == target
            yield ct.Tell(self.roles, self._shown(number, guesses))
        yield ct.Tell(self.roles, Reveal(target))
        return Score(**hits)

    def _questions(self, instance: Cards, number: int) -> tuple[ct.Ask, ...]:
        action = SpokenGuess if self.talk else Guess
        return tuple(
            ct.Ask(seat, action, GuessNow(number), self._objection(getattr(instance, seat)))
            for seat in self.roles
        )

    def _objection(self, card: int) -> Any:
        if self.target == "product":
            return lambda guess: None
        return lambda guess: "the sum is no less than your card" if guess.number < card else None

    def _shown(self, number: int, guesses: dict[str, Guess]) -> Guesses:
        return Guesses(
            number,
            tuple(
                (seat, guess.number, getattr(guess, "message", ""))
                for seat, guess in guesses.items()
            ),
        )

    def payoffs(self, outcome: Score) -> dict[str, float]:
        return {"left": float(outcome.left), "right": float(outcome.right)}

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        return dict.fromkeys(self.roles, (0.0, float(self.horizon.rounds)))

    def secrets(self, instance: Cards) -> Iterator[ct.rules.Secret]:
        for seat in self.roles:
            changed = instance.model_copy(update={seat: (getattr(instance, seat) + 1) % 5})
            yield ct.rules.Secret(
                frozenset({seat}), self, changed, lambda event: isinstance(event, Reveal)
            )


@ct.strategy("left", "right")
def random(request: ct.DecisionRequest) -> ct.Action:
    """Make a random legal guess."""
    draw = request.chance("guess", request.number)
    number = draw.integer(request.briefing.card, 16)
    if request.ask.action is SpokenGuess:
        return SpokenGuess(number=number, message=draw.pick(["", "Hm.", "I know."]))
    return Guess(number=number)


@ct.strategy("left", "right")
def own_card(
    request: ct.DecisionRequest, *, plus: Annotated[int, Field(ge=0, le=4)] = 2
) -> ct.Action:
    """Guess one's card and a bit.

    Args:
        plus: the bit.
    """
    number = request.briefing.card + plus
    if request.ask.action is SpokenGuess:
        return SpokenGuess(number=number, message="I think so.")
    return Guess(number=number)


def hits(result: ct.Result) -> float:
    """Right guesses of both seats together."""
    return float(result.outcome.left + result.outcome.right)


HITS = ct.Metric("hits", hits)
WORDS = Path(__file__).parent / "words"

SPEC = ct.GameSpec(
    rules=Guessing,
    words=WORDS,
    styles={
        "plain": ct.rules.StyleFile("guessing.jinja"),
        "curt": ct.rules.StyleFile("guessing_curt.jinja"),
    },
    strategies=ct.rules.by_name([random, own_card]),
    metrics=ct.rules.by_name([HITS]),
)
