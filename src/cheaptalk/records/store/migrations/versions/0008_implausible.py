"""How many calls of a match brought a count of tokens that cannot be true."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("matches", sa.Column("implausible", sa.Integer))
