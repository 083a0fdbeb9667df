"""Corrected texts of studies that already have participants in a store."""

from contextlib import suppress

from cheaptalk.records import Store
from cheaptalk.records.people.corrections import correct_texts, has_participants
from cheaptalk.studies.lookup import stored_study
from cheaptalk.studies.people.differences import Differences, differences
from cheaptalk.studies.study import Study, StudyError


def changes_since(store: Store, study: Study) -> Differences | None:
    """Compare a study with its stored version, whose texts participants have read.

    The result is None if the store has no participants of the study, or its stored version is not
    valid in this version of cheaptalk.
    """
    if study.people is None or not has_participants(store, store.study_id(study.name)):
        return None
    with suppress(StudyError):
        return differences(stored_study(store, study.name), study)
    return None


def record_correction(store: Store, study: Study, by: str = "", reason: str = "") -> int | None:
    """Record which texts of a study differ from those that participants have read, if any.

    Return the new version of the texts; None if they have not changed.
    """
    found = changes_since(store, study)
    if found is None or not found.texts:
        return None
    work = correct_texts(store.study_id(study.name), study.written(), found.texts, by, reason)
    with store.transaction() as connection:
        return work(connection)
