"""The schema of the oldest supported stores, from which all migrations start."""

revision = "0011"
down_revision = None


def upgrade() -> None:
    """Do nothing, because every store that is migrated already has this schema."""
