"""Simulated frames of matches in the format of a study."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

SEATS = ("first", "second")


def match(
    first: str, second: str, payoff1: float, payoff2: float, instance: str = "d1", **more: Any
) -> dict[str, Any]:
    """Return a finished match of two players with their payoffs."""
    return {
        "status": "finished",
        "dropped": False,
        "configuration": "c",
        "instance": instance,
        "player_first": first,
        "player_second": second,
        "payoff_first": payoff1,
        "payoff_second": payoff2,
        **more,
    }


def frame(matches: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Return matches as a frame with ids."""
    return pl.DataFrame(
        [{"match_id": f"m{number}", **row} for number, row in enumerate(matches)],
        infer_schema_length=None,
    )


def simulate(
    payoffs: NDArray[np.float64],
    instances: int,
    draw: np.random.Generator,
    *,
    noise: float = 1.0,
    generosity: float = 0.0,
) -> pl.DataFrame:
    """Simulate a study in which all pairs meet on the same instances in both seat orders.

    Payoffs have normal noise and a common effect of the instance, whose standard deviation is
    ``generosity``.
    """
    size = len(payoffs)
    row, column, instance = (grid.ravel() for grid in np.indices((size, size, instances)))
    bonus = draw.normal(0, generosity, instances)[instance]
    first, second = (
        payoffs[pair] + bonus + draw.normal(0, noise, len(instance))
        for pair in ((row, column), (column, row))
    )
    number = pl.Series(range(len(instance))).cast(pl.String)
    return pl.DataFrame(
        {
            "match_id": "m" + number,
            "status": "finished",
            "dropped": False,
            "configuration": "c",
            "instance": pl.Series(instance).cast(pl.String),
            "player_first": "s" + pl.Series(row).cast(pl.String),
            "player_second": "s" + pl.Series(column).cast(pl.String),
            "payoff_first": first,
            "payoff_second": second,
            "joint": first + second,
        }
    )
