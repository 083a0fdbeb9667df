"""Sweeps: a training for each combination of settings, several at the same time."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, as_completed
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from cheaptalk.cluster import working
from cheaptalk.learning.algorithms import Settings
from cheaptalk.learning.logs import log_beside, logged
from cheaptalk.learning.training import settings_of, train
from cheaptalk.rules import CheaptalkError, Game
from cheaptalk.whole_files import whole_path

MOST = 1_000
"""Trainings of a sweep at most."""


class Trained(NamedTuple):
    """A training of a sweep.

    Attributes:
        settings: those that vary.
        policy: its file; the log is beside it.
        told: the last line of the log: see :func:`.logged`.
    """

    settings: Mapping[str, Any]
    policy: Path
    told: Mapping[str, Any]


class _Files(NamedTuple):
    """What a training on another machine leaves behind."""

    policy: bytes
    log: bytes


def sweep(
    algorithm: str,
    rules: Game,
    settings: Mapping[str, Any],
    varied: Mapping[str, Sequence[Any]],
    matches: int,
    folder: Path,
    *,
    examined_every: int = 0,
    processes: int = 1,
    on: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Trained]:
    """Train a policy for each combination of settings, into a folder; what is there is not again.

    Here a training that was stopped is taken up from its checkpoint. On a cluster a machine works
    in a folder of its own, and what it had begun when it was lost is begun again elsewhere.

    Args:
        algorithm: its name among :data:`.ALGORITHMS`.
        settings: that all have, as they are written.
        varied: values of settings that vary, by name; all combinations are trained.
        matches: that each learns from.
        folder: of the policies' files, made where there is none.
        examined_every: as :func:`.train` takes it.
        processes: how many train at once on this machine; scripts that ask for several stand behind
            ``if __name__ == "__main__"``.
        on: a cluster whose machines train instead, as :func:`~cheaptalk.cluster.cluster` takes it.
        progress: told how many have ended, of how many.

    Returns:
        The trainings in the order of the combinations, the last setting varying fastest.

    Raises:
        CheaptalkError: a setting is not legal or varies and does not, there are too many
            combinations, or a training failed; what has ended stays.
    """
    chosen = _combinations(algorithm, settings, varied)
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / f"{name}.policy" for name in chosen}
    left = {name: own for name, own in chosen.items() if not _has_learned(files[name], matches)}
    done = len(chosen) - len(left)
    with working(processes, on, "what was trained is kept; train fewer at once") as pool:
        running: dict[Future[Any], str] = {}
        for name, own in left.items():
            task = algorithm, rules, own, matches, examined_every
            far = pool.submit(_far, *task) if on else pool.submit(_here, *task, files[name])
            running[far] = name
        for future in as_completed(running):
            found = future.result()
            if found is not None:
                _put(found, files[running[future]])
            done += 1
            if progress is not None:
                progress(done, len(chosen))
    return [
        Trained(dict(zip(varied, values, strict=True)), file, logged(file)[-1])
        for values, file in zip(product(*varied.values()), files.values(), strict=True)
    ]


def _combinations(
    algorithm: str, settings: Mapping[str, Any], varied: Mapping[str, Sequence[Any]]
) -> dict[str, Settings]:
    """The settings of all trainings, by what their files are called."""
    both = next((name for name in varied if name in settings), None)
    if both is not None:
        raise CheaptalkError(f"{both}: a setting varies or is set, not both")
    empty = next((name for name, values in varied.items() if not values), None)
    if empty is not None:
        raise CheaptalkError(f"{empty}: no value is given; write {empty}=[1, 2]")
    found = {}
    for values in product(*varied.values()):
        own = dict(zip(varied, values, strict=True))
        name = ",".join(f"{key}={_word(value)}" for key, value in own.items())
        found[name] = settings_of(algorithm, {**settings, **own})
        if len(found) > MOST:
            raise CheaptalkError(f"more than {MOST:,} combinations of settings; leave values out")
    return found


def _word(value: Any) -> str:
    """A value in the name of a file."""
    return "".join(one if one.isalnum() or one in ".-+" else "_" for one in str(value))


def _has_learned(policy: Path, matches: int) -> bool:
    rows = logged(policy) if policy.exists() else []
    return bool(rows) and rows[-1]["matches"] >= matches


def _here(
    algorithm: str, rules: Game, settings: Settings, matches: int, examined_every: int, out: Path
) -> None:
    train(algorithm, rules, settings, matches, out, examined_every=examined_every)


def _far(
    algorithm: str, rules: Game, settings: Settings, matches: int, examined_every: int
) -> _Files:
    with TemporaryDirectory() as made:
        out = Path(made) / "policy"
        _here(algorithm, rules, settings, matches, examined_every, out)
        return _Files(out.read_bytes(), log_beside(out).read_bytes())


def _put(found: _Files, policy: Path) -> None:
    for file, content in ((log_beside(policy), found.log), (policy, found.policy)):
        with whole_path(file) as half:
            half.write_bytes(content)
