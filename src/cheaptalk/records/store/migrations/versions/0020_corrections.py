"""Add corrections of texts for participants, and the version of the texts to responses."""

import sqlalchemy as sa
from alembic import op

from cheaptalk.records.store.column_types import LongWords, Moment, Shaped, Whole, Words

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    op.add_column("responses", sa.Column("text_version", Whole))
    op.create_table(
        "corrections",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column(
            "study_id",
            sa.Integer,
            sa.ForeignKey("studies.id", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("version", Whole, nullable=False),
        sa.Column("made", Moment, nullable=False),
        sa.Column("by", Words, nullable=False),
        sa.Column("reason", LongWords, nullable=False),
        sa.Column("changes", Shaped(list), nullable=False),
    )
    op.create_index("corrections_by_study", "corrections", ["study_id"])
