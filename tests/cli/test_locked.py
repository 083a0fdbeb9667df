"""Commands that write to a locked store fail first, naming the process that holds it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import cheaptalk as ct
from cheaptalk.studies import RunState
from cheaptalk.studies.plans.matches import PlannedMatch
from cheaptalk.studies.runs import scripted
from tests.cli import CASES, write_study
from tests.conftest import Command
from tests.fakes import Server, with_model

COMMANDS = CASES["commands_that_write"]
STATE = RunState.model_validate(
    CASES["run_state"]
    | {"study": "big", "pid": 4321, "planned": 8, "done": 2, "left": 5, "failed": 0, "forfeited": 0}
)


@pytest.fixture
def locked_store(cheaptalk: Command, tmp_path: Path) -> Iterator[ct.Store]:
    """Yield a locked store with half a study; the other half is priced and has changed."""
    price = {"models": ["vllm/*"], "input": 100, "output": 100, "as_of": "2026-01-01"}
    (tmp_path / "prices.yaml").write_text(yaml.safe_dump([price]))
    (tmp_path / "games").mkdir()
    with Server() as server:
        write_study(**with_model(server.url))
        assert cheaptalk("run small.yaml --max-matches 1").status == 0
        write_study(**with_model(server.url), seed=1)
        with ct.Store.open(tmp_path / "cheaptalk.sqlite") as store, store.writing():
            yield store


def test_locked_store_is_reported_before_anything_else(
    cheaptalk: Command, locked_store: ct.Store
) -> None:
    for command in COMMANDS:
        done = cheaptalk(*command)
        assert (done.status, done.out) == (2, "")
        assert len(done.err.splitlines()) == 1, "no estimate and no prompt"
        advice = "wait until it ends, or stop it"
        assert f"another cheaptalk process is writing to the store; {advice}" in done.err
    locked_store.backend.mailbox.write_state(STATE.model_dump_json())
    for command in COMMANDS:
        assert cheaptalk(*command).said == (
            "error: cheaptalk.sqlite: another cheaptalk process is writing to the store: process "
            '4321 is running "big" (2 of 8 matches ended); wait for it to end, or control it '
            "with: cheaptalk control big --store cheaptalk.sqlite"
        )


def test_scripted_run_locks_the_store_from_the_start(
    cheaptalk: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = list[str]()
    original = scripted.play_chunk

    def play_chunk(matches: list[PlannedMatch]) -> scripted.Chunk:
        with ct.Store.open(tmp_path / "cheaptalk.sqlite") as store:
            with pytest.raises(ct.records.StoreLocked) as error:
                ct.studies.check_free(store)
            errors.append(str(error.value))
        return original(matches)

    monkeypatch.setattr(scripted, "play_chunk", play_chunk)
    assert cheaptalk("run quickstart --max-matches 1").status == 0
    assert [f'process {os.getpid()} is running "quickstart"' in text for text in errors] == [True]


def test_read_only_commands_work_on_a_locked_store(
    cheaptalk: Command, locked_store: ct.Store
) -> None:
    judge = COMMANDS[2]
    for command in (("plan", "small.yaml"), ("status",), (*judge, "--show-prompt")):
        assert cheaptalk(*command).status in (0, 2)
        assert "another cheaptalk" not in cheaptalk(*command).err
