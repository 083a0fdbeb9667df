"""What shooters are told and how they answer."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, StringConstraints

from cheaptalk.rules import Action, Event

Shooters = tuple[tuple[str, float], ...]
"""Seats with their hit rates, in shooting order."""


def _read_nobody(value: Any) -> Any:
    """Read the words "null" and "none" as null."""
    nobody = isinstance(value, str) and value.strip().casefold() in ("null", "none")
    return None if nobody else value


Target = Annotated[
    Annotated[str, StringConstraints(strict=True, max_length=100)] | None,
    BeforeValidator(_read_nobody),
]


class Shot(Action):
    """Shoot at a player, or miss on purpose: then the target is null or left out."""

    action: Literal["shoot", "miss"]
    target: Target = None


class Briefing(Event):
    """What a shooter knows at the start; ``rounds`` is None where there is no known last one.

    ``strict`` is whether a shot at oneself or at a player who is out is refused.
    """

    order: int
    shooters: Shooters
    rounds: int | None
    idle_rounds: int
    strict: bool


class Turn(Event):
    """It is this player's turn, with who lives; itself is one of them."""

    round: int
    living: Shooters


class ShotFired(Event):
    """What happened in a round; ``target`` is None where the shooter missed on purpose."""

    round: int
    shooter: str
    target: str | None
    hit: bool
    left: int


class Over(Event):
    """The game is over; ``winner`` is None where several are left.

    ``standstill`` is whether it ended because of too many idle rounds in a row.
    """

    winner: str | None
    living: tuple[str, ...]
    rounds: int
    standstill: bool
