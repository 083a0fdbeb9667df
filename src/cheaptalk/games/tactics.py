"""Concession tactics that several games share."""

from typing import Annotated

from pydantic import Field

Share = Annotated[float, Field(ge=0, le=1)]
Late = Annotated[float, Field(gt=1)]
Early = Annotated[float, Field(gt=0, lt=1)]

PATIENCE = 12
"""Number of rounds over which players concede if the horizon is unknown."""


def conceded(stage: int, rounds: int | None, start: float, end: float, power: float) -> float:
    """Return the demand at a stage (Faratin, Sierra and Jennings 1998, time-dependent tactics).

    start - (start - end) * time ** power, where time runs from 0 at stage 1 to 1 at the last stage.

    Args:
        stage: the stage, from 1.
        rounds: the last stage; None if it is unknown, for :data:`PATIENCE`.
        start: the demand at the first stage.
        end: the demand at the last stage.
        power: 1 for a constant pace, above 1 to concede late, below 1 to concede early.

    >>> [conceded(stage, 3, 0.9, 0.5, 1) for stage in (1, 2, 3)]
    [0.9, 0.7, 0.5]
    """
    time = min(1.0, (stage - 1) / max(1, (rounds or PATIENCE) - 1))
    return float(start - (start - end) * time**power)
