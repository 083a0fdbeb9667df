"""Rename metrics in the bonus rules of studies, such as "{seat}_gain" to "self_gain_{seat}"."""

from collections.abc import Collection
from typing import Any

from cheaptalk.records.store.migrations.vocabulary import rewrite
from cheaptalk.renamed import RENAMED_METRICS

revision = "0015"
down_revision = "0014"

NEW = {(game, old): new for old, new, games in RENAMED_METRICS for game in games}


def upgrade() -> None:
    rewrite("studies", "id", "spec", _renamed)


def _renamed(study: dict[str, Any]) -> dict[str, Any]:
    people = study.get("people") or {}
    pay = people.get("pay") or {}
    if not pay.get("bonus"):
        return study
    # a study without games plays those of another study
    games = {grid["game"] for grid in study.get("games") or ()} or {game for game, _ in NEW}
    bonus = [new for rule in pay["bonus"] for new in _rules(rule, games)]
    return study | {"people": people | {"pay": pay | {"bonus": bonus}}}


def _rules(rule: dict[str, Any], games: Collection[str]) -> list[dict[str, Any]]:
    """Return a bonus rule with the new name, or one rule per game if the games' names differ."""
    metric = rule.get("metric")
    if metric is None:
        return [rule]
    owners = [rule["game"]] if rule.get("game") else sorted(games)
    names = {game: NEW.get((game, metric), metric) for game in owners}
    if len(set(names.values())) == 1:
        return [rule | {"metric": names[owners[0]]}]
    return [rule | {"game": game, "metric": name} for game, name in names.items()]
