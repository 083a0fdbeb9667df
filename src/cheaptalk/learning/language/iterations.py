"""Self-play of a language model: it plays itself, and learns from the better of what it said.

Filtered behaviour cloning (Liao, Tomlin and Klein 2024, algorithm 1): a model plays itself on fresh
instances; what each seat heard and said is a chat; those of seats that got more than the mean are
what the next model learns from, which goes on from this one. An iteration is a study in a store,
its training set a file, and its model a folder, so that whatever was stopped goes on from there.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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
    Chosen,
    Heard,
    Way,
    chosen,
    loss_of,
)
from cheaptalk.records import MatchRecord, Status, Store
from cheaptalk.records.exports.chats import chats
from cheaptalk.rules import Chance, CheaptalkError, Value, counted, get_game, suggest
from cheaptalk.rules.errors import legal, shown
from cheaptalk.studies.runs.progress import Progress
from cheaptalk.studies.runs.run import run
from cheaptalk.studies.study import Study

STORE = "matches.sqlite"
SETTINGS = "self-play.json"


def _trainer(value: Any) -> Any:
    """Who trains: in this process where nothing is said."""
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
"""Who trains a model, and how."""


def _read_keep(value: object) -> object:
    if isinstance(value, str) and value in FILTERS:
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1:
        return float(value)
    raise ValueError(
        f"{shown(value)} is no filter: write {', '.join(FILTERS)}, or the share of the best, as "
        "in 0.2"
    )


Keep = Annotated[str | float, BeforeValidator(_read_keep)]
"""A filter's name, or a share of the best."""


