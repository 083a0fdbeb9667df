"""Mark the matches that a study currently contains."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("members", sa.Column("current", sa.Boolean, nullable=False, server_default="1"))
