"""Commands that look ahead and back: plan and status."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any

import typer
from rich.markup import escape

import cheaptalk as ct
from cheaptalk.cli.base import (
    DEFAULT_STORE,
    JsonOption,
    PlayerOption,
    RosterOption,
    StoreOption,
    StudyArgument,
    app,
    excluded_text,
    find_study,
    naming,
    out,
    print_json,
    print_table,
    reading,
    set_aside_text,
)
from cheaptalk.cli.outlook import Outlook, outlook
from cheaptalk.cli.pricing import PricesOption, cost_text
from cheaptalk.records.judgements import judging_cost, ledger_place
from cheaptalk.rules import counted

SHOWN = 200
"""Seatings that are listed; ``--json`` lists all."""


@app.command()
def plan(
    study: StudyArgument,
    store: StoreOption = DEFAULT_STORE,
    player: PlayerOption = None,
    roster: RosterOption = None,
    prices: PricesOption = None,
    matches: Annotated[bool, typer.Option("--matches", help="Also list every match.")] = False,
    json: JsonOption = False,
) -> None:
    """Show what a study consists of before anything runs, and what its models may cost."""
    spec = find_study(study, store, player or (), roster or ())
    with reading(store) as opened, naming(study):
        laid = ct.studies.lay_out(spec, opened)
        ct.studies.check_prices(laid, table := ct.models.load_prices(prices), ct.studies.Cap())
        ct.studies.try_strategies(laid)
    seen = outlook(laid, store, table)
    if json:
        data: dict[str, Any] = {
            "study": spec.name,
            "matches": len(laid.matches),
            "settled": seen.settled,
            "configurations": laid.configurations(),
            "seatings": [
                {"game": game, "seating": seating, "matches": count}
                for (game, seating), count in laid.counts().items()
            ],
            "idle": laid.idle,
            "unanswered": spec.unanswered.by_kind | {"redeals": spec.unanswered.redeals},
            "spent": seen.spent.as_json(),
            "estimate": seen.takes.as_json() if seen.takes.players else None,
            "budget": spec.budget.model_dump(exclude_defaults=True),
            "doubts": seen.doubts,
        }
        if matches:
            data["plan"] = [_planned(match) for match in laid.matches]
        print_json(data)
        return
    if matches:
        for match in laid.matches:
            who = ct.records.line_up([player.label for player in match.seating])
            game = match.configuration.game.name
            out.print(f"{match.id}  {game}  {who}  deal {match.dealt.key}", markup=False)
    counts = laid.counts()
    rows: list[list[object]] = [
        [game, ct.records.line_up(seating), count]
        for (game, seating), count in islice(counts.items(), SHOWN)
    ]
    title = f"{spec.name}: {spec.description}" if spec.description else spec.name
    print_table(title, ["game", "seating", "matches"], rows)
    if len(counts) > SHOWN:
        out.print(f"and {len(counts) - SHOWN:,} more seatings; --json lists all")
    for label, game in laid.idle:
        out.print(f"{label} does not play {game}", markup=False)
    for game, count in laid.configurations().items():
        out.print(f"{game}: {counted(count, 'configuration')}")
    if not all(match.scripted for match in laid.matches):
        out.print(f"matches without a valid answer: {spec.unanswered.line}")
    there = f"{seen.settled:,} of them already in" if store.exists() else "none played: there is no"
    out.print(f"[bold]{counted(len(laid.matches), 'match')}[/], {there} {escape(str(store))}")
    for line in _of_money(seen, spec.budget):
        out.print(line, markup=False)


def _of_money(seen: Outlook, budget: ct.studies.Budget) -> Iterator[str]:
    """What there is to say of what a study has taken, is going to take, and may take."""
    if seen.spent.sendings:
        yield f"bought already: {cost_text(seen.spent)}"
    if seen.takes.players:
        yield f"\nEstimate{' of what is left' if seen.spent.sendings else ''}: {seen.takes}"
    if budget != ct.studies.Budget():
        yield f"\nBudget: {ct.studies.budget_text(budget)}"
        yield from (f"- {doubt}" for doubt in seen.doubts)


def _planned(match: ct.studies.PlannedMatch) -> dict[str, Any]:
    return {
        "id": match.id,
        "game": match.configuration.game.name,
        "parameters": match.configuration.game.model_dump(mode="json"),
        "seating": [player.label for player in match.seating],
        "deal": match.dealt.key,
        "repeat": match.repeat,
    }


@app.command()
def status(
    study: Annotated[str | None, typer.Argument(help="Only this study.")] = None,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Show the studies in the store, how far each is, and calls left unresolved."""
    with ct.Store.open(store) as opened:
        summaries = [opened.study(study)] if study else opened.studies()
        unresolved = opened.unresolved()
        problems = {one.name: opened.problems(one.name) for one in summaries}
        planned = {one.name: _planned_count(one, opened) for one in summaries}
        costs = {one.name: ct.records.study_cost(opened, one.name) for one in summaries}
        judging = {one.name: judging_cost(opened, one.name) for one in summaries}
        excluded = {one.name: ct.records.excluded(opened, one.name) for one in summaries}
    if json:
        print_json(
            {
                "studies": [
                    {"name": one.name, "planned": planned[one.name], "matches": one.counts,
                     "set_aside": one.set_aside, **excluded[one.name]._asdict(),
                     "halted": one.halted, "problems": problems[one.name],
                     "cost": costs[one.name].as_json(), "judging": judging[one.name].as_json()}
                    for one in summaries
                ],
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
        for note in _notes(one, excluded[one.name], costs[one.name], problems[one.name]):
            out.print(f"{one.name}: {note}", markup=False, soft_wrap=True)
        if judging[one.name].sendings:
            line = f"{one.name}: judges took {cost_text(judging[one.name])}"
            out.print(line, markup=False, soft_wrap=True)
    if unresolved:
        lost = "1 call was" if len(unresolved) == 1 else f"{len(unresolved):,} calls were"
        out.print(f"{lost} sent and no reply ever recorded:")
        for call in unresolved:
            place = f"{ledger_place(call['match_id'])} request {call['request']} {call['seat']}"
            out.print(f"  {place}, sending {call['try']}", soft_wrap=True)


def _notes(
    summary: ct.records.StudySummary,
    excluded: ct.records.Excluded,
    cost: ct.records.Cost,
    problems: dict[str, int],
) -> Iterator[str]:
    """What there is to say of a study besides how far it is."""
    if summary.set_aside:
        yield set_aside_text(summary.set_aside)
    if any(excluded):
        yield excluded_text(excluded)
    if cost.sendings:
        yield cost_text(cost)
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
