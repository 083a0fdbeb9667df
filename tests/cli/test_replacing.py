"""Commands replace models, and report retired models and missing keys before any call."""

from importlib import import_module

import pytest

import cheaptalk as ct
from tests.cli import write_study
from tests.conftest import Command

doctor = import_module("cheaptalk.doctor")
OLD = "openai/gpt-4-0125-preview"
GEM = "gemini/gemini-1.5-pro"
"""Retired models."""


@pytest.fixture(autouse=True)
def study_file(cheaptalk: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a study with two retired models to the working directory."""
    for key in ("OPENAI_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY"):
        monkeypatch.delenv(key, raising=False)
    players = {"old": {"model": OLD}, "gem": {"model": GEM}}
    write_study(players=players | {"fair": "equal_split"}, pairing="all")


def test_replaced_models_play_under_new_labels(cheaptalk: Command) -> None:
    replace = ("--replace", "gpt-4-0125-preview=script/legal", "--replace", "gem=script/echo")
    data = cheaptalk("plan small.yaml --json", *replace).json
    assert data["replaced"] == {"old": "legal", "gem": "echo"}
    assert (data["retired"], data["missing"]) == ([], [])
    line = "old is replaced with legal (script/legal)"
    assert line in cheaptalk("plan small.yaml", *replace).out.splitlines()
    done = cheaptalk("run small.yaml", *replace)
    assert done.status == 0
    assert line in done.err.splitlines()
    matches = ct.read_matches("cheaptalk.sqlite", "small")["bargaining"]
    assert {*matches["player_alice"], *matches["player_bob"]} == {"legal", "echo", "fair"}


def test_models_replaced_by_the_same_model_become_one_player(cheaptalk: Command) -> None:
    replace = ("--replace", f"{OLD}=script/legal", "--replace", f"{GEM}=script/legal")
    data = cheaptalk("plan small.yaml --json", *replace).json
    assert data["replaced"] == {"old": "legal", "gem": "legal"}
    assert data["matches"] == 4
    line = "gem, old are replaced with legal (script/legal)"
    assert line in cheaptalk("plan small.yaml", *replace).out.splitlines()


def test_stored_study_continues_with_a_replaced_model(cheaptalk: Command) -> None:
    cheaptalk("run small.yaml --replace old=script/legal --replace gem=script/echo")
    done = cheaptalk("run small --replace echo=script/silent --yes --json")
    assert (done.json["before"], done.json["set_aside"]) == (4, 5)
    players = ct.studies.stored_study("cheaptalk.sqlite", "small").players
    assert {*players} == {"legal", "silent", "fair"}


def test_invalid_replacements_are_rejected(cheaptalk: Command) -> None:
    for option, message in [
        ("gpt-4=script/legal", 'small.yaml: replace: "gpt-4" is neither a model of this study nor'),
        ("gpt-4=script/legal", f"models of this study: {GEM}, {OLD}"),
        ("old=linear", '"linear" is not a model string'),
        ("old", "expected OLD=MODEL, e.g. gpt-4=openai/gpt-5-mini, got"),
    ]:
        for command in ("plan", "run"):
            assert message in cheaptalk(command, "small.yaml", "--replace", option).rejection
    twice = ("--replace", "old=script/legal", "--replace", "old=script/echo")
    assert '"old" is replaced twice' in cheaptalk("plan small.yaml", *twice).rejection


def test_options_find_players_with_new_labels(cheaptalk: Command) -> None:
    write_study(pairing=[["gpt-4o", "fair"], ["firm", "fair"]])
    roster = "--roster glee:gpt-4o,o3-mini --replace gpt-4o=script/legal --no-estimate"
    seatings = cheaptalk(f"plan small.yaml {roster} --json").json["seatings"]
    assert ["legal", "fair"] in [seating["seating"] for seating in seatings]
    unseated = "--roster glee:o3-mini --replace o3-mini=script/legal"
    write_study()
    for command in ("plan", "run"):
        rejection = cheaptalk(f"{command} small.yaml {unseated}").rejection
        assert "--roster: no pairing includes a player of glee:o3-mini" in rejection


def test_all_retired_models_and_missing_keys_are_named_before_a_run(cheaptalk: Command) -> None:
    add = "to replace it, add --replace"
    retired = [
        f"players.gem: {GEM} has been retired since 2025-09; {add} gemini-1.5-pro=MODEL",
        f"players.old: {OLD} has been retired since 2026-03; {add} gpt-4-0125-preview=MODEL",
    ]
    missing = [
        "players.gem: set the environment variable GEMINI_API_KEY",
        "players.old: set the environment variable OPENAI_API_KEY",
    ]
    planned = cheaptalk("plan small.yaml").out
    for line in (*retired, *missing):
        assert f"\n- {line}\n" in planned
    data = cheaptalk("plan small.yaml --json").json
    assert data["missing"][0] == {
        "need": "set the environment variable GEMINI_API_KEY",
        "players": ["gem"],
    }
    assert data["retired"][1] == {"model": OLD, "retirement": "2026-03", "players": ["old"]}
    run = cheaptalk("run small.yaml")
    assert run.status == 2
    for line in retired:
        assert f"warning: {line}\n" in run.err
    assert f"error: small.yaml: {'; '.join(missing)}" in run.said


def test_retired_model_can_run_if_a_server_answers(
    cheaptalk: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ct.studies.with_players(
        "small.yaml", replace={OLD: "script/legal", "gem": "script/echo"}
    )
    ct.run(ct.studies.restrict_plan(made, None, limit=1), "cheaptalk.sqlite")
    monkeypatch.setattr("cheaptalk.studies.runs.checks.is_retired", lambda *_: True)
    monkeypatch.setattr("cheaptalk.studies.runs.checks.retirement", lambda _: "2026-03")
    monkeypatch.setattr(doctor, "extras", lambda: {"analysis": ("absent",), "learn": ("absent",)})
    line = "players.legal: script/legal has been retired since 2026-03"
    assert f"--  study small: {line}" in cheaptalk("store doctor").out
    done = cheaptalk("resume small")
    assert done.status == 0
    assert f"warning: {line}" in done.err


def test_served_study_is_checked_like_a_run(cheaptalk: Command) -> None:
    missing = cheaptalk("serve deal-or-no-deal-human --port 0")
    assert "warning: players.model: openai/gpt-4 has been retired since 2026-10-23" in missing.err
    assert "players.model: set the environment variable OPENAI_API_KEY" in missing.rejection
    unknown = cheaptalk("serve deal-or-no-deal-human --replace gpt-5=script/legal").rejection
    assert unknown.endswith("models of this study: openai/gpt-4")
    keyless = cheaptalk("serve deal-or-no-deal-human --replace gpt-4=mistral/x --port 0")
    assert "players.x: set the environment variable MISTRAL_API_KEY" in keyless.rejection
    assert "retired" not in keyless.err
    assert "only valid with a STUDY" in cheaptalk("serve --replace a=script/legal").rejection
