"""Corrections of the texts that participants read, recorded with reason and author.

The definition of a study contains its current texts. Each correction stores the texts before and
after it, so that every earlier version can be restored. No correction is ever changed or deleted.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from cheaptalk import __version__
from cheaptalk.records.identity import study_digest
from cheaptalk.records.ledger.ledger import deferred
from cheaptalk.records.people.rows import Correction
from cheaptalk.records.store import schema
from cheaptalk.records.store.reader import StoreReader

FIRST_VERSION = 1
"""The version of texts that no one has corrected."""
corrections, studies = schema.corrections, schema.studies


class TextChange(NamedTuple):
    """A changed text.

    Attributes:
        text: its location in the study file, such as ``people.path.0.consent.text``.
        language: code of the language; empty if the text has no languages.
        before, after: the text; None if it was added or removed.
    """

    text: str
    language: str
    before: str | None
    after: str | None


class MadeCorrection(NamedTuple):
    """A correction of one or more texts; ``version`` is the number of the resulting version.

    ``made`` is in seconds since 1970.
    """

    version: int
    made: float
    by: str
    reason: str
    changes: list[TextChange]


@deferred
def correct_texts(
    connection: sa.Connection,
    study_id: int,
    spec: Mapping[str, Any],
    changes: Sequence[TextChange],
    by: str,
    reason: str,
) -> int:
    """Replace a study's definition by one with other texts, and return the texts' new version.

    The definition and the record of the correction are written in the caller's transaction.
    """
    name = connection.scalar(sa.select(studies.c.name).where(studies.c.id == study_id))
    latest = sa.select(sa.func.max(corrections.c.version))
    version = connection.scalar(latest.where(corrections.c.study_id == study_id)) or FIRST_VERSION
    row = {
        "study_id": study_id,
        "version": version + 1,
        "made": time.time(),
        "by": by,
        "reason": reason,
        "changes": [change._asdict() for change in changes],
    }
    connection.execute(sa.insert(corrections), row)
    values = {"spec": dict(spec), "package": __version__, "digest": study_digest(str(name), spec)}
    connection.execute(sa.update(studies).where(studies.c.id == study_id).values(values))
    return int(version) + 1


def text_version(store: StoreReader, study_id: int) -> int:
    """Return the current version of a study's texts, which counts from 1."""
    latest = sa.select(sa.func.max(corrections.c.version))
    return store.scalar(latest.where(corrections.c.study_id == study_id)) or FIRST_VERSION


def made_corrections(store: StoreReader, study_id: int) -> list[MadeCorrection]:
    """Return the corrections of a study's texts, oldest first."""
    names = ("version", "made", "by", "reason", "changes")
    query = (
        sa.select(*(corrections.c[name] for name in names))
        .where(corrections.c.study_id == study_id)
        .order_by(corrections.c.id)
    )
    return [
        MadeCorrection(version, made, by, reason, [TextChange(**change) for change in changes])
        for version, made, by, reason, changes in store.rows(query)
    ]


def corrections_of(store: StoreReader, study: str) -> Iterator[Correction]:
    """Yield each corrected text of a study in order."""
    for made in made_corrections(store, store.study_id(study) or 0):
        for change in made.changes:
            yield Correction(made.version, made.made, made.by, made.reason, *change)


def has_participants(store: StoreReader, study_id: int) -> bool:
    """Return whether a study has had participants whose data are not deleted."""
    people = schema.participants
    return (
        store.scalar(sa.select(people.c.id).where(people.c.study_id == study_id).limit(1))
        is not None
    )
