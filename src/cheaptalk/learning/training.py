"""Training a policy to a file: taken up where it was left, and written as it goes."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from cheaptalk.arrays.games import array_game
from cheaptalk.learning.algorithms import ALGORITHMS, Progress, Settings, Training
from cheaptalk.learning.checkpoints import load, save
from cheaptalk.learning.examiner import Examiner
from cheaptalk.learning.logs import Log, log_beside
from cheaptalk.learning.networks import Device, device_of, jax
from cheaptalk.learning.policy import write_policy
from cheaptalk.rules import CheaptalkError, Game, game_box, games, suggest
from cheaptalk.rules.errors import legal
from cheaptalk.rules.registry import GAMES

SECONDS = 30.0
"""After so many a checkpoint is due."""
GLANCE = 500_000
"""Matches that a response learns from when a policy is looked into on the way."""

Track: TypeAlias = Callable[[int, Mapping[str, float]], None]
"""Takes numbers by name, and the matches that a training has learned from by then."""


class Pace(NamedTuple):
    """How a training goes.

    Attributes:
        told: what the algorithm says.
        wanted: matches in all.
        seconds: of learning since this command took it up.
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
    if name in GAMES:
        return legal(game_box(name).rules, parameters)
    if name.lower() not in named:
        raise CheaptalkError(f"there is no game {suggest(name, [*games(), *named])}")
    box, found = named[name.lower()]
    return legal(box.rules, {**found, **parameters})


def settings_of(algorithm: str, written: Mapping[str, Any]) -> Settings:
    """Settings of an algorithm as they are written.

    >>> settings_of("nfsp", {"hidden": "64"}).hidden
    64

    Raises:
        UnknownName: there is no such algorithm.
        CheaptalkError: a setting is not legal; the message says what would be.
    """
    return legal(ALGORITHMS.find(algorithm).options, written)


def train(
    algorithm: str,
    rules: Game,
    settings: Settings,
    matches: int,
    out: Path,
    *,
    device: Device = "auto",
    examined_every: int = 0,
    tracks: Sequence[Track] = (),
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
        examined_every: matches after which, and at the end, it is looked what could be gained
            against the policy, by a response that learns from :data:`GLANCE` matches where the game
            is not small; 0 for never.
        tracks: told the numbers of each line of the log, such as the ``log`` of a
            :class:`.Tracker`.
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
        training = kind(array_game(rules), settings)
        kept = out.with_name(f"{out.name}.training")
        learned = load(training, kept) if kept.exists() else training.begin()
        training.policy(learned)  # fail before anything is trained if no file can hold it
        before = training.played(learned)
        log = Log(log_beside(out), before)
        watch = _Watch(training, matches, out, kept, before, log, progress, tracks)
        if examined_every:
            watch.examine, watch.examined_every = Examiner(training.game, GLANCE), examined_every
        if before < matches:
            learned = training.train(learned, matches - before, every=100, progress=watch)
        watch.keep(learned)
    return watch.last


@dataclass
class _Watch:
    """What is done each time that a training tells how it goes."""

    training: Training[Any, Any]
    matches: int
    out: Path
    kept: Path
    before: int
    log: Log
    progress: Callable[[Pace], None] | None
    tracks: Sequence[Track]
    examine: Examiner | None = None
    examined_every: int = 0
    last: Progress | None = None

    def __post_init__(self) -> None:
        self.began = self.saved = time.monotonic()
        self.seen = self.before

    def __call__(self, learned: Any, told: Progress) -> None:
        seconds = time.monotonic() - self.began
        told = self.examined(learned, told)
        self.began = time.monotonic() - seconds
        self.last, self.seen = told, told.matches
        self.log.add(told, seconds)
        for track in self.tracks:
            track(told.matches, told.numbers())
        if self.progress:
            rate = (told.matches - self.before) / seconds
            self.progress(Pace(told, self.matches, seconds, rate))
        if time.monotonic() - self.saved >= SECONDS:
            self.keep(learned)
            self.saved = time.monotonic()

    def examined(self, learned: Any, told: Progress) -> Progress:
        """With what could be gained, where it is time to look."""
        if self.examine is None or (
            told.matches // self.examined_every == self.seen // self.examined_every
            and told.matches < self.matches
        ):
            return told
        found = self.examine(self.training.policy(learned))
        return told._replace(gains=tuple((one.gain, one.error) for one in found.gains))

    def keep(self, learned: Any) -> None:
        """Write the checkpoint and the policy."""
        save(self.training, learned, self.kept)
        write_policy(self.training.policy(learned), self.out)
