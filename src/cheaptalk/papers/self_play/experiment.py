"""Self-play from nothing to a report: a model is made, plays itself, and is examined.

The paper's models are a provider's and cannot be had; a small one is made here of what scripted
negotiators say, so badly that it seldom agrees. Lineages go on from it by self-play, each under an
objective of its own. Then all iterations meet on the same fresh deals, with themselves, with
partners that they never learned from, and with one another, and the recipe ``self-play`` reports.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from pydantic import Field, ValidationError, model_validator

from cheaptalk.frames import match_frames
from cheaptalk.learning import language
from cheaptalk.learning.language import LocalTraining, SelfPlay, Shape, Step, settle
from cheaptalk.papers.self_play.stages import GAME
from cheaptalk.records import Store
from cheaptalk.records.exports.chats import chats
from cheaptalk.reports import findings, write_findings
from cheaptalk.rules import CheaptalkError, Value
from cheaptalk.rules.errors import first_problem, legal
from cheaptalk.studies.runs.progress import Progress
from cheaptalk.studies.runs.run import run
from cheaptalk.studies.study import Study
from cheaptalk.whole_files import whole_file
from cheaptalk.yaml_files import read_yaml, yaml_files

EXPERIMENTS = yaml_files(__file__, "experiments")
"""Files of experiments by name."""
CORPUS, BASE, EXAMINATION = "corpus", "base", "examination"
"""The study that the base learns from, its folder, and the study that compares iterations."""
DEADLINE = 300
"""Seconds that a player's call may take where nothing is said."""
MEASURES = ("score", "agreement", "pareto_optimality", "inconsistency", "inverted_proposals")


class Corpus(Value):
    """What scripted negotiators say, and how a model is made of it."""

    deals: int = Field(ge=1)
    """Of each objective."""
    objectives: list[str] = Field(min_length=1)
    player: Mapping[str, Any]
    """The negotiator, who plays itself."""
    seed: int = 0
    shape: Shape = Shape()
    training: LocalTraining = language.TRAINING


class Examination(Value):
    """How iterations are compared."""

    deals: int = Field(ge=1)
    seed: int = 0
    iterations: tuple[int, ...] | None = None
    """Those of each lineage that are looked at; all of them if not set."""
    partners: Mapping[str, Any] = {}
    """Players that no lineage learned from, by label."""
    crossed: tuple[int, ...] = ()
    """Iterations of each lineage that meet one another."""


class Experiment(Value):
    """A base, lineages that go on from it, and how they are compared."""

    name: str
    description: str
    corpus: Corpus | None = None
    """What a base is made of, unless one is named."""
    self_play: Mapping[str, Any]
    """What all lineages have in common; see :class:`~cheaptalk.learning.language.SelfPlay`."""
    lineages: Mapping[str, Mapping[str, Any]] = Field(min_length=1)
    """What each has besides, by name."""
    examination: Examination

    def settings(self, lineage: str) -> SelfPlay:
        """The self-play of a lineage."""
        return SelfPlay.model_validate({**self.self_play, **self.lineages[lineage]})

    @model_validator(mode="after")
    def _are_legal(self) -> "Experiment":
        for name in self.lineages:
            try:
                self.settings(name)
            except ValidationError as error:
                raise ValueError(f"lineage {name}: {first_problem(error)}") from None
        return self


class Found(NamedTuple):
    """What self-play did to a lineage: one row a partner.

    Attributes:
        lineage: its name.
        partner: ``itself``, or the label of a partner that it did not learn from.
        iteration: 0 for the base.
        means: of payoff of the lineage's player, and of the match's measures, by name.
    """

    lineage: str
    partner: str
    iteration: int
    means: Mapping[str, float | None]


Told = Callable[[str, Progress | Step], None]
"""Is told what is under way, and how it goes."""


def read_experiment(name: str) -> Experiment:
    """An experiment of ours by its name, or from a file.

    Raises:
        CheaptalkError: there is no such experiment, or something is wrong with the file.
    """
    file = EXPERIMENTS.get(name) or Path(name)
    if not file.is_file():
        raise CheaptalkError(
            f"{name} is no experiment; those that come with the package are "
            f"{', '.join(sorted(EXPERIMENTS))}, others are files"
        )
    try:
        written = read_yaml(file)
        if not isinstance(written, Mapping):
            raise ValueError("an experiment is a mapping, with name, lineages and so on")
        return legal(Experiment, written)
    except (ValueError, CheaptalkError) as error:
        raise CheaptalkError(f"{name}: {error}") from None


