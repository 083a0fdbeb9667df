"""Rows of the results table, and helpers that time commands."""

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
        title: what the figure measures.
        value: the figure.
        unit: the unit of ``value``.
        goal: the required ``value`` as (comparison, threshold); None if there is no goal.
        note: how the figure was measured.
    """

    title: str
    value: float
    unit: str
    goal: tuple[str, float] | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Return whether the value meets the goal, or None without a goal."""
        if self.goal is None:
            return None
        comparison, threshold = self.goal
        return self.value <= threshold if comparison == "<=" else self.value >= threshold


class Measured(NamedTuple):
    """Resources that a command used.

    Attributes:
        seconds: wall time.
        peak: peak memory of the largest process, in MiB.
    """

    seconds: float
    peak: float


def measure(command: Sequence[str | Path]) -> Measured:
    """Run a command and measure its wall time and peak memory.

    Raises:
        RuntimeError: the command failed; the message contains its output.
    """
    wrapped = [sys.executable, str(Path(__file__).parent / "peak.py"), *map(str, command)]
    started = time.perf_counter()
    done = subprocess.run(wrapped, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))} failed: {done.stdout}{done.stderr}")
    return Measured(seconds, float(done.stderr.split()[-1]) / 1024)


def median_seconds(command: Sequence[str | Path], runs: int = 7) -> float:
    """Return the median wall time of a command in seconds, after one warm-up run."""
    measure(command)
    return statistics.median(measure(command).seconds for _ in range(runs))
