"""Self-play experiments: pretrain a base model, train lineages by self-play, and compare them.

An experiment pretrains a small base model on the messages of scripted negotiators. Lineages start
from the base model and continue by self-play, each with its own objective. Finally, all iterations
play the same new instances with themselves, with unknown partners, and with each other. The recipe
``self-play`` reports the results.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from pydantic import Field, ValidationError, model_validator

from cheaptalk.atomic_files import whole_file
from cheaptalk.frames import read_matches
from cheaptalk.learning import language
from cheaptalk.learning.language import LocalTraining, SelfPlay, Shape, Step, check_settings
from cheaptalk.papers.self_play.stages import GAME
from cheaptalk.records import Store
from cheaptalk.records.exports.chats import chats
from cheaptalk.reports import findings, write_findings
from cheaptalk.rules import CheaptalkError, Value
from cheaptalk.rules.errors import first_problem, legal
from cheaptalk.studies.runs.progress import Progress
from cheaptalk.studies.runs.run import run
from cheaptalk.studies.study import Study
from cheaptalk.yaml_files import read_yaml, yaml_files

EXPERIMENTS = yaml_files(__file__, "experiments")
CORPUS, BASE, EXAMINATION = "corpus", "base", "examination"
"""Names of the study of training data, the base model's folder, and the study of iterations."""
DEADLINE = 300
"""The default timeout of a player's call, in seconds."""
METRICS = ("score", "agreement", "pareto_optimality", "inconsistency", "inverted_proposals")


class Corpus(Value):
    """Training data from scripted negotiators, and the settings of the base model."""

    instances: int = Field(ge=1)
    """The number of instances per objective."""
    objectives: list[str] = Field(min_length=1)
    player: Mapping[str, Any]
    """The negotiator, which plays against copies of itself."""
    seed: int = 0
    shape: Shape = Shape()
    training: LocalTraining = language.TRAINING


class Examination(Value):
    """Settings of the matches that compare iterations."""

    instances: int = Field(ge=1)
    seed: int = 0
    iterations: tuple[int, ...] | None = None
    """The evaluated iterations of each lineage; all by default."""
    partners: Mapping[str, Any] = {}
    """Players that no lineage learned from, by label."""
    crossed: tuple[int, ...] = ()
    """The iterations of each lineage that play each other."""


class Experiment(Value):
    """A base model, the lineages trained from it, and the comparison of iterations."""

    name: str
    description: str
    corpus: Corpus | None = None
    """Training data of the base model; None if a base model is given."""
    self_play: Mapping[str, Any]
    """Settings shared by all lineages; see :class:`~cheaptalk.learning.language.SelfPlay`."""
    lineages: Mapping[str, Mapping[str, Any]] = Field(min_length=1)
    """Further settings of each lineage, by name."""
    examination: Examination

    def settings(self, lineage: str) -> SelfPlay:
        return SelfPlay.model_validate({**self.self_play, **self.lineages[lineage]})

    @model_validator(mode="after")
    def _are_legal(self) -> "Experiment":
        for name in self.lineages:
            try:
                self.settings(name)
            except ValidationError as error:
                raise ValueError(f"lineage {name}: {first_problem(error)}") from None
        return self


class IterationResult(NamedTuple):
    """The results of an iteration with one partner.

    Attributes:
        lineage: the name of the lineage.
        partner: ``itself``, or the label of the partner.
        iteration: the number of the iteration; 0 is the base model.
        means: the mean payoff of the iteration, and the means of match metrics, by name.
    """

    lineage: str
    partner: str
    iteration: int
    means: Mapping[str, float | None]


Observer = Callable[[str, Progress | Step], None]
"""A function that receives the name of the current stage, and its progress."""


def read_experiment(name: str) -> Experiment:
    """Return an included experiment by name, or load an experiment from a file.

    Raises:
        CheaptalkError: the experiment is unknown, or the file is invalid.
    """
    file = EXPERIMENTS.get(name) or Path(name)
    if not file.is_file():
        known = ", ".join(sorted(EXPERIMENTS))
        raise CheaptalkError(f"unknown experiment {name}; use {known} or the path of a file")
    try:
        content = read_yaml(file)
        if not isinstance(content, Mapping):
            raise ValueError("expected a mapping with name, lineages and so on")
        return legal(Experiment, content)
    except (ValueError, CheaptalkError) as error:
        raise CheaptalkError(f"{name}: {error}") from None


