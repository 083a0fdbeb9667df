"""The command that shows what a study consists of before anything runs: plan."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any

import typer

import cheaptalk as ct
from cheaptalk.cli.shared.lookup import check_seated, find_study, naming, opened
from cheaptalk.cli.shared.options import (
    DEFAULT_STORE,
    ConcurrencyOption,
    JsonOption,
    NoEstimateOption,
    PlayerOption,
    PricesOption,
    RosterOption,
    StoreOption,
    StudyArgument,
)
from cheaptalk.cli.shared.printing import err, escaped, out, print_json, print_table, say
from cheaptalk.cli.shared.sentences import change_lines, cost_text, counted

SHOWN = 50
"""Seatings that are listed; ``--json`` lists all."""


def plan(
    study: StudyArgument,
    store: StoreOption = DEFAULT_STORE,
    player: PlayerOption = None,
    roster: RosterOption = None,
    prices: PricesOption = None,
    batch: Annotated[
        bool, typer.Option("--batch", help="As played in providers' batches, at their prices.")
    ] = False,
    concurrency: ConcurrencyOption = None,
    no_estimate: NoEstimateOption = False,
    matches: Annotated[bool, typer.Option("--matches", help="Also list every match.")] = False,
    json: JsonOption = False,
) -> None:
    """Show what a study consists of before anything runs, and what its models may cost."""
    spec = find_study(study, store, player or (), roster or ())
    with opened(store) as there, naming(study):
        planned = ct.studies.lay_out(spec, there)
        check_seated(planned, player or (), roster or ())
        table = ct.models.load_prices(prices)
        _check(planned, table, batch=batch)
        changes = None if there is None else ct.studies.changes(planned, there)
        with err.status(f"{spec.name}: estimating"):
            seen = ct.studies.outlook(
                planned, there, table, batch=batch, concurrency=concurrency,
                estimated=not no_estimate,
            )  # fmt: skip
    if json:
        data: dict[str, Any] = {
            "study": spec.name,
            "matches": len(planned.matches),
            "settled": seen.settled,
            "changes": changes and changes._asdict(),
            "configurations": planned.configurations(),
            "seatings": [
                {"game": game, "seating": seating, "matches": count}
                for (game, seating), count in planned.counts().items()
            ],
            "factors": spec.factors,
            "idle": planned.idle,
            "unseated": planned.unseated,
            "unanswered": spec.unanswered.by_kind | {"redeals": spec.unanswered.redeals},
            "spent": seen.spent.as_json(),
            "estimate": seen.takes.as_json() if seen.takes and seen.takes.players else None,
            "budget": spec.budget.model_dump(exclude_defaults=True),
            "doubts": seen.doubts,
        }
        if matches:
            data["plan"] = [_planned(match) for match in planned.matches]
        print_json(data)
        return
    if matches:
        for match in planned.matches:
            who = ct.records.line_up([player.label for player in match.seating])
            game = match.configuration.game.name
            say(f"{match.id}  {game}  {who}  deal {match.dealt.key}")
    _print_seatings(planned)
    for line in (*planned.crossings, *planned.absences):
        say(line)
    for game, count in planned.configurations().items():
        out.print(f"{game}: {counted(count, 'configuration')}")
    if not all(instant for _, instant in planned.matches.kinds(range(len(planned.matches)))):
        out.print(f"matches without a valid answer: {spec.unanswered.line}")
    for line in change_lines(changes):
        say(line)
    known = f"{seen.settled:,} of them already in" if there else "none played: there is no"
    out.print(f"[bold]{counted(len(planned.matches), 'match')}[/], {known} {escaped(store)}")
    for line in _of_money(seen, spec.budget):
        say(line)


def _print_seatings(planned: ct.studies.Plan) -> None:
    """List who meets whom how often, up to as many seatings as fit."""
    study = planned.study
    counts = planned.counts()
    rows: list[list[object]] = [
        [game, ct.records.line_up(seating), count]
        for (game, seating), count in islice(counts.items(), SHOWN)
    ]
    title = f"{study.name}: {study.description}" if study.description else study.name
    print_table(title, ["game", "seating", "matches"], rows)
    if len(counts) > SHOWN:
        out.print(f"and {len(counts) - SHOWN:,} more seatings; --json lists all")


def _check(planned: ct.studies.Plan, prices: ct.models.Prices, *, batch: bool) -> None:
    """Refuse a plan that cannot be played."""
    ct.studies.check_prices(planned, prices, ct.studies.Cap())
    if batch:
        ct.studies.check_batchable(planned)
    ct.studies.try_strategies(planned)


def _of_money(seen: ct.studies.Outlook, budget: ct.studies.Budget) -> Iterator[str]:
    """What there is to say of what a study has taken, is going to take, and may take."""
    if seen.spent.sendings:
        yield f"bought already: {cost_text(seen.spent)}"
    if seen.takes and seen.takes.players:
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
