"""The status of launched studies, counted again only when a study's store changes."""

import asyncio

from cheaptalk.records import Store, StoreNotFound
from cheaptalk.studies.status import Stage, StudyStatus, Turnout, counted_status
from cheaptalk.web.laboratory.folder import Folder
from cheaptalk.web.participants.experiment import Experiment


class StudyStatuses:
    """The statuses of a laboratory's studies, cached until a study's store changes.

    Methods raise :class:`.UnknownName` if a study does not exist.
    """

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._known: dict[str, tuple[object, StudyStatus]] = {}

    async def get(self, name: str) -> StudyStatus:
        return await asyncio.to_thread(self.read, name)

    def read(self, name: str) -> StudyStatus:
        try:
            with Store.open(self.folder.store(name)) as store:
                return self.count(name, store)
        except StoreNotFound:
            return StudyStatus(name)

    def count(self, name: str, store: Store) -> StudyStatus:
        stamp = store.backend.stamp()
        cached = self._known.get(name)
        if cached is None or cached[0] != stamp:
            studies = {study.name: study for study in store.studies(counted=False)}
            begun = name in studies
            status = counted_status(store, studies[name]) if begun else StudyStatus(name)
            cached = self._known[name] = stamp, status
        return cached[1]


def turnout(experiment: Experiment) -> Turnout:
    """Count the participants of a study that is open to them, and their unpaid amounts."""
    people, payments = experiment.people.values(), experiment.forecast_payments()
    return Turnout(
        admitted=len(people),
        active=sum(person.ending is None for person in people),
        completed=sum("complete" in person.journey.endings for person in people),
        places=experiment.protocol.recruitment.places,
        owed=payments.owed,
        currency=payments.currency,
        payments=payments,
    )


def recruitment_stage(experiment: Experiment, people: Turnout) -> tuple[Stage, str]:
    """Return whether newcomers are admitted to a study, and the reason if they are not, or ""."""
    if experiment.state == "closed":
        return Stage.CLOSED, ""
    if experiment.suspended is not None:
        return Stage.PAUSED, "All participants are paused."
    if experiment.state == "paused":
        return Stage.PAUSED, "A researcher has paused recruitment."
    if experiment.quotas.full:
        return Stage.FULL, "All places are taken."
    if people.payments.exceeds_budget:
        return Stage.PAUSED, "Recruitment is paused because of the budget."
    return Stage.OPEN, ""
