"""The commands that make language models and train them: lm pretrain, tune and self-play."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

import cheaptalk as ct
from cheaptalk.cli.shared.loading import Group
from cheaptalk.cli.shared.options import JsonOption, ParametersOption, parameters
from cheaptalk.cli.shared.printing import print_json, say
from cheaptalk.cli.shared.progress import StatusLine
from cheaptalk.cli.shared.sentences import counted
from cheaptalk.cli.studies.experiment import how_far
from cheaptalk.extras import needing

commands = typer.Typer(
    cls=Group, help="Make small language models, and train them on what players said.",
    no_args_is_help=True, add_completion=False,
)  # fmt: skip

ChatsArgument = Annotated[
    Path,
    typer.Argument(
        help="A file of chats, as export --format chats writes.", exists=True, dir_okay=False
    ),
]
ModelArgument = Annotated[
    str, typer.Argument(help="A folder with a model, or the name of one on the Hugging Face Hub.")
]
FolderOption = Annotated[Path, typer.Option("--out", help="A new folder.", file_okay=False)]
TrainingOption = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        help="A setting of the training: epochs, batch, rate, warmup, decay, lora (its rank; 0 for "
        "all weights), template or seed. Repeat it for several.",
        metavar="NAME=VALUE",
    ),
]


@commands.command()
def pretrain(
    chats: ChatsArgument,
    out: FolderOption,
    shape: Annotated[
        list[str] | None,
        typer.Option(
            help="How large it is: vocabulary, hidden, layers, heads or context. Repeat it for "
            "several.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    training: TrainingOption = None,
    json: JsonOption = False,
) -> None:
    """Make a language model from nothing, which says what players said in chats."""
    with needing("tune"), _shown(f"{out}: reading") as progress:
        language = ct.learning.language
        settings = {**language.TRAINING.model_dump(), **parameters(training or (), "--with")}
        learned = ct.rules.errors.legal(language.LocalTraining, settings)
        size = ct.rules.errors.legal(language.Shape, parameters(shape or (), "--shape"))
        told = ct.records.read_chats(chats)
        language.pretrain(told, out, size, learned, progress)
    _done(out, len(told), json)


@commands.command()
def tune(
    model: ModelArgument,
    chats: ChatsArgument,
    out: FolderOption,
    training: TrainingOption = None,
    json: JsonOption = False,
) -> None:
    """Train a language model on what players said in chats, and write it to a new folder."""
    with needing("tune"), _shown(f"{out}: reading") as progress:
        kind = ct.learning.language.LocalTraining
        learned = ct.rules.errors.legal(kind, parameters(training or (), "--with"))
        told = [ct.learning.language.Lesson(one) for one in ct.records.read_chats(chats)]
        ct.learning.language.fine_tune(model, told, out, learned, progress)
    _done(out, len(told), json)


@commands.command("self-play")
def self_play(
    model: ModelArgument,
    out: Annotated[
        Path,
        typer.Option(
            help="A folder for all of it: matches, chats and models. A self-play that was stopped "
            "goes on from there.",
            file_okay=False,
        ),
    ],
    game: Annotated[str, typer.Option(help="What it plays.")] = "deal_or_no_deal",
    set_: ParametersOption = None,
    matches: Annotated[int, typer.Option(min=1, help="Matches of an iteration.")] = 500,
    iterations: Annotated[int, typer.Option(min=1, help="Times that it learns.")] = 10,
    learn: Annotated[
        str,
        typer.Option(
            help="How it learns: cloning, weighted, or from better and worse matches on one deal: "
            "dpo, or grpo, which is experimental."
        ),
    ] = "cloning",
    keep: Annotated[
        str,
        typer.Option(
            help="What it clones: above_mean, positive, everything, or the share of the best, such "
            "as 0.2."
        ),
    ] = "above_mean",
    where: Annotated[
        str | None,
        typer.Option(
            help="A measure that is above 0 in matches that it learns from, such as "
            "pareto_optimality."
        ),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(min=1, help="Matches on each deal; 1, or 4 where these are compared."),
    ] = None,
    partners: Annotated[
        list[str] | None,
        typer.Option(
            "--partner",
            help="A player that it meets besides itself, such as fair=fair. Repeat it for several.",
            metavar="LABEL=PLAYER",
        ),
    ] = None,
    past: Annotated[
        int, typer.Option(min=0, help="Past iterations that it meets besides itself.")
    ] = 0,
    patience: Annotated[
        int | None,
        typer.Option(min=1, help="Iterations without a new best mean after which it stops."),
    ] = None,
    player: Annotated[
        list[str] | None,
        typer.Option(
            help="A setting of the model as a player, such as style=tagged. Repeat it for several.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    training: TrainingOption = None,
    seed: Annotated[int, typer.Option(min=0, help="Of deals, and of training.")] = 1,
    json: JsonOption = False,
) -> None:
    """Let a language model play itself, and learn from the better of what it said."""
    with needing("tune"):
        kind = ct.learning.language.SelfPlay
        settings = ct.rules.errors.legal(kind, {
            "game": game, "parameters": parameters(set_ or ()), "matches": matches,
            "iterations": iterations, "learn": learn, "keep": _number_or(keep), "where": where,
            "repeats": repeats or (4 if learn in ("dpo", "grpo") else 1), "past": past,
            "partners": parameters(partners or (), "--partner"), "patience": patience, "seed": seed,
            "training": parameters(training or (), "--with"),
            "player": {**kind().player, **parameters(player or (), "--player")},
        })  # fmt: skip
        with StatusLine().shown(f"{out}: loading {model}") as show:

            def told(number: int, now: ct.studies.Progress | ct.learning.language.Step) -> None:
                show(f"iteration {number}: {how_far(now)}")

            done = ct.learning.language.self_play(model, out, settings, told)
    if json:
        print_json([one._asdict() for one in done])
        return
    for one in done:
        kept = "" if one.kept is None else f"; learned from {counted(one.kept, 'chat')}"
        say(f"iteration {one.number}: {one.mean:.4g} on average, {one.finished:.0%} finished{kept}")
    say(f"The matches are in {out / ct.learning.language.STORE}")


def _number_or(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


@contextmanager
def _shown(first: str) -> Iterator[Callable[[Any], None]]:
    """Something to tell of the steps of a training."""
    with StatusLine().shown(first) as show:
        yield lambda step: show(how_far(step))


def _done(out: Path, chats: int, json: bool) -> None:
    if json:
        print_json({"model": str(out), "chats": chats})
    else:
        say(f"{out} has learned from {counted(chats, 'chat')}; play it as hf/{out}")
