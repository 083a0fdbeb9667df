"""Commands that say what there is: games, players, plan, status, doctor."""

from __future__ import annotations

import os
import platform
import sqlite3
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import typer

import cheaptalk as ct
from cheaptalk.cli.base import (
    DEFAULT_STORE,
    JsonOption,
    StoreOption,
    StudyArgument,
    app,
    find_study,
    out,
    print_json,
    print_table,
)


@app.command()
def games(
    name: Annotated[str | None, typer.Argument(help="Show one game in full.")] = None,
    json: JsonOption = False,
) -> None:
    """List the games, or show one with its parameters, measures and strategies."""
    if name is None:
        boxes = ct.rules.games()
        if json:
            print_json({box.name: _game(box) for box in boxes.values()})
            return
        rows: list[list[object]] = [
            [box.name, ", ".join(box.rules.roles), _first_line(box.rules)] for box in boxes.values()
        ]
        print_table(None, ["game", "roles", "what it is"], rows)
        out.print("\nOne in full: cheaptalk games NAME")
        return
    box = ct.game_box(name)
    if json:
        print_json(_game(box))
        return
    out.print(f"[bold]{box.name}[/], version {box.rules.version}")
    out.print(box.rules.__doc__ or "", markup=False)
    out.print(f"Forfeit: {box.rules.forfeit}\n", markup=False)
    parameters: list[list[object]] = [
        [key, repr(field.default) if not field.is_required() else "required",
         str(field.description or "")]
        for key, field in box.rules.model_fields.items()
    ]  # fmt: skip
    print_table("Parameters", ["name", "default", "meaning"], parameters)
    out.print()
    print_table(
        "Measures", ["name", "meaning"], [[m.name, m.meaning] for m in box.measures.values()]
    )
    out.print(f"\nStyles: {', '.join(box.styles)}")
    out.print(f"Players: cheaptalk players {box.name}")


def _game(box: ct.GameBox) -> dict[str, Any]:
    return {
        "description": box.rules.__doc__,
        "version": box.rules.version,
        "roles": box.rules.roles,
        "parameters": box.rules.model_json_schema(),
        "forfeit": box.rules.forfeit,
        "measures": {one.name: one.meaning for one in box.measures.values()},
        "strategies": list(ct.rules.strategies(box.name)),
        "styles": list(box.styles),
    }


def _first_line(thing: object) -> str:
    return (thing.__doc__ or "").strip().partition("\n")[0]


@app.command()
def players(
    game: Annotated[str | None, typer.Argument(help="Only for this game.")] = None,
    json: JsonOption = False,
) -> None:
    """List the scripted strategies with their settings."""
    names = [game] if game is not None else list(ct.rules.games())
    found = {name: ct.rules.strategies(name) for name in names}
    if json:
        print_json(
            {
                name: {
                    one.name: {
                        "roles": one.roles,
                        "meaning": one.function.__doc__,
                        "settings": one.settings.model_json_schema()["properties"],
                    }
                    for one in known.values()
                }
                for name, known in found.items()
            }
        )
        return
    for name, known in found.items():
        rows: list[list[object]] = []
        for one in known.values():
            settings = ", ".join(f"{k}={f.default}" for k, f in one.settings.model_fields.items())
            rows.append([one.name, ", ".join(one.roles), settings, one.meaning])
        print_table(name, ["strategy", "roles", "settings", "what it does"], rows)
        out.print()
    out.print("Also: language models {model: provider/NAME}, people {person: terminal},")
    out.print("recorded moves {recorded: MATCH}. Providers: " + ", ".join(ct.models.PROVIDERS))