def run_experiment(
    experiment: Experiment,
    out: Path,
    observer: Observer = lambda _stage, _now: None,
    *,
    lineages: Collection[str] = (),
    base: str | None = None,
) -> list[IterationResult]:
    """Run or resume an experiment in a folder.

    The folder contains ``base/`` (a trained base model), a folder per lineage (see
    :func:`~cheaptalk.learning.language.self_play`), ``examination.sqlite``, ``report.html``, and
    the returned results as ``results.json``.

    Args:
        observer: receives the progress.
        lineages: the lineages to run; by default all.
        base: a model to use as the base model, instead of training one.

    Raises:
        CheaptalkError: a part failed; completed parts are kept.
    """
    selected = list(lineages or experiment.lineages)
    unknown = [name for name in selected if name not in experiment.lineages]
    if unknown:
        known = ", ".join(experiment.lineages)
        raise CheaptalkError(f"{experiment.name} has no lineage {unknown[0]}; use {known}")
    if base is not None:
        for name in selected:
            experiment.settings(name).training.ready(base)
    free = ("description", "self_play", "lineages", "examination")
    check_settings(out / "experiment.json", experiment, free)
    start = base or str(_base_model(experiment, out, observer))
    stages: dict[str, list[str]] = {}
    for name in selected:
        settings, report = experiment.settings(name), _iteration_observer(observer, name)
        done = language.self_play(start, out / name, settings, report)
        stages[name] = [iteration.model for iteration in done]
    with Store.open(out / f"{EXAMINATION}.sqlite", create=True) as store:
        _examine(experiment, stages, store, observer)
        results = list(_results(store, stages))
        write_findings(findings(store, EXAMINATION, "self-play"), out / "report.html")
    with whole_file(out / "results.json") as file:
        file.write(json.dumps([result._asdict() for result in results], indent=2) + "\n")
    return results


def _iteration_observer(observer: Observer, lineage: str) -> Callable[[int, Progress | Step], None]:
    return lambda number, now: observer(f"{lineage}, iteration {number}", now)


def _base_model(experiment: Experiment, out: Path, observer: Observer) -> Path:
    if experiment.corpus is None:
        raise CheaptalkError(
            f"{experiment.name} has no corpus for a base model; pass a base model, such as "
            "self-play-tiny/base"
        )
    return make_base(experiment.corpus, out, observer)


def make_base(corpus: Corpus, out: Path, observer: Observer) -> Path:
    """Train the base model on messages of scripted negotiators, and return its folder."""
    folder = out / BASE
    if folder.exists():
        return folder
    out.mkdir(parents=True, exist_ok=True)
    study = Study.model_validate(
        {
            "name": CORPUS,
            "instances": corpus.instances,
            "seed": corpus.seed,
            "pairing": "self",
            "games": [{"game": GAME, "grid": {"objective": corpus.objectives}}],
            "players": {"negotiator": corpus.player},
        }
    )
    with Store.open(out / f"{CORPUS}.sqlite", create=True) as store:
        run(study, store, progress=lambda now: observer("training data of the base", now))
        dialogues = [
            chat.as_json()["messages"]
            for record in store.records(CORPUS, bodies=True)
            for chat in chats(record, "tagged")
        ]
    report = partial(observer, "the base")
    language.pretrain(dialogues, folder, corpus.shape, corpus.training, report)
    return folder


