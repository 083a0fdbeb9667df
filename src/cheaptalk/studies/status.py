"""The status of the studies in a store: stage, matches, cost, times and participants."""

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa

from cheaptalk.calls.commands import ControlError, RunState, live_state
from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.records import Cost, Excluded, Forfeit, Status, Store, StudySummary, count_excluded
from cheaptalk.records.descriptions import ended_text
from cheaptalk.records.judgements import judging_cost
from cheaptalk.records.ledger.spending import paid_by_others, study_cost
from cheaptalk.records.record import SETTLED
from cheaptalk.records.store import schema
from cheaptalk.records.store.lookup import StoreLike, StudyLike, reads
from cheaptalk.rules import counted
from cheaptalk.studies.estimates.payments import PaymentForecast
from cheaptalk.studies.plans.plan import planned_count

NO_COST = Cost()


class Stage(StrEnum):
    """The stage of a study: of its run, or of its recruitment if participants join it."""

    NOT_BEGUN = "not begun"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"
    DONE = "done"
    OPEN = "open"
    CLOSED = "closed"
    FULL = "full"
    UNOPENED = "cannot be opened"
    UNREADABLE = "cannot be read"

    @property
    def under_way(self) -> bool:
        """Whether a run is in progress."""
        return self in (Stage.RUNNING, Stage.PAUSED, Stage.STOPPING)


class Turnout(NamedTuple):
    """Participant counts and unpaid amounts of a study.

    Attributes:
        active: number of participants who have not ended their visit.
        completed: number of participants who have completed the study at least once.
        places: maximum of ``completed``, or None.
        owed: unpaid amounts in cents that are in no payout.
        payments: the payments so far, and a forecast.
    """

    admitted: int
    active: int
    completed: int
    places: int | None
    owed: int
    currency: str
    payments: PaymentForecast


@dataclass(frozen=True, repr=False)
class StudyStatus(Printed):
    """The status of a study: its stage, matches, cost, times and participants.

    Attributes:
        stage: the stage; STOPPED, if the last run ended before all planned matches.
        reason: why the run stopped or failed, or why the study cannot be opened, or "".
        planned: number of planned matches; None if unknown.
        games: numbers of matches by game and state, without superseded matches.
        superseded: number of superseded matches.
        halted: the stored reason why the last run stopped early, or None.
        failures: number of forfeited or failed matches by game and reason, most frequent first.
        cost: cost of the players' calls in all runs; unresolved calls are in flight or lost.
        last, changed: Unix times of the end of the last match and of a participant's last step.
        judged: number of judgements in the store.
        run: the state that the run publishes; None if no run is in progress or it is starting.
        people: the participants; None for studies without participants.
        imported: whether the study was imported.
        excluded: numbers of matches excluded from metrics, and of replacement matches.
        problems: number of failed matches by reason, grouped across requests.
        forfeits: number of matches by game and forfeit.
        paid_by_others: matches shared with other studies, by the study that paid for the calls.
        judging: cost of judging the study's matches.
    """

    name: str
    stage: Stage = Stage.NOT_BEGUN
    reason: str = ""
    planned: int | None = None
    games: Mapping[str, Counter[Status]] = field(default_factory=dict)
    superseded: int = 0
    halted: str | None = None
    failures: Counter[tuple[str, str]] = field(default_factory=Counter)
    cost: Cost = NO_COST
    last: float | None = None
    changed: float | None = None
    judged: int = 0
    run: RunState | None = None
    people: Turnout | None = None
    imported: bool = False
    excluded: Excluded = field(default_factory=Excluded)
    problems: Mapping[str, int] = field(default_factory=dict)
    forfeits: Mapping[tuple[str, Forfeit], int] = field(default_factory=dict)
    paid_by_others: Mapping[str, int] = field(default_factory=dict)
    judging: Cost = NO_COST

    def printout(self) -> Printout:
        planned = "?" if self.planned is None else f"{self.planned:,}"
        text = f"{self.name}, {self.counts.total():,} of {planned} matches stored"
        named = {status: str(status) for status in Status} | {Status.LIVE: "in progress"}
        counts = [f"{self.counts[state]:,} {named[state]}" for state in self.counts]
        title = f"{text}: {', '.join(counts)}" if counts else text
        rows = [
            (game, *(found[state] for state in self.counts)) for game, found in self.games.items()
        ]
        notes = [f"the study is {self.stage}{f' ({self.reason})' if self.reason else ''}"]
        notes += [f"the last run halted: {self.halted}"] if self.halted else []
        notes += [f"cost: {self.cost.printout().title}"] if self.cost.sendings else []
        notes += [f"{game}: {n:,} x {why}" for (game, why), n in self.failures.items()]
        if self.people is not None:
            people = counted(self.people.admitted, "participant")
            notes.append(f"{people}, {self.people.active:,} active")
        return Printout(title, ["game", *(named[state] for state in self.counts)], rows, notes)

    @property
    def counts(self) -> Counter[Status]:
        """Numbers of stored matches by state, without states that no match has."""
        counts = sum(self.games.values(), Counter[Status]())
        return Counter({status: counts[status] for status in Status if counts[status]})

    @property
    def done(self) -> int:
        """Number of finished and forfeited matches."""
        return self.run.done if self.run else sum(self.counts[status] for status in SETTLED)

    @property
    def how_far(self) -> str:
        """Number of ended matches and their outcomes, as text."""
        if self.run is not None:
            return self.run.how_far
        forfeited, failed = self.counts[Status.FORFEITED], self.counts[Status.FAILED]
        return ended_text(self.done, self.planned, forfeited=forfeited, failed=failed)

    @property
    def calls(self) -> int:
        """Number of calls to models."""
        return self.run.calls if self.run else self.cost.calls

    @property
    def dollars(self) -> float:
        """Cost of the calls, as far as prices are known."""
        return (self.run.dollars or 0) if self.run else self.cost.dollars

    @property
    def marker(self) -> list[object]:
        """JSON-compatible value that changes whenever the study's results change."""
        return [self.games, self.last, self.judged, self.changed]


