"""Add the table of metrics, which is filled when frames are made, and recreate the views."""

import sqlalchemy as sa
from alembic import op

from cheaptalk.records.store.column_types import Words

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    match = sa.ForeignKey("matches.number", ondelete="CASCADE")
    op.create_table(
        "metrics",
        sa.Column("match_number", sa.Integer, match, primary_key=True),
        sa.Column("definitions", Words, nullable=False),
        sa.Column("numbers", sa.LargeBinary, nullable=False),
    )