def _examine(
    experiment: Experiment, stages: Mapping[str, list[str]], store: Store, observer: Observer
) -> None:
    """Play the matches between iterations, one iteration at a time to batch calls by model."""
    seatings: list[tuple[str, list[str]]] = []
    for name, models in stages.items():
        for model in models:
            experiment.settings(name).training.ready(model)
        selected = experiment.examination.iterations
        for number in range(len(models)):
            if selected is not None and number not in selected:
                continue
            seatings += [(name, row) for row in _seatings(experiment, name, number, stages)]
            study = _study(experiment, stages, seatings)
            stage = f"{EXAMINATION} of {name}, iteration {number}"
            done = run(study, store, concurrency=1_000, progress=partial(observer, stage))
            if done.left:
                reason = done.halted or next(iter(done.problems), "the run was stopped")
                raise CheaptalkError(f"the {stage} is incomplete: {reason}")


def _seatings(
    experiment: Experiment, name: str, number: int, stages: Mapping[str, Sequence[str]]
) -> Iterator[list[str]]:
    """Yield the pairs to play for an iteration: with itself, partners and other iterations."""
    own, last = label(name, number), len(stages[name]) - 1
    yield [own, own]
    crossed = [index for index in experiment.examination.crossed if index <= last]
    before = [label(name, index) for index in crossed if index < number and number in crossed]
    seeds = _other_seeds(experiment, name, stages) if number == last else ()
    for partner in (*experiment.examination.partners, *before, *seeds):
        yield [own, partner]
        yield [partner, own]


def _other_seeds(
    experiment: Experiment, name: str, stages: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Yield the last iteration of each earlier lineage that differs only in its random seed."""

    def unseeded(lineage: str) -> SelfPlay:
        return experiment.settings(lineage).model_copy(update={"seed": 0})

    for earlier, models in stages.items():
        if earlier == name:
            return
        if unseeded(earlier) == unseeded(name):
            yield label(earlier, len(models) - 1)


def label(lineage: str, number: int) -> str:
    """Return the label of an iteration's player, as expected by the recipe."""
    return f"{lineage}-iteration-{number}"


def _study(
    experiment: Experiment,
    stages: Mapping[str, list[str]],
    seatings: Sequence[tuple[str, list[str]]],
) -> Study:
    games: dict[str, dict[str, Any]] = {}
    for lineage, row in seatings:
        fixed = dict(experiment.settings(lineage).parameters)
        game = {"game": GAME, "fixed": fixed, "pairing": []}
        games.setdefault(json.dumps(fixed, sort_keys=True), game)["pairing"].append(row)
    models = {
        label(lineage, number): _player(experiment, lineage, model, base=number == 0)
        for lineage, trained in stages.items()
        for number, model in enumerate(trained)
    }
    seated = {name for _, row in seatings for name in row}
    players = {**models, **experiment.examination.partners}
    return Study.model_validate(
        {
            "name": EXAMINATION,
            "instances": experiment.examination.instances,
            "seed": experiment.examination.seed,
            "games": list(games.values()),
            "players": {name: spec for name, spec in players.items() if name in seated},
        }
    )


def _player(experiment: Experiment, lineage: str, model: str, *, base: bool) -> dict[str, Any]:
    """Return a model's settings as a player; timeouts distinguish the lineages' base players."""
    settings = experiment.settings(lineage)
    player = {**settings.player, "model": settings.training.player(model)}
    index = list(experiment.lineages).index(lineage)
    if base and index:
        player["deadline"] = player.get("deadline", DEADLINE) + index
    return player


def _results(store: Store, stages: Mapping[str, list[str]]) -> Iterator[IterationResult]:
    (frame,) = read_matches(store, EXAMINATION, only=METRICS).values()
    first, second = pl.col("player_player_1"), pl.col("player_player_2")
    for lineage, models in stages.items():
        for number in range(len(models)):
            player = label(lineage, number)
            matches = frame.filter((first == player) | (second == player)).with_columns(
                partner=pl.when(first == second)
                .then(pl.lit("itself"))
                .when(first == player)
                .then(second)
                .otherwise(first),
                payoff=pl.when(first == second)
                .then(pl.mean_horizontal("payoff_player_1", "payoff_player_2"))
                .when(first == player)
                .then("payoff_player_1")
                .otherwise("payoff_player_2"),
            )
            for (partner,), part in matches.group_by("partner", maintain_order=True):
                means = part.select(pl.col("payoff", *METRICS).mean()).row(0, named=True)
                yield IterationResult(lineage, str(partner), number, means)
