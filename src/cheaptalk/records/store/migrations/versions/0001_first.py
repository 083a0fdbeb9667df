"""The first schema, where migrations begin; new stores are created with the newest schema."""

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Do nothing: every store that is migrated already has this schema."""
