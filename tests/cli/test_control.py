"""``cheaptalk control``: status output, orders and errors."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import cheaptalk as ct
from cheaptalk.cli.shared.sentences import spent
from cheaptalk.cli.studies import run as control
from cheaptalk.studies import RunState
from tests.batch_server import BatchServer
from tests.cli import CASES
from tests.conftest import Command
from tests.fakes import spec, with_model

STATE = RunState.model_validate(CASES["run_state"])


@pytest.fixture
def orders(cheaptalk: Command, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Mock a run in ``STATE`` and return the orders given to it."""
    given: list[dict[str, Any]] = []

    def order(store: Path, study: str, action: str, **options: Any) -> RunState:
        given.append({"study": study, "action": action} | options)
        return STATE

    ct.Store.open("cheaptalk.sqlite", create=True).close()
    monkeypatch.setattr(ct.studies, "run_state", lambda store, study: STATE)
    monkeypatch.setattr(ct.studies, "control_run", order)
    return given


def test_calls_without_token_counts_are_shown() -> None:
    known = STATE.model_copy(update={"uncounted": 9})
    assert spent(known) == ("12,345 of 20,000 calls, 6,789,000 tokens, 9 without token counts")
    without_tokens = known.model_copy(update={"tokens": 0})
    assert spent(without_tokens) == "12,345 of 20,000 calls, 9 without token counts"


def test_status_shows_progress_and_each_model(cheaptalk: Command, orders: list[Any]) -> None:
    lines = cheaptalk("control small").out.splitlines()
    assert lines[0] == (
        "small: running; 1,500 of 2,000 matches ended, 20 of them forfeited; 3 failed; 64 matches "
        "in progress (at most 64), about 1 h 0 min left"
    )
    assert lines[1] == "spent: 12,345 of 20,000 calls, 6,789,000 tokens"
    assert lines[3].split() == ["openai/[gpt]", "12", "12", "52", "6.0", "2.0", "31", "overloaded"]
    assert lines[4].split()[:3] == ["vllm/tiny", "3", "(fixed)"]
    assert "abandoned: vllm/tiny brought no answer: gone" in lines
    assert lines[-1] == "openai/[gpt] is paused for 23 s; calls to vllm/tiny fail immediately"
    data = cheaptalk("control small status --json").json
    assert data == STATE.model_dump(mode="json") | {"batches": []}
    assert orders == []


def test_orders_are_sent_and_acknowledged(cheaptalk: Command, orders: list[Any]) -> None:
    for action, message in list(control.DONE.items())[:3]:
        assert cheaptalk("control small", action).out == f"small: {message}\n"
        assert orders.pop() == {"study": "small", "action": action}


def test_set_options_are_parsed(cheaptalk: Command, orders: list[Any]) -> None:
    done = cheaptalk(
        "control small set --concurrency 8 --model-concurrency vllm/tiny@http://a/?x=1=5 "
        "--model-concurrency openai/gpt=auto --budget calls=100,tokens=none,dollars=2.5"
    )
    assert done.out == "small: settings changed until the run ends\n"
    (order,) = orders
    assert order["concurrency"] == 8
    assert order["limits"] == {"vllm/tiny@http://a/?x=1": 5, "openai/gpt": None}
    assert order["budget"] == {"calls": 100, "tokens": None, "dollars": 2.5}


def test_invalid_orders_print_errors(cheaptalk: Command, orders: list[Any]) -> None:
    for arguments, message in CASES["invalid_orders_print_errors"]:
        done = cheaptalk("control small", *arguments)
        assert message in done.rejection
        assert orders == []


def test_missing_store_prints_error(cheaptalk: Command) -> None:
    advice = "name an existing store (in commands, with --store or CHEAPTALK_STORE)"
    for action in ["status", "pause", "stop"]:
        done = cheaptalk("control small", action)
        assert done.rejection == f"error: no store at cheaptalk.sqlite; {advice}"


def test_open_batches_are_shown_with_and_without_a_run(
    cheaptalk: Command, orders: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    with BatchServer() as server:
        players = {"tiny": {"model": f"openai/gpt-4o@{server.url}"}}
        for seed, name in enumerate(("small", "other")):
            changes = {"name": name, "seed": seed, "players": players, "pairing": "self"}
            (tmp_path / f"{name}.json").write_text(json.dumps(spec(**with_model() | changes)))
            assert cheaptalk("run", f"{name}.json", "--batch", "--no-wait").status == 3
    shown = cheaptalk("control small").out.splitlines()
    assert shown[-2].split() == ["batch", "model", "state", "calls", "created"]
    model = f"openai/gpt-4o@{urlsplit(server.url).netloc}"
    assert shown[-1].split()[:4] == ["batch_0", model, "submitted", str(server.sizes[0])]
    (batch,) = cheaptalk("control small --json").json["batches"]
    assert (batch["calls"], batch["collected"]) == (server.sizes[0], None)
    monkeypatch.undo()
    waiting = f"{server.sizes[0]} calls in providers' batches; collect them with: cheaptalk "
    with pytest.raises(ct.studies.ControlError, match=waiting):
        ct.studies.run_state(tmp_path / "cheaptalk.sqlite", "small")
