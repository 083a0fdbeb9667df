"""A small study of GLEE's games between scripts, and reference regressions."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import yaml
from numpy.typing import NDArray
from scipy import stats

from tests.statistics.dense import bias_reduced

FLASH = "gemini-1.5-flash"
"""The paper's reference player; in this study it is a script."""
STUDY: dict[str, Any] = yaml.safe_load("""
name: small-glee
seed: 3
instances: 3
games:
  - game: bargaining
    grid:
      discounts: [[0.9, 0.9], [0.8, 0.9], [0.9, 1]]
      horizon: [12, {rounds: 99, hidden: true}]
      complete_information: [true, false]
      messages: [true, false]
  - game: negotiation
    grid:
      seller_factor: [0.8, 1]
      buyer_factor: [1, 1.5]
      horizon: [1, 10]
      complete_information: [true, false]
  - game: persuasion
    grid: {value: [1.25, 2, 3], signal: [binary, text], myopic: [false, true]}
players:
  gemini-1.5-flash:
    strategies: {bargaining: random, negotiation: zero_intelligence, persuasion: random}
  fair:
    strategies:
      bargaining: equal_split
      negotiation: split_the_difference
      persuasion: {alice: honest, bob: trusting}
  tough:
    strategies:
      bargaining: boulware
      negotiation: boulware
      persuasion: {alice: always_recommend, bob: sceptical}
""")


class Ols(NamedTuple):
    """Effects with their classical and clustered 95 % limits, by factor and level."""

    effects: dict[tuple[str, str], float]
    classical: dict[tuple[str, str], tuple[float, float]]
    clustered: dict[tuple[str, str], tuple[float, float]]


def regress(
    frame: pl.DataFrame, outcome: str, factors: Sequence[str], reference: dict[str, str]
) -> Ols:
    """Fit least squares on dummy variables with plain matrix formulas."""
    frame = frame.drop_nulls(outcome)
    names = [
        (factor, level)
        for factor in factors
        for level in frame[factor].cast(pl.String).unique().sort()
        if level != reference[factor]
    ]
    dummies = [(frame[factor].cast(pl.String) == level).to_numpy() for factor, level in names]
    x = np.column_stack([np.ones(frame.height), *dummies]).astype(float)
    y = frame[outcome].to_numpy().astype(float)
    beta = np.linalg.lstsq(x, y, rcond=None)[0]
    residuals = y - x @ beta
    n, width = x.shape
    inverse = np.linalg.inv(x.T @ x)
    plain = residuals @ residuals / (n - width) * inverse
    errors, freedom = bias_reduced(x, y, frame["configuration"].to_numpy())
    return Ols(
        dict(zip(names, beta[1:].tolist(), strict=True)),
        _limits(names, beta, np.sqrt(np.diag(plain)), n - width),
        _limits(names, beta, errors, freedom),
    )


def _limits(
    names: list[tuple[str, str]],
    beta: NDArray[np.float64],
    errors: NDArray[np.float64],
    freedom: NDArray[np.float64] | int,
) -> dict[tuple[str, str], tuple[float, float]]:
    reach = stats.t.ppf(0.975, freedom) * errors
    return {name: (beta[at] - reach[at], beta[at] + reach[at]) for at, name in enumerate(names, 1)}
