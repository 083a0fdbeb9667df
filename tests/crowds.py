"""Small games of many seats: givers fill a pot, with or without a keeper."""

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
    numbered_seats,
    strategy,
)
from tests.toys import WORDS

Coins = Annotated[int, Field(ge=0, le=10, strict=True)]


class Gift(Action):
    """Coins put into the pot; for the keeper, coins returned out of every ten."""

    coins: Coins


class Welcome(Event):
    """The number of givers."""

    givers: int


class GiveNow(Event):
    """The givers decide simultaneously."""


class ShareNow(Event):
    """The keeper sees the pot and decides how much to return."""

    pot: int


class PotShared(Event):
    """The coins in the pot, and the seat's payoff."""

    pot: int
    got: float


class Gifts(Outcome):
    """The gift of each giver, and the returned share of the pot."""

    gifts: dict[str, int]
    share: float = 1.0


class Giving(Game):
    """Givers put coins into a pot simultaneously; it is doubled and shared equally."""

    name: ClassVar[str] = "giving"
    roles: ClassVar[tuple[str, ...]] = ("giver",)
    events: ClassVar[tuple[type[Event], ...]] = (Welcome, GiveNow, PotShared)
    actions: ClassVar[tuple[type[Action], ...]] = (Gift,)
    outcome_type: ClassVar[type[Outcome]] = Gifts

    givers: Annotated[int, Field(ge=2, le=100, strict=True)] = 3

    @property
    def seats(self) -> dict[str, str]:
        return numbered_seats("giver", self.givers)

    def play(self, instance: Instance, chance: Chance) -> Play[Gifts]:
        yield Tell(tuple(self.seats), Welcome(self.givers))
        given = yield tuple(
            Ask(seat, Gift, GiveNow()) for seat in numbered_seats("giver", self.givers)
        )
        outcome = Gifts(gifts={seat: gift.coins for seat, gift in given.items()})
        if "keeper" in self.seats:
            pot = sum(outcome.gifts.values())
            kept: Gift = yield Ask("keeper", Gift, ShareNow(pot))
            outcome = outcome.model_copy(update={"share": kept.coins / 10})
        for seat, payoff in self.payoffs(outcome).items():
            yield Tell(seat, PotShared(sum(outcome.gifts.values()), payoff))
        return outcome

    def payoffs(self, outcome: Gifts) -> dict[str, float]:
        """The coins kept, plus an equal share of twice the returned pot."""
        back = 2 * outcome.share * sum(outcome.gifts.values()) / self.givers
        return {seat: 10 - gift + back for seat, gift in outcome.gifts.items()}

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        return dict.fromkeys(self.roles, (0.0, 10.0 + 20.0 * self.givers))


class Collecting(Giving):
    """Giving with a keeper, who decides how much of the pot to return and keeps the rest."""

    name: ClassVar[str] = "collecting"
    roles: ClassVar[tuple[str, ...]] = ("giver", "keeper")
    events: ClassVar[tuple[type[Event], ...]] = (Welcome, GiveNow, ShareNow, PotShared)

    @property
    def seats(self) -> dict[str, str]:
        return numbered_seats("giver", self.givers) | {"keeper": "keeper"}

    def payoffs(self, outcome: Gifts) -> dict[str, float]:
        """The payoffs of giving; the keeper gets the coins that are not returned."""
        rest = (1 - outcome.share) * sum(outcome.gifts.values())
        return super().payoffs(outcome) | {"keeper": rest}


@strategy("giver", "keeper")
def random(request: DecisionRequest) -> Gift:
    """Give a random number of coins."""
    return Gift(coins=request.chance("gift", request.number).integer(0, 10))


@strategy("giver", "keeper")
def steady(request: DecisionRequest, *, coins: Coins = 5) -> Gift:
    """Give a constant number of coins.

    Args:
        coins: the number of coins.
    """
    return Gift(coins=coins)


def pot(result: Result) -> float:
    """Coins in the pot."""
    return float(sum(result.outcome.gifts.values()))


def game_spec(rules: type[Game]) -> GameSpec:
    """Return the game spec of one of these games."""
    return GameSpec(
        rules=rules,
        words=WORDS,
        styles={"plain": StyleFile("giving.jinja")},
        strategies=by_name([replace(function, roles=rules.roles) for function in (random, steady)]),
        metrics=by_name([Metric("pot", pot, unit="coins")]),
    )


GIVING, COLLECTING = game_spec(Giving), game_spec(Collecting)
