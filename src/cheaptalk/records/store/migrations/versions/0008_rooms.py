"""Add rooms, in which participants meet to play."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "rooms",
        sa.Column("code", sa.String, primary_key=True),
        sa.Column(
            "study_id", sa.Integer, sa.ForeignKey("studies.id", ondelete="CASCADE"), nullable=False
        ),
        sa.Column("kept", sa.JSON, nullable=False),
        sa.Column("changed", sa.Float, nullable=False),
    )
