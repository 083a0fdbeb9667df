"""Whether advice on sample sizes is right: ``python -m bench.advice [STUDIES [SEED]]``.

A page says how many matches would tell who is first, and plans for a power of 80 %. Here one player
is ahead of equal others, and a pilot study shows exactly that: its means and variances are the true
ones. Fresh studies follow the advice, and the share of those that name the leader is the true
power.
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
"""The power that the advice plans for, in percent, and by how much it may differ."""
PILOT = 40
"""Instances of a pilot study."""
LEAD = 1.2
"""The leader's lead over each rival in the pilot, in standard errors: too little to tell."""
PLAYERS = (2, 3, 5, 10)
SCALE = 0.08
"""The standard deviation of a gain, so that it stays within its bounds."""
SAYINGS: dict[str, tuple[Any, re.Pattern[str]]] = {
    "report": (report_of, re.compile(r"about ([\d,]+) matches like these ([\d,]+) would tell")),
    "leaderboard": (
        standing_of,
        re.compile(r"about ([\d,.]+)( )times as many (?:instances|instances) would tell")
    ),
}  # fmt: skip
"""Functions that make each sentence and the advice in it, by name."""


def gains(draw: np.random.Generator, players: int, instances: int) -> NDArray[np.float64]:
    """Gains of equal players on shared instances, in standard deviations."""
    return draw.normal(size=(players, instances))


def exact(draw: np.random.Generator, players: int) -> NDArray[np.float64]:
    """Gains with a mean of 0, a variance of 1 and no correlation, exactly."""
    values = gains(draw, players, PILOT)
    values -= values.mean(axis=1, keepdims=True)
    return np.asarray(np.linalg.solve(np.linalg.cholesky(np.cov(values)), values))


def study(drawing: Simulator, values: NDArray[np.float64], lead: float) -> pl.DataFrame:
    """A study with these gains, in which the first player is ahead."""
    led = values + lead * (np.arange(len(values)) == 0)[:, None]
    player, instance = np.indices(led.shape).reshape(2, -1)
    gain = 0.5 + SCALE * led.ravel()
    return drawing.frame(
        [f"p{at}" for at in player], [RIVAL] * len(player), np.zeros(len(player), np.int64),
        [str(at) for at in instance], {"alice_gain": gain, "payoff_alice": 100 * gain},
    )  # fmt: skip


def advised(said: Statement, advice: re.Pattern[str]) -> int | None:
    """How many instances the sentence asks for; None if it gives no advice."""
    found = advice.search(said.text)
    if found is None:
        return None
    wanted, of = (number.replace(",", "") for number in found.groups())
    return round(PILOT * float(wanted) / (int(of) if of.strip() else 1))


def power(
    drawing: Simulator, headline: str, players: int, studies: int, seed: int
) -> tuple[int, float] | None:
    """The instances that are asked for, and the share of such studies that name the leader."""
    state, advice = SAYINGS[headline]
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
    """How far the power of each advice is from what it plans for."""
    with simulator() as drawing:
        for headline in SAYINGS:
            for players in PLAYERS:
                what = f"{headline}: power of the advice, {players} players"
                found = power(drawing, headline, players, studies, seed)
                if found is None:
                    yield Row(f"{what}: none is given", 0, "%")
                    continue
                instances, share = found
                note = (
                    f"{STATED} % stated, within {WITHIN} points; "
                    f"{instances} instances after {PILOT}, {studies} studies"
                )
                yield Row(what, 100 * share, "%", (">=", STATED - WITHIN), note)


if __name__ == "__main__":
    for row in rows(*map(int, sys.argv[1:])):
        print(f"{row.what:60} {row.value:5.1f} %  {row.note}", flush=True)
