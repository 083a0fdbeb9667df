"""Commands that look ahead and back: plan and status."""

from __future__ import annotations

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
    find_study,
    naming,
    out,
    print_json,
    print_table,
    reading,
    stored_study,
)
from cheaptalk.cli.pricing import PricesOption, cost_text, estimated

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
        ct.studies.try_strategies(laid)
        known = opened.statuses(match.id for match in laid.matches) if opened else {}
    settled = sum(status in ct.studies.SETTLED for status in known.values())
    takes = estimated(laid, store, ct.models.load_prices(prices))
    if json:
        data: dict[str, Any] = {
            "study": spec.name,
            "matches": len(laid.matches),
            "settled": settled,
            "configurations": laid.configurations(),
            "seatings": [
                {"game": game, "seating": seating, "matches": count}
                for (game, seating), count in laid.counts().items()
            ],
            "idle": laid.idle,
            "estimate": takes.as_json() if takes.players else None,
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
        out.print(f"{game}: {count:,} configuration{'s' if count != 1 else ''}")
    there = f"{settled:,} of them already in" if store.exists() else "none played: there is no"
    planned = f"{len(laid.matches):,} match{'es' if len(laid.matches) != 1 else ''}"
    out.print(f"[bold]{planned}[/], {there} {escape(str(store))}")
    if takes.players:
        out.print(f"\nEstimate: {takes}", markup=False)


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
    if json:
        print_json(
            {
                "studies": [
                    {"name": one.name, "planned": planned[one.name], "matches": one.counts,
                     "problems": problems[one.name], "cost": costs[one.name].as_json()}
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
    for name, took in costs.items():
        if took.calls:
            out.print(f"{name}: {cost_text(took)}", markup=False)
    for name, found in problems.items():
        for reason, count in found.items():
            out.print(f"{name}: {count:,} x {reason}", markup=False)
    if unresolved:
        out.print(f"{len(unresolved)} calls were sent and their replies never recorded:")
        for call in unresolved:
            place = f"match {call['match_id']} request {call['request']} {call['seat']}"
            out.print(f"  {place}, sending {call['try']}")


def _planned_count(summary: ct.records.StudySummary, store: ct.Store) -> int | None:
    """How many matches a study has, earlier forms of it included; None if it cannot be told."""
    stored = sum(summary.counts.values())
    if "players" not in summary.spec:
        return stored
    try:
        laid = ct.studies.lay_out(stored_study(summary.name, summary.spec), store)
    except ct.CheaptalkError:
        return None
    return max(stored, len(laid.matches))
