"""A per-client limit on failed login attempts."""

from collections.abc import Callable

MAX_CLIENTS = 100_000


class LoginThrottle:
    """A limit on each client's failed attempts within a sliding time window.

    Args:
        maximum: attempts allowed within the window.
        window: length of the window, in seconds.
        now: returns the current time in seconds, from any origin.

    >>> throttle = LoginThrottle(2, 60, now=iter([0.0, 1.0, 2.0, 60.5]).__next__)
    >>> [throttle.wait("ann"), throttle.count("ann"), throttle.count("ann")]
    [0.0, None, None]
    >>> throttle.wait("ann")
    0.5
    """

    def __init__(self, maximum: int, window: float, now: Callable[[], float]) -> None:
        self.maximum = maximum
        self.window = window
        self.now = now
        self._times: dict[str, list[float]] = {}

    def wait(self, client: str) -> float:
        """Return the seconds until a client may try again; 0 if it may try now."""
        now = self.now()
        recent = [attempt for attempt in self._times.get(client, []) if attempt > now - self.window]
        return recent[-self.maximum] + self.window - now if len(recent) >= self.maximum else 0.0

    def count(self, client: str) -> None:
        now = self.now()
        recent = [attempt for attempt in self._times.get(client, []) if attempt > now - self.window]
        self._times[client] = [*recent[-self.maximum :], now]
        if len(self._times) > MAX_CLIENTS:
            self._times = {
                name: times for name, times in self._times.items() if times[-1] > now - self.window
            }

    def clear(self, client: str) -> None:
        self._times.pop(client, None)

    def undo(self, client: str) -> None:
        self._times.get(client, []).pop()
