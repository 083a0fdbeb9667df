"""Measurement of the CPU time, wall time and peak memory of a task in this process.

It also runs in the reference environment, and therefore does not import cheaptalk.
"""

import json
import resource
import sys
import time
from collections.abc import Callable


def measured(work: Callable[[], int]) -> None:
    """Run a task and print the resources that it used as JSON.

    Args:
        work: the task, which returns its number of model calls.
    """
    before, started = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    calls = work()
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    resources = {"calls": calls, "cpu": cpu, "seconds": seconds, "peak": after.ru_maxrss / 1024}
    json.dump(resources, sys.stdout)
