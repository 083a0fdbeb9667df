"""Training of policies, with checkpoints, logs and resumption."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from cheaptalk.arrays.games import array_game
from cheaptalk.learning.algorithms import ALGORITHMS, Progress, Settings, Training
from cheaptalk.learning.checkpoints import load, save
from cheaptalk.learning.evaluation import ExploitabilityEvaluator
from cheaptalk.learning.logs import Log, log_beside
from cheaptalk.learning.networks import Device, device_of, jax
from cheaptalk.learning.policy import write_policy
from cheaptalk.rules import CheaptalkError, Game, games, get_game, suggest
from cheaptalk.rules.errors import legal
from cheaptalk.rules.registry import GAMES, GameLike, game_from

SECONDS = 30.0
"""Seconds between checkpoints."""
GLANCE = 500_000
"""Matches of training for a best response during an evaluation on the way."""

Track: TypeAlias = Callable[[int, Mapping[str, float]], None]
"""Records metrics by name at the given number of matches."""


class Pace(NamedTuple):
    """The progress and speed of a training run.

    Attributes:
        wanted: total number of matches.
        seconds: training time since this command started.
        rate: matches per second since then.
    """

    told: Progress
    wanted: int
    seconds: float
    rate: float


def game_of(name: GameLike, parameters: Mapping[str, Any]) -> Game:
    """Return a game by its own name, or by a paper's name for one of its configurations.

    >>> game_of("BG4", {"rounds": 2}).discount, game_of("bargaining", {}).name
    (0.9, 'bargaining')

    Raises:
        CheaptalkError: there is no such game, or the parameters are invalid.
    """
    if isinstance(name, Game):
        return game_from(name, parameters)
    configurations = {
        configuration.lower(): (game_spec, fixed)
        for game_spec in games().values()
        if game_spec.view is not None
        for configuration, fixed in game_spec.view.configurations.items()
    }
    if name in GAMES:
        return legal(get_game(name).rules, parameters)
    if name.lower() not in configurations:
        raise CheaptalkError(f"unknown game {suggest(name, [*games(), *configurations])}")
    game_spec, fixed = configurations[name.lower()]
    return legal(game_spec.rules, {**fixed, **parameters})


def settings_of(algorithm: str, written: Mapping[str, Any]) -> Settings:
    """Validate an algorithm's settings.

    >>> settings_of("nfsp", {"hidden": "64"}).hidden
    64

    Raises:
        UnknownName: there is no such algorithm.
        CheaptalkError: a setting is invalid; the message names the valid values.
    """
    return legal(ALGORITHMS.find(algorithm).options, written)


def train(
    algorithm: str,
    rules: GameLike,
    settings: Settings,
    matches: int,
    out: Path | str,
    *,
    device: Device = "auto",
    examined_every: int = 0,
    tracks: Sequence[Track] = (),
    progress: Callable[[Pace], None] | None = None,
) -> Progress | None:
    """Train a policy until it has learned from the given number of matches, and save it.

    A checkpoint is saved as ``FILE.training``, together with the policy: a training that was
    stopped or killed resumes from it and gives the same numbers. ``FILE.log.jsonl`` contains the
    metrics.

    Args:
        rules: a game, or a name as for :func:`game_of`.
        matches: total number of matches.
        examined_every: matches between evaluations of exploitability, with one at the end; 0 for
            none. In games too large for an exact evaluation, a response is trained on
            :data:`GLANCE` matches.
        tracks: receive the metrics of each log line, such as the ``log`` method of a
            :class:`.Tracker`.
        progress: called every few seconds.

    Returns:
        The last progress; None if the file had learned from enough matches before.

    Raises:
        UnknownName: there is no such algorithm.
        NoArrayGame: the game has no array implementation.
        CheckpointError: the checkpoint belongs to another training.
        Diverged: a loss isn't finite; the last checkpoint and policy are kept.
        CheaptalkError: there is no such device.
    """
    rules, out = game_of(rules, {}), Path(out)
    kind = ALGORITHMS.find(algorithm)
    with jax.default_device(device_of(device)):
        training = kind(array_game(rules), settings)
        checkpoint = out.with_name(f"{out.name}.training")
        learned = load(training, checkpoint) if checkpoint.exists() else training.begin()
        training.policy(learned)  # fail before anything is trained if no file can hold it
        before = training.played(learned)
        log = Log(log_beside(out), before)
        watch = _Watch(training, matches, out, checkpoint, before, log, progress, tracks)
        if examined_every:
            watch.examine = ExploitabilityEvaluator(training.game, GLANCE)
            watch.examined_every = examined_every
        if before < matches:
            learned = training.train(learned, matches - before, every=100, progress=watch)
        watch.save(learned)
    return watch.last


@dataclass
class _Watch:
    """An observer that evaluates, logs and saves a training run at each progress report."""

    training: Training[Any, Any]
    matches: int
    out: Path
    checkpoint: Path
    before: int
    log: Log
    progress: Callable[[Pace], None] | None
    tracks: Sequence[Track]
    examine: ExploitabilityEvaluator | None = None
    examined_every: int = 0
    last: Progress | None = None

    def __post_init__(self) -> None:
        self.began = self.saved = time.monotonic()
        self.evaluated = self.before

    def __call__(self, learned: Any, state: Progress) -> None:
        seconds = time.monotonic() - self.began
        state = self.with_exploitability(learned, state)
        self.began = time.monotonic() - seconds
        self.last, self.evaluated = state, state.matches
        self.log.add(state, seconds)
        for track in self.tracks:
            track(state.matches, state.numbers())
        if self.progress:
            rate = (state.matches - self.before) / seconds
            self.progress(Pace(state, self.matches, seconds, rate))
        if time.monotonic() - self.saved >= SECONDS:
            self.save(learned)
            self.saved = time.monotonic()

    def with_exploitability(self, learned: Any, state: Progress) -> Progress:
        if self.examine is None or (
            state.matches // self.examined_every == self.evaluated // self.examined_every
            and state.matches < self.matches
        ):
            return state
        result = self.examine(self.training.policy(learned))
        return state._replace(gains=tuple((gain.gain, gain.error) for gain in result.gains))

    def save(self, learned: Any) -> None:
        """Write the checkpoint and the policy."""
        save(self.training, learned, self.checkpoint)
        write_policy(self.training.policy(learned), self.out)
