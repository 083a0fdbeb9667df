"""Fine-tuning at a provider, over real HTTP: what is asked for, and what is not paid for twice."""

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
    there: BatchServer,
    out: Path,
    steps: list[Step] | None = None,
    chats: Sequence[Any] = CHATS,
) -> str:
    with pytest.MonkeyPatch.context() as patch, at_home("openai", there.url):
        patch.setenv("OPENAI_API_KEY", "sk-secret")
        training_examples = [TrainingExample(one) for one in chats]
        return QUICK.train(
            "openai/gpt-4o", training_examples, out, steps.append if steps is not None else None
        )


def failing(step: str, times: int, status: int = 503) -> Before:
    """Fails so many times at a step."""
    left = times

    async def special(now: str, _request: web.Request) -> web.StreamResponse | None:
        nonlocal left
        if now != step or not left:
            return None
        left -= 1
        return web.json_response({"error": {"message": "sk-secret is busy"}}, status=status)

    return special


def test_a_model_is_trained_with_the_settings_of_the_paper(tmp_path: Path) -> None:
    steps: list[Step] = []
    with BatchServer(looks=2) as there:
        assert train(there, tmp_path, steps) == "openai/ft:gpt-4o:stand-in:iteration-1:0"
        assert train(there, tmp_path) == "openai/ft:gpt-4o:stand-in:iteration-1:0"
        (job,) = there.fine_tuning.jobs.values()
        sent = there.files[job["training_file"]].decode().split("\n")
    assert [json.loads(line)["messages"] for line in sent] == CHATS
    assert job["method"]["supervised"]["hyperparameters"] == {
        "n_epochs": 3, "batch_size": 1, "learning_rate_multiplier": 8.0,
    }  # fmt: skip
    assert (job["model"], job["seed"]) == ("gpt-4o", 3)
    assert [(one.done, one.of) for one in steps] == [(1, 3), (2, 3)]


@pytest.mark.parametrize("step", ["upload", "create", "created", "look", "events"])
def test_trouble_that_passes_costs_time_alone(step: str, tmp_path: Path) -> None:
    with BatchServer(before=failing(step, 3)) as there:
        assert train(there, tmp_path, []).startswith("openai/ft:gpt-4o")
        assert len(there.fine_tuning.jobs) == 1


@pytest.mark.parametrize("step", ["upload", "create", "created", "look"])
def test_a_training_that_was_stopped_goes_on_with_its_job(step: str, tmp_path: Path) -> None:
    with BatchServer() as there:
        there.before = failing(step, 1, status=400)
        with pytest.raises(TrainingFailed, match=r"gpt-4o was not trained: .*\[key\] is busy"):
            train(there, tmp_path)
        assert train(there, tmp_path).startswith("openai/ft:gpt-4o")
        assert len(there.fine_tuning.jobs) == 1


@pytest.mark.parametrize(
    ("ends", "said"),
    [("failed", "job ftjob-0 failed: the training was stopped"), ("cancelled", "was cancelled")],
)
def test_a_job_that_ends_without_a_model_is_told(ends: str, said: str, tmp_path: Path) -> None:
    with BatchServer() as there:
        there.fine_tuning.ends = ends
        with pytest.raises(TrainingFailed, match=f"{said}; to train again, remove .*job.json"):
            train(there, tmp_path)
        there.fine_tuning.ends = "succeeded"
        (tmp_path / "job.json").unlink()
        assert train(there, tmp_path).endswith(":1")


def test_too_few_chats_are_not_sent(tmp_path: Path) -> None:
    with BatchServer() as there, pytest.raises(TrainingFailed, match="needs at least 10 chats"):
        train(there, tmp_path, chats=CHATS[:9])
    assert not there.files


def test_a_model_elsewhere_stays_there(tmp_path: Path) -> None:
    with BatchServer() as there:
        name = f"vllm/small@{there.url}"
        assert QUICK.train(name, [TrainingExample(one) for one in CHATS], tmp_path).endswith(
            f":iteration-1:0@{there.url}"
        )
        assert QUICK.player(name) == name
