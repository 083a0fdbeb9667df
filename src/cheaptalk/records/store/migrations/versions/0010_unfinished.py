"""Add an index of the matches that are not finished."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    unfinished = sa.text("status != 'finished'")
    op.create_index(
        "matches_unfinished", "matches", ["status"],
        sqlite_where=unfinished, postgresql_where=unfinished,
    )  # fmt: skip
