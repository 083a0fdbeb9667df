"""The first schema: where migrations begin. A new store has the newest one at once."""

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Nothing: every store that is migrated has it."""
