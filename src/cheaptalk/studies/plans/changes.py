"""Comparison of a plan with the matches of its study in a store."""

from contextlib import suppress
from typing import NamedTuple

from cheaptalk.records import Store, StoreError
from cheaptalk.records.cache import differences
from cheaptalk.rules import CheaptalkError, counted
from cheaptalk.studies.plans.plan import Plan
from cheaptalk.studies.study import parse_study


class StudyChanges(NamedTuple):
    """Differences between a plan and the stored version of its study.

    Attributes:
        differences: a sentence per setting that differs, with the planned and the stored value.
        recorded: number of the study's matches in the store.
        set_aside: number of recorded matches that running the plan would supersede.
    """

    study: str
    differences: list[str]
    recorded: int
    set_aside: int
    planned: int

    @property
    def line(self) -> str | None:
        """The plan's effect on recorded matches; None if a run only resumes the study.

        >>> StudyChanges("small", ["seed is 1 (stored: 0)"], 4, 3, 6).line
        '3 of 4 recorded matches would be superseded, and 5 would be new'
        """
        new = self.planned - (self.recorded - self.set_aside)
        if self.set_aside:
            superseded = f"{self.set_aside:,} of {counted(self.recorded, 'recorded match')}"
            return f"{superseded} would be superseded, and {new:,} would be new"
        if self.differences and self.recorded:
            return f"{counted(self.recorded, 'recorded match')} kept, and {new:,} new"
        return None


def changes(planned: Plan, store: Store) -> StudyChanges:
    """Return the changes that running a plan would make to the stored study."""
    name = planned.study.name
    try:
        spec = store.study(name, counted=False).spec
    except StoreError:
        return StudyChanges(name, [], 0, 0, len(planned.matches))
    current = planned.study.written()
    if spec != current:
        with suppress(CheaptalkError):  # an imported study, or a study of another version
            spec = parse_study(spec, name).written()
    differing = list(differences(current, spec))
    playable = {configuration.digest for configuration in planned.matches.configurations()}
    recorded, superseded = store.count_members(name), 0
    unchanged = not differing and store.configurations(name) <= playable
    if recorded and planned.whole and not unchanged:  # otherwise skip generating all ids
        superseded = recorded - store.count_members(name, (match.id for match in planned.matches))
    return StudyChanges(name, differing, recorded, superseded, len(planned.matches))
