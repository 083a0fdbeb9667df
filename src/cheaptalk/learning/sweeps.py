"""Sweeps: one training run per combination of settings, run in parallel."""

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, as_completed
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from cheaptalk.atomic_files import whole_path
from cheaptalk.cluster import working
from cheaptalk.learning.algorithms import Settings
from cheaptalk.learning.logs import log_beside, read_log
from cheaptalk.learning.training import game_of, settings_of, train
from cheaptalk.rules import CheaptalkError, Game
from cheaptalk.rules.registry import GameLike

MAX_TRAININGS = 1_000
"""Maximum number of trainings in a sweep."""


class Trained(NamedTuple):
    """A completed training run of a sweep.

    Attributes:
        settings: the varied settings.
        last_row: the last line of the log; see :func:`.read_log`.
    """

    settings: Mapping[str, Any]
    policy: Path
    last_row: Mapping[str, Any]


def sweep(
    algorithm: str,
    rules: GameLike,
    settings: Mapping[str, Any],
    varied: Mapping[str, Sequence[Any]],
    matches: int,
    folder: Path | str,
    *,
    examined_every: int = 0,
    processes: int = 1,
    on: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Trained]:
    """Train a policy for each combination of settings, skipping combinations already trained.

    Locally, a stopped training resumes from its checkpoint. On a cluster, a training on a lost
    machine restarts on another.

    Args:
        algorithm: its name in :data:`.ALGORITHMS`.
        settings: the common settings.
        varied: the values of varied settings, by name; all combinations are trained.
        matches: matches that each learns from.
        folder: of the policies' files, created if missing.
        examined_every: see :func:`.train`.
        processes: number of local processes; scripts that use several need
            ``if __name__ == "__main__"``.
        on: a cluster for the trainings; see :func:`~cheaptalk.cluster.cluster`.
        progress: called with the numbers of completed and of all trainings.

    Returns:
        The trainings in the order of the combinations, the last setting varying fastest.

    Raises:
        CheaptalkError: a setting is invalid, or both fixed and varied; there are too many
            combinations; or a training failed. Completed trainings are kept.
    """
    rules, folder = game_of(rules, {}), Path(folder)
    combinations = _combinations(algorithm, settings, varied)
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / f"{name}.policy" for name in combinations}
    learned = {name: read_log(file) if file.exists() else [] for name, file in files.items()}
    pending = [name for name, rows in learned.items() if not rows or rows[-1]["matches"] < matches]
    done = len(combinations) - len(pending)
    with working(processes, on, "completed trainings are kept; use fewer processes") as pool:
        running: dict[Future[Any], str] = {}
        for name in pending:
            task = algorithm, rules, combinations[name], matches, examined_every
            if on:
                running[pool.submit(_train_remotely, *task)] = name
            else:
                running[pool.submit(_train_locally, *task, files[name])] = name
        for future in as_completed(running):
            result = future.result()
            if result is not None:
                policy = files[running[future]]
                for file, content in zip((log_beside(policy), policy), result, strict=True):
                    with whole_path(file) as temporary:
                        temporary.write_bytes(content)
            done += 1
            if progress is not None:
                progress(done, len(combinations))
    return [
        Trained(dict(zip(varied, values, strict=True)), file, read_log(file)[-1])
        for values, file in zip(product(*varied.values()), files.values(), strict=True)
    ]


def _combinations(
    algorithm: str, settings: Mapping[str, Any], varied: Mapping[str, Sequence[Any]]
) -> dict[str, Settings]:
    duplicate = next((name for name in varied if name in settings), None)
    if duplicate is not None:
        raise CheaptalkError(f"{duplicate}: a setting is either fixed or varied, not both")
    empty = next((name for name, values in varied.items() if not values), None)
    if empty is not None:
        raise CheaptalkError(f"{empty}: no values given; for example, write {empty}=[1, 2]")
    combinations = {}
    for values in product(*varied.values()):
        varying = dict(zip(varied, values, strict=True))
        safe = {key: re.sub(r"[^\w.+-]", "_", str(value)) for key, value in varying.items()}
        name = ",".join(f"{key}={value}" for key, value in safe.items())
        combinations[name] = settings_of(algorithm, {**settings, **varying})
        if len(combinations) > MAX_TRAININGS:
            raise CheaptalkError(
                f"more than {MAX_TRAININGS:,} combinations of settings; remove some values"
            )
    return combinations


def _train_locally(
    algorithm: str, rules: Game, settings: Settings, matches: int, examined_every: int, out: Path
) -> None:
    train(algorithm, rules, settings, matches, out, examined_every=examined_every)


def _train_remotely(
    algorithm: str, rules: Game, settings: Settings, matches: int, examined_every: int
) -> tuple[bytes, bytes]:
    """Return the contents of the log and of the policy's file, whose existence shows completion."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "policy"
        _train_locally(algorithm, rules, settings, matches, examined_every, out)
        return log_beside(out).read_bytes(), out.read_bytes()
