"""Fine-tuning at OpenAI: a file of chats goes up, a job is waited for, a model has a name.

As its `API reference <https://platform.openai.com/docs/api-reference/fine-tuning>`_ has it; any
server that speaks so will do. What was begun is noted in a file, so that a training that was
stopped waits for the same job, and none is paid for twice.
"""

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from msgspec import Struct
from pydantic import Field

from cheaptalk.calls.event_loop import drive
from cheaptalk.learning.language.trainers.trainer import (
    Lesson,
    Loss,
    Messages,
    Progress,
    Step,
    TrainingFailed,
)
from cheaptalk.models.http.endpoint import Endpoint, Listed, Page
from cheaptalk.models.http.failures import EndpointTrouble
from cheaptalk.models.model_strings import ModelName
from cheaptalk.rules import Value
from cheaptalk.whole_files import read_whole, whole_file

FEWEST = 10
"""Chats that OpenAI learns from at least."""
LOST = 20
"""Requests in a row that may fail for reasons that pass, before it is given up."""
TAG = "cheaptalk"
"""The key of a job's metadata that holds our tag."""
BROKEN = {"failed": "failed", "cancelled": "was cancelled"}
"""States in which a job ended without a model, and how that is said."""

T = TypeVar("T")


class OpenAITraining(Value):
    """How a model is trained at OpenAI. The defaults are those of Liao, Tomlin and Klein (2024,
    appendix B)."""

    trainer: Literal["openai"] = "openai"
    epochs: int = Field(default=3, ge=1)
    """How often every chat is learned from."""
    batch: int = Field(default=1, ge=1)
    """Chats of a step."""
    rate: float = Field(default=8.0, gt=0)
    """By how much the provider's own learning rate is multiplied."""
    suffix: str | None = Field(default=None, max_length=64)
    """What a model's name ends in."""
    seed: int = 0
    """Of the order of chats, as far as the provider heeds it."""
    poll: float = Field(default=30.0, gt=0)
    """Seconds between two looks at a job."""

    def train(
        self,
        model: str,
        lessons: Sequence[Lesson],
        out: Path,
        progress: Progress | None = None,
        *,
        loss: Loss = "cloning",
        reference: str | None = None,
    ) -> str:
        """Train a model, or go on waiting for its training; its model string.

        Args:
            model: the model string of another one, such as ``openai/gpt-4o-mini-2024-07-18``.
            out: a new folder for a note of the job, or that of a job that was begun.
            reference: not heeded.

        Raises:
            TrainingFailed: there are too few chats, the provider refuses, or the job failed.
        """
        if loss != "cloning" or any(one.weight != 1 for one in lessons):
            raise TrainingFailed(
                "a training at OpenAI clones, every chat alike; take learn: cloning"
            )
        chats = [one.chat for one in lessons]
        if len(chats) < FEWEST:
            raise TrainingFailed(
                f"a training at OpenAI takes {FEWEST} chats at least, and there are {len(chats)}"
            )
        note = Note(out / "job.json")
        drive(_train(self, model, chats, note, progress), lambda: None)
        return str(note.known["model"])

    def player(self, model: str) -> str:
        """The model string under which it plays: its own."""
        return model

    def ready(self, model: str) -> None:
        """Nothing: the provider has it."""


