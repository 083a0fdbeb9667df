"""Add participants of a study: their responses, games and payments."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "participants",
        sa.Column("id", sa.Integer, primary_key=True),
        _study(),
        sa.Column("code", sa.String, nullable=False, unique=True),
        sa.Column("cohort", sa.String, nullable=False),
        sa.Column("step", sa.String, nullable=False),
        sa.Column("visit", sa.Integer, nullable=False),
        sa.Column("ending", sa.String),
        sa.Column("known_as", sa.String),
        sa.Column("language", sa.String),
        sa.Column("flags", sa.JSON, nullable=False),
        sa.Column("begun", sa.Float, nullable=False),
        sa.Column("changed", sa.Float, nullable=False),
    )
    op.create_index("participants_by_study", "participants", ["study_id"])
    op.create_table(
        "responses",
        _participant(primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("step", sa.String, nullable=False),
        sa.Column("visit", sa.Integer, nullable=False),
        sa.Column("game", sa.Integer, nullable=False),
        sa.Column("answer", sa.JSON, nullable=False),
        sa.Column("right", sa.Boolean),
        sa.Column("shown", sa.Float),
        sa.Column("answered", sa.Float, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "plays",
        _participant(primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("treatment", sa.String, nullable=False),
        sa.Column("game", sa.String, nullable=False),
        sa.Column("room", sa.String),
        sa.Column("match_id", sa.String),
        sa.Column("place", sa.String),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("payoff", sa.Float),
        sa.Column("cents", sa.Integer),
        sa.Column("assigned", sa.Float, nullable=False),
        sa.Column("ended", sa.Float),
        sqlite_with_rowid=False,
    )
    op.create_index("plays_by_match", "plays", ["match_id"])
    op.create_table(
        "notices",
        sa.Column("id", sa.Integer, primary_key=True),
        _participant(),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("wanted", sa.String),
        sa.Column("sent", sa.Float, nullable=False),
        sa.Column("due", sa.Float),
        sa.Column("answered", sa.Float),
        sa.Column("right", sa.Boolean),
    )
    op.create_table(
        "payouts",
        sa.Column("id", sa.Integer, primary_key=True),
        _study(),
        sa.Column("form", sa.String, nullable=False),
        sa.Column("by", sa.String, nullable=False),
        sa.Column("people", sa.Integer, nullable=False),
        sa.Column("cents", sa.Integer, nullable=False),
        sa.Column("made", sa.Float, nullable=False),
    )
    op.create_table(
        "payments",
        sa.Column("id", sa.Integer, primary_key=True),
        _study(),
        sa.Column(
            "participant_id", sa.Integer, sa.ForeignKey("participants.id", ondelete="SET NULL")
        ),
        sa.Column("key", sa.String, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("cents", sa.Integer, nullable=False),
        sa.Column("made", sa.Float, nullable=False),
        sa.Column("payout_id", sa.Integer, sa.ForeignKey("payouts.id")),
        sa.UniqueConstraint("participant_id", "key"),
    )
    op.create_index("payments_by_study", "payments", ["study_id"])
    op.create_table(
        "recruitments",
        _study(primary_key=True),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("keep_until", sa.Float),
        sa.Column("changed", sa.Float, nullable=False),
    )


def _study(*, primary_key: bool = False) -> sa.Column[int]:
    """Return a foreign-key column that links a row to its study."""
    key = sa.ForeignKey("studies.id", ondelete="CASCADE")
    return sa.Column("study_id", sa.Integer, key, primary_key=primary_key, nullable=False)


def _participant(*, primary_key: bool = False) -> sa.Column[int]:
    """Return a foreign-key column that links a row to its participant, with cascading deletion."""
    key = sa.ForeignKey("participants.id", ondelete="CASCADE")
    return sa.Column("participant_id", sa.Integer, key, primary_key=primary_key, nullable=False)
