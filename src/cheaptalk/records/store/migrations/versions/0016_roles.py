"""Add the roles of seats to configurations, and recreate the views with more columns."""

import sqlalchemy as sa
from alembic import op

from cheaptalk.records.identity import Configuration

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.add_column("configurations", sa.Column("roles", sa.JSON))
    names = ("id", "game", "version", "parameters", "roles")
    table = sa.table(
        "configurations",
        *(sa.column(name, sa.JSON if name in names[-2:] else None) for name in names),
    )
    connection = op.get_bind()
    for id_, *values in connection.execute(sa.select(*(table.c[name] for name in names[:-1]))):
        if roles := dict(Configuration(*values).roles):
            connection.execute(sa.update(table).where(table.c.id == id_).values(roles=roles))
