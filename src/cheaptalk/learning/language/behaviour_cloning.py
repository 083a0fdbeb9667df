"""Self-play of a language model: it plays itself, and learns from the better of what it said.

Filtered behaviour cloning (Liao, Tomlin and Klein 2024, algorithm 1): a model plays itself on fresh
deals; what each seat heard and said is a chat; those of seats that got more than the mean are what
the next model learns from, which goes on from this one. An iteration is a study in a store, its
training set a file, and its model a folder, so that whatever was stopped goes on from there.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Discriminator, Field, Tag

from cheaptalk.learning.language.filters import FILTERS
from cheaptalk.learning.language.trainers.local import LocalTraining
from cheaptalk.learning.language.trainers.openai import OpenAITraining
from cheaptalk.learning.language.trainers.trainer import Step
from cheaptalk.records import Store
from cheaptalk.records.exports.chats import Chat, chats
from cheaptalk.rules import CheaptalkError, Value
from cheaptalk.studies.runs.progress import Progress
from cheaptalk.studies.runs.run import run
from cheaptalk.studies.study import Study
from cheaptalk.whole_files import read_whole, whole_file

STORE = "matches.sqlite"
SETTINGS = "self-play.json"


def _trainer(written: Any) -> Any:
    """Who trains: in this process where nothing is said."""
    if isinstance(written, Mapping):
        return written.get("trainer", "local")
    return getattr(written, "trainer", None)


Training = Annotated[
    Annotated[LocalTraining, Tag("local")] | Annotated[OpenAITraining, Tag("openai")],
    Discriminator(_trainer),
]
"""Who trains a model, and how."""


class SelfPlay(Value):
    """A self-play. The defaults are the paper's, with a training for small models."""

    game: str = "deal_or_no_deal"
    parameters: Mapping[str, Any] = {}
    """Those of the game that are not its defaults, such as ``{objective: coop}``."""
    matches: int = Field(500, ge=1)
    """That are played in an iteration, on as many deals (K)."""
    iterations: int = Field(10, ge=1)
    """Times that it learns (N)."""
    keep: Literal["above_mean", "positive", "everything"] = "above_mean"
    """Which chats it learns from."""
    patience: int | None = Field(None, ge=1)
    """Iterations without a new best mean after which it stops; None for never. The paper stops
    early, and does not say when."""
    player: Mapping[str, Any] = {"temperature": 1.0, "max_tokens": 200}
    """Settings of the model as a player, such as its style."""
    training: Training = LocalTraining()
    """Who trains it, and how: ``trainer`` is ``local`` or ``openai``."""
    seed: int = 1
    """Of deals, and of training."""


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
    base: Path | str, out: Path, settings: SelfPlay, told: Told | None = None
) -> list[Iteration]:
    """Let a model play itself and learn, or go on with it.

    Args:
        base: the model that begins: its folder, or its name on the Hub; its model string where a
            provider trains it.
        out: a folder: a new one, or that of the same self-play.
        told: called as it goes.

    Raises:
        SelfPlayFailed: the folder is another self-play's, matches could not be played, or there is
            nothing to learn from.
        TrainingFailed: a model could not be trained.
    """
    _begin(out, str(base), settings)
    done: list[Iteration] = []
    model = str(base)
    for number in range(settings.iterations + 1):
        heard = _play(out, model, number, settings, told)
        scores = [one.payoff for one in heard if one.payoff is not None]
        mean = fmean(scores) if scores else 0.0
        found = Iteration(number, model, mean, len(scores) / max(1, len(heard)), None)
        means = [*(one.mean for one in done), mean]
        stale = settings.patience and number - means.index(max(means)) >= settings.patience
        if number == settings.iterations or stale:
            return [*done, found]
        kept = _kept(out, number, heard, settings)
        done.append(found._replace(kept=len(kept)))
        model = _learn(out, model, number, kept, settings, told)
    return done


def _begin(out: Path, base: str, settings: SelfPlay) -> None:
    """Note what it is, or see that it is the same."""
    file, now = out / SETTINGS, settings.model_dump(mode="json") | {"base": base}
    if not file.exists():
        with whole_file(file, new=True) as written:
            written.write(json.dumps(now, indent=2) + "\n")
        return
    before = json.loads(read_whole(file))
    longer = {"iterations", "patience"}
    differs = [name for name in now if name not in longer and now[name] != before.get(name)]
    if differs:
        raise SelfPlayFailed(
            f"{out} is a self-play with {differs[0]} {before.get(differs[0])}, not "
            f"{now[differs[0]]}; name another folder"
        )


def _play(out: Path, model: str, number: int, settings: SelfPlay, told: Told | None) -> list[Chat]:
    """Let a model play itself, and gather what was said."""
    name = f"iteration-{number}"
    study = Study.model_validate({
        "name": name, "seed": settings.seed + number, "deals": settings.matches, "pairing": "self",
        "games": [{"game": settings.game, "fixed": dict(settings.parameters)}],
        "players": {name: {**settings.player, "model": settings.training.player(model)}},
    })  # fmt: skip
    with Store.open(out / STORE, create=True) as store:
        played = run(
            study, store, concurrency=settings.matches,
            progress=lambda now: told(number, now) if told else None,
        )  # fmt: skip
        if played.left:
            why = played.halted or next(iter(played.problems), "it was stopped")
            raise SelfPlayFailed(f"iteration {number} was not played to its end: {why}")
        return [
            chat
            for record in store.records(name, bodies=True)
            if record.over
            for chat in chats(record)
        ]


def _kept(out: Path, number: int, heard: Sequence[Chat], settings: SelfPlay) -> list[Chat]:
    """The chats that the next model learns from, which are written to a file."""
    kept = FILTERS[settings.keep](heard)
    if not kept:
        raise SelfPlayFailed(
            f"of {len(heard):,} chats of iteration {number} the filter {settings.keep} keeps none, "
            "so there is nothing to learn from; play more matches, or begin with a better model"
        )
    with whole_file(out / f"chats-{number + 1}.jsonl") as file:
        file.writelines(json.dumps(one.as_json(), ensure_ascii=False) + "\n" for one in kept)
    return kept


def _learn(
    out: Path, model: str, number: int, kept: Sequence[Chat], settings: SelfPlay, told: Told | None
) -> str:
    """The next model, if it is not there yet."""
    training = settings.training.model_copy(update={"seed": settings.seed + number})
    return training.train(
        model, [one.as_json()["messages"] for one in kept], out / f"model-{number + 1}",
        (lambda step: told(number, step)) if told else None,
    )  # fmt: skip
