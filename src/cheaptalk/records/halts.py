"""Why a study's last run stopped before its end, kept for whoever looks at the store later."""

import sqlalchemy as sa

from cheaptalk.records import schema
from cheaptalk.records.store import Store

studies = schema.studies


def note_halt(store: Store, study_id: int, reason: str | None) -> None:
    """Note why a study's run stopped; None where it did not, or one is just beginning."""
    with store.transaction() as connection:
        connection.execute(sa.update(studies).where(studies.c.id == study_id).values(halted=reason))
