"""Correction of a study's texts while participants take part."""

from cheaptalk.records.people import corrections as rows
from cheaptalk.rules import CheaptalkError
from cheaptalk.studies.people.differences import differences
from cheaptalk.studies.people.path import Journey
from cheaptalk.studies.study import Study
from cheaptalk.web.participants.experiment import Experiment
from cheaptalk.web.participants.people import Participant


async def correct_texts(experiment: Experiment, study: Study, by: str, reason: str) -> int:
    """Record a correction, and use the texts of ``study`` for all pages from now on.

    Pages that are already open stay as they are until their participants submit or reload them. No
    participant moves to another step. Return the new version of the texts.

    Raises:
        CheaptalkError: the studies differ in a rule, or in no text.
    """
    async with experiment.admitting:
        found = differences(experiment.study, study)
        if found.rule or not found.texts:
            raise CheaptalkError(
                found.rule or "the design changes no text; there is nothing to correct"
            )
        assert study.people is not None
        for person in experiment.people.values():
            Journey(study.people, person.journey.responses)  # raises if the path has changed
        version = await experiment.write(
            rows.correct_texts(experiment.study_id, study.written(), found.texts, by, reason)
        )
        experiment.study, experiment.protocol = study, study.people
        experiment.quotas.protocol = study.people
        experiment.text_version = version
        for person in list(experiment.people.values()):
            async with person.lock:  # after a response that is being recorded
                person.journey = Journey(experiment.protocol, person.journey.responses)
                person.quiz = None
        return version


def text_version_of(experiment: Experiment, person: Participant) -> int:
    """Return the version of the texts on a participant's current page."""
    is_current = person.journey.protocol is experiment.protocol
    return experiment.text_version if is_current else experiment.text_version - 1
