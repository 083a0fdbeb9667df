"""Battle royale: shooters take turns until one is left."""

from collections import deque
from collections.abc import Mapping
from functools import partial
from math import inf
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints, field_validator

import cheaptalk as ct
from cheaptalk.games.seat_names import find_seat
from cheaptalk.rules import alternative

Shooters = tuple[tuple[str, float], ...]
"""Seats and their hit rates, in shooting order."""


def _read_null(value: Any) -> Any:
    """Convert the words "null" and "none" to None."""
    is_null = isinstance(value, str) and value.strip().casefold() in ("null", "none")
    return None if is_null else value


Target = Annotated[
    Annotated[str, StringConstraints(strict=True, max_length=100)] | None,
    BeforeValidator(_read_null),
]


class Shot(ct.Action):
    """Shoot at a player, or miss on purpose: then the target is null or left out."""

    action: Literal["shoot", "miss"]
    target: Target = None


class Briefing(ct.Event):
    """Information that a player receives at the start; ``rounds`` is None if the limit is unknown.

    ``strict`` is whether shots at oneself or at players who are out are illegal.
    """

    order: int
    shooters: Shooters
    rounds: int | None
    idle_rounds: int
    strict: bool


class Turn(ct.Event):
    """A request to shoot or miss; ``living`` lists all living players, including the shooter."""

    round: int
    living: Shooters


class ShotFired(ct.Event):
    """The result of a round; ``target`` is None if the shooter missed on purpose."""

    round: int
    shooter: str
    target: str | None
    hit: bool
    left: int


class Over(ct.Event):
    """The end of the game; ``winner`` is None if several players are left.

    ``standstill`` is whether it ended because of too many consecutive idle rounds.
    """

    winner: str | None
    living: tuple[str, ...]
    rounds: int
    standstill: bool


Rate = Annotated[float, Field(ge=0.01, le=1)]


class Hits(ct.Instance):
    """Predetermined results of shots, as in a recorded match; random by default."""

    hits: tuple[bool | None, ...] = ()
    """Whether the shot of each round hits; None if the result is random."""


class Fired(ct.rules.Value):
    """A shot in one round; ``target`` is None if the shooter missed on purpose."""

    shooter: str
    target: str | None
    hit: bool


class Battle(ct.Outcome):
    """All shots in order, and the players who are living at the end."""

    shots: tuple[Fired, ...]
    living: tuple[str, ...]


