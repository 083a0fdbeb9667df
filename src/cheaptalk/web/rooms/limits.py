"""How often somebody may ask: a bucket of tokens for each, which fills up again."""

import time
from collections.abc import Callable

MOST_BUCKETS = 100_000


class Limit:
    """So many requests at once, and so many a second in the long run.

    Args:
        burst: at once.
        rate: a second.
        now: seconds, from any start.

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

    def allows(self, who: str) -> bool:
        """Whether one more request is within the limit; it then counts."""
        now = self.now()
        tokens, then = self._buckets.get(who, (self.burst, now))
        tokens = min(self.burst, tokens + (now - then) * self.rate)
        allowed = tokens >= 1
        self._buckets[who] = (tokens - allowed, now)
        if len(self._buckets) > MOST_BUCKETS:
            self._buckets = {
                name: bucket for name, bucket in self._buckets.items()
                if bucket[0] + (now - bucket[1]) * self.rate < self.burst
            }  # fmt: skip
        return allowed
