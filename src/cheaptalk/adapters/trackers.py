"""Experiment trackers that receive a run's progress: TensorBoard, Weights & Biases and MLflow.

A tracker receives metrics by name at steps: for a run, the number of matches that ended or failed;
for a training, the number of matches learned from. Trackers are found by name in ``TRACKERS``.
"""

import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any

import polars as pl

from cheaptalk.extras import needing
from cheaptalk.frames import match_frames
from cheaptalk.records import Store
from cheaptalk.records.store.queries import places_of
from cheaptalk.rules.registry import Registry
from cheaptalk.studies import Progress, Study

PACE = 2.0
"""Minimum seconds between two reports to a tracker."""


class Tracker(AbstractContextManager["Tracker"], ABC):
    """Stores numbers by name and step until it is closed.

    Args:
        location: where to store them, in the tracker's format; its default if empty.
        run: the name of the run.
    """

    @abstractmethod
    def __init__(self, location: str, run: str) -> None: ...

    @abstractmethod
    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Store numbers. Steps never decrease; names consist of letters, digits and ``_-./``."""

    @abstractmethod
    def close(self) -> None:
        """Write pending numbers."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class TensorBoard(Tracker):
    """Files for TensorBoard in a folder, ``runs`` if none is named, below it in one of the run.

    Numbers from there on that an earlier process left, as it was killed, are hidden.
    """

    def __init__(self, location: str, run: str) -> None:
        with needing("tensorboard"):
            self._writer_of = import_module("tensorboardX").SummaryWriter
        self._folder = Path(location or "runs") / run
        self._writer: Any = None

    def log(self, step: int, values: Mapping[str, float]) -> None:
        if self._writer is None:
            suffix = f".{time.time_ns()}"  # two files of one second would be one file
            self._writer = self._writer_of(
                str(self._folder), purge_step=step, filename_suffix=suffix
            )
        for name, number in values.items():
            self._writer.add_scalar(name, number, step)
        self._writer.flush()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class WeightsAndBiases(Tracker):
    """A run of a project of Weights & Biases, ``cheaptalk`` if none is named.

    It is written below ``wandb`` in this folder, for ``wandb sync`` to send; ``WANDB_MODE=online``
    sends it at once.
    """

    def __init__(self, location: str, run: str) -> None:
        with needing("wandb"):
            wandb = import_module("wandb")
        self._run = wandb.init(
            project=location or "cheaptalk", name=run, reinit="create_new",
            mode=os.environ.get("WANDB_MODE", "offline"),
            settings=wandb.Settings(console="off", silent=True),
        )  # fmt: skip

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log(dict(values), step=step)

    def close(self) -> None:
        self._run.finish()


class MLflow(Tracker):
    """A run of the experiment ``cheaptalk`` on MLflow's server or in its store.

    Where no URI is named, ``MLFLOW_TRACKING_URI`` or MLflow itself says where that is.
    """

    def __init__(self, location: str, run: str) -> None:
        with needing("mlflow"):
            self._client = import_module("mlflow").MlflowClient(location or None)
            self._metric = import_module("mlflow.entities").Metric
        existing = self._client.get_experiment_by_name("cheaptalk")
        experiment = (
            existing.experiment_id if existing else self._client.create_experiment("cheaptalk")
        )
        self._run = self._client.create_run(experiment, run_name=run).info.run_id

    def log(self, step: int, values: Mapping[str, float]) -> None:
        now = round(1000 * time.time())
        metrics = [self._metric(name, number, now, step) for name, number in values.items()]
        for start in range(0, len(metrics), 1000):  # as many as it takes at once
            self._client.log_batch(self._run, metrics[start : start + 1000])

    def close(self) -> None:
        self._client.set_terminated(self._run)


def _is_tracker(thing: Any) -> bool:
    return isinstance(thing, type) and issubclass(thing, Tracker)


TRACKERS: Registry[type[Tracker]] = Registry("tracker", "cheaptalk.trackers", _is_tracker)
"""The trackers by name."""


