"""Small games of many places for tests: a pot that many fill, with or without a keeper."""

from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field

from cheaptalk.rules import (
    Action,
    Ask,
    Chance,
    DecisionRequest,
    Event,
    Game,
    GameSpec,
    Instance,
    Metric,
    Outcome,
    Play,
    Result,
    StyleFile,
    Tell,
    by_name,
    numbered,
    strategy,
)
from tests.toys import WORDS

Coins = Annotated[int, Field(ge=0, le=10, strict=True)]


class Gift(Action):
    """How many coins go into the pot, or, for the keeper, out of it for each ten."""

    coins: Coins


class Welcome(Event):
    """What a player knows of the game."""

    givers: int


class GiveNow(Event):
    """All givers are asked at once."""


class ShareNow(Event):
    """The keeper sees the pot and says how much of it goes back."""

    pot: int


class PotShared(Event):
    """What the pot held, and what one got."""

    pot: int
    got: float


class Gifts(Outcome):
    """What each giver gave, and the share of the pot that went back."""

    gifts: dict[str, int]
    share: float = 1.0


class Giving(Game):
    """Givers put coins into a pot at once; it is doubled and shared evenly."""

    name: ClassVar[str] = "giving"
    roles: ClassVar[tuple[str, ...]] = ("giver",)
    events: ClassVar[tuple[type[Event], ...]] = (Welcome, GiveNow, PotShared)
    actions: ClassVar[tuple[type[Action], ...]] = (Gift,)
    outcome_type: ClassVar[type[Outcome]] = Gifts

    givers: Annotated[int, Field(ge=2, le=100, strict=True)] = 3

    @property
    def seats(self) -> dict[str, str]:
        return numbered("giver", self.givers)

    def play(self, instance: Instance, chance: Chance) -> Play[Gifts]:
        yield Tell(tuple(self.seats), Welcome(self.givers))
        given = yield tuple(Ask(seat, Gift, GiveNow()) for seat in numbered("giver", self.givers))
        outcome = Gifts(gifts={seat: gift.coins for seat, gift in given.items()})
        if "keeper" in self.seats:
            pot = sum(outcome.gifts.values())
            kept: Gift = yield Ask("keeper", Gift, ShareNow(pot))
            outcome = outcome.model_copy(update={"share": kept.coins / 10})
        for seat, payoff in self.payoffs(outcome).items():
            yield Tell(seat, PotShared(sum(outcome.gifts.values()), payoff))
        return outcome

    def payoffs(self, outcome: Gifts) -> dict[str, float]:
        """The coins kept, and an even part of twice what goes back from the pot."""
        back = 2 * outcome.share * sum(outcome.gifts.values()) / self.givers
        return {seat: 10 - gift + back for seat, gift in outcome.gifts.items()}

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        return dict.fromkeys(self.roles, (0.0, 10.0 + 20.0 * self.givers))


class Collecting(Giving):
    """As giving, but a keeper decides how much of the pot goes back, and keeps the rest."""

    name: ClassVar[str] = "collecting"
    roles: ClassVar[tuple[str, ...]] = ("giver", "keeper")
    events: ClassVar[tuple[type[Event], ...]] = (Welcome, GiveNow, ShareNow, PotShared)

    @property
    def seats(self) -> dict[str, str]:
        return numbered("giver", self.givers) | {"keeper": "keeper"}

    def payoffs(self, outcome: Gifts) -> dict[str, float]:
        """The coins kept and an even part of what goes back, doubled; the keeper has the rest."""
        rest = (1 - outcome.share) * sum(outcome.gifts.values())
        return super().payoffs(outcome) | {"keeper": rest}


@strategy("giver", "keeper")
def random(asked: DecisionRequest) -> Gift:
    """Give anything."""
    return Gift(coins=asked.chance("gift", asked.number).integer(0, 10))


@strategy("giver", "keeper")
def steady(asked: DecisionRequest, *, coins: Coins = 5) -> Gift:
    """Give always the same.

    Args:
        coins: how many.
    """
    return Gift(coins=coins)


def pot(result: Result) -> float:
    """Coins in the pot."""
    return float(sum(result.outcome.gifts.values()))


def game_spec(rules: type[Game]) -> GameSpec:
    """The box of one of these games."""
    return GameSpec(
        rules=rules,
        words=WORDS,
        styles={"plain": StyleFile("giving.jinja")},
        strategies=by_name([replace(one, roles=rules.roles) for one in (random, steady)]),
        metrics=by_name([Metric("pot", pot, unit="coins")]),
    )


GIVING, COLLECTING = game_spec(Giving), game_spec(Collecting)
