"""Add the number of a match's calls without a token count."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("matches", sa.Column("uncounted", sa.Integer))
