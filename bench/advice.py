"""Statistical power of the recommended sample sizes: ``python -m bench.advice [STUDIES [SEED]]``.

Reports and leaderboards recommend a number of matches that identifies the best player with a power
of 80 %. In this benchmark, one player leads and all other players are equal. The sample means and
variances of a pilot study equal the true values. New studies of the recommended size are simulated;
the share of them whose headline names the leader is the true power.
"""

import re
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bench.headlines import RIVAL, Simulator, Statement, report_of, simulator, standing_of
from bench.rows import Row

STUDIES = 200
STATED, WITHIN = 80, 5
"""The nominal power of the recommendation in percent, and the tolerance in percentage points."""
PILOT = 40
"""Number of instances in the pilot study."""
LEAD = 1.2
"""The leader's lead over each rival in the pilot, in standard errors: not significant."""
PLAYERS = (2, 3, 5, 10)
SCALE = 0.08
"""The standard deviation of a gain; small, so that gains stay within their bounds."""
HEADLINES: dict[str, tuple[Any, re.Pattern[str]]] = {
    "report": (report_of, re.compile(r"about ([\d,]+) matches like these ([\d,]+) would tell")),
    "leaderboard": (
        standing_of,
        re.compile(r"about ([\d,.]+)( )times as many (?:instances|instances) would tell")
    ),
}  # fmt: skip
"""By headline: the function that returns its statement, and the pattern of its advice."""


def gains(draw: np.random.Generator, players: int, instances: int) -> NDArray[np.float64]:
    """Draw the gains of equal players on shared instances, in standard deviations.

    Returns:
        An array of shape (players, instances).
    """
    return draw.normal(size=(players, instances))


def exact(draw: np.random.Generator, players: int) -> NDArray[np.float64]:
    """Draw pilot gains whose sample mean is 0 and whose sample covariance is the identity."""
    values = gains(draw, players, PILOT)
    values -= values.mean(axis=1, keepdims=True)
    return np.asarray(np.linalg.solve(np.linalg.cholesky(np.cov(values)), values))


def study(drawing: Simulator, values: NDArray[np.float64], lead: float) -> pl.DataFrame:
    """Return the match frame of a study with these gains, plus ``lead`` for the first player."""
    latent = values + lead * (np.arange(len(values)) == 0)[:, None]
    player, instance = np.indices(latent.shape).reshape(2, -1)
    gain = 0.5 + SCALE * latent.ravel()
    return drawing.frame(
        [f"p{at}" for at in player], [RIVAL] * len(player), np.zeros(len(player), np.int64),
        [str(at) for at in instance], {"self_gain_alice": gain, "payoff_alice": 100 * gain},
    )  # fmt: skip


def advised(statement: Statement, advice: re.Pattern[str]) -> int | None:
    """Return the number of instances that a headline recommends, or None without advice."""
    match = advice.search(statement.text)
    if match is None:
        return None
    needed, current = (number.replace(",", "") for number in match.groups())
    return round(PILOT * float(needed) / (int(current) if current.strip() else 1))


def power(
    drawing: Simulator, headline: str, players: int, studies: int, seed: int
) -> tuple[int, float] | None:
    """Return the recommended number of instances and the power with that many.

    Returns:
        None if the pilot's headline gives no advice.
    """
    state, advice = HEADLINES[headline]
    draw = np.random.default_rng([seed, players])
    lead = LEAD * (2 / PILOT) ** 0.5
    instances = advised(state(drawing, study(drawing, exact(draw, players), lead)), advice)
    if instances is None:
        return None
    named = [
        state(drawing, study(drawing, gains(draw, players, instances), lead)).named == "p0"
        for _ in range(studies)
    ]
    return instances, float(np.mean(named))


def rows(studies: int = STUDIES, seed: int = 0) -> Iterator[Row]:
    """Yield the true power of each recommendation."""
    with simulator() as drawing:
        for headline in HEADLINES:
            for players in PLAYERS:
                title = f"{headline}: power with the recommended sample size, {players} players"
                result = power(drawing, headline, players, studies, seed)
                if result is None:
                    yield Row(f"{title}: no recommendation", 0, "%")
                    continue
                instances, share = result
                note = (
                    f"nominal power {STATED} %, tolerance {WITHIN} points; "
                    f"{instances} instances after a pilot of {PILOT}, {studies} studies"
                )
                yield Row(title, 100 * share, "%", (">=", STATED - WITHIN), note)


if __name__ == "__main__":
    for row in rows(*map(int, sys.argv[1:])):
        print(f"{row.title:60} {row.value:5.1f} %  {row.note}", flush=True)
