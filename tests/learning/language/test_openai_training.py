"""Fine-tuning at a provider over real HTTP: requests, retries, and no double payment."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from cheaptalk.learning.language.trainers.openai import OpenAITraining
from cheaptalk.learning.language.trainers.trainer import Step, TrainingExample, TrainingFailed
from tests.batch_server import BatchServer, Before
from tests.fakes import at_home

CHATS = [
    [{"role": "user", "content": f"Your price?\u2028{n}"}, {"role": "assistant", "content": "9"}]
    for n in range(12)
]
QUICK = OpenAITraining(suffix="iteration-1", seed=3, poll=0.01)


def train(
    server: BatchServer, out: Path, steps: list[Step] | None = None, chats: Sequence[Any] = CHATS
) -> str:
    with pytest.MonkeyPatch.context() as patch, at_home("openai", server.url):
        patch.setenv("OPENAI_API_KEY", "sk-secret")
        training_examples = [TrainingExample(chat) for chat in chats]
        return QUICK.train(
            "openai/gpt-4o", training_examples, out, steps.append if steps is not None else None
        )


def failing(step: str, times: int, status: int = 503) -> Before:
    """Return a handler that fails a number of times at a step."""
    remaining = times

    async def special(now: str, _request: web.Request) -> web.StreamResponse | None:
        nonlocal remaining
        if now != step or not remaining:
            return None
        remaining -= 1
        return web.json_response({"error": {"message": "sk-secret is busy"}}, status=status)

    return special


def test_model_is_trained_with_the_papers_settings(tmp_path: Path) -> None:
    steps: list[Step] = []
    with BatchServer(looks=2) as server:
        assert train(server, tmp_path, steps) == "openai/ft:gpt-4o:mock:iteration-1:0"
        assert train(server, tmp_path) == "openai/ft:gpt-4o:mock:iteration-1:0"
        (job,) = server.fine_tuning.jobs.values()
        sent = server.files[job["training_file"]].decode().split("\n")
    assert [json.loads(line)["messages"] for line in sent] == CHATS
    assert job["method"]["supervised"]["hyperparameters"] == {
        "n_epochs": 3,
        "batch_size": 1,
        "learning_rate_multiplier": 8.0,
    }
    assert (job["model"], job["seed"]) == ("gpt-4o", 3)
    assert [(step.done, step.of) for step in steps] == [(1, 3), (2, 3)]


def test_temporary_errors_are_retried(tmp_path: Path) -> None:
    cases: list[str] = ["upload", "create", "created", "look", "events"]
    for step in cases:
        with BatchServer(before=failing(step, 3)) as server:
            assert train(server, tmp_path / step, []).startswith("openai/ft:gpt-4o")
            assert len(server.fine_tuning.jobs) == 1


def test_interrupted_training_resumes_its_job(tmp_path: Path) -> None:
    cases: list[str] = ["upload", "create", "created", "look"]
    for step in cases:
        with BatchServer() as server:
            server.before = failing(step, 1, status=400)
            with pytest.raises(TrainingFailed, match=r"gpt-4o was not trained: .*\[key\] is busy"):
                train(server, tmp_path / step)
            assert train(server, tmp_path / step).startswith("openai/ft:gpt-4o")
            assert len(server.fine_tuning.jobs) == 1


def test_unsuccessful_job_raises_error(tmp_path: Path) -> None:
    cases: list[tuple[str, str]] = [
        ("failed", "job ftjob-0 failed: the training was stopped"),
        ("cancelled", "was cancelled"),
    ]
    for ends, message in cases:
        with BatchServer() as server:
            server.fine_tuning.ends = ends
            with pytest.raises(
                TrainingFailed, match=f"{message}; to train again, remove .*job.json"
            ):
                train(server, tmp_path / ends)
            server.fine_tuning.ends = "succeeded"
            (tmp_path / ends / "job.json").unlink()
            assert train(server, tmp_path / ends).endswith(":1")


def test_too_few_chats_are_not_sent(tmp_path: Path) -> None:
    with BatchServer() as server, pytest.raises(TrainingFailed, match="needs at least 10 chats"):
        train(server, tmp_path, chats=CHATS[:9])
    assert not server.files


def test_model_at_another_server_keeps_its_address(tmp_path: Path) -> None:
    with BatchServer() as server:
        name = f"vllm/small@{server.url}"
        assert QUICK.train(name, [TrainingExample(chat) for chat in CHATS], tmp_path).endswith(
            f":iteration-1:0@{server.url}"
        )
        assert QUICK.player(name) == name
