"""Corrected texts of studies that already have participants in a store."""

from contextlib import suppress

from cheaptalk.records import Store
from cheaptalk.records.people.corrections import correct_texts, has_participants
from cheaptalk.records.store.lookup import StoreLike, reads
from cheaptalk.studies.lookup import stored_study
from cheaptalk.studies.people.differences import Differences, differences
from cheaptalk.studies.study import Study, StudyError


@reads
def changes_since(store: StoreLike, corrected: Study) -> Differences | None:
    """Compare a study with its stored version, whose texts participants have read.

    The result is None if the store has no participants of the study, or its stored version is not
    valid in this version of cheaptalk.
    """
    assert isinstance(store, Store)
    if corrected.people is None or not has_participants(store, store.study_id(corrected.name)):
        return None
    with suppress(StudyError):
        return differences(stored_study(store, corrected.name), corrected)
    return None


@reads
def record_correction(
    store: StoreLike, corrected: Study, by: str = "", reason: str = ""
) -> int | None:
    """Record which texts of a study differ from those that participants have read, if any.

    Return the new version of the texts; None if they have not changed.
    """
    assert isinstance(store, Store)
    found = changes_since(store, corrected)
    if found is None or not found.texts:
        return None
    study_id = store.study_id(corrected.name)
    work = correct_texts(study_id, corrected.written(), found.texts, by, reason)
    with store.transaction() as connection:
        return work(connection)
