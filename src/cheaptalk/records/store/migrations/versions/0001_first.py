"""The initial schema, from which all migrations start."""

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Do nothing, because every store that is migrated already has this schema."""
