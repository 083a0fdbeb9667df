"""What a benchmark yields: one row of the table."""

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Row(NamedTuple):
    """One measured figure.

    Attributes:
        what: what was measured, in words.
        value, unit: the figure.
        goal: what was asked for, as (comparison, figure); None for an anchor.
        note: how it was measured.
    """

    what: str
    value: float
    unit: str
    goal: tuple[str, float] | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None without a goal."""
        if self.goal is None:
            return None
        comparison, figure = self.goal
        return self.value <= figure if comparison == "<=" else self.value >= figure


class Measured(NamedTuple):
    """A finished process: wall seconds and peak memory of the largest process in MiB."""

    seconds: float
    peak: float


def metric(command: Sequence[str | Path]) -> Measured:
    """Run a command to its end and measure it from outside.

    Raises:
        RuntimeError: it failed; the message holds what it printed.
    """
    wrapped = [sys.executable, str(Path(__file__).parent / "peak.py"), *map(str, command)]
    started = time.perf_counter()
    done = subprocess.run(wrapped, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))} failed: {done.stdout}{done.stderr}")
    return Measured(seconds, float(done.stderr.split()[-1]) / 1024)


def median_seconds(command: Sequence[str | Path], runs: int = 7) -> float:
    """The median wall time of a command over several runs, after one to warm up."""
    metric(command)
    return statistics.median(metric(command).seconds for _ in range(runs))
