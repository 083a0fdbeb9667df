"""Fine-tuning at OpenAI: upload chats, submit a job, and wait for the model.

Implements OpenAI's `API <https://platform.openai.com/docs/api-reference/fine-tuning>`_; any
compatible server works. Progress is saved in a file, so that a stopped training continues with the
same job, which is paid for only once.
"""

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from msgspec import Struct
from pydantic import Field

from cheaptalk.atomic_files import read_whole, whole_file
from cheaptalk.calls.event_loop import drive
from cheaptalk.learning.language.trainers.trainer import (
    Loss,
    Messages,
    Progress,
    Step,
    TrainingExample,
    TrainingFailed,
)
from cheaptalk.models.http.endpoint import Endpoint, Listed, Page
from cheaptalk.models.http.failures import EndpointTrouble
from cheaptalk.models.model_strings import ModelName
from cheaptalk.rules import Value

FEWEST = 10
"""OpenAI's minimum number of chats."""
LOST = 20
"""Maximum number of consecutive requests with a temporary failure."""
TAG = "cheaptalk"
"""The key of a job's metadata that contains the training's tag."""
BROKEN = {"failed": "failed", "cancelled": "was cancelled"}
"""Final states without a model, with their descriptions."""

T = TypeVar("T")


class OpenAITraining(Value):
    """Settings for training at OpenAI; the defaults are from Liao, Tomlin and Klein (2024)."""

    trainer: Literal["openai"] = "openai"
    epochs: int = Field(default=3, ge=1)
    """Number of passes over the chats."""
    batch: int = Field(default=1, ge=1)
    """Chats per step."""
    rate: float = Field(default=8.0, gt=0)
    """Multiplier of the provider's learning rate."""
    suffix: str | None = Field(default=None, max_length=64)
    """Suffix of the model's name."""
    seed: int = 0
    """Seed of the order of chats, if the provider supports it."""
    poll: float = Field(default=30.0, gt=0)
    """Seconds between polls of a job."""

    def train(
        self,
        model: str,
        training_examples: Sequence[TrainingExample],
        out: Path,
        progress: Progress | None = None,
        *,
        loss: Loss = "cloning",
        reference: str | None = None,
    ) -> str:
        """Start a training job, or resume waiting for an earlier one; return the new model string.

        Args:
            model: the initial model's string, such as ``openai/gpt-4o-mini-2024-07-18``.
            out: the folder of the job's state file.
            reference: ignored.

        Raises:
            TrainingFailed: there are too few chats, the provider refuses, or the job failed.
        """
        if loss != "cloning" or any(example.weight != 1 for example in training_examples):
            raise TrainingFailed(
                "training at OpenAI supports only unweighted cloning; use learn: cloning"
            )
        chats = [example.chat for example in training_examples]
        if len(chats) < FEWEST:
            raise TrainingFailed(
                f"training at OpenAI needs at least {FEWEST} chats, not {len(chats)}"
            )
        training = FineTuning(self, model, out / "job.json")
        if "model" not in training.known:
            drive(training.run(chats, progress), lambda: None)
        return training.known["model"]

    def player(self, model: str) -> str:
        return model

    def ready(self, model: str) -> None:
        """Return immediately, because the provider serves the model."""


class Problem(Struct):
    """The reason why a job failed."""

    message: str | None = None


class Job(Listed):
    """A fine-tuning job."""

    status: str = "unknown"
    fine_tuned_model: str | None = None
    metadata: dict[str, Any] | None = None
    error: Problem | None = None


class Event(Listed):
    """An event of a job."""

    data: dict[str, Any] | None = None


