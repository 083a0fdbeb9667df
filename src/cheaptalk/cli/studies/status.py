"""The ``status`` command, which shows the progress of the studies in a store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.options import DEFAULT_STORE, JsonOption, StoreOption
from cheaptalk.cli.shared.printing import out, print_json, print_table, say
from cheaptalk.cli.shared.sentences import cost_text, counted, excluded_text, superseded_text


def status(
    study: Annotated[
        str | None,
        typer.Argument(help="Only show this study.", autocompletion=completion.stored_studies),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Show the progress and cost of stored studies.

    The command also lists unresolved calls, which were sent but have no recorded response.
    """
    with ct.Store.open(store) as opened:
        status_of, statuses = ct.studies.study_status, ct.studies.statuses
        summaries = [status_of(opened, study)] if study else statuses(opened)
        calls = opened.unresolved()
        unresolved = [call for call in calls if study is None or call["bought_by"] == study]
        shared_cost = ct.records.unassigned_cost(opened)
    if json:
        print_json({
            "studies": [summary.as_json() for summary in summaries],
            "no_study": shared_cost.as_json(), "unresolved": unresolved,
        })  # fmt: skip
        return
    rows: list[list[object]] = []
    for item in summaries:
        counts = [item.summary.counts.get(status.value, 0) for status in ct.records.Status]
        rows.append([item.name, "?" if item.planned is None else item.planned, *counts])
    kinds = [status.value for status in ct.records.Status]
    print_table(None, ["study", "planned", *kinds], rows)
    for item in summaries:
        for note in _notes(item):
            say(f"{item.name}: {note}", whole=True)
    if shared_cost.sendings:
        say(f"cost of judging participants' answers: {cost_text(shared_cost)}", whole=True)
    if unresolved:
        out.print(f"unresolved (possibly billed): {counted(len(unresolved), 'call')}")
        for call in unresolved:
            match = ct.records.ledger_place(call["match_id"])
            request = f"request {call['request']} {call['actor']}"
            out.print(f"  {match} {request}, attempt {call['try']}", soft_wrap=True)


def _notes(item: ct.studies.StudyStatus) -> Iterator[str]:
    """Yield notes on a study: excluded matches, cost and problems."""
    if item.summary.set_aside:
        yield superseded_text(item.summary.set_aside)
    if any(item.excluded):
        yield excluded_text(item.excluded)
    if item.cost.sendings:
        yield cost_text(item.cost)
    for name, count in item.paid_by_others.items():
        yield f"{counted(count, 'match')} shared with {name}, which paid for the calls"
    for reason, count in item.problems.items():
        yield f"{count:,} x {reason}"
    if item.summary.halted:
        yield f"the last run halted: {item.summary.halted}"
    if item.judging.sendings:
        yield f"cost of judging: {cost_text(item.judging)}"
