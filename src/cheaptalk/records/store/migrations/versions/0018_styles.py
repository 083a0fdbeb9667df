"""Name prompt styles for people after the codes of their languages."""

from cheaptalk.records.store.migrations.vocabulary import renamed_styles, rewrite

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    rewrite("studies", "id", "spec", renamed_styles)
    rewrite("players", "id", "spec", renamed_styles)
