"""How many calls of a match brought no count of their tokens."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("matches", sa.Column("uncounted", sa.Integer))