@app.command()
def plan(
    study: StudyArgument,
    store: StoreOption = DEFAULT_STORE,
    matches: Annotated[bool, typer.Option("--matches", help="Also list every match.")] = False,
    json: JsonOption = False,
) -> None:
    """Show what a study consists of before anything runs."""
    spec = find_study(study, store)
    opened = ct.Store.open(store) if store.exists() else None
    try:
        laid = ct.studies.lay_out(spec, opened)
        known = opened.statuses(match.id for match in laid.matches) if opened else {}
    finally:
        if opened:
            opened.close()
    settled = sum(status in ct.studies.SETTLED for status in known.values())
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
        }
        if matches:
            data["plan"] = [_planned(match) for match in laid.matches]
        print_json(data)
        return
    if matches:
        for match in laid.matches:
            who = " / ".join(player.label for player in match.seating)
            out.print(f"{match.id}  {match.configuration.game.name}  {who}  deal {match.dealt.key}")
    rows: list[list[object]] = [
        [game, " / ".join(seating), count] for (game, seating), count in laid.counts().items()
    ]
    print_table(f"{spec.name}: {spec.description}", ["game", "seating", "matches"], rows)
    for label, game in laid.idle:
        out.print(f"{label} does not play {game}")
    for game, count in laid.configurations().items():
        out.print(f"{game}: {count:,} configurations")
    out.print(f"[bold]{len(laid.matches):,} matches[/], {settled:,} of them already in {store}")


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
    if json:
        print_json(
            {
                "studies": [
                    {"name": one.name, "planned": planned[one.name], "matches": one.counts,
                     "problems": problems[one.name]}
                    for one in summaries
                ],
                "unresolved": unresolved,
            }
        )  # fmt: skip
        return
    rows: list[list[object]] = []
    for one in summaries:
        counts = [one.counts.get(status.value, 0) for status in ct.records.Status]
        rows.append([one.name, planned[one.name], *counts])
    kinds = [status.value for status in ct.records.Status]
    print_table(None, ["study", "planned", *kinds], rows)
    for name, found in problems.items():
        for reason, count in found.items():
            out.print(f"{name}: {count:,} x {reason}", markup=False)
    if unresolved:
        out.print(f"{len(unresolved)} calls were sent and their replies never recorded:")
        for call in unresolved:
            place = f"match {call['match_id']} request {call['request']} {call['seat']}"
            out.print(f"  {place}, sending {call['try']}")


def _planned_count(summary: ct.records.StudySummary, store: ct.Store) -> int | str:
    if "players" not in summary.spec:
        return sum(summary.counts.values())
    try:
        spec = ct.studies.parse_study(summary.spec, summary.name)
        return len(ct.studies.lay_out(spec, store).matches)
    except ct.CheaptalkError:
        return "?"


@app.command()
def doctor(store: StoreOption = DEFAULT_STORE, json: JsonOption = False) -> None:
    """Check the installation and the store, and say what is missing for what."""
    checks: list[tuple[str, bool, str]] = [
        ("python", sys.version_info >= (3, 11), platform.python_version()),
        ("cheaptalk", True, ct.__version__),
        ("sqlite", True, sqlite3.sqlite_version),
        ("games", bool(ct.rules.games()), ", ".join(ct.rules.games())),
    ]
    for extra, packages in EXTRAS.items():
        missing = [name for name in packages if not _installed(name)]
        cure = f'missing {", ".join(missing)}: pip install "cheaptalk[{extra}]"'
        checks.append((f"[{extra}]", not missing, cure if missing else "installed"))
    for name, provider in ct.models.PROVIDERS.items():
        if provider.needs_key:
            found = bool(os.environ.get(provider.key))
            checks.append((name, found, f"{provider.key} is {'set' if found else 'not set'}"))
    checks.append(_store_check(store))
    if json:
        print_json([{"what": what, "ok": ok, "detail": detail} for what, ok, detail in checks])
    else:
        for what, ok, detail in checks:
            out.print("[green]ok[/]  " if ok else "[yellow]--[/]  ", end="")
            out.print(f"{what}: {detail}", markup=False)
    if not checks[-1][1]:
        raise typer.Exit(1)


EXTRAS = {
    "analysis": ("polars", "scipy", "statsmodels", "plotly", "duckdb"),
    "web": ("fastapi", "uvicorn"),
}


def _installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def _store_check(path: Path) -> tuple[str, bool, str]:
    if not path.exists():
        return ("store", True, f"{path} does not exist yet; the first run makes it")
    try:
        with ct.Store.open(path) as opened:
            problem = opened.check()
            count = sum(sum(one.counts.values()) for one in opened.studies())
    except ct.CheaptalkError as error:
        return ("store", False, str(error))
    return ("store", problem is None, problem or f"{path} is sound and holds {count:,} matches")