def run_experiment(
    experiment: Experiment,
    out: Path,
    told: Told = lambda _stage, _now: None,
    *,
    lineages: Collection[str] = (),
    base: str | None = None,
) -> list[Found]:
    """Run an experiment, or go on with it; what came of it is in a folder.

    The folder has ``base/``, the model, if one was made; a folder for each lineage, see
    :func:`~cheaptalk.learning.language.self_play`; ``examination.sqlite``; ``report.html``, and
    ``results.json`` with all that is returned.

    Args:
        told: called as it goes.
        lineages: those to run; all if none is named.
        base: a model that all lineages begin with, instead of one that is made.

    Raises:
        CheaptalkError: a part failed; what was done stays.
    """
    chosen = list(lineages or experiment.lineages)
    unknown = [name for name in chosen if name not in experiment.lineages]
    if unknown:
        raise CheaptalkError(
            f"{experiment.name} has no lineage {unknown[0]}; it has "
            f"{', '.join(experiment.lineages)}"
        )
    if base is not None:
        for name in chosen:
            experiment.settings(name).training.ready(base)
    free = ("description", "self_play", "lineages", "examination")
    settle(out / "experiment.json", experiment, free)
    begun = base or str(_made(experiment, out, told))
    stages: dict[str, list[str]] = {}
    for name in chosen:
        done = language.self_play(begun, out / name, experiment.settings(name), _heard(told, name))
        stages[name] = [one.model for one in done]
    with Store.open(out / f"{EXAMINATION}.sqlite", create=True) as store:
        _examine(experiment, stages, store, told)
        found = list(_compared(store, stages))
        _report(store, out / "report.html")
    with whole_file(out / "results.json") as file:
        file.write(json.dumps([one._asdict() for one in found], indent=2) + "\n")
    return found


def _heard(told: Told, lineage: str) -> Callable[[int, Progress | Step], None]:
    return lambda number, now: told(f"{lineage}, iteration {number}", now)


def _made(experiment: Experiment, out: Path, told: Told) -> Path:
    if experiment.corpus is None:
        raise CheaptalkError(
            f"{experiment.name} makes no model to begin with: name one with --base, such as "
            "self-play-tiny/base"
        )
    return make_base(experiment.corpus, out, told)


def make_base(corpus: Corpus, out: Path, told: Told) -> Path:
    """A model that learned from what scripted negotiators say; its folder."""
    folder = out / BASE
    if folder.exists():
        return folder
    out.mkdir(parents=True, exist_ok=True)
    study = Study.model_validate({
        "name": CORPUS, "deals": corpus.deals, "seed": corpus.seed, "pairing": "self",
        "games": [{"game": GAME, "grid": {"objective": corpus.objectives}}],
        "players": {"negotiator": corpus.player},
    })  # fmt: skip
    with Store.open(out / f"{CORPUS}.sqlite", create=True) as store:
        run(study, store, progress=lambda now: told("what the base learns from", now))
        said = [
            chat.as_json()["messages"]
            for record in store.records(CORPUS, bodies=True)
            for chat in chats(record, "tagged")
        ]
    language.pretrain(
        said, folder, corpus.shape, corpus.training, lambda step: told("the base", step)
    )
    return folder


def _examine(
    experiment: Experiment, stages: Mapping[str, list[str]], store: Store, told: Told
) -> None:
    """Let all iterations meet, one after the other: matches of a model are answered together."""
    seatings: list[tuple[str, list[str]]] = []
    for name, models in stages.items():
        for model in models:
            experiment.settings(name).training.ready(model)
        for number in _looked_at(experiment, models):
            seatings += [(name, row) for row in _seatings(experiment, name, number, stages)]
            study = _study(experiment, stages, seatings)
            stage = f"{EXAMINATION} of {name}, iteration {number}"
            done = run(study, store, concurrency=1_000, progress=partial(told, stage))
            if done.left:
                why = done.halted or next(iter(done.problems), "it was stopped")
                raise CheaptalkError(f"the {stage} was not played to its end: {why}")


