"""Add the order of treatments and the matching group to participants' games."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.add_column("plays", sa.Column("sequence", sa.String))
    op.add_column("plays", sa.Column("matching_group", sa.String))
