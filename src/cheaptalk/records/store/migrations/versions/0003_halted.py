"""Add the reason why a study's last run stopped early."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("studies", sa.Column("halted", sa.Text))
