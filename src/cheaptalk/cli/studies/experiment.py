"""The ``train experiment`` command, which runs a self-play experiment."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

import cheaptalk as ct
from cheaptalk.cli.shared.options import JsonOption
from cheaptalk.cli.shared.printing import print_json, say
from cheaptalk.cli.shared.progress import StatusLine
from cheaptalk.extras import needing


def experiment(
    preset: Annotated[
        str,
        typer.Option(
            help="Run this experiment: tiny, gpu, options, inverted, seconds or a YAML file.",
            metavar="NAME|FILE",
        ),
    ] = "tiny",
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write all results to this folder; run the command again to resume.",
            show_default="self-play-PRESET",
        ),
    ] = None,
    lineages: Annotated[
        list[str] | None,
        typer.Option(
            "--lineage",
            help="Only train this lineage (sequence of models) of the experiment. Repeatable.",
            metavar="NAME",
            show_default="all",
        ),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            help="Start from this model (folder or Hugging Face name) instead of pretraining one.",
            metavar="MODEL",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Run a self-play experiment and write its report.

    The command pretrains a language model. In several iterations, the model plays itself and is
    fine-tuned on its best matches. Run the command again to resume a stopped experiment.
    """
    with needing("analysis"), needing("tune"):
        spec = ct.papers.self_play.experiment.read_experiment(preset)
        folder = out or Path(f"self-play-{spec.name}")
        with StatusLine().shown(f"{folder}: starting") as show:

            def report_progress(stage: str, state: Any) -> None:
                show(f"{stage}: {progress_text(state)}")

            results = ct.papers.self_play.experiment.run_experiment(
                spec, folder, report_progress, lineages=lineages or (), base=base
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
    return f"step {state.done:,} of {state.of:,}, loss {state.loss:.4f}"


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