def _looked_at(experiment: Experiment, models: Sequence[str]) -> list[int]:
    wanted = experiment.examination.iterations
    return [one for one in range(len(models)) if wanted is None or one in wanted]


def _seatings(
    experiment: Experiment, name: str, number: int, stages: Mapping[str, Sequence[str]]
) -> Iterator[list[str]]:
    """Whom an iteration meets: itself, all partners in both seats, iterations before it, and the
    last one those of other seeds.
    """
    own, last = label(name, number), len(stages[name]) - 1
    yield [own, own]
    crossed = [one for one in experiment.examination.crossed if one <= last]
    before = [label(name, one) for one in crossed if one < number and number in crossed]
    seeds = _other_seeds(experiment, name, stages) if number == last else ()
    for other in (*experiment.examination.partners, *before, *seeds):
        yield [own, other]
        yield [other, own]


def _other_seeds(
    experiment: Experiment, name: str, stages: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """The last iterations of lineages before this one that differ from it by their seed alone."""

    def unseeded(lineage: str) -> SelfPlay:
        return experiment.settings(lineage).model_copy(update={"seed": 0})

    for other, models in stages.items():
        if other == name:
            return
        if unseeded(other) == unseeded(name):
            yield label(other, len(models) - 1)


def label(lineage: str, number: int) -> str:
    """What an iteration is called, as the recipe reads it."""
    return f"{lineage}-iteration-{number}"


def _study(
    experiment: Experiment,
    stages: Mapping[str, list[str]],
    seatings: Sequence[tuple[str, list[str]]],
) -> Study:
    """The study of some seatings, each of a lineage."""
    games: dict[str, dict[str, Any]] = {}
    for lineage, row in seatings:
        fixed = dict(experiment.settings(lineage).parameters)
        game = {"game": GAME, "fixed": fixed, "pairing": []}
        games.setdefault(json.dumps(fixed, sort_keys=True), game)["pairing"].append(row)
    models = {
        label(lineage, number): _player(experiment, lineage, model, base=number == 0)
        for lineage, made in stages.items()
        for number, model in enumerate(made)
    }
    seated = {one for _, row in seatings for one in row}
    players = {**models, **experiment.examination.partners}
    return Study.model_validate({
        "name": EXAMINATION, "deals": experiment.examination.deals,
        "seed": experiment.examination.seed,
        "games": list(games.values()),
        "players": {one: spec for one, spec in players.items() if one in seated},
    })  # fmt: skip


def _player(experiment: Experiment, lineage: str, model: str, *, base: bool) -> dict[str, Any]:
    """A model as a player. All lineages begin with one base, which sits down as several players:
    each has some seconds more to answer, which none of them needs.
    """
    settings = experiment.settings(lineage)
    player = {**settings.player, "model": settings.training.player(model)}
    place = list(experiment.lineages).index(lineage)
    if base and place:
        player["deadline"] = player.get("deadline", DEADLINE) + place
    return player


def _compared(store: Store, stages: Mapping[str, list[str]]) -> Iterator[Found]:
    """What each iteration got with each partner."""
    (frame,) = match_frames(store, EXAMINATION, only=MEASURES).values()
    one, two = pl.col("player.player_1"), pl.col("player.player_2")
    for lineage, models in stages.items():
        for number in range(len(models)):
            own = label(lineage, number)
            met = frame.filter((one == own) | (two == own)).with_columns(
                partner=pl.when(one == two).then(pl.lit("itself")).when(one == own).then(two)
                .otherwise(one),
                payoff=pl.when(one == two)
                .then(pl.mean_horizontal("payoff.player_1", "payoff.player_2"))
                .when(one == own).then("payoff.player_1").otherwise("payoff.player_2"),
            )  # fmt: skip
            for (partner,), part in met.group_by("partner", maintain_order=True):
                means = part.select(pl.col("payoff", *MEASURES).mean()).row(0, named=True)
                yield Found(lineage, str(partner), number, means)


def _report(store: Store, file: Path) -> None:
    write_findings(findings(store, EXAMINATION, "self-play"), file)
