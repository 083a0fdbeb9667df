"""Estimation of a run's remaining time from the remaining work of each game.

The share of ended matches is not enough for a forecast, because games take different times.
"""

import math
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field

WINDOW = 60.0
"""Minimum seconds over which speed is measured; the maximum is a third of the run's duration."""
STEADY = 15.0
"""Time constant of the forecast's smoothing, in seconds."""
BEGINNING = 2.0
"""Seconds before the first forecast."""


@dataclass
class GameWork:
    """Match counts and work of one game in a run.

    Attributes:
        left: unfinished matches.
        ended: matches ended in this run.
        work: work of the ended matches, in a common unit: calls to models or seconds.
    """

    left: int = 0
    ended: int = 0
    work: float = 0.0


@dataclass
class TimeLeft:
    """An estimator of a run's remaining time from its recorded progress.

    Attributes:
        expected: expected work per match by game, for games without ended matches.
    """

    games: dict[str, GameWork] = field(default_factory=dict)
    expected: Mapping[str, float] = field(default_factory=dict)
    _samples: deque[tuple[float, float]] = field(default_factory=deque, init=False)
    _last_forecast: tuple[float, float] | None = field(default=None, init=False)

    @property
    def waits(self) -> bool:
        return any(entry.left for entry in self.games.values())

    def plan(self, game: str, count: int) -> None:
        self.games.setdefault(game, GameWork()).left += count

    def drop(self, game: str) -> None:
        """Remove a failed or skipped match from the remaining work."""
        self.games[game].left -= 1

    def end(self, game: str, work: float) -> None:
        """Record an ended match and the work that it required."""
        entry = self.games.setdefault(game, GameWork())
        entry.left -= 1
        entry.ended += 1
        entry.work += work

    def share(self, ended: Counter[str], seconds: float) -> None:
        """Record matches that ended together, dividing their time in proportion to their work."""
        works = {game: self.work_of(game) for game in ended}
        total = sum(count * works[game] for game, count in ended.items())
        for game, count in ended.items():
            share = works[game] / total if total else 1 / ended.total()
            for _ in range(count):
                self.end(game, seconds * share)

    def work_of(self, game: str) -> float:
        """Return a game's work per match, as observed or as estimated from other games."""
        entry = self.games.get(game, GameWork())
        if entry.ended:
            return entry.work / entry.ended
        return self.expected.get(game, self._usual()) * self._scale()

    def _usual(self) -> float:
        """Return the mean work per match over all games: expected or, if unknown, observed."""
        if self.expected:
            return sum(self.expected.values()) / len(self.expected)
        ended = sum(entry.ended for entry in self.games.values())
        return sum(entry.work for entry in self.games.values()) / ended if ended else 1.0

    def _scale(self) -> float:
        """Return the ratio of observed to expected work."""
        entries = {game: self.games[game] for game in self.games.keys() & self.expected.keys()}
        expected = sum(entry.ended * self.expected[game] for game, entry in entries.items())
        return sum(entry.work for entry in entries.values()) / expected if expected else 1.0

    def remaining(self, under_way: float = 0.0) -> float:
        """Return the work left to do, after deducting the work done on unfinished matches.

        At most nine tenths of the remaining work are subtracted.
        """
        total = sum(entry.left * self.work_of(game) for game, entry in self.games.items())
        return total - min(under_way, 0.9 * total)

    def after(self, seconds: float, under_way: float = 0.0, elsewhere: int = 0) -> float | None:
        """Return the smoothed estimate of the seconds until the run ends; None if unknown.

        Args:
            under_way: work done on unfinished matches.
            elsewhere: number of matches that other runs have ended.
        """
        ended = sum(entry.ended for entry in self.games.values())
        work_here = sum(entry.work for entry in self.games.values())
        work_elsewhere = elsewhere * work_here / ended if ended else 0.0
        work_done = work_here + under_way + work_elsewhere
        speed = self._speed(seconds, work_done)
        if not speed or seconds < BEGINNING:
            return None
        seconds_left = max(0.0, self.remaining(under_way) - work_elsewhere) / speed
        if self._last_forecast is not None:
            forecast_at, forecast = self._last_forecast
            passed = seconds - forecast_at
            part = 1 - math.exp(-passed / STEADY)
            seconds_left = part * seconds_left + (1 - part) * max(0.0, forecast - passed)
        self._last_forecast = seconds, seconds_left
        return seconds_left

    def seconds_left(self, seconds: float, work_done: float) -> float | None:
        """Return the estimated seconds until the run ends, given the work done so far."""
        ended = sum(entry.work for entry in self.games.values())
        return self.after(seconds, max(0.0, work_done - ended))

    def cost_left(self, cost: float, work_done: float) -> float:
        """Return the estimated remaining cost, given the cost of the work so far."""
        ended = sum(entry.work for entry in self.games.values())
        return cost / work_done * self.remaining(max(0.0, work_done - ended))

    def _speed(self, seconds: float, work_done: float) -> float:
        """Return the recent work per second."""
        if not self._samples or seconds - self._samples[-1][0] >= 1:
            self._samples.append((seconds, work_done))
        while len(self._samples) > 1 and self._samples[1][0] <= seconds - max(WINDOW, seconds / 3):
            self._samples.popleft()
        earlier, earlier_work = self._samples[0] if len(self._samples) > 1 else (0.0, 0.0)
        return (work_done - earlier_work) / max(seconds - earlier, 1e-9)
