"""Self-play: a language model plays itself and is fine-tuned on its higher-scoring chats.

Filtered behaviour cloning (Liao, Tomlin and Klein 2024, algorithm 1): a model plays itself on new
instances and is fine-tuned on the chats of seats with a payoff above the mean; the result plays the
next iteration. Each iteration has a study in a store, a file of training data, and a folder with
its model, so that a stopped self-play can be resumed.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from cheaptalk.atomic_files import read_whole, whole_file
from cheaptalk.learning.language.trainers.local import LocalTraining
from cheaptalk.learning.language.trainers.openai import OpenAITraining
from cheaptalk.learning.language.trainers.trainer import Step
from cheaptalk.learning.language.training_data import (
    FILTERS,
    GROUPED,
    ScoredChat,
    SelectedChat,
    Way,
    loss_of,
    select_chats,
)
from cheaptalk.records import Status, Store
from cheaptalk.records.exports.chats import chats
from cheaptalk.rules import Chance, CheaptalkError, Value, counted, get_game, suggest
from cheaptalk.rules.errors import legal, shown
from cheaptalk.studies.runs.checks import missing_requirements
from cheaptalk.studies.runs.progress import Progress
from cheaptalk.studies.runs.run import run
from cheaptalk.studies.study import Study

STORE = "matches.sqlite"
SETTINGS = "self-play.json"


def _trainer(value: Any) -> Any:
    if isinstance(value, Mapping):
        return value.get("trainer", "local")
    return getattr(value, "trainer", None)


Training = Annotated[
    Annotated[LocalTraining, Tag("local")] | Annotated[OpenAITraining, Tag("openai")],
    Discriminator(
        _trainer,
        custom_error_type="trainer",
        custom_error_message="trainer should be local or openai",
    ),
]
"""A trainer with its settings."""


def _read_keep(value: object) -> object:
    if isinstance(value, str) and value in FILTERS:
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1:
        return float(value)
    raise ValueError(
        f"{shown(value)} is not a filter; use {', '.join(FILTERS)}, or the share of best chats, "
        "such as 0.2"
    )


Keep = Annotated[str | float, BeforeValidator(_read_keep)]
"""A filter's name, or the share of best chats."""


