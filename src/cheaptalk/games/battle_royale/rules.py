"""Battle royale: shooters take turns until one is left."""

from collections import deque
from collections.abc import Mapping
from functools import partial
from math import inf
from typing import Annotated

from pydantic import Field, field_validator

from cheaptalk.games.battle_royale.events import Briefing, Over, Shot, ShotFired, Turn
from cheaptalk.games.places import place_named
from cheaptalk.rules import Ask, Chance, Deal, Game, Horizon, Outcome, Play, Tell, Value, numbered

Rate = Annotated[float, Field(ge=0.01, le=1)]


class Hits(Deal):
    """Shots whose luck is known before play, as in a recorded match; chance decides the others."""

    hits: tuple[bool | None, ...] = ()
    """By round: whether a shot hits, None where chance decides."""


class Fired(Value):
    """One round; ``target`` is None where the shooter missed on purpose."""

    shooter: str
    target: str | None
    hit: bool


class Battle(Outcome):
    """Every round in order, and who is left."""

    shots: tuple[Fired, ...]
    living: tuple[str, ...]


class BattleRoyale(Game):
    """Shooters take turns until one is left (Kilgour 1975; GAMA-Bench section 2.3).

    In each round the next living player, in order, shoots at another, whom it hits with its hit
    rate, or misses on purpose. Bullets never run out. Who is hit is out. The last one left wins
    1; where the rounds run out first, or nobody shoots any more, nobody wins.
    """

    name = "battle_royale"
    payoff_unit = "wins"
    roles = ("player",)
    events = (Briefing, Turn, ShotFired, Over)
    actions = (Shot,)
    deal_type = Hits
    outcome_type = Battle

    hit_rates: tuple[Rate, ...] = Field(
        default=(0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8),
        min_length=2,
        max_length=100,
    )
    """Each player's chance to hit, in shooting order: the worst shot begins."""
    horizon: Horizon | None = None
    """How many rounds there can be, and whether the players are told; None: as many as it takes."""
    idle_rounds: int = Field(default=100, ge=2, le=10_000, strict=True)
    """Rounds in a row without a shot at a living player that end the game, with no winner."""
    strict_targets: bool = True
    """Whether to refuse shots at oneself, at players who are out, and an action that does not fit
    its target. The published code looks at the target alone: a shot at a player who is out is
    wasted, and one at oneself can hit."""

    @field_validator("hit_rates")
    @classmethod
    def _worst_first(cls, rates: tuple[float, ...]) -> tuple[float, ...]:
        if list(rates) != sorted(rates):
            raise ValueError("must not fall from one to the next: the worst shot begins")
        return rates

    @property
    def places(self) -> dict[str, str]:
        """player_1 to player_N, in shooting order."""
        return numbered("player", len(self.hit_rates))

    def play(self, deal: Hits, chance: Chance) -> Play[Battle]:
        living = dict(zip(self.places, self.hit_rates, strict=True))
        rounds = self.horizon.told if self.horizon else None
        known = (tuple(living.items()), rounds, self.idle_rounds, self.strict_targets)
        for order, seat in enumerate(living, 1):
            yield Tell(seat, Briefing(order, *known))
        shots: list[Fired] = []
        turns = deque(living)  # who shoots next, and after that
        idle = 0  # rounds in a row without a shot at a living player
        last = self.horizon.rounds if self.horizon else inf
        while len(living) > 1 and len(shots) < last and idle < self.idle_rounds:
            number, shooter = len(shots) + 1, turns[0]
            turn = Turn(number, tuple(living.items()))
            shot: Shot = yield Ask(shooter, Shot, turn, partial(self._objection, shooter, living))
            target = self._target(shot, living)
            hit = target in living and _hits(number, shooter, living[shooter], deal, chance)
            idle = 0 if target in living else idle + 1
            shots.append(Fired.unchecked(shooter=shooter, target=target, hit=hit))
            left = len(living) - hit
            yield Tell(tuple(living), ShotFired(number, shooter, target, hit, left))
            turns.rotate(-1)
            if hit and target:
                turns.remove(target)
                del living[target]
        winner = next(iter(living)) if len(living) == 1 else None
        standstill = winner is None and idle == self.idle_rounds
        yield Tell(tuple(self.places), Over(winner, tuple(living), len(shots), standstill))
        return Battle.unchecked(shots=tuple(shots), living=tuple(living))

    def _target(self, shot: Shot, living: Mapping[str, float]) -> str | None:
        named = shot.target
        return named if named is None or named in living else place_named(self, named)

    def _objection(self, shooter: str, living: Mapping[str, float], shot: Shot) -> str | None:
        target = self._target(shot, living)
        if target in living and target != shooter and shot.action == "shoot":
            return None
        targets = ", ".join(seat for seat in living if seat != shooter)
        if shot.target is not None and target is None:
            return f'there is no player "{shot.target}"; you can shoot at {targets}'
        if not self.strict_targets:
            return None
        if shot.action == "miss":
            return (
                None if target is None else 'to miss on purpose, name no target: {"action": "miss"}'
            )
        if target is None:
            return f'who shoots must name a target: {targets}; the action "miss" has none'
        if target == shooter:
            return f"you cannot shoot at yourself; you can shoot at {targets}"
        return f"{target} is out; you can shoot at {targets}"

    def payoffs(self, outcome: Battle) -> dict[str, float]:
        """1 for the only one left, 0 for all others; 0 for all where several are left."""
        return {seat: float(outcome.living == (seat,)) for seat in self.places}

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        return {"player": (0.0, 1.0)}

    def total_bounds(self) -> dict[str, tuple[float, float]]:
        """One wins at the most."""
        return {"player": (0.0, 1.0)}


def _hits(number: int, shooter: str, rate: float, deal: Hits, chance: Chance) -> bool:
    """Whether the shot of a round hits."""
    known = deal.hits[number - 1] if number <= len(deal.hits) else None
    return chance("hit", number, shooter).happens(rate) if known is None else known