class Note:
    """What is known of a job, in a file: ``tag``, ``file``, ``job`` and ``model``."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.known: dict[str, Any] = json.loads(read_whole(file)) if file.exists() else {}

    def add(self, **more: str) -> None:
        """Note it before anything else is done."""
        self.known |= more
        with whole_file(self.file) as written:
            written.write(json.dumps(self.known, indent=2) + "\n")


class Problem(Struct):
    """Why a job failed."""

    message: str | None = None


class Job(Listed):
    """A job, as far as it is known."""

    status: str = "unknown"
    fine_tuned_model: str | None = None
    metadata: dict[str, Any] | None = None
    error: Problem | None = None


class Event(Listed):
    """What a job tells of itself."""

    data: dict[str, Any] | None = None


class Asked(NamedTuple):
    """A training, and where it is asked for."""

    name: ModelName
    server: Endpoint
    settings: OpenAITraining
    note: Note


async def _train(
    settings: OpenAITraining,
    model: str,
    chats: Sequence[Messages],
    note: Note,
    progress: Progress | None,
) -> None:
    if "model" in note.known:
        return
    name = ModelName.parse(model)
    asked = Asked(name, Endpoint(name, {}), settings, note)
    try:
        if "job" not in note.known:
            await _begin(asked, chats)
        made = await _waited(asked, progress)
    except EndpointTrouble as trouble:
        raise TrainingFailed(f"{model} was not trained: {trouble}") from None
    finally:
        await asked.server.close()
    note.add(model=f"{name.provider}/{made}" + ("" if name.at_home else f"@{name.url}"))


async def _begin(asked: Asked, chats: Sequence[Messages]) -> None:
    """Submit the job once, however often it takes."""
    note = asked.note
    fresh = "tag" not in note.known
    if fresh:
        note.add(tag=secrets.token_hex(8))
    if "file" not in note.known:
        lines = [json.dumps({"messages": list(one)}, ensure_ascii=False) for one in chats]
        file = "\n".join(lines).encode()
        upload = partial(asked.server.upload, file, note.known["tag"], "fine-tune")
        note.add(file=await _patient(asked, upload))

    async def submitted() -> str:
        nonlocal fresh
        known = None if fresh else await _found(asked)
        fresh = False
        return known or (await asked.server.post(Job, "fine_tuning/jobs", json=_job(asked))).id

    note.add(job=await _patient(asked, submitted))


def _job(asked: Asked) -> dict[str, Any]:
    """What is asked for."""
    settings, known = asked.settings, asked.note.known
    settled = {
        "n_epochs": settings.epochs, "batch_size": settings.batch,
        "learning_rate_multiplier": settings.rate,
    }  # fmt: skip
    return {
        "model": asked.name.model, "training_file": known["file"], "seed": settings.seed,
        "metadata": {TAG: known["tag"]},
        "method": {"type": "supervised", "supervised": {"hyperparameters": settled}},
    } | ({"suffix": settings.suffix} if settings.suffix else {})  # fmt: skip


async def _patient(asked: Asked, ask: Callable[[], Awaitable[T]]) -> T:
    """What a request brings, which is made again while its trouble may pass."""
    for left in reversed(range(LOST)):
        try:
            return await ask()
        except EndpointTrouble as trouble:
            if not trouble.again or not left:
                raise
        await asyncio.sleep(asked.settings.poll)
    raise AssertionError


async def _found(asked: Asked) -> str | None:
    """The job with our tag, if it was submitted."""
    async for job in asked.server.listed(Page[Job], "fine_tuning/jobs", "after"):
        if (job.metadata or {}).get(TAG) == asked.note.known["tag"]:
            return job.id
    return None


async def _waited(asked: Asked, progress: Progress | None) -> str:
    """Wait until a job has ended; what the provider calls its model."""
    path = f"fine_tuning/jobs/{asked.note.known['job']}"
    while True:
        job = await _patient(asked, lambda: asked.server.get(Job, path))
        if job.status == "succeeded" and job.fine_tuned_model:
            return job.fine_tuned_model
        if job.status in BROKEN:
            why = f": {job.error.message}" if job.error and job.error.message else ""
            raise TrainingFailed(
                f"the job {job.id} {BROKEN[job.status]}{why}; to train anew, remove "
                f"{asked.note.file}"
            )
        if progress is not None:
            await _tell(asked, path, progress)
        await asyncio.sleep(asked.settings.poll)


async def _tell(asked: Asked, path: str, progress: Progress) -> None:
    """Tell of the latest step of a job."""
    page = await _patient(asked, lambda: asked.server.get(Page[Event], f"{path}/events"))
    for event in page.data:
        told = event.data or {}
        if "step" in told and "train_loss" in told:
            steps = int(told["step"])
            total = int(told.get("total_steps") or steps)
            progress(Step(steps, total, float(told["train_loss"])))
            return