class SelfPlay(Value):
    """Settings of self-play, with the paper's defaults, but training settings for small models."""

    game: str = "deal_or_no_deal"
    parameters: Mapping[str, Any] = {}
    """Game parameters that differ from the defaults, such as ``{objective: coop}``."""
    matches: int = Field(default=500, ge=1)
    """Matches per iteration (K)."""
    repeats: int = Field(default=1, ge=1)
    """Matches per instance."""
    iterations: int = Field(default=10, ge=1)
    """Number of trainings (N)."""
    learn: Way = "cloning"
    """Learning method: ``cloning`` of the kept chats; ``weighted`` cloning, by payoff; or, from
    better and worse matches on the same instance, ``dpo`` or ``grpo`` (experimental)."""
    keep: Keep = "above_mean"
    """Chats to clone: ``above_mean``, ``positive`` (payoff), ``everything``, or the share of best
    chats."""
    where: str | None = None
    """A game metric that must be above 0 in matches used for training, such as
    ``pareto_optimality``."""
    partners: Mapping[str, Any] = {}
    """Further partners by label, each in as many matches as the model itself. Their chats are not
    used for training."""
    past: int = Field(default=0, ge=0)
    """Number of random past iterations as further partners (fictitious self-play, Heinrich,
    Lanctot and Silver 2015)."""
    patience: int | None = Field(default=None, ge=1)
    """Iterations without a new best mean after which to stop; by default, never stop early. The
    paper doesn't report its rule."""
    player: Mapping[str, Any] = {"temperature": 1.0, "max_tokens": 200}
    """Settings of the model as a player, such as its style."""
    training: Training = LocalTraining()
    """Training settings; ``trainer`` is ``local`` or ``openai``."""
    seed: int = 1
    """Seed of instances, past iterations and training."""

    @model_validator(mode="after")
    def _fits(self) -> "SelfPlay":
        metrics = get_game(self.game).metrics
        if self.where is not None and self.where not in metrics:
            raise ValueError(f"{self.game} has no metric {suggest(self.where, list(metrics))}")
        if self.learn in GROUPED and self.repeats < 2:
            raise ValueError(
                f"{self.learn} compares matches on the same instance: repeats must be 2 or more"
            )
        seatings = 1 + 2 * (len(self.partners) + self.past)
        if self.matches < seatings * self.repeats:
            raise ValueError(
                f"matches must be {seatings * self.repeats} or more for {self.repeats} matches of "
                "each pair"
            )
        return self

    def instances(self, seatings: int) -> int:
        """Return the number of instances per iteration, given the number of player pairs."""
        return max(1, self.matches // (seatings * self.repeats))


class Iteration(NamedTuple):
    """A completed iteration of self-play.

    Attributes:
        number: the number of the model, 0 for the base model.
        model: the folder or name of the model.
        mean: mean payoff over all seats of finished matches.
        finished: share of finished matches.
        kept: number of chats for the next training; None for the last iteration.
    """

    number: int
    model: str
    mean: float
    finished: float
    kept: int | None


Observer = Callable[[int, Progress | Step], None]
"""Receives an iteration's number and the progress of its matches or training."""


class SelfPlayFailed(CheaptalkError):
    """Raised if self-play can't continue; completed matches and models are kept."""


def self_play(
    base: Path | str, out: Path, settings: SelfPlay, progress: Observer | None = None
) -> list[Iteration]:
    """Start or resume self-play.

    Args:
        base: the initial model: a folder, a name on the Hub, or a model string if a provider trains
            the model.
        out: a new folder, or the folder to resume.
        progress: called with the progress.

    Raises:
        SelfPlayFailed: the folder belongs to another self-play, matches failed, or there is no
            chat to learn from.
        TrainingFailed: a training failed.
    """
    settings.training.ready(str(base))
    if needs := missing_requirements(_study([str(base)], settings), None):
        raise SelfPlayFailed("; ".join(requirement.need for requirement in needs))
    check_settings(out / SETTINGS, settings, ("iterations", "patience"), base=str(base))
    done: list[Iteration] = []
    model = str(base)
    for number in range(settings.iterations + 1):
        models = [*(iteration.model for iteration in done), model]
        transcripts, finished = _play(out, models, settings, progress)
        mean = fmean([chat.payoff for chat in transcripts] or [0.0])
        iteration = Iteration(number, model, mean, finished, None)
        means = [*(iteration.mean for iteration in done), mean]
        stale = settings.patience and number - means.index(max(means)) >= settings.patience
        if number == settings.iterations or stale:
            return [*done, iteration]
        examples = _selected(out, number, transcripts, settings)
        done.append(iteration._replace(kept=len(examples)))
        training = settings.training.model_copy(update={"seed": settings.seed + number})
        model = training.train(
            model,
            [example.training_example() for example in examples],
            out / f"model-{number + 1}",
            partial(progress, number) if progress else None,
            loss=loss_of(settings.learn),
            reference=str(base),
        )
    return done


def check_settings(file: Path, settings: Value, free: Collection[str], **fixed: str) -> None:
    """Save settings to a file or, if it exists, check that they equal those in the file.

    Args:
        settings: the settings; a setting that the file lacks had its default.
        free: names of settings that may differ.
        fixed: further values that must be equal.

    Raises:
        SelfPlayFailed: a setting differs.
    """
    expected = settings.model_dump(mode="json") | fixed
    if not file.exists():
        with whole_file(file, new=True) as output:
            output.write(json.dumps(expected, indent=2) + "\n")
        return
    stored = json.loads(read_whole(file))
    stored_fixed = {name: stored.pop(name, None) for name in fixed}
    before = legal(type(settings), stored).model_dump(mode="json") | stored_fixed
    differs = [name for name in expected if name not in free and expected[name] != before[name]]
    if differs:
        raise SelfPlayFailed(
            f"{file.parent} belongs to a self-play with {differs[0]} {before[differs[0]]}, not "
            f"{expected[differs[0]]}; choose another folder"
        )


def _play(
    out: Path, models: Sequence[str], settings: SelfPlay, progress: Observer | None
) -> tuple[list[ScoredChat], float]:
    """Play an iteration with the latest model; return chats and the share of finished matches."""
    number = len(models) - 1
    study = _study(models, settings)
    for model in models:
        settings.training.ready(model)
    with Store.open(out / STORE, create=True) as store:
        result = run(
            study,
            store,
            concurrency=settings.matches,
            progress=lambda state: progress(number, state) if progress else None,
        )
        if result.left:
            reason = result.halted or next(iter(result.problems), "the run was stopped")
            raise SelfPlayFailed(f"iteration {number} is incomplete: {reason}")
        ended = [record for record in store.records(study.name, bodies=True) if record.over]
    finished = [record for record in ended if record.status is Status.FINISHED]
    scored = []
    for record in finished:
        metrics, where = get_game(record.game).metrics, settings.where
        counts = where is None or bool(metrics[where].of(record.result()))
        scored += [
            ScoredChat(chat, chat.payoff, record.instance_key, counts)
            for chat in chats(record)
            if chat.player == study.name and chat.payoff is not None
        ]
    return scored, len(finished) / max(1, len(ended))


def _study(models: Sequence[str], settings: SelfPlay) -> Study:
    number = len(models) - 1
    name = f"iteration-{number}"
    stream = Chance(str(settings.seed))("past iterations", number)
    selected = sorted(stream.shuffled(range(number))[: settings.past])
    earlier = {f"iteration-{past}": _player(models[past], settings) for past in selected}
    partners = {**settings.partners, **earlier}
    pairs = [[name, name]]
    pairs += [pair for partner in partners for pair in ([name, partner], [partner, name])]
    return Study.model_validate(
        {
            "name": name,
            "seed": settings.seed + number,
            "pairing": pairs if partners else "self",
            "instances": settings.instances(len(pairs)),
            "repeats": settings.repeats,
            "games": [{"game": settings.game, "fixed": dict(settings.parameters)}],
            "players": {name: _player(models[-1], settings), **partners},
        }
    )


def _player(model: str, settings: SelfPlay) -> dict[str, Any]:
    return {**settings.player, "model": settings.training.player(model)}


def _selected(
    out: Path, number: int, transcripts: Sequence[ScoredChat], settings: SelfPlay
) -> list[SelectedChat]:
    selected = select_chats(transcripts, settings.learn, settings.keep)
    if not selected and not any(chat.chat.messages[1:] for chat in transcripts):
        raise SelfPlayFailed(
            f"the model gave no valid answer in iteration {number}; start with a model that was "
            "trained on chats of this game (cheaptalk train tune), or with a larger model"
        )
    if not selected:
        filter_text = "" if settings.learn in GROUPED else f" of {settings.keep}"
        raise SelfPlayFailed(
            f"none of the {counted(len(transcripts), 'chat')} of finished matches in iteration "
            f"{number} is suitable for {settings.learn}{filter_text}; play more matches or start "
            "with a better model"
        )
    with whole_file(out / f"chats-{number + 1}.jsonl") as file:
        file.writelines(
            json.dumps(example.as_json(), ensure_ascii=False) + "\n" for example in selected
        )
    return selected
