"""The progress and cost of the studies in a store."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cheaptalk.records import Cost, Excluded, Forfeit, Status, Store, StudySummary, excluded
from cheaptalk.records.judgements import judging_cost
from cheaptalk.records.ledger.spending import paid_by_others, study_cost
from cheaptalk.records.record import SETTLED
from cheaptalk.rules.display import brief
from cheaptalk.studies.lookup import reads_study
from cheaptalk.studies.plans.plan import planned_count


@dataclass(frozen=True)
class StudyStatus:
    """The progress and cost of a study.

    Attributes:
        summary: the stored study, with its matches by state.
        planned: number of planned matches; None if unknown.
        excluded: numbers of matches excluded from metrics, and of replacement matches.
        problems: number of failed matches by reason.
        forfeits: number of matches by game and forfeit.
        cost: cost of the players' calls in all runs.
        paid_by_others: matches shared with other studies, by the study that paid for the calls.
        judging: cost of judging the study's matches.
    """

    summary: StudySummary
    planned: int | None
    excluded: Excluded
    problems: Mapping[str, int]
    forfeits: Mapping[tuple[str, Forfeit], int]
    cost: Cost
    paid_by_others: Mapping[str, int]
    judging: Cost

    def __repr__(self) -> str:
        planned = "?" if self.planned is None else f"{self.planned:,}"
        stored = sum(self.summary.counts.values())
        return brief(self, f"{self.name}, {stored:,} of {planned} matches stored{self._by_state}")

    @property
    def _by_state(self) -> str:
        """Numbers of stored matches by state, as text."""
        counts = self.summary.counts
        named = {str(status): str(status) for status in Status} | {"live": "in progress"}
        parts = [f"{counts[state]:,} {name}" for state, name in named.items() if counts.get(state)]
        return f": {', '.join(parts)}" if parts else ""

    @property
    def name(self) -> str:
        return self.summary.name

    @property
    def ended(self) -> int:
        """Number of finished or forfeited matches."""
        return sum(self.summary.counts.get(status.value, 0) for status in SETTLED)

    def as_json(self) -> dict[str, Any]:
        """Return the status as plain data."""
        imported = self.summary.spec.get("imported") and not self.cost.calls
        return {
            "name": self.name, "planned": self.planned, "matches": self.summary.counts,
            "set_aside": self.summary.set_aside, **self.excluded._asdict(),
            "halted": self.summary.halted, "problems": self.problems,
            "forfeits": [
                {"game": game, **forfeit._asdict(), "matches": count}
                for (game, forfeit), count in self.forfeits.items()
            ],
            "cost": None if imported else self.cost.as_json(),
            "paid_by_others": self.paid_by_others, "judging": self.judging.as_json(),
        }  # fmt: skip


@reads_study
def study_status(store: Store, study: str) -> StudyStatus:
    """Return the status of a study in a store, whether or not it is running.

    Raises:
        StoreError: the store has no such study.
    """
    return _status(store, store.study(study))


def statuses(store: Store | Path | str) -> list[StudyStatus]:
    """Return the status of all studies in a store, in the order of creation.

    Raises:
        StoreError: the store does not exist.
    """
    with Store.opened(store) as opened:
        return [_status(opened, summary) for summary in opened.studies()]


def _status(store: Store, summary: StudySummary) -> StudyStatus:
    name, stored = summary.name, sum(summary.counts.values())
    planned = planned_count(summary, store) if "players" in summary.spec else stored
    return StudyStatus(
        summary, None if planned is None else max(stored, planned), excluded(store, name),
        store.problems(name), store.forfeits(name), study_cost(store, name),
        paid_by_others(store, name), judging_cost(store, name),
    )  # fmt: skip
