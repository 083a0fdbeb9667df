"""How far the studies of a store are, and what they have taken."""

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
    """How far a study is.

    Attributes:
        summary: the study as the store holds it, with its matches by state.
        planned: matches it consists of; None where that cannot be told.
        excluded: matches that its policy drops from measures, and those dealt afresh.
        problems: why matches failed, and how many for each reason.
        forfeits: matches by game and who forfeited them.
        cost: what its players' calls took, over all its runs.
        paid_by_others: matches shared with other studies, by the study that paid for their calls.
        judging: what judges of its matches took.
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
        known = "?" if self.planned is None else f"{self.planned:,}"
        stored = sum(self.summary.counts.values())
        return brief(self, f"{self.name}, {stored:,} of {known} matches stored{self._by_state}")

    @property
    def _by_state(self) -> str:
        """What became of the matches stored: those under way have not ended."""
        counts = self.summary.counts
        named = {str(status): str(status) for status in Status} | {"live": "in progress"}
        parts = [f"{counts[state]:,} {name}" for state, name in named.items() if counts.get(state)]
        return f": {', '.join(parts)}" if parts else ""

    @property
    def name(self) -> str:
        """The study's."""
        return self.summary.name

    @property
    def ended(self) -> int:
        """Matches that finished or were forfeited."""
        return sum(self.summary.counts.get(status.value, 0) for status in SETTLED)

    def as_json(self) -> dict[str, Any]:
        """The same as plain data."""
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
    """How far a study in a store is, whether or not it is running.

    Raises:
        StoreError: there is no such study.
    """
    return _status(store, store.study(study))


def statuses(store: Store | Path | str) -> list[StudyStatus]:
    """How far all studies in a store are, in the order in which they were begun.

    Raises:
        StoreError: there is no store.
    """
    with Store.opened(store) as opened:
        return [_status(opened, one) for one in opened.studies()]


def _status(store: Store, summary: StudySummary) -> StudyStatus:
    name, stored = summary.name, sum(summary.counts.values())
    planned = planned_count(summary, store) if "players" in summary.spec else stored
    return StudyStatus(
        summary, None if planned is None else max(stored, planned), excluded(store, name),
        store.problems(name), store.forfeits(name), study_cost(store, name),
        paid_by_others(store, name), judging_cost(store, name),
    )  # fmt: skip
