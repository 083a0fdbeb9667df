"""The command with which people label what models judge: label."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.options import (
    DEFAULT_STORE,
    JsonOption,
    StoredArgument,
    StoreOption,
    file_to_write,
)
from cheaptalk.cli.shared.outside import finishing
from cheaptalk.cli.shared.printing import hint, print_json, say
from cheaptalk.cli.shared.sentences import at_store, counted, see_verdicts


@finishing()
def label(
    study: StoredArgument,
    by_rubric: Annotated[
        str,
        typer.Option(
            "--judge",
            help="A rubric: claims, hallucination, honesty, promises or a .yaml file.",
            autocompletion=completion.rubrics,
        ),
    ],
    sheet: Annotated[
        Path | None,
        typer.Option(
            help="Write a CSV file of items to label.", metavar="FILE", callback=file_to_write
        ),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Take in the labels of such a file.", metavar="FILE")
    ] = None,
    by: Annotated[str, typer.Option(help="Who labelled it.")] = "hand",
    sample: Annotated[int, typer.Option(min=1, help="Items of a sheet, drawn at random.")] = 100,
    seed: Annotated[int, typer.Option(help="Of the sample.")] = 0,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Label a sample by hand, to hold a judge against: write a sheet, fill it in, take it in."""
    if (sheet is None) == (labels is None):
        raise ct.CheaptalkError("name either --sheet, to write one, or --labels, to take them in")
    rubric = ct.judges.find_rubric(by_rubric)
    with ct.Store.open(store) as opened:
        if sheet is not None:
            items = ct.judges.write_sheet(opened, study, rubric, sheet, sample=sample, seed=seed)
            if json:
                print_json({"study": study, "sheet": str(sheet), "items": items})
            else:
                _say_how(study, by_rubric, sheet, items, store)
            return
        assert labels is not None
        taken = ct.judges.take_labels(opened, study, rubric, labels, by=by)
    if json:
        print_json({"study": study, "by": by, **taken._asdict()})
        return
    say(
        f"{study}: {counted(taken.taken, 'label')} taken in, {taken.before:,} before, "
        f"{taken.empty:,} without a verdict"
    )
    hint(f"see agreement with: {see_verdicts(study, store)}")


def _say_how(study: str, by_rubric: str, sheet: Path, items: int, store: str) -> None:
    """What the sheet asks for, and how to go on."""
    rubric = ct.judges.find_rubric(by_rubric)
    say(f"{sheet}: {counted(items, 'item')} to label\n{rubric.question}")
    if rubric.scale is None:
        for name, meaning in (rubric.categories or {}).items():
            say(f"  {name}: {meaning}")
    else:
        scale = rubric.scale
        say(f"  {scale.low}: {scale.low_means}\n  {scale.high}: {scale.high_means}")  # fmt: skip
    hint(
        "write one of these into the column verdict of each row, then: cheaptalk label "
        f"{study} --judge {shlex.quote(by_rubric)} --labels {shlex.quote(str(sheet))} "
        f"{at_store(store)}"
    )
