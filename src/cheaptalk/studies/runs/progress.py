"""Progress of a run: its planned, ended and failed matches, and its remaining time."""

import math
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from cheaptalk.calls.cache import CacheUse
from cheaptalk.calls.commands import MEASURED, RunState
from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.records import Status
from cheaptalk.records.costs import Cost
from cheaptalk.records.descriptions import ended_text
from cheaptalk.records.exclusions import Excluded
from cheaptalk.records.record import SETTLED
from cheaptalk.rules import counted
from cheaptalk.text import duration, money, steady


@dataclass(repr=False)
class Progress(Printed):
    """Counts of a run's matches, failures and answers, with its state and remaining time.

    >>> players = {"fair": "equal_split", "firm": "boulware"}
    >>> study = ct.Study(name="two", games=[{"game": "bargaining"}], players=players)
    >>> progress = ct.run(study, "two.sqlite")
    >>> progress, progress.done
    (<Progress: 4 of 4 matches ended>, 4)

    Attributes:
        planned, before: number of planned matches, and of those that ended before this run.
        rest: unfinished matches of the study, without people, that are not in this run's plan.
        people_left: unplayed matches with people, which ``cheaptalk serve`` plays.
        elsewhere: matches that other runs of the study have ended during this run.
        forfeited_before, forfeited_elsewhere: forfeited matches before this run and, when it has
            ended, of other runs.
        counts: this run's matches by status.
        problems: counts of failures and forfeits by reason.
        kinds: answers of models and people in this run's ended matches, by player and kind.
        excluded: when the run has ended, matches of all runs that were excluded from metrics or
            replaced.
        set_aside: superseded matches of earlier versions of the study.
        unresolved: calls of earlier runs without a recorded reply.
        halted: the reason if the run stops early.
        short: whether the run stops because the study's budget is exhausted.
        uncountable: whether the run stops because a cap requires token counts that the server does
            not report.
        used_up: matches that failed because ``budget.per_match`` was exhausted.
        cost: when the run has ended, the cost of the study in all runs.
        state: the run's state while models play, updated about once per second.
        seconds_left: estimated seconds until the end; None before three matches have ended in this
            run, and when the run stops.
        dollars_left: estimated remaining cost, based on this run's calls; None before 20 calls, if
            prices are unknown, and when the run stops.
        batches: the progress of providers' batches as text.
        waiting: calls in unfinished batches when the run has stopped.
        log_open: whether the last matches are only in the store's write-ahead log, because another
            program was reading the store when the run stopped.
        cached: cache usage when the run has stopped.
    """

    planned: int
    before: int
    counts: Counter[Status] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)
    kinds: dict[str, Counter[str]] = field(default_factory=dict)
    excluded: Excluded = field(default_factory=Excluded)
    set_aside: int = 0
    unresolved: int = 0
    halted: str | None = None
    short: bool = False
    uncountable: bool = False
    used_up: int = 0
    state: RunState | None = None
    seconds_left: float | None = None
    dollars_left: float | None = None
    cost: Cost | None = None
    batches: str = ""
    waiting: int = 0
    cached: CacheUse | None = None
    rest: int = 0
    people_left: int = 0
    elsewhere: int = 0
    forfeited_before: int = 0
    forfeited_elsewhere: int = 0
    log_open: bool = False

    def printout(self) -> Printout:
        title = self.summary
        if self.set_aside:
            title += f", {self.set_aside:,} of earlier versions superseded"
        if self.halted:
            title += f", halted: {self.halted}"
        rows = [("before this run", self.before)] if self.before else []
        if self.elsewhere:
            rows += [("by other runs", self.elsewhere)]
        rows += [(f"{status.value} now", count) for status, count in self.counts.items()]
        notes = [
            f"answers of {label}: {', '.join(f'{n:,} {kind}' for kind, n in counts.items())}"
            for label, counts in self.kinds.items()
        ]
        notes += [f"{counted(count, 'match')}: {why}" for why, count in self.problems.items()]
        return Printout(title, ["", "matches"], rows, notes)

    @property
    def summary(self) -> str:
        """The number of ended matches and their outcomes, as text.

        >>> Progress(3, 0, Counter({Status.FORFEITED: 3})).summary
        '3 of 3 matches ended, 3 of them forfeited'
        >>> Progress(6, 2, Counter({Status.FINISHED: 1, Status.FAILED: 3})).summary
        '3 of 6 matches ended; 3 failed (2 before this run)'
        """
        parts = [f"{self.before:,} before this run"] if self.before else []
        if self.elsewhere:
            parts.append(f"{self.elsewhere:,} by other runs")
        return f"{self.how_far} ({', '.join(parts)})" if parts else self.how_far

    @property
    def share(self) -> float:
        """The share of planned matches that have ended, over all runs."""
        return self.done / self.planned if self.planned else 1.0

    @property
    def line(self) -> str:
        """The summary, with the estimated remaining time and cost."""
        return ", ".join([self.summary, *self.forecast, *filter(None, [self.batches])])

    @property
    def forecast(self) -> list[str]:
        """The estimated remaining time and cost as texts; empty if unknown or nothing is left."""
        parts = []
        if self.seconds_left is not None and self.left:
            parts.append(f"about {duration(steady(self.seconds_left))} left")
        if self.dollars_left and self.left:
            parts.append(f"about {money(self.dollars_left)} more")
        return parts

    @property
    def how_far(self) -> str:
        """The number of ended matches in the plan, over all runs, as text."""
        return ended_text(self.done, self.planned, forfeited=self.forfeited, failed=self.failed)

    @property
    def forfeited(self) -> int:
        """Number of forfeited matches in the plan, over all runs."""
        return self.forfeited_here + self.forfeited_elsewhere

    @property
    def forfeited_here(self) -> int:
        """Number of forfeited matches in the plan, excluding those of concurrent runs."""
        return self.forfeited_before + self.counts[Status.FORFEITED]

    @property
    def done(self) -> int:
        """Number of ended matches in the plan, over all runs."""
        return self.here + self.elsewhere

    @property
    def here(self) -> int:
        """Number of ended matches in the plan, excluding those of concurrent runs."""
        return self.before + sum(self.counts[status] for status in SETTLED)

    @property
    def left(self) -> int:
        return self.planned - self.done

    @property
    def failed(self) -> int:
        return self.counts[Status.FAILED]


