"""The command that finds out how an agent bargains."""

import json
from pathlib import Path

import pytest

from tests.conftest import Command

BATTERY = """
name: mine-1
sizes: {small: 3}
panel:
  fair: {meaning: offers half, player: equal_split}
  hard: {meaning: gives way late, player: {strategies: {bargaining: boulware}}}
parts:
  pie: {title: A pie, game: bargaining, fixed: {money: 100, horizon: 3, messages: false}}
"""
PROFILE = ("profile", "script/legal", "--label", "mine", "--battery", "mine.yaml")


@pytest.fixture
def at_home(cheaptalk: Command, tmp_path: Path) -> Command:
    """The command line in a folder with a small battery."""
    (tmp_path / "mine.yaml").write_text(BATTERY)
    return cheaptalk


def test_gates_decide_the_status_and_a_file_says_so(at_home: Command, tmp_path: Path) -> None:
    passed = at_home(*PROFILE, "--require", "earned >= -1", "--junit", "gates.xml")
    assert passed.status == 0
    assert "weaknesses tested was found in mine" in passed.out
    assert "\nEarned, against the baselines: 0." in passed.out
    assert (tmp_path / "mine-profile.html").exists()
    assert 'failures="0"' in (tmp_path / "gates.xml").read_text()
    assert at_home(*PROFILE, "--require", "earned >= 2").status == 1
    open_yet = at_home(*PROFILE, "--require", "earned >= 0.25", "--json")
    assert open_yet.status == 3
    told = json.loads(open_yet.out)
    assert told["gates"][0]["verdict"] == "open"
    assert told["numbers"].keys() == json.loads(
        (tmp_path / "mine-profile.json").read_text()
    )["numbers"].keys()  # fmt: skip
    before = ("--compare-to", "mine-profile.json", "--json-file", "now.json")
    again = at_home(*PROFILE, *before)
    assert (
        "the player was not called; if the model has changed, test it with another --store"
        in again.said
    )
    assert "no metric changed significantly" in again.out
    assert "the player was not called" in at_home(*PROFILE, *before, "-q").said
    assert at_home(*PROFILE, *before, "--require", "change.earned >= -0.1").status == 0
    page = (tmp_path / "mine-profile.html").read_text(encoding="utf-8")
    assert "1 of 1 pass" in page
    assert "Since mine, 0 of" in page


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--require", "earnd >= 0.4"), 'by mine-1 has no metric "earnd" (did you mean "earned"?)'),
        (("--require", "change.earned >= 0"), "a gate on a change requires --compare-to"),
        (("--compare-to", "before.json"), "compare profiles by the same battery"),
        (("--compare-to", "large.json"), "compare profiles of the same size"),
        (("--size", "huge"), 'mine-1 has no size "huge"'),
        (
            ("--add-baseline", "equal_split", "--add-baseline", "fair"),
            'already has a player "fair"',
        ),
    ],
)
def test_what_cannot_be_is_told_before_anything_is_played(
    at_home: Command, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    before = {"format": 2, "player": "x", "battery": "mine-1", "size": "large",
              "values": {"rows": {}}}  # fmt: skip
    (tmp_path / "large.json").write_text(json.dumps(before))
    (tmp_path / "before.json").write_text(json.dumps(before | {"battery": "other-1"}))
    done = at_home(*PROFILE, *options)
    assert done.status == 2
    assert said in done.said
    assert not (tmp_path / "cheaptalk.sqlite").exists()


def test_players_of_rosters_and_of_the_panel_are_named(at_home: Command) -> None:
    assert at_home("profile", "panel/hard", "--battery", "mine.yaml").status == 0
    for player, said in (
        ("panel/hrd", 'mine-1 has no baseline "hrd" (did you mean "hard"?)'),
        ("glee:gpt-9", 'glee: unknown player "gpt-9" (did you mean "gpt-4o"?)'),
        ("glee:gpt-4o,o3-mini", "glee:gpt-4o,o3-mini: expected one player, got 2"),
        ("glee:gpt-4o", "set the environment variable OPENAI_API_KEY"),
        ("agent/mine@127.0.0.1:1/act", "write agent/mine@http://127.0.0.1:1/act"),
        ("agent@http://127.0.0.1:1/act", 'unknown provider "agent@http:" (did you mean "agent"?)'),
    ):
        done = at_home("profile", player, "--battery", "mine.yaml")
        assert (done.status, said in done.said) == (2, True), done.err


def test_who_forfeits_most_matches_passes_no_gate_but_on_that(at_home: Command) -> None:
    nonsense = ("profile", "script/echo", "--label", "mad", "--battery", "mine.yaml")
    done = at_home(*nonsense, "--require", "mistakes <= 5", "--require", "regret <= 9")
    assert done.status == 1
    assert "mad forfeited" in done.said
    assert "Valid at once: 0.00" in done.out
    assert "Earned, against the baselines: " not in done.out
    assert "mistakes <= 5: open" in done.out
    assert at_home(*nonsense, "--require", "valid >= 0.9").status == 1


def test_who_is_away_halts_it_and_the_same_command_goes_on(at_home: Command) -> None:
    away = "agent/mine@http://127.0.0.1:1/act"
    done = at_home("profile", away, "--battery", "mine.yaml", "--retry-timeout", "0")
    assert done.status == 4
    assert "no server answers" in done.out
    assert (
        f"continue with: cheaptalk profile {away} --battery mine.yaml --retry-timeout 0" in done.out
    )
