"""The ``plan`` command, which previews a study and estimates its cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

import cheaptalk as ct
from cheaptalk.cli.shared import options as opt
from cheaptalk.cli.shared.lookup import find_study, naming, opened
from cheaptalk.cli.shared.playing import REPLACEMENTS
from cheaptalk.cli.shared.printing import err, escaped, out, print_json, print_table, say
from cheaptalk.cli.shared.sentences import change_lines, cost_text, counted

MAX_SEATINGS = 50
"""Maximum number of printed seatings; ``--json`` prints all."""


def plan(
    study: opt.Study,
    /,
    store: opt.Store = opt.DEFAULT_STORE,
    player: opt.Player = None,
    roster: opt.Roster = None,
    replace: opt.Replace = None,
    prices: opt.Prices = None,
    batch: bool = False,
    concurrency: opt.Concurrency = None,
    no_estimate: opt.NoEstimate = False,
    list_matches: bool = False,
    json: opt.Json = False,
) -> None:
    """Preview a study's matches and estimate its cost.

    No match is played. Only in-process models are called, to measure their speed.

    Args:
        batch: Estimate the cost with providers' batch APIs.
        list_matches: Also print a line for every planned match.
    """
    found = find_study(study, store, player, roster, replace)
    spec = found.study
    with opened(store) as existing, naming(study):
        planned = ct.studies.plan_in_store(spec, existing)
        found.check_seated(planned)
        table = ct.models.load_prices(prices)
        ct.studies.check_prices(planned, table, ct.studies.Cap())
        if batch:
            ct.studies.check_batchable(planned)
        ct.studies.try_strategies(planned)
        changes = None if existing is None else ct.studies.changes(planned, existing)
        with err.status(f"{spec.name}: estimating"):
            forecast = ct.studies.forecast(
                planned,
                existing,
                table,
                batch=batch,
                concurrency=concurrency,
                estimated=not no_estimate,
                measured=True,
            )
        missing = ct.studies.missing_requirements(planned, existing)
        retired = ct.studies.retired_models(planned)
        participants = ct.studies.preview_participants(planned)
    if json:
        data = _as_json(planned, forecast) | {
            "changes": changes and vars(changes),
            "participants": participants and participants._asdict(),
            "missing": [requirement._asdict() for requirement in missing],
            "replaced": found.replaced,
            "retired": [model._asdict() for model in retired],
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
    for line in (*found.replacements, *change_lines(changes)):
        say(line)
    state = f"{forecast.settled:,} already in the store {escaped(store)}"
    if not existing:
        state = f"none played yet (the store {escaped(store)} does not exist)"
    out.print(f"[bold]{counted(len(planned.matches), 'match')}[/], {state}")
    cost, people = _cost_lines(forecast, spec.budget), _people_lines(participants)
    for line in chain(cost, people, _need_lines(missing, retired)):
        say(line)


def _print_seatings(planned: ct.studies.Plan) -> None:
    study, counts = planned.study, planned.counts()
    rows = [
        [game, ct.records.line_up(seating), count]
        for (game, seating), count in islice(counts.items(), MAX_SEATINGS)
    ]
    title = f"{study.name}: {study.description}" if study.description else study.name
    print_table(title, ["game", "players", "matches"], rows)
    if len(counts) > MAX_SEATINGS:
        out.print(f"and {len(counts) - MAX_SEATINGS:,} more rows (--json prints all)")
    for line in (*planned.crossings, *planned.absences):
        say(line)
    for game, count in planned.configurations().items():
        out.print(f"{game}: {counted(count, 'configuration')}")
    if not all(instant for _, instant in planned.matches.kinds(range(len(planned.matches)))):
        out.print(f"matches without a valid response: {study.unanswered.line}")


def _cost_lines(forecast: ct.studies.Forecast, budget: ct.studies.Budget) -> Iterator[str]:
    """Yield a study's cost so far, estimated remaining cost, and budget."""
    if forecast.spent.sendings:
        yield f"cost so far: {cost_text(forecast.spent)}"
    if forecast.takes and forecast.takes.players:
        scope = " for the remaining matches" if forecast.spent.sendings else ""
        yield f"\nEstimate{scope}: {forecast.takes}"
    if budget != ct.studies.Budget():
        yield f"\nBudget: {ct.studies.budget_text(budget)}"
        yield from (f"- {doubt}" for doubt in forecast.doubts)


def _people_lines(participants: ct.studies.ParticipantPreview | None) -> Iterator[str]:
    if participants is None:
        return
    places = participants.places
    limit = "as many as the matches require" if places is None else f"up to {places:,}"
    yield f"\nParticipants: {limit} (source: {participants.source})"
    if participants.design:
        yield f"Design: {participants.design}"
    yield f"Steps: {', '.join(participants.steps)}"
    yield participants.cost
    if participants.shortage:
        yield participants.shortage
    for label in participants.without_deadline:
        yield f"players.{label}: without a deadline, other participants may wait forever"
    yield from participants.missing_settings
    yield from participants.translation_lines


def _need_lines(
    missing: Sequence[ct.studies.Requirement], retired: Sequence[ct.studies.RetiredModel]
) -> Iterator[str]:
    """Yield what to do before a run."""
    needs = [f"- {need}" for need in (*missing, *retired)]
    if needs:
        yield "\nBefore a run:"
        yield from needs
    if retired:
        yield REPLACEMENTS


def _as_json(planned: ct.studies.Plan, forecast: ct.studies.Forecast) -> dict[str, Any]:
    study, estimate = planned.study, forecast.takes
    unanswered = study.unanswered
    return {
        "study": study.name,
        "matches": len(planned.matches),
        "settled": forecast.settled,
        "configurations": planned.configurations(),
        "seatings": [
            {"game": game, "seating": seating, "matches": count}
            for (game, seating), count in planned.counts().items()
        ],
        "factors": study.factors,
        "idle": planned.idle,
        "unseated": planned.unseated,
        "unanswered": unanswered.by_kind | {"max_replacements": unanswered.max_replacements},
        "spent": forecast.spent.as_json(),
        "estimate": estimate.as_json() if estimate and estimate.players else None,
        "budget": study.budget.model_dump(exclude_defaults=True),
        "doubts": forecast.doubts,
    }


def _planned(match: ct.studies.PlannedMatch) -> dict[str, Any]:
    game = match.configuration.game
    return {
        "id": match.id,
        "game": game.name,
        "parameters": game.model_dump(mode="json"),
        "seating": [player.label for player in match.seating],
        "instance": match.planned_instance.key,
        "repeat": match.repeat,
    }
