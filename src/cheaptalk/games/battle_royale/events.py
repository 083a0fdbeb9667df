"""What shooters are told and how they answer."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, StringConstraints

from cheaptalk.rules import Action, Event

Shooters = tuple[tuple[str, float], ...]
"""Seats with their hit rates, in shooting order."""


def _read_nobody(value: Any) -> Any:
    """Read the word "null" as null."""
    return None if value == "null" else value


Target = Annotated[
    Annotated[str, StringConstraints(strict=True, max_length=100)] | None,
    BeforeValidator(_read_nobody),
]


class Shot(Action):
    """Shoot at a player, or miss on purpose: then the target is null."""

    action: Literal["shoot", "miss"]
    target: Target


@dataclass(frozen=True, slots=True)
class Briefing(Event):
    """What a shooter knows at the start; ``rounds`` is None where there is no known last one."""

    order: int
    shooters: Shooters
    rounds: int | None
    idle_rounds: int


@dataclass(frozen=True, slots=True)
class Turn(Event):
    """It is this player's turn, with who lives; itself is one of them."""

    round: int
    living: Shooters


@dataclass(frozen=True, slots=True)
class ShotFired(Event):
    """What happened in a round; ``target`` is None where the shooter missed on purpose."""

    round: int
    shooter: str
    target: str | None
    hit: bool
    left: int


@dataclass(frozen=True, slots=True)
class Over(Event):
    """The game is over; ``winner`` is None where several are left."""

    winner: str | None
    living: tuple[str, ...]
