"""Add the order of treatments and the matching group to participants' games."""

import sqlalchemy as sa
from alembic import op

from cheaptalk.records.store.column_types import Words

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.add_column("plays", sa.Column("sequence", Words))
    op.add_column("plays", sa.Column("matching_group", Words))
