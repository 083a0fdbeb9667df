"""Running and resuming parts of a study: a few matches, or one of its games."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import cheaptalk as ct
from tests.batch_server import BatchServer
from tests.cli import CASES, write_study
from tests.conftest import Command
from tests.fakes import Server, with_model

GAMES = CASES["games_of_parts"]


def test_partial_run_reports_the_rest_and_resume_plays_it(cheaptalk: Command) -> None:
    write_study(**GAMES)
    done = cheaptalk("run small.yaml --max-matches 2 --max-calls 50")
    assert done.status == 0
    assert "small: 2 of 2 matches ended (0 before, 2 now" in done.out
    again = "cheaptalk resume small --store cheaptalk.sqlite --max-calls 50"
    assert done.out.splitlines()[-1] == f"6 matches left in the study; to play them, run: {again}"
    (known,) = cheaptalk("status --json").json["studies"]
    assert (known["planned"], known["matches"], known["halted"]) == (8, {"finished": 2}, None)
    done = cheaptalk("resume small --game bargaining")
    assert "small: 4 of 4 matches ended (1 before, 3 now" in done.out
    done = cheaptalk(*again.split()[1:], "--json")
    assert (done.json["before"], done.json["rest"]) == (5, 0)
    done = cheaptalk("run small.yaml --max-matches 2")
    assert (done.status, "write a report with" in done.out) == (0, True)
    for command in ("run small.yaml", "resume small"):
        done = cheaptalk(command, "--game", "bargain")
        assert 'the study has no game "bargain" (did you mean "bargaining"?)' in done.rejection


def test_estimate_covers_only_matches_to_be_played(cheaptalk: Command) -> None:
    price = {"models": ["vllm/*"], "input": 100, "output": 100, "as_of": "2026-01-01"}
    Path("prices.yaml").write_text(yaml.safe_dump([price]))
    with Server() as server:
        write_study(**with_model(server.url))
        outputs = [
            cheaptalk(command).err for command in ("run small.yaml --max-matches 2", "resume small")
        ]
    few, more = (int(re.findall(r"estimated (\d+) to \d+ calls", text)[0]) for text in outputs)
    assert 2 * few == more, "two matches, and then the other four"


def test_interrupted_part_continues_as_a_part(
    cheaptalk: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, progress: Callable[[ct.Progress], None], **__: Any) -> None:
        for state in reports:
            progress(state)
        raise KeyboardInterrupt

    reports: list[ct.Progress] = []
    write_study(**GAMES)
    monkeypatch.setattr(ct, "run", interrupted)
    done = cheaptalk("run small.yaml")
    assert (done.status, done.err) == (130, "stopped; no match was played\n")
    reports.append(ct.Progress(2, 0))
    for part in ["--max-matches 2", "--game bargaining", "--game bargaining --max-matches 2"]:
        done = cheaptalk(f"run small.yaml {part}")
        again = f"cheaptalk resume small --store cheaptalk.sqlite {part}"
        assert done.status == 130
        assert done.err.splitlines()[-1] == f"stopped; continue with: {again}"


def test_part_in_batches_is_collected_separately(
    cheaptalk: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    quick = ("--batch", "--poll-interval", "0.01")
    with BatchServer() as server:
        changes = with_model()
        changes["players"]["tiny"] = {"model": f"openai/gpt-4o@{server.url}"}
        write_study(**changes)
        waiting = cheaptalk("run small.yaml", *quick, "--no-wait", "--max-matches", "2")
        assert (waiting.status, server.sizes) == (3, [2])
        assert waiting.out.splitlines()[-1].endswith("sqlite --batch --max-matches 2")
        done = cheaptalk("resume small", *quick, "--max-matches", "2")
        assert (done.status, "2 of 2 matches ended" in done.out) == (0, True)
        done = cheaptalk("resume small", *quick)
        assert "small: 6 of 6 matches ended (2 before" in done.out
