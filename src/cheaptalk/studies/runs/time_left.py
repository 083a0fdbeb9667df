"""The time that a run has left, by the work that is left of each game.

Matches of different games take different time: the share of matches that have ended says little.
"""

import math
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field

WINDOW = 60.0
"""Seconds over which the speed is taken at the least; over a third of the run at the most."""
STEADY = 15.0
"""Seconds in which what is told follows most of a change."""
BEGINNING = 2.0
"""Seconds of a run before which nothing is foretold."""


@dataclass
class GameWork:
    """What is counted of one game in a run.

    Attributes:
        left: matches that have not ended.
        ended: those that have, in this run.
        work: what these took, in any unit that all games share: calls to models, or seconds.
    """

    left: int = 0
    ended: int = 0
    work: float = 0.0


@dataclass
class TimeLeft:
    """Foretells from counted progress alone how long a run takes; it looks at no clock.

    Attributes:
        games: what is counted of each game.
        expected: work of a match by game, as far as something is known before any has ended.
    """

    games: dict[str, GameWork] = field(default_factory=dict)
    expected: Mapping[str, float] = field(default_factory=dict)
    _samples: deque[tuple[float, float]] = field(default_factory=deque, init=False)
    _told: tuple[float, float] | None = field(default=None, init=False)

    @property
    def waits(self) -> bool:
        """Whether matches are left."""
        return any(one.left for one in self.games.values())

    def plan(self, game: str, count: int) -> None:
        """Count matches that are to be played."""
        self.games.setdefault(game, GameWork()).left += count

    def drop(self, game: str) -> None:
        """Count a match that is not to be played after all, or has failed."""
        self.games[game].left -= 1

    def end(self, game: str, work: float) -> None:
        """Count a match that has ended and what it took."""
        one = self.games.setdefault(game, GameWork())
        one.left -= 1
        one.ended += 1
        one.work += work

    def share(self, ended: Counter[str], seconds: float) -> None:
        """Count matches that ended together, and share the time they took among their games.

        They share it by what a match of each game took so far.
        """
        weights = {game: count * self.work_of(game) for game, count in ended.items()}
        whole = sum(weights.values())
        for game, count in ended.items():
            each = seconds * weights[game] / whole / count if whole else seconds / ended.total()
            for _ in range(count):
                self.end(game, each)

    def work_of(self, game: str) -> float:
        """What a match of a game takes: of its own matches, or by what others take."""
        one = self.games.get(game, GameWork())
        if one.ended:
            return one.work / one.ended
        return self.expected.get(game, self._usual()) * self._scale()

    def _usual(self) -> float:
        """What a match of any game is expected to take, or took where nothing is expected."""
        if self.expected:
            return sum(self.expected.values()) / len(self.expected)
        ended = sum(one.ended for one in self.games.values())
        return sum(one.work for one in self.games.values()) / ended if ended else 1.0

    def _scale(self) -> float:
        """How much more matches took than was expected of them."""
        known = [one for game, one in self.games.items() if game in self.expected]
        expected = sum(
            one.ended * self.expected[game]
            for game, one in self.games.items()
            if game in self.expected
        )
        return sum(one.work for one in known) / expected if expected else 1.0

    def remaining(self, under_way: float = 0.0) -> float:
        """The work that is left.

        Args:
            under_way: work that was done on matches that have not ended; at most nine tenths of
                what is left.
        """
        whole = sum(one.left * self.work_of(game) for game, one in self.games.items())
        return whole - min(under_way, 0.9 * whole)

    def after(self, seconds: float, under_way: float = 0.0, elsewhere: int = 0) -> float | None:
        """Seconds until the end, this long after the beginning; None where nobody can tell yet.

        What is told follows the counted progress slowly, so that it does not jump.

        Args:
            under_way: as for :meth:`remaining`.
            elsewhere: matches that others ended of those that are left here; like those that
                ended here, one with another.
        """
        ended = sum(one.ended for one in self.games.values())
        here = sum(one.work for one in self.games.values())
        others = elsewhere * here / ended if ended else 0.0
        done = here + under_way + others
        speed = self._speed(seconds, done)
        if not speed or seconds < BEGINNING:
            return None
        left = max(0.0, self.remaining(under_way) - others) / speed
        if self._told is not None:
            then, told = self._told
            part = 1 - math.exp(-(seconds - then) / STEADY)
            left = part * left + (1 - part) * max(0.0, told - (seconds - then))
        self._told = seconds, left
        return left

    def so_far(self, seconds: float, made: float) -> float | None:
        """Seconds until the end, where so much work was done in all, on matches under way too."""
        ended = sum(one.work for one in self.games.values())
        return self.after(seconds, max(0.0, made - ended))

    def rest_of(self, taken: float, made: float) -> float:
        """What the work that is left is going to take, where so much work took so much."""
        ended = sum(one.work for one in self.games.values())
        return taken / made * self.remaining(max(0.0, made - ended))

    def _speed(self, seconds: float, done: float) -> float:
        """Work a second of late."""
        if not self._samples or seconds - self._samples[-1][0] >= 1:
            self._samples.append((seconds, done))
        while len(self._samples) > 1 and self._samples[1][0] <= seconds - max(WINDOW, seconds / 3):
            self._samples.popleft()
        then, before = self._samples[0] if len(self._samples) > 1 else (0.0, 0.0)
        return (done - before) / max(seconds - then, 1e-9)
