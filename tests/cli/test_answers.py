"""A run says how many answers were of each kind, unless all went well."""

import json
from pathlib import Path

import yaml

from tests.conftest import Command
from tests.fakes import Server, spec, with_model


def written(folder: Path, url: str) -> None:
    study = spec(**with_model(url, tries=2), unanswered={"unparsable": "redeal", "redeals": 1})
    (folder / "small.yaml").write_text(yaml.safe_dump(study))


def test_a_run_says_how_many_answers_were_of_each_kind(cheaptalk: Command, tmp_path: Path) -> None:
    with Server(answerer=lambda messages: "I say nothing.") as server:
        written(tmp_path, server.url)
        done = cheaptalk("run", "small.yaml")
        again = cheaptalk("run", "small.yaml", "--json")
    assert done.status == 0
    assert "small: 12 of 12 matches done" in done.out
    assert "  answers: 66.7 % unparsable, 33.3 % ok" in done.out.splitlines()
    data = json.loads(again.out)
    assert (data["planned"], data["before"], data["answers"]) == (12, 12, {})


def test_where_all_went_well_nothing_is_said_of_it(cheaptalk: Command, tmp_path: Path) -> None:
    with Server() as server:
        written(tmp_path, server.url)
        done = cheaptalk("run", "small.yaml")
    assert "6 of 6 matches done" in done.out
    assert "answers:" not in done.out
