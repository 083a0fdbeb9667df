"""Frames of matches made up for tests, shaped as a study's."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

SEATS = ("first", "second")


def match(
    one: str, other: str, gets: float, its: float, deal: str = "d1", **more: Any
) -> dict[str, Any]:
    """A finished match: who sat first and second, and what they got."""
    return {
        "status": "finished",
        "dropped": False,
        "configuration": "c",
        "deal": deal,
        "player.first": one,
        "player.second": other,
        "payoff.first": gets,
        "payoff.second": its,
        **more,
    }


def frame(matches: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Matches as a frame, each with an id."""
    return pl.DataFrame(
        [{"match": f"m{number}", **one} for number, one in enumerate(matches)],
        infer_schema_length=None,
    )


def studied(
    payoffs: NDArray[np.float64],
    deals: int,
    draw: np.random.Generator,
    *,
    noise: float = 1.0,
    generosity: float = 0.0,
) -> pl.DataFrame:
    """A study in which all pairs meet on the same deals in both orders.

    Payoffs have normal noise, and share what the deal adds, of standard deviation ``generosity``.
    """
    size = len(payoffs)
    one, other, deal = (grid.ravel() for grid in np.indices((size, size, deals)))
    gift = draw.normal(0, generosity, deals)[deal]
    first, second = (
        payoffs[pair] + gift + draw.normal(0, noise, len(deal))
        for pair in ((one, other), (other, one))
    )
    number = pl.Series(range(len(deal))).cast(pl.String)
    return pl.DataFrame(
        {
            "match": "m" + number,
            "status": "finished",
            "dropped": False,
            "configuration": "c",
            "deal": pl.Series(deal).cast(pl.String),
            "player.first": "s" + pl.Series(one).cast(pl.String),
            "player.second": "s" + pl.Series(other).cast(pl.String),
            "payoff.first": first,
            "payoff.second": second,
            "joint": first + second,
        }
    )
