"""Concession tactics that several games share."""

from collections.abc import Callable
from typing import Annotated

from pydantic import Field

from cheaptalk.rules import Action, DecisionRequest, Strategy, strategy

Share = Annotated[float, Field(ge=0, le=1)]
Late = Annotated[float, Field(gt=1)]
Early = Annotated[float, Field(gt=0, lt=1)]

SOURCE = "Faratin, Sierra and Jennings 1998"
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


def concessions(
    concede: Callable[[DecisionRequest, float, float, float], Action],
    demanded: str,
    first: float,
    last: float,
) -> tuple[Strategy, Strategy, Strategy]:
    """Return the strategies ``linear``, ``boulware`` and ``conceder`` of Alice and Bob.

    Args:
        concede: plays on the curve of :func:`conceded`, given its start, end and power.
        demanded: the meaning of a demand, such as "the share demanded in the {} round".
        first: the default demand in the first round.
        last: the default demand in the last round.
    """
    ends = f"""Args:
        start: {demanded.format("first")}.
        end: {demanded.format("last")}."""

    def linear(request: DecisionRequest, *, start: Share = first, end: Share = last) -> Action:
        return concede(request, start, end, 1)

    def boulware(
        request: DecisionRequest, *, start: Share = first, end: Share = last, power: Late = 4
    ) -> Action:
        return concede(request, start, end, power)

    def conceder(
        request: DecisionRequest, *, start: Share = first, end: Share = last, power: Early = 0.25
    ) -> Action:
        return concede(request, start, end, power)

    linear.__doc__ = f"""Concede at a constant pace ({SOURCE}, time-dependent tactics).

    {ends}
    """
    boulware.__doc__ = f"""Hold out and concede only near the end ({SOURCE}).

    {ends}
        power: the exponent of the concession curve, above 1: higher values concede later.
    """
    conceder.__doc__ = f"""Concede early ({SOURCE}).

    {ends}
        power: the exponent of the concession curve, below 1: lower values concede earlier.
    """
    declare = strategy("alice", "bob")
    return declare(linear), declare(boulware), declare(conceder)
