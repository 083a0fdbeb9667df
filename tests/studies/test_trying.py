"""Checks and previews before a run: illegal settings, missing API keys and participants."""

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
    message = r'fifty: "player_10" answered .* 0 to 20, not 50; correct'
    with pytest.raises(ct.studies.StudyError, match=message):
        try_strategies(ct.plan(study(**FIFTY)))
    players = FIFTY["players"] | {"tiny": {"model": "vllm/tiny"}}
    made = study(**FIFTY | {"players": players, "pairing": [["tiny"] * 9 + ["fifty"]]})
    with pytest.raises(ct.studies.StudyError, match=message):  # with substitutes for the models
        try_strategies(ct.plan(made))


def test_plan_lists_what_players_lack_but_does_not_fail(
    cheaptalk: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    written = study(**with_model(model="openai/gpt-4o")).written()
    (tmp_path / "model.yaml").write_text(yaml.safe_dump(written))
    need = "players.tiny: set the environment variable OPENAI_API_KEY"
    done = cheaptalk("plan model.yaml")
    assert done.status == 0
    assert done.out.rstrip().endswith(f"Before a run:\n- {need}")
    missing = {"need": "set the environment variable OPENAI_API_KEY", "players": ["tiny"]}
    assert cheaptalk("plan model.yaml --json").json["missing"] == [missing]
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    assert "Before a run" not in cheaptalk("plan model.yaml").out


def test_plan_shows_steps_cost_and_obstacles_of_participants(
    cheaptalk: Command, tmp_path: Path
) -> None:
    people = {
        "title": {"en": "Money", "de": "Geld"},
        "recruitment": {"source": "prolific", "places": 4},
        "codes": dict.fromkeys(("complete", "screened_out", "quota_full"), "C1"),
        "path": [{"consent": {"text": "Play."}}, {"games": {"max": 2}}],
        "pay": {"base": 1.5, "game": 0.25},
    }
    players = {"human": {"person": "browser"}, "fair": {"strategy": "equal_split"}}
    human = study(players=players, pairing=[["human", "fair"]], instances=2, people=people)
    (tmp_path / "human.yaml").write_text(yaml.safe_dump(human.written()))
    preview = cheaptalk("plan human.yaml --json").json["participants"]
    assert (preview["places"], preview["steps"]) == (4, ["consent", "games"])
    assert preview["without_deadline"] == ["human"]
    assert preview["untranslated"] == {"de": ["path.0.consent.text"]}
    lines = cheaptalk("plan human.yaml").out.splitlines()
    shortage = "4 places of up to 2 games may need 8 seats, but the plan has 2."
    assert lines[lines.index("Participants: up to 4 (source: prolific)") :] == [
        "Participants: up to 4 (source: prolific)",
        "Steps: consent, games",
        "Paying participants costs 8.00 USD for 4 places.",
        f"{shortage} Add instances, or the last participants cannot be matched.",
        "players.human: without a deadline, other participants may wait forever",
        "people.codes has no completion code for failed_attention",
        "people.codes has the same completion code for several endings",
        "people.contact is missing",
        "1 text without a translation into 'de': path.0.consent.text",
        "",
        "Before a run:",
        "- players.human: people play with: cheaptalk serve",
    ]
