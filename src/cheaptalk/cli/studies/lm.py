"""The commands ``train pretrain``, ``tune``, ``self-play`` and ``experiment``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import cheaptalk as ct
from cheaptalk.cli.shared import options as opt
from cheaptalk.cli.shared.printing import StatusLine, err, print_json, say
from cheaptalk.cli.shared.sentences import counted
from cheaptalk.extras import ANALYSIS, TUNE, needing

Chats = Annotated[
    Path,
    opt.Settings(
        help="JSON Lines file with dialogues, as written by store export --format chats.",
        exists=True,
        dir_okay=False,
    ),
]
Model = Annotated[
    str,
    opt.Settings(
        help="Model to start from: smollm2, a folder, a GGUF file, or a Hugging Face model."
    ),
]
NewModel = Annotated[
    Path, opt.Settings(help="Write the model to this new folder.", file_okay=False)
]


def pretrain(
    chats: Chats,
    /,
    out: NewModel,
    shape: list[opt.Setting] | None = None,
    hyperparameters: opt.Hyperparameter = None,
    json: opt.Json = False,
) -> None:
    """Pretrain a small language model on recorded dialogues.

    Hyperparameters: epochs, batch (size), rate (learning rate), warmup, decay, lora (rank; 0 trains
    all weights), memory (limit in GB), template and seed.

    Args:
        shape: Set a size of the model: vocabulary, hidden, layers, heads or context.
            Repeatable.
    """
    with needing("tune", *TUNE), _training_progress(f"{out}: reading") as progress:
        language = ct.learning.language
        given = opt.parameters(hyperparameters or (), "--hyperparameter")
        settings = {**language.TRAINING.model_dump(), **given}
        training = ct.rules.errors.legal(language.LocalTraining, settings)
        size = ct.rules.errors.legal(language.Shape, opt.parameters(shape or (), "--shape"))
        dialogues = ct.records.read_chats(chats)
        language.pretrain(dialogues, out, size, training, progress)
    _print_result(out, len(dialogues), json)


def tune(
    model: Model,
    chats: Chats,
    /,
    out: NewModel,
    hyperparameters: opt.Hyperparameter = None,
    json: opt.Json = False,
) -> None:
    """Fine-tune a language model on recorded dialogues.

    Hyperparameters: epochs, batch (size), rate (learning rate), warmup, decay, lora (rank; 0 trains
    all weights), memory (limit in GB), template and seed.
    """
    with needing("tune", *TUNE), _training_progress(f"{out}: reading") as progress:
        given = opt.parameters(hyperparameters or (), "--hyperparameter")
        training = ct.rules.errors.legal(ct.learning.language.LocalTraining, given)
        examples = [*map(ct.learning.language.TrainingExample, ct.records.read_chats(chats))]
        ct.learning.language.fine_tune(model, examples, out, training, progress)
    _print_result(out, len(examples), json)


def self_play(
    model: Model,
    /,
    out: Annotated[Path, opt.Settings(file_okay=False)],
    game: str = "deal_or_no_deal",
    set_: opt.Parameters = None,
    matches_per_iteration: opt.Count = 500,
    iterations: opt.Count = 10,
    method: str = "cloning",
    select: str = "above_mean",
    filter_metric: Annotated[str | None, opt.Settings(metavar="METRIC")] = None,
    repeats: Annotated[opt.Count | None, opt.Settings(show_default="1; 4 for dpo and grpo")] = None,
    partner: Annotated[list[str] | None, opt.Settings(metavar="LABEL=PLAYER")] = None,
    past_iterations: opt.CountFromZero = 0,
    early_stopping: Annotated[opt.Count | None, opt.Settings(show_default="never")] = None,
    player_setting: list[opt.Setting] | None = None,
    hyperparameters: opt.Hyperparameter = None,
    seed: Annotated[int, opt.Settings(min=0)] = 1,
    json: opt.Json = False,
) -> None:
    """Fine-tune a language model on its own best matches.

    Hyperparameters: epochs, batch (size), rate (learning rate), warmup, decay, lora (rank; 0 trains
    all weights), memory (limit in GB), template and seed.

    Args:
        out: Write matches, dialogues and models to this folder; run again to resume.
        game: Train on this game.
        matches_per_iteration: Play N matches per iteration.
        iterations: Repeat playing and training N times.
        method: Train with this method: cloning, weighted (cloning weighted by payoff), dpo or
            grpo (experimental).
        select: Select the dialogues to clone by payoff: above_mean, positive, everything, or
            the top share, e.g. 0.2.
        filter_metric: Only learn from matches in which this metric is positive, e.g.
            pareto_optimality.
        repeats: Play each instance N times.
        partner: Also play against this player, e.g. rival=linear. Repeatable.
        past_iterations: Also play against the models of the last N iterations.
        early_stopping: Stop after N iterations without a new best mean payoff.
        player_setting: Change how the model plays, e.g. style=tagged. Repeatable.
        seed: Set the random seed of instances and training.
    """
    with needing("tune", *TUNE):
        kind = ct.learning.language.SelfPlay
        settings = ct.rules.errors.legal(
            kind,
            {
                "game": game,
                "parameters": opt.parameters(set_ or ()),
                "matches": matches_per_iteration,
                "iterations": iterations,
                "learn": method,
                "keep": _number_or_text(select),
                "where": filter_metric,
                "repeats": repeats or (4 if method in ("dpo", "grpo") else 1),
                "past": past_iterations,
                "partners": opt.parameters(partner or (), "--partner"),
                "patience": early_stopping,
                "seed": seed,
                "training": opt.parameters(hyperparameters or (), "--hyperparameter"),
                "player": {
                    **kind().player,
                    **opt.parameters(player_setting or (), "--player-setting"),
                },
            },
        )
        with StatusLine().shown(f"{out}: loading {model}") as show:

            def report_progress(number: int, state: Any) -> None:
                show(f"iteration {number}: {progress_text(state)}")

            done = ct.learning.language.self_play(model, out, settings, report_progress)
    if json:
        print_json([iteration._asdict() for iteration in done])
        return
    for iteration in done:
        kept = iteration.kept
        learned = "" if kept is None else f"; trained on {counted(kept, 'dialogue')}"
        finished = f"{iteration.finished:.0%} of matches finished"
        say(f"iteration {iteration.number}: mean payoff {iteration.mean:.4g}, {finished}{learned}")
    say(f"Matches stored in {out / ct.learning.language.STORE}")


def _number_or_text(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


@contextmanager
def _training_progress(first: str) -> Iterator[Callable[[Any], None]]:
    """Show a status line; yield a function that updates it after each training step."""
    with StatusLine().shown(first) as show:

        def report_progress(step: Any) -> None:
            if step.done:
                show(progress_text(step))
            else:
                say(progress_text(step), to=err, wrap=False)

        yield report_progress


def _print_result(out: Path, chats: int, json: bool) -> None:
    if json:
        print_json({"model": str(out), "chats": chats})
    else:
        say(f"{out}: trained on {counted(chats, 'dialogue')}; use the model as hf/{out}")


def experiment(
    preset: Annotated[str, opt.Settings(metavar="NAME|FILE")] = "tiny",
    out: Annotated[Path | None, opt.Settings(show_default="self-play-PRESET")] = None,
    lineage: Annotated[list[opt.Name] | None, opt.Settings(show_default="all")] = None,
    base: Annotated[str | None, opt.Settings(metavar="MODEL")] = None,
    json: opt.Json = False,
) -> None:
    """Run a self-play experiment and write its report.

    The command pretrains a language model. In several iterations, the model plays itself and is
    fine-tuned on its best matches. Run the command again to resume a stopped experiment.

    Args:
        preset: Run this experiment: tiny, gpu, options, inverted, seconds or a YAML file.
        out: Write all results to this folder; run the command again to resume.
        lineage: Only train this lineage (sequence of models) of the experiment. Repeatable.
        base: Start from this model (folder or Hugging Face name) instead of pretraining one.
    """
    with needing("analysis", *ANALYSIS), needing("tune", *TUNE):
        spec = ct.papers.self_play.experiment.read_experiment(preset)
        folder = out or Path(f"self-play-{spec.name}")
        with StatusLine().shown(f"{folder}: starting") as show:

            def report_progress(stage: str, state: Any) -> None:
                show(f"{stage}: {progress_text(state)}")

            results = ct.papers.self_play.experiment.run_experiment(
                spec, folder, report_progress, lineages=lineage or (), base=base
            )
    if json:
        print_json([row._asdict() for row in results])
        return
    for line in change_lines(results):
        say(line)
    say(f"Report written to {(folder / 'report.html').absolute()}")


def progress_text(state: Any) -> str:
    """Return the progress of a run or a training, as text."""
    if isinstance(state, ct.studies.Progress):
        return f"{state.done:,} of {state.done + state.left:,} matches"
    return str(state.line)


def change_lines(results: Iterable[Any]) -> list[str]:
    """Describe how each lineage's results with each partner changed from first to last model.

    Partners that are iterations of a lineage are left out.
    """
    by_pair: dict[tuple[str, str], list[Any]] = {}
    rows = list(results)
    lineages = {row.lineage for row in rows}
    for row in rows:
        if row.partner.rpartition("-iteration-")[0] not in lineages:
            by_pair.setdefault((row.lineage, row.partner), []).append(row)
    return [
        f"{lineage} with {partner}: {_change(pair[0], pair[-1])}"
        for (lineage, partner), pair in by_pair.items()
        if len(pair) > 1
    ]


def _change(first: Any, last: Any) -> str:
    def change(name: str, spec: str) -> str:
        values = [row.means[name] for row in (first, last)]
        return " to ".join("n/a" if value is None else format(value, spec) for value in values)

    return (
        f"payoff {change('payoff', '.2f')}, agreement {change('agreement', '.0%')}, "
        f"inconsistent moves {change('inconsistency', '.1%')}, "
        f"inverted proposals {change('inverted_proposals', '.0%')}"
    )
