"""Progress of a run: its planned, ended and failed matches, and its remaining time."""

from collections import Counter
from dataclasses import dataclass, field

from cheaptalk.calls.cache import CacheUse
from cheaptalk.calls.commands import RunState
from cheaptalk.records import Status
from cheaptalk.records.costs import Cost
from cheaptalk.records.descriptions import ended_text
from cheaptalk.records.exclusions import Excluded
from cheaptalk.records.record import SETTLED
from cheaptalk.rules import counted
from cheaptalk.rules.display import brief, html_table


@dataclass
class Progress:
    """Counts of a run's matches, failures and answers, with its state and remaining time.

    Attributes:
        planned, before: number of planned matches, and of those that ended before this run.
        rest: unfinished matches of the study that are not in this run's plan.
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
        seconds_left: estimated seconds until the end; None if unknown.
        dollars_left: estimated remaining cost, based on this run's calls; None before 20 calls or
            if prices are unknown.
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
    elsewhere: int = 0
    forfeited_before: int = 0
    forfeited_elsewhere: int = 0
    log_open: bool = False

    def __repr__(self) -> str:
        text = self.summary
        if self.set_aside:
            text += f", {self.set_aside:,} of earlier versions superseded"
        return brief(self, f"{text}, halted: {self.halted}" if self.halted else text)

    def _repr_html_(self) -> str:
        rows = [("before this run", self.before)]
        if self.set_aside:
            rows += [("superseded, from earlier versions of the study", self.set_aside)]
        if self.elsewhere:
            rows += [("by other runs", self.elsewhere)]
        rows += [(f"{status.value} now", count) for status, count in self.counts.items()]
        for label, counts in self.kinds.items():
            rows += [(f"{label}: {kind}", n) for kind, n in counts.items()]
        notes = [f"{counted(count, 'match')}: {why}" for why, count in self.problems.items()]
        notes += [f"halted: {self.halted}"] if self.halted else []
        counted_rows = [(name, f"{n:,}") for name, n in rows]
        return html_table(self.summary, ["what", "count"], counted_rows, notes)

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
