"""Keys and metrics from before version 0.1 raise errors that name the new ones."""

import re
from typing import Any

import pytest

from cheaptalk.renamed import RENAMED_KEYS, RENAMED_METRICS, RENAMED_PLACEHOLDERS
from cheaptalk.studies import StudyError, parse_study

ITEM = {"name": "sum", "ask": "1 + 1?", "choices": ["1", "2"], "correct": "2"}


def study(**changes: Any) -> dict[str, Any]:
    players = {"human": {"person": "browser"}, "bot": "random"}
    data = {"name": "old", "games": [{"game": "bargaining"}], "players": players}
    return data | {"pairing": [["human", "bot"]], "people": {"path": ["games"]}} | changes


def people(path: Any = "games", **pay: Any) -> dict[str, Any]:
    return study(people={"path": [path], "pay": pay})


OLD_KEYS = {
    "deals": study(deals=3),
    "deals_from": study(deals_from="other"),
    "least": people(bonus=[{"rate": 1, "least": 0}]),
    "may_stop": people({"games": {"may_stop": True}}),
    "measure": people(bonus=[{"rate": 1, "measure": "agreement"}]),
    "most": people(most=3),
    "nothing": people(bonus=[{"rate": 1, "nothing": 0}]),
    "otherwise": people({"comprehension": {"items": [ITEM], "otherwise": "go_on"}}),
    "redeals": study(unanswered={"refused": "replace", "redeals": 2}),
    "right": people({"survey": [{"name": "sum", "ask": "1 + 1?", "right": "2"}]}),
    "same": people({"games": {"same": True}}),
    "stand_ins": people({"games": {"lobby": {"stand_ins": True}}}),
    "together": people({"games": {"together": True}}),
    "why": people({"comprehension": [ITEM | {"why": "Count."}]}),
}


def test_every_renamed_key_is_tested() -> None:
    assert OLD_KEYS.keys() == RENAMED_KEYS.keys()


def test_old_key_raises_error_with_new_key() -> None:
    for key in RENAMED_KEYS:
        with pytest.raises(StudyError, match=f'"{key}" \\(renamed to "{RENAMED_KEYS[key]}"\\)'):
            parse_study(OLD_KEYS[key], "old.yaml")


def test_old_placeholder_raises_error_with_new_placeholder() -> None:
    for old, new in RENAMED_PLACEHOLDERS.items():
        data = people(bonus=[{"rate": 1, "metric": f"{old}_gain"}])
        with pytest.raises(StudyError, match=f"placeholder {old} was renamed to {new}"):
            parse_study(data, "old.yaml")


def test_old_metric_of_bonus_raises_error_with_new_metric() -> None:
    for old, new, games in RENAMED_METRICS:
        for game in games:
            changes = people(bonus=[{"rate": 1, "metric": "score", "game": "pirate_game"}])
            data = changes | {"games": [{"game": game}]}
            parse_study(data, "unused rule.yaml")
            data["people"]["pay"]["bonus"].append({"rate": 1, "metric": old})
            problem = f'bonus.1.metric: {game} has no metric "{old}" (renamed to "{new}")'
            with pytest.raises(StudyError, match=re.escape(problem)):
                parse_study(data, "old.yaml")
