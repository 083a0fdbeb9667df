"""How far a run is."""

from collections import Counter
from dataclasses import dataclass, field

from cheaptalk.calls.cache import CacheUse
from cheaptalk.calls.orders import RunState
from cheaptalk.records import Status
from cheaptalk.records.costs import Cost
from cheaptalk.records.endings import ended_text
from cheaptalk.records.exclusions import Excluded
from cheaptalk.records.record import SETTLED
from cheaptalk.rules import counted
from cheaptalk.rules.display import brief, html_table


@dataclass
class Progress:
    """How far a run is.

    Attributes:
        planned, before: matches of the plan, and those of them that had ended before this run.
        rest: matches of the study that have not ended and that this run is not to play, as its plan
            is a part of the study's.
        elsewhere: matches that other runs of the study have ended meanwhile.
        forfeited_before, forfeited_elsewhere: the forfeited ones among these; the second is known
            once this run is over.
        counts: this run's matches by status.
        problems: why matches failed or were forfeited, counted.
        kinds: this run's answers of models and people in matches that ended, by player and kind.
        excluded: the study's matches that its policy drops from measures, and those dealt afresh,
            over all its runs, once this one is over.
        set_aside: matches of earlier forms of the study that this run found, and no report counts.
        unresolved: calls of earlier runs whose replies were never recorded.
        halted: why the run stops before its end, if it does.
        short: whether it stops because the study's own budget allows no more.
        uncountable: whether it stops because a cap needs tokens counted that nobody counts.
        used_up: matches that failed because ``budget.per_match`` allows no more.
        cost: what the study has taken over all its runs, once this one is over.
        state: how the run is doing while models play, about once a second anew.
        seconds_left: until the end, as estimated by the work left of each game; None where nobody
            can tell yet.
        dollars_left: that the rest is going to take, as estimated by what calls took so far in this
            run, from 20 of them on; None before, and where nobody knows.
        batches: how far the providers' batches are, in words.
        waiting: calls in batches that have not ended, when the run stops.
        log_open: whether the last matches are still in the log beside the store's file, as another
            program was reading it when the run stopped: a copy of the file would lack them.
        cached: what came from the cache, when the run stops.
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
            text += f", {self.set_aside:,} of earlier forms set aside"
        return brief(self, f"{text}, halted: {self.halted}" if self.halted else text)

    def _repr_html_(self) -> str:
        rows = [("before this run", self.before)]
        if self.set_aside:
            rows += [("set aside, of earlier forms of the study", self.set_aside)]
        if self.elsewhere:
            rows += [("by other runs meanwhile", self.elsewhere)]
        rows += [(f"{status.value} now", count) for status, count in self.counts.items()]
        rows += [
            (f"{label}: {kind}", n)
            for label, all_ in self.kinds.items()
            for kind, n in all_.items()
        ]
        notes = [f"{counted(count, 'match')}: {why}" for why, count in self.problems.items()]
        notes += [f"halted: {self.halted}"] if self.halted else []
        return html_table(
            self.summary, ["what", "count"], [(one, f"{n:,}") for one, n in rows], notes
        )

    @property
    def summary(self) -> str:
        """How many matches have ended, and how.

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
        """How many matches of the plan have ended, and how, whichever run played them."""
        return ended_text(self.done, self.planned, forfeited=self.forfeited, failed=self.failed)

    @property
    def forfeited(self) -> int:
        """Matches of the plan that a player forfeited, before, in this run or in others."""
        return self.forfeited_here + self.forfeited_elsewhere

    @property
    def forfeited_here(self) -> int:
        """Those of them that this run ended, or found."""
        return self.forfeited_before + self.counts[Status.FORFEITED]

    @property
    def done(self) -> int:
        """Matches of the plan that have ended, before, in this run or in others meanwhile."""
        return self.here + self.elsewhere

    @property
    def here(self) -> int:
        """Those of them that this run ended, or found."""
        return self.before + sum(self.counts[status] for status in SETTLED)

    @property
    def left(self) -> int:
        return self.planned - self.done

    @property
    def failed(self) -> int:
        return self.counts[Status.FAILED]
