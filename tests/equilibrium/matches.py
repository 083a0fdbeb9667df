"""Frames of matches made up for tests, shaped as a study's."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

SEATS = ("first", "second")


def match(
    one: str, other: str, gets: float, its: float, instance: str = "d1", **more: Any
) -> dict[str, Any]:
    """A finished match: who sat first and second, and what they got."""
    return {
        "status": "finished",
        "dropped": False,
        "configuration": "c",
        "instance": instance,
        "player_first": one,
        "player_second": other,
        "payoff_first": gets,
        "payoff_second": its,
        **more,
    }


def frame(matches: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Matches as a frame, each with an id."""
    return pl.DataFrame(
        [{"match_id": f"m{number}", **one} for number, one in enumerate(matches)],
        infer_schema_length=None,
    )


def studied(
    payoffs: NDArray[np.float64],
    instances: int,
    draw: np.random.Generator,
    *,
    noise: float = 1.0,
    generosity: float = 0.0,
) -> pl.DataFrame:
    """A study in which all pairs meet on the same instances in both orders.

    Payoffs have normal noise, and share what the instance adds, of standard deviation
    ``generosity``.
    """
    size = len(payoffs)
    one, other, instance = (grid.ravel() for grid in np.indices((size, size, instances)))
    gift = draw.normal(0, generosity, instances)[instance]
    first, second = (
        payoffs[pair] + gift + draw.normal(0, noise, len(instance))
        for pair in ((one, other), (other, one))
    )
    number = pl.Series(range(len(instance))).cast(pl.String)
    return pl.DataFrame(
        {
            "match_id": "m" + number,
            "status": "finished",
            "dropped": False,
            "configuration": "c",
            "instance": pl.Series(instance).cast(pl.String),
            "player_first": "s" + pl.Series(one).cast(pl.String),
            "player_second": "s" + pl.Series(other).cast(pl.String),
            "payoff_first": first,
            "payoff_second": second,
            "joint": first + second,
        }
    )