@reads
def study_status(store: StoreLike, study: StudyLike) -> StudyStatus:
    """Return the status of a study in a store, whether or not it is running.

    Raises:
        StoreError: the store has no such study.
    """
    assert isinstance(store, Store)
    assert isinstance(study, str)
    return _complete_status(store, store.study(study, counted=False))


def statuses(store: Store | Path | str) -> list[StudyStatus]:
    """Return the status of all studies in a store, in the order of creation.

    Raises:
        StoreError: the store does not exist.
    """
    with Store.opened(store) as opened:
        return [_complete_status(opened, study) for study in opened.studies(counted=False)]


def _complete_status(store: Store, summary: StudySummary) -> StudyStatus:
    name, status = summary.name, counted_status(store, summary)
    stored = status.counts.total()
    planned = planned_count(summary, store) if "players" in summary.spec else stored
    with suppress(ControlError):
        run = live_state(store)
        if run is not None and run.study == name:
            status = replace(status, stage=Stage(run.state), run=run)
    return replace(
        status,
        planned=None if planned is None else max(stored, planned),
        imported=bool(summary.spec.get("imported")),
        excluded=count_excluded(store, name),
        problems=store.problems(name),
        forfeits=store.forfeits(name),
        paid_by_others=paid_by_others(store, name),
        judging=judging_cost(store, name),
    )


def counted_status(store: Store, study: StudySummary) -> StudyStatus:
    """Return the part of a study's status that a few queries of the database count.

    The fields from ``imported`` on keep their defaults.
    """
    matches, members, people = schema.matches.c, schema.members.c, schema.participants.c
    is_member = members.study_id == store.study_id(study.name)
    columns = schema.configurations.c.game, matches.status, matches.reason
    query = (
        sa.select(*columns, sa.func.count(), sa.func.max(matches.finished))
        .join(schema.members, members.match_number == matches.number)
        .join(schema.configurations, schema.configurations.c.id == matches.configuration_id)
        .where(is_member, members.current)
        .group_by(*columns)
    )
    games: dict[str, Counter[Status]] = {}
    failures: Counter[tuple[str, str]] = Counter()
    ends: list[float] = []
    with store.reading() as connection:
        for game, status, reason, number, ended in connection.execute(query):
            games.setdefault(game, Counter())[Status(status)] += number
            if reason is not None:
                failures[game, reason] += number
            ends += [ended] if ended is not None else []
        old = sa.select(sa.func.count()).where(is_member, members.current.is_(False))
        superseded = connection.scalar(old) or 0
        judged = connection.scalar(sa.select(sa.func.count()).select_from(schema.judgements)) or 0
        changed = connection.scalar(sa.select(sa.func.max(people.changed)))
    status = StudyStatus(
        study.name,
        planned=study.planned,
        games=dict(sorted(games.items())),
        superseded=superseded,
        halted=study.halted,
        failures=Counter(dict(failures.most_common())),
        cost=study_cost(store, study.name),
        last=max(ends, default=None),
        changed=changed,
        judged=judged,
    )
    complete = status.planned is not None and status.done >= status.planned
    return replace(status, stage=Stage.DONE if complete else Stage.STOPPED)
