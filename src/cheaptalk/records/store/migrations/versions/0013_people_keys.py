"""Rename keys of human studies, such as "max" for "most", in studies stored since 0012."""

from cheaptalk.records.store.migrations.vocabulary import renamed_study, rewrite

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    rewrite("studies", "id", "spec", renamed_study)
