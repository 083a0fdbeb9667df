"""A run reports the share of each kind of answer, unless all answers are valid."""

import json
import re
from pathlib import Path

import yaml

from cheaptalk.rules import counted
from tests.conftest import Command
from tests.fakes import Server, spec, with_model


def write_study(folder: Path, url: str) -> None:
    study = spec(
        **with_model(url, tries=2), unanswered={"unparsable": "replace", "max_replacements": 1}
    )
    (folder / "small.yaml").write_text(yaml.safe_dump(study))


def test_run_reports_shares_of_answer_kinds(cheaptalk: Command, tmp_path: Path) -> None:
    with Server(answerer=lambda messages: "I say nothing.") as server:
        write_study(tmp_path, server.url)
        done = cheaptalk("run", "small.yaml")
        again = cheaptalk("run", "small.yaml", "--json")
    assert done.status == 0
    assert "small: 12 of 12 matches ended" in done.out
    assert "  tiny: 12 responses, 100.0 % unparsable" in done.out.splitlines()
    assert "fair: " not in done.out, "a script's answers say nothing about a model"
    data = json.loads(again.out)
    assert (data["planned"], data["before"], data["answers"]) == (12, 12, {})


def test_answer_kinds_are_reported_per_model(cheaptalk: Command, tmp_path: Path) -> None:
    players = {"mute": {"model": "script/refuse"}, "well": {"model": "script/legal"}}
    study = spec(players=players, pairing=[["mute", "well"], ["well", "well"]])
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(study))
    done = cheaptalk("run", "small.yaml", "--store", "s.sqlite")
    data = json.loads(cheaptalk("run", "small.yaml", "--store", "t.sqlite", "--json").out)
    lines = [line for line in done.out.splitlines() if re.match(r"  \w+: \d+ responses?, ", line)]
    refused, fine = data["answers"]["mute"]["refused"], data["answers"]["well"]["ok"]
    assert lines == [
        f"  mute: {counted(refused, 'response')}, 100.0 % refused",
        f"  well: {counted(fine, 'response')}, 100.0 % ok",
    ]


def test_valid_answers_are_not_reported(cheaptalk: Command, tmp_path: Path) -> None:
    with Server() as server:
        write_study(tmp_path, server.url)
        done = cheaptalk("run", "small.yaml")
    assert "6 of 6 matches ended" in done.out
    assert " responses, " not in done.out
