"""The commands ``train pretrain``, ``tune`` and ``self-play``, which train language models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

import cheaptalk as ct
from cheaptalk.cli.shared.options import (
    HyperparameterOption,
    JsonOption,
    ParametersOption,
    parameters,
)
from cheaptalk.cli.shared.printing import print_json, say
from cheaptalk.cli.shared.progress import StatusLine
from cheaptalk.cli.shared.sentences import counted
from cheaptalk.cli.studies.experiment import progress_text
from cheaptalk.extras import needing

ChatsArgument = Annotated[
    Path,
    typer.Argument(
        help="JSON Lines file with dialogues, as written by store export --format chats.",
        exists=True,
        dir_okay=False,
    ),
]
ModelArgument = Annotated[
    str, typer.Argument(help="Model to start from: a folder, or a name on the Hugging Face Hub.")
]
FolderOption = Annotated[
    Path, typer.Option("--out", help="Write the model to this new folder.", file_okay=False)
]


def pretrain(
    chats: ChatsArgument,
    out: FolderOption,
    shape: Annotated[
        list[str] | None,
        typer.Option(
            help="Set a size of the model: vocabulary, hidden, layers, heads or context. "
            "Repeatable.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    hyperparameters: HyperparameterOption = None,
    json: JsonOption = False,
) -> None:
    """Pretrain a small language model on recorded dialogues.

    Hyperparameters: epochs, batch (size), rate (learning rate), warmup, decay, lora (rank; 0 trains
    all weights), template and seed.
    """
    with needing("tune"), _training_progress(f"{out}: reading") as progress:
        language = ct.learning.language
        given = parameters(hyperparameters or (), "--hyperparameter")
        settings = {**language.TRAINING.model_dump(), **given}
        training = ct.rules.errors.legal(language.LocalTraining, settings)
        size = ct.rules.errors.legal(language.Shape, parameters(shape or (), "--shape"))
        dialogues = ct.records.read_chats(chats)
        language.pretrain(dialogues, out, size, training, progress)
    _print_result(out, len(dialogues), json)


def tune(
    model: ModelArgument,
    chats: ChatsArgument,
    out: FolderOption,
    hyperparameters: HyperparameterOption = None,
    json: JsonOption = False,
) -> None:
    """Fine-tune a language model on recorded dialogues.

    Hyperparameters: epochs, batch (size), rate (learning rate), warmup, decay, lora (rank; 0 trains
    all weights), template and seed.
    """
    with needing("tune"), _training_progress(f"{out}: reading") as progress:
        given = parameters(hyperparameters or (), "--hyperparameter")
        training = ct.rules.errors.legal(ct.learning.language.LocalTraining, given)
        examples = [*map(ct.learning.language.TrainingExample, ct.records.read_chats(chats))]
        ct.learning.language.fine_tune(model, examples, out, training, progress)
    _print_result(out, len(examples), json)


def self_play(
    model: ModelArgument,
    out: Annotated[
        Path,
        typer.Option(
            help="Write matches, dialogues and models to this folder; run again to resume.",
            file_okay=False,
        ),
    ],
    game: Annotated[str, typer.Option(help="Train on this game.")] = "deal_or_no_deal",
    set_: ParametersOption = None,
    matches: Annotated[
        int, typer.Option("--matches-per-iteration", min=1, help="Play N matches per iteration.",
                          metavar="N")
    ] = 500,
    iterations: Annotated[
        int, typer.Option(min=1, help="Repeat playing and training N times.", metavar="N")
    ] = 10,
    learn: Annotated[
        str,
        typer.Option(
            "--method",
            help="Train with this method: cloning, weighted (cloning weighted by payoff), dpo or "
            "grpo (experimental).",
        ),
    ] = "cloning",
    keep: Annotated[
        str,
        typer.Option(
            "--select",
            help="Select the dialogues to clone by payoff: above_mean, positive, everything, or "
            "the top share, e.g. 0.2.",
        ),
    ] = "above_mean",
    where: Annotated[
        str | None,
        typer.Option(
            "--filter-metric",
            help="Only learn from matches in which this metric is positive, e.g. "
            "pareto_optimality.",
            metavar="METRIC",
        ),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(
            min=1, help="Play each instance N times.", metavar="N",
            show_default="1; 4 for dpo and grpo",
        ),
    ] = None,
    partners: Annotated[
        list[str] | None,
        typer.Option(
            "--partner", metavar="LABEL=PLAYER",
            help="Also play against this player, e.g. rival=linear. Repeatable.",
        ),
    ] = None,
    past: Annotated[
        int,
        typer.Option(
            "--past-iterations", min=0, metavar="N",
            help="Also play against the models of the last N iterations.",
        ),
    ] = 0,
    patience: Annotated[
        int | None,
        typer.Option(
            "--early-stopping", min=1, metavar="N", show_default="never",
            help="Stop after N iterations without a new best mean payoff.",
        ),
    ] = None,
    player: Annotated[
        list[str] | None,
        typer.Option(
            "--player-setting", metavar="NAME=VALUE",
            help="Change how the model plays, e.g. style=tagged. Repeatable.",
        ),
    ] = None,
    hyperparameters: HyperparameterOption = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Set the random seed of instances and training.")
    ] = 1,
    json: JsonOption = False,
) -> None:  # fmt: skip
    """Fine-tune a language model on its own best matches.

    Hyperparameters: epochs, batch (size), rate (learning rate), warmup, decay, lora (rank; 0 trains
    all weights), template and seed.
    """
    with needing("tune"):
        kind = ct.learning.language.SelfPlay
        settings = ct.rules.errors.legal(kind, {
            "game": game, "parameters": parameters(set_ or ()), "matches": matches,
            "iterations": iterations, "learn": learn, "keep": _number_or_text(keep), "where": where,
            "repeats": repeats or (4 if learn in ("dpo", "grpo") else 1), "past": past,
            "partners": parameters(partners or (), "--partner"), "patience": patience, "seed": seed,
            "training": parameters(hyperparameters or (), "--hyperparameter"),
            "player": {**kind().player, **parameters(player or (), "--player-setting")},
        })  # fmt: skip
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
        yield lambda step: show(progress_text(step))


def _print_result(out: Path, chats: int, json: bool) -> None:
    if json:
        print_json({"model": str(out), "chats": chats})
    else:
        say(f"{out}: trained on {counted(chats, 'dialogue')}; use the model as hf/{out}")
