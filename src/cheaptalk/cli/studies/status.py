"""The command that shows how far the studies in a store are: status."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.options import DEFAULT_STORE, JsonOption, StoreOption
from cheaptalk.cli.shared.printing import out, print_json, print_table, say
from cheaptalk.cli.shared.sentences import cost_text, counted, excluded_text, set_aside_text


def status(
    study: Annotated[
        str | None,
        typer.Argument(help="Only this study.", autocompletion=completion.stored_studies),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Show the studies in the store, how far each is, and calls left unresolved."""
    with ct.Store.open(store) as opened:
        found = [ct.studies.study_status(opened, study)] if study else ct.studies.statuses(opened)
        unresolved = [
            call for call in opened.unresolved() if study is None or call["bought_by"] == study
        ]
        apart = ct.records.unassigned_cost(opened)
    if json:
        print_json({
            "studies": [one.as_json() for one in found], "no_study": apart.as_json(),
            "unresolved": unresolved,
        })  # fmt: skip
        return
    rows: list[list[object]] = []
    for one in found:
        counts = [one.summary.counts.get(status.value, 0) for status in ct.records.Status]
        rows.append([one.name, "?" if one.planned is None else one.planned, *counts])
    kinds = [status.value for status in ct.records.Status]
    print_table(None, ["study", "planned", *kinds], rows)
    for one in found:
        for note in _notes(one):
            say(f"{one.name}: {note}", whole=True)
    if apart.sendings:
        say(f"judges took for no study, to code answers: {cost_text(apart)}", whole=True)
    if unresolved:
        lost = "1 call was" if len(unresolved) == 1 else f"{len(unresolved):,} calls were"
        out.print(f"{lost} sent and no reply ever recorded, which may have been billed:")
        for call in unresolved:
            place = ct.records.ledger_place(call["match_id"])
            place += f" request {call['request']} {call['seat']}"
            out.print(f"  {place}, sending {call['try']}", soft_wrap=True)


def _notes(one: ct.studies.StudyStatus) -> Iterator[str]:
    """What there is to say of a study besides how far it is."""
    if one.summary.set_aside:
        yield set_aside_text(one.summary.set_aside)
    if any(one.excluded):
        yield excluded_text(one.excluded)
    if one.cost.sendings:
        yield cost_text(one.cost)
    for name, count in one.paid_by_others.items():
        yield f"{counted(count, 'match')} shared with {name}, which has paid for calls in them"
    for reason, count in one.problems.items():
        yield f"{count:,} x {reason}"
    if one.summary.halted:
        yield f"the last run halted: {one.summary.halted}"
    if one.judging.sendings:
        yield f"judges took {cost_text(one.judging)}"