def tracker(written: str, run: str) -> Tracker:
    """Open a tracker.

    Args:
        written: its name, and behind a colon where it keeps what it is told, such as
            ``tensorboard:runs``, ``wandb:PROJECT`` or ``mlflow:sqlite:///mlflow.db``.
        run: what it is told of, such as a study's name.

    Raises:
        UnknownName: there is no such tracker.
        CheaptalkError: its package is not installed.
    """
    name, _, location = written.partition(":")
    return TRACKERS.find(name)(location, run)


class Follower:
    """Tells a tracker how a run goes: its ``progress``.

    Args:
        tracker: is told of ``matches/...``, ``cost/...`` and ``answers/PLAYER/KIND``.
        pace: seconds between two times at the least.
    """

    def __init__(self, tracker: Tracker, pace: float = PACE) -> None:
        self._tracker = tracker
        self._pace = pace
        self._told = -float("inf")
        self._names: dict[str, str] = {}

    def __call__(self, progress: Progress) -> None:
        if time.monotonic() - self._told >= self._pace:
            self._tracker.log(_step(progress), self._how_far(progress))
            self._told = time.monotonic()

    def conclude(self, store: Store, study: Study | str, progress: Progress) -> None:
        """Tell what a run has come to: how far it is, what it took, and mean payoffs in all.

        Mean payoffs are those of each player in each role over all matches of the study that count,
        in the game's unit: ``payoff/GAME/ROLE/PLAYER``.

        Raises:
            StoreError: there is no such study.
        """
        name = study if isinstance(study, str) else study.name
        paid = {
            f"payoff/{game}/{role}/{self._plain(player)}": mean
            for game, role, player, mean in _mean_payoffs(store, name)
        }
        self._tracker.log(_step(progress), self._how_far(progress) | paid)

    def _how_far(self, progress: Progress) -> dict[str, float]:
        numbers: dict[str, float | None] = {
            "matches/done": progress.done,
            "matches/forfeited": progress.forfeited,
            "matches/failed": progress.failed,
            "matches/left": progress.left,
        }
        numbers |= _spent(progress)
        for player, kinds in progress.kinds.items():
            for kind, count in kinds.items():
                numbers[f"answers/{self._plain(player)}/{kind}"] = count
        return {name: number for name, number in numbers.items() if number is not None}

    def _plain(self, label: str) -> str:
        """A player's label in letters that all trackers take; no two are alike."""
        if label not in self._names:
            plain = re.sub(r"[^\w.-]+", "_", label)
            duplicates = sum(re.sub(r"[^\w.-]+", "_", name) == plain for name in self._names)
            self._names[label] = f"{plain}_{duplicates + 1}" if duplicates else plain
        return self._names[label]


def _spent(progress: Progress) -> dict[str, float | None]:
    """What the study has taken by now, over all its runs; empty where nobody has said yet."""
    if (cost := progress.cost) is not None:
        calls, tokens, dollars = cost.calls, cost.tokens, cost.dollars_known
    elif (state := progress.state) is not None:
        calls, tokens, dollars = state.calls, state.tokens, state.dollars
    else:
        return {}
    return {"cost/calls": calls, "cost/tokens": tokens, "cost/dollars": dollars}


def _step(progress: Progress) -> int:
    return progress.done + progress.failed


def _mean_payoffs(store: Store, study: str) -> Iterator[tuple[str, str, str, float]]:
    """The mean payoff of each player, by game and role."""
    roles = places_of(store, study)
    for game, frame in match_frames(store, study, only=()).items():
        seats = pl.concat([
            frame.select(
                role=pl.lit(role), player=f"player_{seat}", payoff=f"payoff_{seat}"
            )
            for seat, role in roles[game].items()
        ])  # fmt: skip
        means = seats.drop_nulls().group_by("role", "player", maintain_order=True).mean()
        for role, player, mean in means.rows():
            yield game, role, player, mean
