"""The ``judge label`` command, which creates or imports hand labels to validate a judge."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared.interrupts import finishing
from cheaptalk.cli.shared.options import (
    DEFAULT_STORE,
    JsonOption,
    RubricOption,
    StoredArgument,
    StoreOption,
    file_to_write,
)
from cheaptalk.cli.shared.printing import hint, print_json, say
from cheaptalk.cli.shared.sentences import at_store, counted, see_verdicts


@finishing()
def label(
    study: StoredArgument,
    rubric_name: Annotated[str, RubricOption],
    sheet: Annotated[
        Path | None,
        typer.Option(
            help="Write a CSV sheet of items to label to this file.",
            metavar="FILE",
            callback=file_to_write,
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(help="Import the labels from this completed sheet.", metavar="FILE"),
    ] = None,
    annotator: Annotated[
        str, typer.Option(help="Record the labels under this annotator's name.", metavar="NAME")
    ] = "hand",
    sample: Annotated[
        int, typer.Option(min=1, metavar="N", help="Draw a random sample of N items.")
    ] = 100,
    seed: Annotated[int, typer.Option(help="Set the random seed of the sample.")] = 0,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Create or import hand labels to validate a judge.

    Write a sheet with --sheet, fill in its column "verdict", and import the sheet with --labels.
    Then cheaptalk judge run --results-only shows the agreement between labels and judges.
    """
    if (sheet is None) == (labels is None):
        raise ct.CheaptalkError("set either --sheet (write a sheet) or --labels (import labels)")
    rubric = ct.judges.find_rubric(rubric_name)
    with ct.Store.open(store) as opened:
        if sheet is not None:
            items = ct.judges.write_sheet(opened, study, rubric, sheet, sample=sample, seed=seed)
            if json:
                print_json({"study": study, "sheet": str(sheet), "items": items})
            else:
                _print_instructions(study, rubric_name, sheet, items, store)
            return
        assert labels is not None
        result = ct.judges.import_labels(opened, study, rubric, labels, by=annotator)
    if json:
        print_json({"study": study, "by": annotator, **result._asdict()})
        return
    say(
        f"{study}: {counted(result.taken, 'label')} imported, {result.before:,} imported before, "
        f"{result.empty:,} without a verdict"
    )
    hint(f"to show the agreement, run: {see_verdicts(study, store)}")


def _print_instructions(study: str, rubric_name: str, sheet: Path, items: int, store: str) -> None:
    rubric = ct.judges.find_rubric(rubric_name)
    say(f"{sheet}: {counted(items, 'item')} to label\n{rubric.question}")
    if rubric.scale is None:
        for name, meaning in (rubric.categories or {}).items():
            say(f"  {name}: {meaning}")
    else:
        scale = rubric.scale
        say(f"  {scale.low}: {scale.low_means}\n  {scale.high}: {scale.high_means}")  # fmt: skip
    hint(
        'enter a label in the column "verdict" of each row, then run: cheaptalk judge label '
        f"{study} --rubric {shlex.quote(rubric_name)} --labels {shlex.quote(str(sheet))} "
        f"{at_store(store)}"
    )
