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
from typing import Any

import polars as pl

from cheaptalk.extras import needing
from cheaptalk.frames import read_matches
from cheaptalk.records import Cost, Store
from cheaptalk.records.store.queries import seats_of
from cheaptalk.rules.registry import Registry, subclasses
from cheaptalk.studies import Progress, Study

PACE = 2.0
"""Minimum seconds between two reports to a tracker."""


class Tracker(AbstractContextManager["Tracker"], ABC):
    """An experiment tracker, which receives metrics by name and step.

    Args:
        location: a folder, project or URI, by tracker; empty for the default.
        run: the run's name.
    """

    @abstractmethod
    def __init__(self, location: str, run: str) -> None: ...

    @abstractmethod
    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Record metrics at a non-decreasing step; names use letters, digits and ``_-./``."""

    @abstractmethod
    def close(self) -> None:
        """Close the tracker after writing all buffered metrics."""

    def __exit__(self, *exception: object) -> None:
        self.close()


class TensorBoard(Tracker):
    """TensorBoard files in a subfolder of the given folder, which is ``runs`` by default.

    Later steps of an earlier, killed process are hidden.
    """

    def __init__(self, location: str, run: str) -> None:
        with needing("tensorboard"):
            self._make_writer = import_module("tensorboardX").SummaryWriter
        self._folder = Path(location or "runs") / run
        self._writer: Any = None

    def log(self, step: int, values: Mapping[str, float]) -> None:
        if self._writer is None:
            suffix = f".{time.time_ns()}"  # avoids one file for two of the same second
            self._writer = self._make_writer(
                str(self._folder), purge_step=step, filename_suffix=suffix
            )
        for name, number in values.items():
            self._writer.add_scalar(name, number, step)
        self._writer.flush()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class WeightsAndBiases(Tracker):
    """A run in a Weights & Biases project, by default ``cheaptalk``.

    It is written to ``./wandb`` for ``wandb sync``; ``WANDB_MODE=online`` sends it immediately.
    """

    def __init__(self, location: str, run: str) -> None:
        with needing("wandb"):
            wandb = import_module("wandb")
        settings = wandb.Settings(console="off", silent=True)
        options = {"mode": os.environ.get("WANDB_MODE", "offline"), "settings": settings}
        project = location or "cheaptalk"
        self._run = wandb.init(project=project, name=run, reinit="create_new", **options)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log(dict(values), step=step)

    def close(self) -> None:
        self._run.finish()


class MLflow(Tracker):
    """A run of the experiment ``cheaptalk`` in MLflow.

    The default URI is ``MLFLOW_TRACKING_URI`` or MLflow's own default.
    """

    def __init__(self, location: str, run: str) -> None:
        with needing("mlflow"):
            self._client = import_module("mlflow").MlflowClient(location or None)
            self._metric = import_module("mlflow.entities").Metric
        existing = self._client.get_experiment_by_name("cheaptalk")
        id_ = existing.experiment_id if existing else self._client.create_experiment("cheaptalk")
        self._run = self._client.create_run(id_, run_name=run).info.run_id

    def log(self, step: int, values: Mapping[str, float]) -> None:
        now = round(1000 * time.time())
        metrics = [self._metric(name, number, now, step) for name, number in values.items()]
        for start in range(0, len(metrics), 1000):  # the maximum of a request
            self._client.log_batch(self._run, metrics[start : start + 1000])

    def close(self) -> None:
        self._client.set_terminated(self._run)


TRACKERS: Registry[type[Tracker]] = Registry("tracker", "cheaptalk.trackers", subclasses(Tracker))
"""The trackers by name."""


def tracker(written: str, run: str) -> Tracker:
    """Open an experiment tracker, given by name and optional location.

    Args:
        written: name of the tracker, optionally with a location, such as ``tensorboard:runs``,
            ``wandb:PROJECT`` or ``mlflow:sqlite:///mlflow.db``.
        run: the run's name, such as a study's name.

    Raises:
        UnknownName: the tracker does not exist.
        CheaptalkError: the tracker's package isn't installed.
    """
    name, _, location = written.partition(":")
    return TRACKERS.find(name)(location, run)


class TrackerCallback:
    """A ``progress`` callback that reports a run's progress to an experiment tracker.

    Args:
        tracker: receives ``matches/...``, ``cost/...`` and ``answers/PLAYER/KIND``.
        pace: minimum seconds between two reports.
    """

    def __init__(self, tracker: Tracker, pace: float = PACE) -> None:
        self._tracker = tracker
        self._pace = pace
        self._reported = -float("inf")
        self._names: dict[str, str] = {}

    def __call__(self, progress: Progress) -> None:
        if time.monotonic() - self._reported >= self._pace:
            self._log(progress, {})
            self._reported = time.monotonic()

    def conclude(self, store: Store, study: Study | str, progress: Progress) -> None:
        """Report a run's final progress, cost and mean payoffs.

        ``payoff/GAME/ROLE/PLAYER`` is a player's mean payoff over the study's scored matches, in
        the game's unit.

        Raises:
            StoreError: there is no such study.
        """
        name = study if isinstance(study, str) else study.name
        self._log(
            progress,
            {
                f"payoff/{game}/{role}/{self._plain(player)}": mean
                for game, role, player, mean in _mean_payoffs(store, name)
            },
        )

    def _log(self, progress: Progress, payoffs: Mapping[str, float]) -> None:
        numbers: dict[str, float | None] = {
            f"matches/{name}": getattr(progress, name)
            for name in ("done", "forfeited", "failed", "left")
        }
        if (spent := progress.cost or progress.state) is not None:
            dollars = spent.dollars_known if isinstance(spent, Cost) else spent.dollars
            numbers |= {"cost/calls": spent.calls, "cost/tokens": spent.tokens}
            numbers["cost/dollars"] = dollars
        for player, kinds in progress.kinds.items():
            for kind, count in kinds.items():
                numbers[f"answers/{self._plain(player)}/{kind}"] = count
        known = {name: number for name, number in numbers.items() if number is not None}
        self._tracker.log(progress.done + progress.failed, {**known, **payoffs})

    def _plain(self, label: str) -> str:
        if label not in self._names:
            plain, *others = (re.sub(r"[^\w.-]+", "_", name) for name in (label, *self._names))
            duplicates = others.count(plain)
            self._names[label] = f"{plain}_{duplicates + 1}" if duplicates else plain
        return self._names[label]


def _mean_payoffs(store: Store, study: str) -> Iterator[tuple[str, str, str, float]]:
    roles = seats_of(store, study)
    for game, frame in read_matches(store, study, only=()).items():
        frames = [
            frame.select(role=pl.lit(role), player=f"player_{seat}", payoff=f"payoff_{seat}")
            for seat, role in roles[game].items()
        ]
        seats = pl.concat(frames)
        means = seats.drop_nulls().group_by("role", "player", maintain_order=True).mean()
        for role, player, mean in means.rows():
            yield game, role, player, mean
