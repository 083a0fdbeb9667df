"""How many matches a study's plan has."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("studies", sa.Column("planned", sa.Integer))
