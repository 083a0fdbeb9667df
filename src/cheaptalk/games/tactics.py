"""Tactics that several games share: how a demand comes down as time runs out."""

from typing import Annotated

from pydantic import Field

Share = Annotated[float, Field(ge=0, le=1)]
Late = Annotated[float, Field(gt=1)]
Early = Annotated[float, Field(gt=0, lt=1)]

PATIENCE = 12
"""Rounds over which concession spreads when the horizon is not told."""


def conceded(stage: int, rounds: int | None, start: float, end: float, power: float) -> float:
    """The demand at a stage (Faratin, Sierra and Jennings 1998, time-dependent tactics).

    start - (start - end) * time ** power, where time runs from 0 at stage 1 to 1 at the last.

    Args:
        stage: the stage, from 1.
        rounds: the last stage; None where it is not told, and then :data:`PATIENCE`.
        start: the demand at the first stage.
        end: the demand at the last stage.
        power: 1 for an even pace, more to concede late, less to concede early.

    >>> [conceded(stage, 3, 0.9, 0.5, 1) for stage in (1, 2, 3)]
    [0.9, 0.7, 0.5]
    """
    time = min(1.0, (stage - 1) / max(1, (rounds or PATIENCE) - 1))
    return float(start - (start - end) * time**power)
