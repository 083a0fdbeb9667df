"""Rate limits on requests, implemented as a token bucket per sender."""

import time
from collections.abc import Callable

MAX_BUCKETS = 100_000


class Limit:
    """A rate limit per sender that allows bursts.

    Args:
        burst: maximum number of simultaneous requests.
        rate: requests per second in the long run.
        now: clock in seconds.

    >>> limit = Limit(2, 1, now=iter([0.0, 0.0, 0.0, 1.0]).__next__)
    >>> [limit.allows("ann") for _ in range(4)]
    [True, True, False, True]
    """

    def __init__(
        self, burst: float, rate: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.burst = burst
        self.rate = rate
        self.now = now
        self._buckets: dict[str, tuple[float, float]] = {}

    def allows(self, sender: str) -> bool:
        """Return whether a sender's request is within the limit; if so, count it."""
        now = self.now()
        tokens, then = self._buckets.get(sender, (self.burst, now))
        tokens = min(self.burst, tokens + (now - then) * self.rate)
        allowed = tokens >= 1
        self._buckets[sender] = (tokens - allowed, now)
        if len(self._buckets) > MAX_BUCKETS:
            self._buckets = {
                name: bucket for name, bucket in self._buckets.items()
                if bucket[0] + (now - bucket[1]) * self.rate < self.burst
            }  # fmt: skip
        return allowed
