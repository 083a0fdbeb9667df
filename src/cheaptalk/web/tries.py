"""Wrong passwords within a while: after too many, nobody may try, whatever they know."""

from collections.abc import Callable

MOST_REMEMBERED = 100_000


class Tries:
    """Tries that were not right, of each who tries.

    Args:
        most: that somebody may have within the while.
        within: the while, in seconds.
        now: seconds, from any start.

    >>> tries = Tries(2, 60, now=iter([0.0, 1.0, 2.0, 60.5]).__next__)
    >>> [tries.wait("ann"), tries.count("ann"), tries.count("ann")]
    [0.0, None, None]
    >>> tries.wait("ann")
    0.5
    """

    def __init__(self, most: int, within: float, now: Callable[[], float]) -> None:
        self.most = most
        self.within = within
        self.now = now
        self._times: dict[str, list[float]] = {}

    def wait(self, who: str) -> float:
        """Seconds until somebody may try again; 0 where they may now."""
        now = self.now()
        recent = [then for then in self._times.get(who, []) if then > now - self.within]
        return recent[-self.most] + self.within - now if len(recent) >= self.most else 0.0

    def count(self, who: str) -> None:
        """Somebody tries."""
        now = self.now()
        recent = [then for then in self._times.get(who, []) if then > now - self.within]
        self._times[who] = [*recent[-self.most :], now]
        if len(self._times) > MOST_REMEMBERED:
            self._times = {
                name: times for name, times in self._times.items() if times[-1] > now - self.within
            }

    def forgive(self, who: str) -> None:
        """Somebody was right: what they tried before no longer counts."""
        self._times.pop(who, None)

    def take_back(self, who: str) -> None:
        """The last try does not count."""
        self._times.get(who, []).pop()
