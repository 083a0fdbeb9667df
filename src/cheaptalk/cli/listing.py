"""Commands that say what there is: games, players and presets."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import typer
from pydantic.fields import FieldInfo

import cheaptalk as ct
from cheaptalk.cli.base import JsonOption, app, as_yaml, out, print_json, print_table
from cheaptalk.cli.reporting import extra


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
            [box.name, ", ".join(box.rules.roles), len(box.rules().places), _first_line(box.rules)]
            for box in boxes.values()
        ]
        print_table(None, ["game", "roles", "places", "what it is"], rows)
        out.print("\nOne in full: cheaptalk games NAME")
        return
    box = ct.game_box(name)
    if json:
        print_json(_game(box))
        return
    out.print(f"[bold]{box.name}[/], version {box.rules.version}")
    out.print(inspect.getdoc(box.rules) or "", markup=False)
    out.print(f"\nRoles: {', '.join(box.rules.roles)}")
    out.print(f"Places, with the defaults: {', '.join(box.rules().places)}")
    out.print(f"Forfeit: {box.rules.forfeit}\n", markup=False)
    parameters: list[list[object]] = [
        [key, _default(box.rules.model_fields[key]), meaning]
        for key, meaning in ct.rules.field_meanings(box.rules).items()
    ]
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
        "places": box.rules().places,
        "parameters": box.rules.model_json_schema(),
        "forfeit": box.rules.forfeit,
        "measures": {one.name: one.meaning for one in box.measures.values()},
        "strategies": list(ct.rules.strategies(box.name)),
        "styles": list(box.styles),
    }


def _default(field: FieldInfo) -> str:
    """A field's default as one writes it in a study file."""
    return (
        "required" if field.is_required() else as_yaml(field.get_default(call_default_factory=True))
    )


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
            fields = one.settings.model_fields.items()
            settings = ", ".join(f"{name}: {_default(field)}" for name, field in fields)
            rows.append([one.name, ", ".join(one.roles), settings, one.meaning])
        print_table(name, ["strategy", "roles", "settings", "what it does"], rows)
        out.print()
    out.print("Also: language models {model: provider/NAME}, people {person: terminal},")
    out.print("recorded moves {recorded: MATCH}. Providers: " + ", ".join(ct.models.PROVIDERS))


@app.command()
def preset(
    name: Annotated[str | None, typer.Argument(help="Print this one in full.")] = None,
    json: JsonOption = False,
) -> None:
    """List the presets, or print one as YAML to start a study file of one's own from."""
    if name is not None:
        found = ct.preset(name)
        if found is None:
            raise ct.rules.unknown("preset", name, ct.studies.preset_names())
        if json:
            print_json(found.written())
        else:
            typer.echo(ct.studies.preset_text(name), nl=False)
        return
    found_all = {known: ct.preset(known) for known in ct.studies.preset_names()}
    about = {known: study.description for known, study in found_all.items() if study}
    if json:
        print_json(about)
        return
    print_table(None, ["preset", "what it is"], [[known, text] for known, text in about.items()])
    out.print("\nStart a study of your own: cheaptalk preset NAME > my-study.yaml")


@app.command()
def recipes(json: JsonOption = False) -> None:
    """List the report recipes: the tables and figures of papers, made from any study."""
    with extra("analysis"):
        known = ct.reports.RECIPES
    if json:
        print_json(
            {
                one.name: {
                    "title": one.title,
                    "paper": one.paper,
                    "parts": {part.title: part.source for part in one.parts},
                    "options": dict(one.options),
                }
                for one in known.values()
            }
        )
        return
    rows: list[list[object]] = [[one.name, one.title, one.paper] for one in known.values()]
    print_table(None, ["recipe", "what it makes", "paper"], rows)
    out.print("\nMake one of a study: cheaptalk report STUDY --recipe NAME")
