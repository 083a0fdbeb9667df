"""Add model costs, provider batches and judges' verdicts."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

OF_MATCHES = {
    "cached_tokens": sa.Integer,
    "reasoning_tokens": sa.Integer,
    "dollars": sa.Float,
    "unpriced": sa.Integer,
}


def upgrade() -> None:
    for name, kind in OF_MATCHES.items():
        op.add_column("matches", sa.Column(name, kind))
    op.add_column("calls", sa.Column("batch", sa.Integer))
    op.create_table(
        "batches",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("model", sa.String, nullable=False),
        sa.Column("tag", sa.String, nullable=False),
        sa.Column("name", sa.String),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("calls", sa.Integer, nullable=False),
        sa.Column("planned", sa.Float, nullable=False),
        sa.Column("submitted", sa.Float),
        sa.Column("collected", sa.Float),
    )
    op.create_table(
        "judges",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("digest", sa.String, nullable=False, unique=True),
        sa.Column("spec", sa.JSON, nullable=False),
    )
    op.create_table(
        "judgements",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("match_id", sa.String, nullable=False),
        sa.Column("judge", sa.String, nullable=False),
        sa.Column("item", sa.String, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("verdict", sa.JSON),
        sa.Column("calls", sa.JSON, nullable=False),
        sa.Column("made", sa.Float, nullable=False),
        sa.UniqueConstraint("match_id", "judge", "item"),
    )
