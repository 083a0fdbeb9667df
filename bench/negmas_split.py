"""Benchmark of NegMAS in negotiations per second; run it in the reference environment."""

import statistics
import time

import negmas
from negmas.outcomes import make_issue
from negmas.preferences import LinearAdditiveUtilityFunction
from negmas.preferences.value_fun import AffineFun
from negmas.sao import BoulwareTBNegotiator, ConcederTBNegotiator, SAOMechanism


def negotiate() -> None:
    """Let two time-based negotiators divide 100 in at most 12 rounds."""
    issues = [make_issue((0, 100), "alice")]
    mechanism = SAOMechanism(issues=issues, n_steps=12)
    gains = (AffineFun(0.01, 0), AffineFun(-0.01, 1))
    for kind, gain in zip((BoulwareTBNegotiator, ConcederTBNegotiator), gains, strict=True):
        utility = LinearAdditiveUtilityFunction([gain], issues=issues, reserved_value=0.0)
        mechanism.add(kind(), ufun=utility)
    mechanism.run()


def rate(count: int = 200) -> float:
    """Return the negotiations per second."""
    started = time.perf_counter()
    for _ in range(count):
        negotiate()
    return count / (time.perf_counter() - started)


negotiate()
print(negmas.__version__, statistics.median(rate() for _ in range(5)))
