"""Bootstrap draws in short: means, standard errors and intervals."""

import numpy as np
import polars as pl

from cheaptalk.equilibrium.payoffs import Floats


def summary(
    estimate: Floats, drawn: Floats, *, level: float = 0.95, basic: bool = False
) -> pl.DataFrame:
    """Bootstrap means, standard errors and intervals of some numbers.

    Draws in which a number is undefined (NaN) are left out.

    Args:
        estimate: what the sample itself says, shape (numbers,).
        drawn: shape (draws, numbers).
        level: of the intervals, in (0, 1).
        basic: basic intervals instead of percentiles.

    Returns:
        One row a number: ``estimate``, ``mean``, ``error``, ``low``, ``high``, ``undefined``.

    Raises:
        ValueError: the level is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise ValueError(f"The level of an interval lies between 0 and 1, not {level}")
    rows: list[tuple[float | None, ...]] = []
    for first, column in zip(estimate, drawn.T, strict=True):
        some = column[np.isfinite(column)]
        undefined = 1 - len(some) / len(column)
        if not len(some):
            rows.append((_known(first), None, None, None, None, undefined))
            continue
        low, high = np.quantile(some, [(1 - level) / 2, (1 + level) / 2])
        if basic:
            low, high = 2 * first - high, 2 * first - low
        error = float(some.std(ddof=1)) if len(some) > 1 else None
        rows.append(
            (_known(first), float(some.mean()), error, _known(low), _known(high), undefined)
        )
    names = ("estimate", "mean", "error", "low", "high", "undefined")
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.Float64), orient="row")


def _known(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


def said(drawn: Floats) -> str:
    """Mean and standard error of draws as tables print them; N/A where they are undefined."""
    some = drawn[np.isfinite(drawn)]
    return f"{some.mean():.4g} ± {some.std(ddof=1):.2g}" if len(some) > 1 else "N/A"
