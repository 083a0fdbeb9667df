"""Add the time for which participants' pages were hidden, and pauses of whole studies."""

import sqlalchemy as sa
from alembic import op

from cheaptalk.records.store.column_types import Moment, Number, Whole

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    hidden = sa.Column("hidden_seconds", Number, nullable=False, server_default="0")
    op.add_column("participants", hidden)
    times = sa.Column("hidden_times", Whole, nullable=False, server_default="0")
    op.add_column("participants", times)
    op.add_column("recruitments", sa.Column("suspended", Moment))
