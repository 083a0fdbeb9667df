"""Options for runs in providers' batches, and the command that lists these."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.base import (
    DEFAULT_STORE,
    JsonOption,
    StoreOption,
    app,
    out,
    print_json,
    print_table,
)
from cheaptalk.models.names import short_names

WAITING = 3
"""The exit status of a run that leaves calls in batches that have not ended."""

BatchOption = Annotated[
    bool,
    typer.Option("--batch", help="Play in providers' batches: cheaper, one ply a batch, slow."),
]
NoWaitOption = Annotated[
    bool, typer.Option("--no-wait", help="With --batch: submit, and come back another time.")
]
PollOption = Annotated[
    float, typer.Option("--poll", min=0.01, help="Seconds between two looks at a batch.")
]


def in_batches(batch: bool, no_wait: bool, poll: float) -> ct.studies.Batching | None:
    """How to play in batches, as the options say; None to make each call at once."""
    if no_wait and not batch:
        raise typer.BadParameter("it goes with --batch", param_hint="--no-wait")
    return ct.studies.Batching(not no_wait, poll) if batch else None


@app.command()
def batches(store: StoreOption = DEFAULT_STORE, json: JsonOption = False) -> None:
    """List the batches that were submitted to providers, and what is in them."""
    with ct.Store.open(store) as opened:
        found = ct.records.all_batches(opened)
    if json:
        print_json([one._asdict() for one in found])
        return
    if not found:
        out.print("no batch was submitted")
        return
    print_batches(found)


def print_batches(found: Sequence[ct.records.BatchSummary]) -> None:
    """Print batches as a table."""
    short = short_names(one.model for one in found)
    rows: list[list[object]] = [
        [one.name or "", short[one.model], one.state, one.calls, _ago(one.planned)] for one in found
    ]
    print_table(None, ["batch", "model", "state", "calls", "planned"], rows)


def _ago(then: float) -> str:
    hours = (time.time() - then) / 3600
    return f"{hours:,.1f} h ago"
