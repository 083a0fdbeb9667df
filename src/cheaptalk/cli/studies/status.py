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
        summaries = [opened.study(study)] if study else opened.studies()
        unresolved = opened.unresolved()
        forfeits = {one.name: opened.forfeits(one.name) for one in summaries}
        problems = {one.name: opened.problems(one.name) for one in summaries}
        planned = {one.name: _planned_count(one, opened) for one in summaries}
        costs = {one.name: ct.records.study_cost(opened, one.name) for one in summaries}
        others = {one.name: ct.records.paid_by_others(opened, one.name) for one in summaries}
        apart = ct.records.unassigned_cost(opened)
        judging = {one.name: ct.records.judging_cost(opened, one.name) for one in summaries}
        excluded = {one.name: ct.records.excluded(opened, one.name) for one in summaries}
    if json:
        print_json(
            {
                "studies": [
                    {"name": one.name, "planned": planned[one.name], "matches": one.counts,
                     "set_aside": one.set_aside, **excluded[one.name]._asdict(),
                     "halted": one.halted, "problems": problems[one.name],
                     "forfeits": [
                         {"game": game, **forfeit._asdict(), "matches": count}
                         for (game, forfeit), count in forfeits[one.name].items()
                     ],
                     "cost": None if one.spec.get("imported") and not costs[one.name].calls
                     else costs[one.name].as_json(), "paid_by_others": others[one.name],
                     "judging": judging[one.name].as_json()}
                    for one in summaries
                ],
                "no_study": apart.as_json(),
                "unresolved": unresolved,
            }
        )  # fmt: skip
        return
    rows: list[list[object]] = []
    for one in summaries:
        counts = [one.counts.get(status.value, 0) for status in ct.records.Status]
        whole = planned[one.name]
        rows.append([one.name, "?" if whole is None else whole, *counts])
    kinds = [status.value for status in ct.records.Status]
    print_table(None, ["study", "planned", *kinds], rows)
    for one in summaries:
        for note in _notes(
            one, excluded[one.name], costs[one.name], others[one.name], problems[one.name]
        ):
            say(f"{one.name}: {note}", whole=True)
        if judging[one.name].sendings:
            line = f"{one.name}: judges took {cost_text(judging[one.name])}"
            say(line, whole=True)
    if apart.sendings:
        say(f"judges took for no study, to code answers: {cost_text(apart)}", whole=True)
    if unresolved:
        lost = "1 call was" if len(unresolved) == 1 else f"{len(unresolved):,} calls were"
        out.print(f"{lost} sent and no reply ever recorded, which may have been billed:")
        for call in unresolved:
            place = ct.records.ledger_place(call["match_id"])
            place += f" request {call['request']} {call['seat']}"
            out.print(f"  {place}, sending {call['try']}", soft_wrap=True)


def _notes(
    summary: ct.records.StudySummary,
    excluded: ct.records.Excluded,
    cost: ct.records.Cost,
    paid_by_others: dict[str, int],
    problems: dict[str, int],
) -> Iterator[str]:
    """What there is to say of a study besides how far it is."""
    if summary.set_aside:
        yield set_aside_text(summary.set_aside)
    if any(excluded):
        yield excluded_text(excluded)
    if cost.sendings:
        yield cost_text(cost)
    for name, count in paid_by_others.items():
        yield f"{counted(count, 'match')} shared with {name}, which has paid for calls in them"
    for reason, count in problems.items():
        yield f"{count:,} x {reason}"
    if summary.halted:
        yield f"the last run halted: {summary.halted}"


def _planned_count(summary: ct.records.StudySummary, store: ct.Store) -> int | None:
    """How many matches a study has; None if it cannot be told."""
    stored = sum(summary.counts.values())
    if "players" not in summary.spec:
        return stored
    planned = ct.studies.planned_count(summary, store)
    return None if planned is None else max(stored, planned)