class FineTuning:
    """A training run with its server and a file with its state.

    The file contains the ``tag`` and the names of ``file``, ``job`` and ``model`` once known.
    """

    def __init__(self, settings: OpenAITraining, model: str, state: Path) -> None:
        self.settings = settings
        self.model = model
        self.state = state
        self.known: dict[str, str] = json.loads(read_whole(state)) if state.exists() else {}
        self.is_new = "tag" not in self.known

    def note(self, **entries: str) -> None:
        """Add entries to the state and save the file immediately."""
        self.known |= entries
        with whole_file(self.state) as file:
            file.write(json.dumps(self.known, indent=2) + "\n")

    async def run(self, chats: Sequence[Messages], progress: Progress | None) -> None:
        """Submit the job unless this has been done, and wait for its model."""
        name = ModelName.parse(self.model)
        self.server = Endpoint(name, {})
        try:
            if "job" not in self.known:
                await self._begin(chats, name.model)
            trained = await self._waited(progress)
        except EndpointTrouble as trouble:
            raise TrainingFailed(f"{self.model} was not trained: {trouble}") from None
        finally:
            await self.server.close()
        address = "" if name.at_home else f"@{name.url}"
        self.note(model=f"{name.provider}/{trained}{address}")

    async def _begin(self, chats: Sequence[Messages], model: str) -> None:
        if self.is_new:
            self.note(tag=secrets.token_hex(8))
        if "file" not in self.known:
            lines = [json.dumps({"messages": list(chat)}, ensure_ascii=False) for chat in chats]
            file = "\n".join(lines).encode()
            upload = partial(self.server.upload, file, self.known["tag"], "fine-tune")
            self.note(file=await self._patient(upload))
        self.note(job=await self._patient(lambda: self._submitted(model)))

    async def _submitted(self, model: str) -> str:
        """Submit a job, unless an earlier attempt has submitted it; return its name."""
        is_new, self.is_new = self.is_new, False
        if not is_new:
            async for job in self.server.listed(Page[Job], "fine_tuning/jobs", "after"):
                if (job.metadata or {}).get(TAG) == self.known["tag"]:
                    return job.id
        return (await self.server.post(Job, "fine_tuning/jobs", json=self._request(model))).id

    def _request(self, model: str) -> dict[str, Any]:
        settings = self.settings
        hyperparameters = {
            "n_epochs": settings.epochs,
            "batch_size": settings.batch,
            "learning_rate_multiplier": settings.rate,
        }
        return {
            "model": model,
            "training_file": self.known["file"],
            "seed": settings.seed,
            "metadata": {TAG: self.known["tag"]},
            "method": {"type": "supervised", "supervised": {"hyperparameters": hyperparameters}},
        } | ({"suffix": settings.suffix} if settings.suffix else {})

    async def _patient(self, send: Callable[[], Awaitable[T]]) -> T:
        for remaining in reversed(range(LOST)):
            try:
                return await send()
            except EndpointTrouble as trouble:
                if not trouble.again or not remaining:
                    raise
            await asyncio.sleep(self.settings.poll)
        raise AssertionError

    async def _waited(self, progress: Progress | None) -> str:
        """Wait until the job has ended and return the provider's name of its model."""
        path = f"fine_tuning/jobs/{self.known['job']}"
        while True:
            job = await self._patient(lambda: self.server.get(Job, path))
            if job.status == "succeeded" and job.fine_tuned_model:
                return job.fine_tuned_model
            if job.status in BROKEN:
                reason = f": {job.error.message}" if job.error and job.error.message else ""
                raise TrainingFailed(
                    f"the job {job.id} {BROKEN[job.status]}{reason}; to train again, remove "
                    f"{self.state}"
                )
            if progress is not None:
                await self._tell(path, progress)
            await asyncio.sleep(self.settings.poll)

    async def _tell(self, path: str, progress: Progress) -> None:
        page = await self._patient(lambda: self.server.get(Page[Event], f"{path}/events"))
        for event in page.data:
            data = event.data or {}
            if "step" in data and "train_loss" in data:
                steps = int(data["step"])
                total = int(data.get("total_steps") or steps)
                progress(Step(steps, total, float(data["train_loss"])))
                return
