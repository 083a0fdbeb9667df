"""Add the number of matches in a study's plan."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("studies", sa.Column("planned", sa.Integer))
