"""Actions and events of battle royale."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, StringConstraints

from cheaptalk.rules import Action, Event

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


class Shot(Action):
    """Shoot at a player, or miss on purpose: then the target is null or left out."""

    action: Literal["shoot", "miss"]
    target: Target = None


class Briefing(Event):
    """Information that a player receives at the start; ``rounds`` is None if the limit is unknown.

    ``strict`` is whether shots at oneself or at players who are out are illegal.
    """

    order: int
    shooters: Shooters
    rounds: int | None
    idle_rounds: int
    strict: bool


class Turn(Event):
    """A request to shoot or miss; ``living`` lists all living players, including the shooter."""

    round: int
    living: Shooters


class ShotFired(Event):
    """The result of a round; ``target`` is None if the shooter missed on purpose."""

    round: int
    shooter: str
    target: str | None
    hit: bool
    left: int


class Over(Event):
    """The end of the game; ``winner`` is None if several players are left.

    ``standstill`` is whether it ended because of too many consecutive idle rounds.
    """

    winner: str | None
    living: tuple[str, ...]
    rounds: int
    standstill: bool
