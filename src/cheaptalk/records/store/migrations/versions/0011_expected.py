"""Add the number of matches that a study should contain, to detect truncated copies."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("studies", sa.Column("expected", sa.Integer))