WINDOW = 60.0
"""Minimum seconds over which speed is measured; the maximum is a third of the run's duration."""
STEADY = 15.0
"""Time constant of the forecast's smoothing, in seconds."""
BEGINNING = 2.0
"""Seconds before the first forecast."""


@dataclass
class GameWork:
    """The unfinished and ended matches of one game in a run, and the work of the ended matches.

    Work is measured in a common unit: calls to models or seconds.
    """

    left: int = 0
    ended: int = 0
    work: float = 0.0


@dataclass
class TimeLeft:
    """An estimator of a run's remaining time from its recorded progress.

    For games without ended matches, it uses the expected work per match.
    """

    games: dict[str, GameWork] = field(default_factory=dict)
    expected: Mapping[str, float] = field(default_factory=dict)
    _samples: deque[tuple[float, float]] = field(default_factory=deque, init=False)
    _last_forecast: tuple[float, float] | None = field(default=None, init=False)

    @property
    def waits(self) -> bool:
        return any(entry.left for entry in self.games.values())

    @property
    def work(self) -> float:
        """The work of all ended matches."""
        return sum(entry.work for entry in self.games.values())

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
        return self.work / ended if ended else 1.0

    def _scale(self) -> float:
        """Return the ratio of observed to expected work."""
        entries = {game: self.games[game] for game in self.games.keys() & self.expected.keys()}
        expected = sum(entry.ended * self.expected[game] for game, entry in entries.items())
        return sum(entry.work for entry in entries.values()) / expected if expected else 1.0

    def remaining(self, under_way: float = 0.0) -> float:
        """Return the work left to do, after deducting the work done on unfinished matches.

        Unfinished matches need at least one more unit, and a quarter of their work so far.
        """
        total = sum(entry.left * self.work_of(game) for game, entry in self.games.items())
        unfinished = sum(entry.left for entry in self.games.values())
        return max(total - under_way, min(total, unfinished), under_way / 4)

    def after(self, seconds: float, under_way: float = 0.0, elsewhere: int = 0) -> float | None:
        """Return the smoothed estimate of the seconds until the run ends; None if unknown.

        Other runs have ended ``elsewhere`` matches; unfinished matches took the work ``under_way``.
        """
        ended = sum(entry.ended for entry in self.games.values())
        work_elsewhere = elsewhere * self.work / ended if ended else 0.0
        work_done = self.work + under_way + work_elsewhere
        speed = self._speed(seconds, work_done)
        if not speed or seconds < BEGINNING or ended < MEASURED:
            return None
        seconds_left = max(0.0, self.remaining(under_way) - work_elsewhere) / speed
        if self._last_forecast is not None:
            forecast_at, forecast = self._last_forecast
            passed = seconds - forecast_at
            part = 1 - math.exp(-passed / STEADY)
            seconds_left = part * seconds_left + (1 - part) * max(0.0, forecast - passed)
        self._last_forecast = seconds, seconds_left
        return seconds_left

    def _speed(self, seconds: float, work_done: float) -> float:
        """Return the recent work per second."""
        if not self._samples or seconds - self._samples[-1][0] >= 1:
            self._samples.append((seconds, work_done))
        while len(self._samples) > 1 and self._samples[1][0] <= seconds - max(WINDOW, seconds / 3):
            self._samples.popleft()
        earlier, earlier_work = self._samples[0] if len(self._samples) > 1 else (0.0, 0.0)
        return (work_done - earlier_work) / max(seconds - earlier, 1e-9)
