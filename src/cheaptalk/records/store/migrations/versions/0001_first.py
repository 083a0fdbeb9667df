"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def of_study() -> sa.ForeignKey:
    return sa.ForeignKey("studies.id", ondelete="CASCADE")


def of_configuration() -> sa.ForeignKey:
    return sa.ForeignKey("configurations.id")


def upgrade() -> None:
    op.create_table(
        "studies",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String, nullable=False, unique=True),
        sa.Column("spec", sa.JSON, nullable=False),
        sa.Column("package", sa.String, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
    )
    op.create_table(
        "configurations",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("digest", sa.String, nullable=False, unique=True),
        sa.Column("game", sa.String, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("parameters", sa.JSON, nullable=False),
    )
    op.create_table(
        "players",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("digest", sa.String, nullable=False, unique=True),
        sa.Column("spec", sa.JSON, nullable=False),
    )
    op.create_table(
        "rosters",
        sa.Column(
            "study_id",
            sa.Integer,
            sa.ForeignKey("studies.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("player_id", sa.Integer, sa.ForeignKey("players.id"), primary_key=True),
        sa.Column("label", sa.String, nullable=False),
    )
    op.create_table(
        "matches",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("id", sa.String, nullable=False, unique=True),
        sa.Column(
            "configuration_id", sa.Integer, sa.ForeignKey("configurations.id"), nullable=False
        ),
        sa.Column("deal", sa.String, nullable=False),
        sa.Column("repeat", sa.Integer, nullable=False),
        sa.Column("seats", sa.JSON, nullable=False),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("outcome", sa.JSON),
        sa.Column("payoffs", sa.JSON),
        sa.Column("kinds", sa.JSON),
        sa.Column("calls", sa.Integer, nullable=False),
        sa.Column("input_tokens", sa.Integer, nullable=False),
        sa.Column("output_tokens", sa.Integer, nullable=False),
        sa.Column("finished", sa.Float),
        sa.Column("body", sa.LargeBinary),
    )
    op.create_index("matches_by_configuration", "matches", ["configuration_id"])
    op.create_table(
        "members",
        sa.Column(
            "study_id",
            sa.Integer,
            sa.ForeignKey("studies.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("match_number", sa.Integer, sa.ForeignKey("matches.number"), primary_key=True),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "calls",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("match_id", sa.String, nullable=False),
        sa.Column("request", sa.Integer, nullable=False),
        sa.Column("seat", sa.String, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("try", sa.Integer, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("call", sa.JSON, nullable=False),
        sa.Column("reply", sa.JSON),
        sa.Column("sent", sa.Float, nullable=False),
        sa.Column("received", sa.Float),
        sa.UniqueConstraint("match_id", "request", "seat", "attempt", "try"),
    )


def downgrade() -> None:
    for name in ("calls", "members", "matches", "rosters", "players", "configurations", "studies"):
        op.drop_table(name)
