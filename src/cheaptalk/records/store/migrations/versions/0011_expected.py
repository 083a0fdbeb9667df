"""The number of matches that a study should contain, by which a truncated copy is detected."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("studies", sa.Column("expected", sa.Integer))
