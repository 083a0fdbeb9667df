"""The command that profiles how an agent bargains."""

import json
from pathlib import Path

import pytest
import yaml

from tests.cli import CASES
from tests.conftest import Command

PROFILE = ("profile", "script/legal", "--label", "mine", "--battery", "mine.yaml")


@pytest.fixture
def cli(cheaptalk: Command, tmp_path: Path) -> Command:
    """Return the command line in a folder with a small battery."""
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(CASES["small_battery"]))
    return cheaptalk


def test_gates_set_the_exit_status_and_junit_file(cli: Command, tmp_path: Path) -> None:
    passed = cli(*PROFILE, "--require", "earned >= -1", "--junit", "gates.xml")
    assert passed.status == 0
    assert "weaknesses tested was found in mine" in passed.out
    assert "\nEarned, against the baselines: 0." in passed.out
    assert (tmp_path / "mine-profile.html").exists()
    assert 'failures="0"' in (tmp_path / "gates.xml").read_text()
    assert cli(*PROFILE, "--require", "earned >= 2").status == 1
    open_yet = cli(*PROFILE, "--require", "earned >= 0.25", "--json")
    assert open_yet.status == 3
    result = open_yet.json
    assert result["gates"][0]["verdict"] == "open"
    assert (
        result["numbers"].keys()
        == json.loads((tmp_path / "mine-profile.json").read_text())["numbers"].keys()
    )
    before = ("--compare-to", "mine-profile.json", "--json-file", "now.json")
    again = cli(*PROFILE, *before)
    assert (
        "the player was not called; if the model has changed, test it with another --store"
        in again.said
    )
    assert "no metric changed significantly" in again.out
    again = cli(*PROFILE, *before, "-q", "--require", "change.earned >= -0.1")
    assert (again.status, "the player was not called" in again.said) == (0, True)
    page = (tmp_path / "mine-profile.html").read_text(encoding="utf-8")
    assert "1 of 1 pass" in page
    assert "Since mine, 0 of" in page


def test_players_are_taken_from_panels_and_rosters(cli: Command) -> None:
    assert cli("profile panel/hard --battery mine.yaml").status == 0
    for player, message in CASES["players_are_taken_from_panels_and_rosters"]:
        done = cli("profile", player, "--battery", "mine.yaml")
        assert (done.status, message in done.said) == (2, True), done.err


def test_gates_do_not_pass_after_frequent_forfeits(cli: Command) -> None:
    nonsense = ("profile", "script/echo", "--label", "mad", "--battery", "mine.yaml")
    done = cli(*nonsense, "--require", "mistakes <= 5", "--require", "regret <= 9")
    assert done.status == 1
    assert "mad forfeited" in done.said
    assert "Valid at once: 0.00" in done.out
    assert "Earned, against the baselines: " not in done.out
    assert "mistakes <= 5: open" in done.out
    assert cli(*nonsense, "--require", "valid >= 0.9").status == 1
