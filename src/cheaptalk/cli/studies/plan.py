"""The command that previews a study and estimates its cost: plan."""

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

MAX_SEATINGS = 50
"""Maximum number of seatings that are printed; ``--json`` prints all."""


def plan(
    study: StudyArgument,
    store: StoreOption = DEFAULT_STORE,
    player: PlayerOption = None,
    roster: RosterOption = None,
    prices: PricesOption = None,
    batch: Annotated[
        bool, typer.Option("--batch", help="Estimate the cost with providers' batch APIs.")
    ] = False,
    concurrency: ConcurrencyOption = None,
    no_estimate: NoEstimateOption = False,
    list_matches: Annotated[
        bool, typer.Option("--list-matches", help="Also list every match.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Preview a study's matches and estimate its cost.

    No match is played and no model is called.
    """
    spec = find_study(study, store, player or (), roster or ())
    with opened(store) as existing, naming(study):
        planned = ct.studies.lay_out(spec, existing)
        check_seated(planned, player or (), roster or ())
        table = ct.models.load_prices(prices)
        _check(planned, table, batch=batch)
        changes = None if existing is None else ct.studies.changes(planned, existing)
        with err.status(f"{spec.name}: estimating"):
            forecast = ct.studies.forecast(
                planned, existing, table, batch=batch, concurrency=concurrency,
                estimated=not no_estimate,
            )  # fmt: skip
    if json:
        data: dict[str, Any] = {
            "study": spec.name,
            "matches": len(planned.matches),
            "settled": forecast.settled,
            "changes": changes and changes._asdict(),
            "configurations": planned.configurations(),
            "seatings": [
                {"game": game, "seating": seating, "matches": count}
                for (game, seating), count in planned.counts().items()
            ],
            "factors": spec.factors,
            "idle": planned.idle,
            "unseated": planned.unseated,
            "unanswered": spec.unanswered.by_kind
            | {"max_replacements": spec.unanswered.max_replacements},
            "spent": forecast.spent.as_json(),
            "estimate": forecast.takes.as_json()
            if forecast.takes and forecast.takes.players
            else None,
            "budget": spec.budget.model_dump(exclude_defaults=True),
            "doubts": forecast.doubts,
        }
        if list_matches:
            data["plan"] = [_planned(match) for match in planned.matches]
        print_json(data)
        return
    if list_matches:
        for match in planned.matches:
            players = ct.records.line_up([player.label for player in match.seating])
            game = match.configuration.game.name
            say(f"{match.id}  {game}  {players}  instance {match.planned_instance.key}")
    _print_seatings(planned)
    for line in (*planned.crossings, *planned.absences):
        say(line)
    for game, count in planned.configurations().items():
        out.print(f"{game}: {counted(count, 'configuration')}")
    if not all(instant for _, instant in planned.matches.kinds(range(len(planned.matches)))):
        out.print(f"matches without a valid response: {spec.unanswered.line}")
    for line in change_lines(changes):
        say(line)
    state = (
        f"{forecast.settled:,} of them already in {escaped(store)}"
        if existing
        else f"none played yet (store {escaped(store)} does not exist)"
    )
    out.print(f"[bold]{counted(len(planned.matches), 'match')}[/], {state}")
    for line in _cost_lines(forecast, spec.budget):
        say(line)


def _print_seatings(planned: ct.studies.Plan) -> None:
    """Print a table of the seatings and their numbers of matches."""
    study = planned.study
    counts = planned.counts()
    rows: list[list[object]] = [
        [game, ct.records.line_up(seating), count]
        for (game, seating), count in islice(counts.items(), MAX_SEATINGS)
    ]
    title = f"{study.name}: {study.description}" if study.description else study.name
    print_table(title, ["game", "seating", "matches"], rows)
    if len(counts) > MAX_SEATINGS:
        out.print(f"and {len(counts) - MAX_SEATINGS:,} more seatings; --json lists all")


def _check(planned: ct.studies.Plan, prices: ct.models.Prices, *, batch: bool) -> None:
    """Check that a plan can be played."""
    ct.studies.check_prices(planned, prices, ct.studies.Cap())
    if batch:
        ct.studies.check_batchable(planned)
    ct.studies.try_strategies(planned)


def _cost_lines(forecast: ct.studies.Forecast, budget: ct.studies.Budget) -> Iterator[str]:
    """Yield a study's cost so far, estimated remaining cost, and budget."""
    if forecast.spent.sendings:
        yield f"cost so far: {cost_text(forecast.spent)}"
    if forecast.takes and forecast.takes.players:
        yield f"\nEstimate{' of the rest' if forecast.spent.sendings else ''}: {forecast.takes}"
    if budget != ct.studies.Budget():
        yield f"\nBudget: {ct.studies.budget_text(budget)}"
        yield from (f"- {doubt}" for doubt in forecast.doubts)


def _planned(match: ct.studies.PlannedMatch) -> dict[str, Any]:
    return {
        "id": match.id,
        "game": match.configuration.game.name,
        "parameters": match.configuration.game.model_dump(mode="json"),
        "seating": [player.label for player in match.seating],
        "instance": match.planned_instance.key,
        "repeat": match.repeat,
    }
