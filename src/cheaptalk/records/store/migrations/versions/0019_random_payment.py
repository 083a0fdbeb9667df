"""Add the paid games and rounds to participants' games, and rename ``one_game`` in studies."""

from typing import Any

import sqlalchemy as sa
from alembic import op

from cheaptalk.records.store.migrations.vocabulary import rewrite

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.add_column("plays", sa.Column("paid", sa.Boolean))
    op.add_column("plays", sa.Column("paid_rounds", sa.JSON))
    rewrite("studies", "id", "spec", _renamed)


def _renamed(study: dict[str, Any]) -> dict[str, Any]:
    people = study.get("people") or {}
    if "one_game" not in (pay := people.get("pay") or {}):
        return study
    pay = {"paid_games" if name == "one_game" else name: value for name, value in pay.items()}
    pay["paid_games"] = 1 if pay["paid_games"] else "all"
    return study | {"people": people | {"pay": pay}}
