"""Objectives: how much of its partner's points a player is paid."""

from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, Field

OBJECTIVES = {"self": 0.0, "coop": 1.0, "comp": -1.0}
"""The objectives that the paper plays, by the names of its code."""


def _named(objective: Any) -> Any:
    """The weight that a name stands for; a number as it is."""
    if isinstance(objective, str):
        if objective not in OBJECTIVES:
            raise ValueError(f"must be {', '.join(OBJECTIVES)} or a number from -1 to 1")
        return OBJECTIVES[objective]
    return objective


Objective: TypeAlias = Annotated[float, BeforeValidator(_named), Field(ge=-1, le=1, strict=True)]
"""The weight of the partner's points, lambda in [-1, 1]; a name or a number."""


def paid(points: tuple[int, int], objective: float) -> tuple[float, float]:
    """What both players get: own points plus the objective's share of the partner's."""
    mine, theirs = points
    return mine + objective * theirs, theirs + objective * mine