class SelfPlay(Value):
    """A self-play. The defaults are the paper's, with a training for small models."""

    game: str = "deal_or_no_deal"
    parameters: Mapping[str, Any] = {}
    """Those of the game that are not its defaults, such as ``{objective: coop}``."""
    matches: int = Field(default=500, ge=1)
    """That are played in an iteration (K)."""
    repeats: int = Field(default=1, ge=1)
    """Matches on each instance."""
    iterations: int = Field(default=10, ge=1)
    """Times that it learns (N)."""
    learn: Way = "cloning"
    """How it learns: by ``cloning`` what is kept, all alike; ``weighted``, each by what it paid; or
    from better and worse matches on one instance, by ``dpo`` or ``grpo``, which is experimental."""
    keep: Keep = "above_mean"
    """Which chats it clones: those above the mean of all, those that paid at all, everything, or a
    share of the best."""
    where: str | None = None
    """A metric of the game that is above 0 in all matches that it learns from, such as
    ``pareto_optimality``."""
    partners: Mapping[str, Any] = {}
    """Players that it meets besides itself, in as many matches each, by label. It does not learn
    from what they say."""
    past: int = Field(default=0, ge=0)
    """How many of its own past iterations it meets besides, drawn from all (fictitious self-play,
    Heinrich, Lanctot and Silver 2015)."""
    patience: int | None = Field(default=None, ge=1)
    """Iterations without a new best mean after which it stops; None for never. The paper stops
    early, and does not say when."""
    player: Mapping[str, Any] = {"temperature": 1.0, "max_tokens": 200}
    """Settings of the model as a player, such as its style."""
    training: Training = LocalTraining()
    """Who trains it, and how: ``trainer`` is ``local`` or ``openai``."""
    seed: int = 1
    """Of instances, of past iterations that are drawn, and of training."""

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
                f"matches must be {seatings * self.repeats} or more, so that each pair meets "
                f"{self.repeats} times"
            )
        return self

    def instances(self, seatings: int) -> int:
        """Of an iteration in which so many pairs sit down."""
        return max(1, self.matches // (seatings * self.repeats))


class Iteration(NamedTuple):
    """An iteration that was played.

    Attributes:
        number: of the model that played it, 0 for the base.
        model: its folder, or its name.
        mean: what a seat got, over all seats of matches that finished.
        finished: share of matches that did.
        kept: chats that the next one learns from; None of the last.
    """

    number: int
    model: str
    mean: float
    finished: float
    kept: int | None


Told = Callable[[int, Progress | Step], None]
"""Is told of an iteration's number, and of how its matches or its training go."""


class SelfPlayFailed(CheaptalkError):
    """A self-play cannot go on; what was played and learned stays."""


def self_play(
    base: Path | str, out: Path, settings: SelfPlay, progress: Told | None = None
) -> list[Iteration]:
    """Let a model play itself and learn, or go on with it.

    Args:
        base: the model that begins: its folder, or its name on the Hub; its model string where a
            provider trains it.
        out: a folder: a new one, or that of the same self-play.
        progress: called as it goes.

    Raises:
        SelfPlayFailed: the folder is another self-play's, matches could not be played, or there is
            nothing to learn from.
        TrainingFailed: a model could not be trained.
    """
    settings.training.ready(str(base))
    settle(out / SETTINGS, settings, ("iterations", "patience"), base=str(base))
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
        examples = _learned(out, number, transcripts, settings)
        done.append(iteration._replace(kept=len(examples)))
        training = settings.training.model_copy(update={"seed": settings.seed + number})
        model = training.train(
            model, [example.training_example() for example in examples],
            out / f"model-{number + 1}",
            partial(progress, number) if progress else None,
            loss=loss_of(settings.learn), reference=str(base),
        )  # fmt: skip
    return done


def settle(file: Path, settings: Value, free: Collection[str], **fixed: str) -> None:
    """Note what is to be done in a folder, or see that it is what was done there before.

    Args:
        settings: what it is; settings that are newer than the note are taken to be as by default.
        free: what of it may be another one.
        fixed: what has to be the same besides.

    Raises:
        SelfPlayFailed: it is something else.
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
            f"{file.parent} is a self-play with {differs[0]} {before[differs[0]]}, not "
            f"{expected[differs[0]]}; name another folder"
        )


def _play(
    out: Path, models: Sequence[str], settings: SelfPlay, progress: Told | None
) -> tuple[list[Heard], float]:
    """Let the last of these models play; what was said by it, and the share of matches finished."""
    number = len(models) - 1
    study = _study(models, settings)
    for model in models:
        settings.training.ready(model)
    with Store.open(out / STORE, create=True) as store:
        result = run(
            study, store, concurrency=settings.matches,
            progress=lambda state: progress(number, state) if progress else None,
        )  # fmt: skip
        if result.left:
            reason = result.halted or next(iter(result.problems), "it was stopped")
            raise SelfPlayFailed(f"iteration {number} was not played to its end: {reason}")
        ended = [record for record in store.records(study.name, bodies=True) if record.over]
    finished = [record for record in ended if record.status is Status.FINISHED]
    transcripts = [chat for record in finished for chat in _heard(record, study.name, settings)]
    return transcripts, len(finished) / max(1, len(ended))


def _study(models: Sequence[str], settings: SelfPlay) -> Study:
    """What an iteration plays: itself, and in both seats its partners."""
    number = len(models) - 1
    name = f"iteration-{number}"
    stream = Chance(str(settings.seed))("past iterations", number)
    selected = sorted(stream.shuffled(range(number))[: settings.past])
    earlier = {f"iteration-{past}": _player(models[past], settings) for past in selected}
    partners = {**settings.partners, **earlier}
    pairs = [
        [name, name],
        *(pair for partner in partners for pair in ([name, partner], [partner, name])),
    ]
    return Study.model_validate({
        "name": name, "seed": settings.seed + number, "pairing": pairs if partners else "self",
        "instances": settings.instances(len(pairs)), "repeats": settings.repeats,
        "games": [{"game": settings.game, "fixed": dict(settings.parameters)}],
        "players": {name: _player(models[-1], settings), **partners},
    })  # fmt: skip


def _player(model: str, settings: SelfPlay) -> dict[str, Any]:
    return {**settings.player, "model": settings.training.player(model)}


def _heard(record: MatchRecord, player: str, settings: SelfPlay) -> Iterator[Heard]:
    """The chats of a player in a match, if it is one to learn from."""
    for chat in chats(record):
        if chat.player == player and chat.payoff is not None:
            yield Heard(chat, chat.payoff, record.instance_key, _counts(record, settings.where))


def _counts(record: MatchRecord, metric: str | None) -> bool:
    return metric is None or bool(get_game(record.game).metrics[metric].of(record.result()))


def _learned(
    out: Path, number: int, transcripts: Sequence[Heard], settings: SelfPlay
) -> list[Chosen]:
    """What the next model learns from, which is written to a file."""
    selected = chosen(transcripts, settings.learn, settings.keep)
    if not selected:
        filter_text = "" if settings.learn in GROUPED else f" of {settings.keep}"
        raise SelfPlayFailed(
            f"none of the {counted(len(transcripts), 'chat')} of finished matches in iteration "
            f"{number} can be learned from by {settings.learn}{filter_text}; play more matches, or "
            "start with a better model"
        )
    with whole_file(out / f"chats-{number + 1}.jsonl") as file:
        file.writelines(
            json.dumps(example.as_json(), ensure_ascii=False) + "\n" for example in selected
        )
    return selected
