"""Scripted players are tried before a run, so that illegal settings are found at once."""

from pathlib import Path
from typing import Any

import pytest
import yaml

import cheaptalk as ct
from cheaptalk.studies import try_strategies
from tests.conftest import Command
from tests.fakes import study, with_model

FIFTY: dict[str, Any] = {
    "games": [{"game": "guess_the_average", "fixed": {"maximum": 20}}],
    "players": {"fifty": {"strategy": "fixed"}, "luck": {"strategy": "random"}},
    "pairing": [["luck"] * 10, ["luck"] * 9 + ["fifty"]],
}


def test_illegal_setting_raises_error_with_reason() -> None:
    with pytest.raises(
        ct.StudyError, match=r'fifty: "player_10" answered .* 0 to 20, not 50; correct'
    ):
        try_strategies(ct.plan(study(**FIFTY)))


def test_strategy_among_models_is_tried_with_substitutes() -> None:
    players = FIFTY["players"] | {"tiny": {"model": "vllm/tiny"}}
    made = study(**FIFTY | {"players": players, "pairing": [["tiny"] * 9 + ["fifty"]]})
    with pytest.raises(ct.StudyError, match='fifty: "player_10"'):
        try_strategies(ct.plan(made))


def test_legal_strategies_pass() -> None:
    try_strategies(ct.plan(study()))
    try_strategies(ct.plan(study(**with_model())))


def test_plan_and_run_reject_illegal_settings(cheaptalk: Command, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(yaml.safe_dump(study(**FIFTY).written()))
    for command in ("plan", "run"):
        done = cheaptalk(command, "bad.yaml")
        assert done.status == 2
        assert "trial match of guess_the_average by " in done.said
    assert cheaptalk("status").said.startswith("error: no store at")
