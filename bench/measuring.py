"""What a piece of work takes of this process: CPU and wall seconds, and memory at its peak.

It runs in the anchors' environment too, and so imports nothing of ours.
"""

import json
import resource
import sys
import time
from collections.abc import Callable


def measured(work: Callable[[], int]) -> None:
    """Do some work and print what it took as JSON, with the number of calls that it returns."""
    before, started = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    calls = work()
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    took = {"calls": calls, "cpu": cpu, "seconds": seconds, "peak": after.ru_maxrss / 1024}
    json.dump(took, sys.stdout)
