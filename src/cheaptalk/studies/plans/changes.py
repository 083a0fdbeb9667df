"""Changes of a study: what running a plan does to the matches that a store has of it."""

from contextlib import suppress
from typing import NamedTuple

from cheaptalk.records import Store, StoreError
from cheaptalk.records.cache import differences
from cheaptalk.rules import CheaptalkError, counted
from cheaptalk.studies.plans.plan import Plan
from cheaptalk.studies.study import parse_study


class StudyChanges(NamedTuple):
    """How a plan differs from what a store has of its study.

    Attributes:
        study: its name.
        differences: what is written otherwise, a sentence each: first the plan, then the store.
        recorded: the study's matches in the store.
        set_aside: those of them that running the plan would set aside.
        planned: matches of the plan.
    """

    study: str
    differences: list[str]
    recorded: int
    set_aside: int
    planned: int

    @property
    def line(self) -> str | None:
        """What running the plan does to the matches, in words; None where it only goes on.

        >>> StudyChanges("small", ["seed is 1; what is stored has 0"], 4, 3, 6).line
        '3 of its 4 recorded matches would be set aside, and 5 would be new'
        """
        new = self.planned - (self.recorded - self.set_aside)
        if self.set_aside:
            recorded = counted(self.recorded, "recorded match")
            return (
                f"{self.set_aside:,} of its {recorded} would be set aside, and {new:,} would be new"
            )
        if self.differences and self.recorded:
            return f"its {counted(self.recorded, 'recorded match')} stay, and {new:,} are new"
        return None


def changes(planned: Plan, store: Store) -> StudyChanges:
    """What running a plan would change about its study in a store; nothing is written."""
    name = planned.study.name
    try:
        spec = store.study(name, counted=False).spec
    except StoreError:
        return StudyChanges(name, [], 0, 0, len(planned.matches))
    written = planned.study.written()
    if spec != written:
        with suppress(CheaptalkError):  # one imported, or of another version, is compared as it is
            spec = parse_study(spec, name).written()
    found = list(differences(written, spec))
    playable = {configuration.digest for configuration in planned.matches.configurations()}
    recorded, aside = store.count_members(name), 0
    same = not found and store.configurations(name) <= playable
    if recorded and planned.whole and not same:  # else the ids of a plan need not be looked at
        aside = recorded - store.count_members(name, (match.id for match in planned.matches))
    return StudyChanges(name, found, recorded, aside, len(planned.matches))
