"""Training a policy to a file: taken up where it was left, and written as it goes."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from cheaptalk.arrays.games import array_game
from cheaptalk.learning.algorithms import ALGORITHMS, Progress, Settings, Training
from cheaptalk.learning.checkpoints import load, save
from cheaptalk.learning.logs import Log, log_beside
from cheaptalk.learning.networks import Device, device_of, jax
from cheaptalk.learning.policy import write_policy
from cheaptalk.rules import CheaptalkError, Game, Value, game_box, games, suggest
from cheaptalk.rules.errors import first_problem

V = TypeVar("V", bound=Value)
SECONDS = 30.0
"""After so many a checkpoint is due."""


class Pace(NamedTuple):
    """How a training goes.

    Attributes:
        told: what the algorithm says.
        wanted: matches in all.
        seconds: since this command took it up.
        rate: matches a second since then.
    """

    told: Progress
    wanted: int
    seconds: float
    rate: float


def game_of(name: str, parameters: Mapping[str, Any]) -> Game:
    """A game by its name, or by the name that a publication gives one of its configurations.

    >>> game_of("BG4", {"rounds": 2}).discount, game_of("bargaining", {}).name
    (0.9, 'bargaining')

    Raises:
        CheaptalkError: there is none, or the parameters are not legal.
    """
    named = {
        known.lower(): (box, found)
        for box in games().values() if box.view is not None
        for known, found in box.view.configurations.items()
    }  # fmt: skip
    if name in games():
        return _legal(game_box(name).rules, parameters)
    if name.lower() not in named:
        raise CheaptalkError(f"there is no game {suggest(name, [*games(), *named])}")
    box, found = named[name.lower()]
    return _legal(box.rules, {**found, **parameters})


def settings_of(algorithm: str, written: Mapping[str, Any]) -> Settings:
    """Settings of an algorithm as they are written.

    >>> settings_of("nfsp", {"hidden": "64"}).hidden
    64

    Raises:
        UnknownName: there is no such algorithm.
        CheaptalkError: a setting is not legal; the message says what would be.
    """
    return _legal(ALGORITHMS.find(algorithm).options, written)


def _legal(kind: type[V], written: Mapping[str, Any]) -> V:
    try:
        return kind.model_validate(dict(written))
    except ValidationError as error:
        raise CheaptalkError(first_problem(error)) from None


def train(
    algorithm: str,
    rules: Game,
    settings: Settings,
    matches: int,
    out: Path,
    *,
    device: Device = "auto",
    progress: Callable[[Pace], None] | None = None,
) -> Progress | None:
    """Train the policy of a file until it has learned from so many matches.

    A checkpoint lies beside it as ``FILE.training``: a training that was stopped, or killed, is
    taken up from there, and comes to the same numbers. The policy is written whenever that is.
    What was told on the way is in ``FILE.log.jsonl``.

    Args:
        algorithm: its name among :data:`.ALGORITHMS`.
        settings: of the algorithm, as :func:`settings_of` makes them.
        out: the policy's file.
        device: to learn on.
        progress: called every few seconds.

    Returns:
        what was told last; None where the file had learned from as many before.

    Raises:
        UnknownName: there is no such algorithm.
        NotArrayed: no array game plays the game.
        CheckpointError: the checkpoint is of another training.
        Diverged: a loss is no number; the last checkpoint and policy stay.
        CheaptalkError: there is no such device.
    """
    kind = ALGORITHMS.find(algorithm)
    with jax.default_device(device_of(device)):
        return _train(kind(array_game(rules), settings), matches, out, progress)


def _train(
    training: Training[Any, Any], matches: int, out: Path,
    progress: Callable[[Pace], None] | None,
) -> Progress | None:  # fmt: skip
    kept = out.with_name(f"{out.name}.training")
    learned = load(training, kept) if kept.exists() else training.begin()
    before = training.played(learned)
    log = Log(log_beside(out), before)
    began = saved = time.monotonic()
    last: Progress | None = None

    def look(learned: Any, told: Progress) -> None:
        nonlocal saved, last
        last, now = told, time.monotonic()
        log.add(told, now - began)
        if progress:
            rate = (told.matches - before) / (now - began)
            progress(Pace(told, matches, now - began, rate))
        if now - saved >= SECONDS:
            _keep(training, learned, out, kept)
            saved = now

    if before < matches:
        learned = training.train(learned, matches - before, every=100, progress=look)
    _keep(training, learned, out, kept)
    return last


def _keep(training: Training[Any, Any], learned: Any, out: Path, kept: Path) -> None:
    save(training, learned, kept)
    write_policy(training.policy(learned), out)