class BattleRoyale(ct.Game):
    """Shooters take turns until one is left (Kilgour 1975; GAMA-Bench section 2.3).

    In each round the next living player shoots at another player, hitting with a probability equal
    to its hit rate, or misses on purpose. A player who is hit is out. The last player left wins 1.
    If the rounds run out first, or no player shoots any more, there is no winner.
    """

    name = "battle_royale"
    payoff_unit = "wins"
    roles = ("player",)
    events = (Briefing, Turn, ShotFired, Over)
    actions = (Shot,)
    instance_type = Hits
    outcome_type = Battle

    hit_rates: tuple[Rate, ...] = Field(
        default=(0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8),
        min_length=2,
        max_length=100,
    )
    """Each player's probability to hit, in shooting order and ascending."""
    horizon: ct.rules.OptionalHorizon = ct.rules.Horizon.of(None)
    """The maximum number of rounds, and whether the players know it; None for no limit."""
    idle_rounds: int = Field(default=100, ge=2, le=10_000, strict=True)
    """The number of consecutive rounds without a shot at a living player that ends the game without
    a winner."""
    strict_targets: bool = True
    """Whether to refuse shots at oneself or at players who are out, and actions that don't match
    their target. The published code only reads the target: a shot at a player who is out is
    wasted, and one at oneself can hit."""

    @field_validator("hit_rates")
    @classmethod
    def _worst_first(cls, rates: tuple[float, ...]) -> tuple[float, ...]:
        if list(rates) != sorted(rates):
            raise ValueError("must be in ascending order, because the worst shot begins")
        return rates

    @property
    def seats(self) -> dict[str, str]:
        return ct.rules.numbered_seats("player", len(self.hit_rates))

    def play(self, instance: Hits, chance: ct.Chance) -> ct.Play[Battle]:
        living = dict(zip(self.seats, self.hit_rates, strict=True))
        rounds = self.horizon.told if self.horizon else None
        common = (tuple(living.items()), rounds, self.idle_rounds, self.strict_targets)
        for order, seat in enumerate(living, 1):
            yield ct.Tell(seat, Briefing(order, *common))
        shots: list[Fired] = []
        turns = deque(living)  # the shooters in the order of their next turns
        idle = 0  # consecutive rounds without a shot at a living player
        last = self.horizon.rounds if self.horizon else inf
        while len(living) > 1 and len(shots) < last and idle < self.idle_rounds:
            number, shooter = len(shots) + 1, turns[0]
            turn = Turn(number, tuple(living.items()))
            shot: Shot = yield ct.Ask(
                shooter,
                Shot,
                turn,
                partial(self._objection, shooter, living),
                partial(self._shots, shooter, living),
            )
            target = self._target(shot, living)
            hit = target in living and _hits(number, shooter, living[shooter], instance, chance)
            idle = 0 if target in living else idle + 1
            shots.append(Fired.unchecked(shooter=shooter, target=target, hit=hit))
            yield ct.Tell(tuple(living), ShotFired(number, shooter, target, hit, len(living) - hit))
            turns.rotate(-1)
            if hit and target:
                turns.remove(target)
                del living[target]
        winner = next(iter(living)) if len(living) == 1 else None
        standstill = winner is None and idle == self.idle_rounds
        yield ct.Tell(tuple(self.seats), Over(winner, tuple(living), len(shots), standstill))
        return Battle.unchecked(shots=tuple(shots), living=tuple(living))

    def _target(self, shot: Shot, living: Mapping[str, float]) -> str | None:
        named = shot.target
        return named if named is None or named in living else find_seat(self, named)

    def _objection(self, shooter: str, living: Mapping[str, float], shot: Shot) -> str | None:
        target = self._target(shot, living)
        if target in living and target != shooter and shot.action == "shoot":
            return None
        targets = ", ".join(seat for seat in living if seat != shooter)
        if shot.target is not None and target is None:
            return f'there is no player "{shot.target}"; you can shoot at {targets}'
        if not self.strict_targets:
            return None
        if shot.action == "miss" and target is not None:
            return 'to miss on purpose, name no target: {"action": "miss"}'
        if shot.action == "miss":
            return None
        if target is None:
            return f'who shoots must name a target: {targets}; the action "miss" has none'
        if target == shooter:
            return f"you cannot shoot at yourself; you can shoot at {targets}"
        return f"{target} is out; you can shoot at {targets}"

    def _shots(self, shooter: str, living: Mapping[str, float]) -> list[ct.rules.Schema]:
        targets = list(living if self.strict_targets else self.seats)
        if self.strict_targets:
            targets.remove(shooter)
        shoot = alternative(action="shoot", target=targets)
        return [shoot, alternative(action="miss", target=None)]

    def payoffs(self, outcome: Battle) -> dict[str, float]:
        """1 for a sole survivor and 0 for all other players; 0 for all if several survive."""
        return {seat: float(outcome.living == (seat,)) for seat in self.seats}

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        return {"player": (0.0, 1.0)}

    def total_bounds(self) -> dict[str, tuple[float, float]]:
        """Return 0 and 1 as bounds of the total payoff, because at most one player wins."""
        return {"player": (0.0, 1.0)}


def _hits(number: int, shooter: str, rate: float, instance: Hits, chance: ct.Chance) -> bool:
    recorded = instance.hits[number - 1] if number <= len(instance.hits) else None
    return chance("hit", number, shooter).happens(rate) if recorded is None else recorded
