"""Steps of participants as rows of the study form."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from cheaptalk.rules import counted, suggest
from cheaptalk.rules.errors import Location
from cheaptalk.studies.people.answers import KINDS
from cheaptalk.studies.people.page_texts.texts import FIRST, in_language
from cheaptalk.studies.people.steps import STEPS, Games, Step, read_step, write_step
from cheaptalk.web.console.designs.fields import Field, Row, fields_of, last_text
from cheaptalk.web.console.designs.nested import members
from cheaptalk.web.console.designs.settings import SettingsReader, members_texts
from cheaptalk.yaml_files import read_yaml

PATH = "people.path"
TEMPLATES = read_yaml(Path(__file__).with_name("step_templates.yaml"))
STEP_TEMPLATES: Mapping[str, Any] = TEMPLATES["steps"]
"""Initial settings of a new step, by kind."""
QUESTION_TEMPLATES: Mapping[str, Any] = TEMPLATES["questions"]
"""Initial settings of a new question, by kind of answer."""
AROUND = ("before", "after")
"""Times at which a step can occur repeatedly: before or after each game."""
ADVANCED = (
    "name", "once", "when", "title", "on_fail", "erase", "code_word", "can_stop", "same_treatment",
    "fixed_groups", "stratify", "lobby", "attention",
)  # fmt: skip
"""Settings that most steps don't need; the form shows them on request."""
ADVANCED_ITEM = ("when", "correct", "feedback", "message", "optional")
"""Settings that most questions don't need."""
GRADED = {"comprehension": ("correct", "feedback"), "screening": ("correct",)}
"""Settings that questions of a step with correct answers need."""
LONGEST_SUMMARY = 60
"""Maximum characters of a step's summary."""


@cache
def step_fields(kind: str) -> tuple[Field, ...]:
    """Return the form fields of a kind of step."""
    if kind not in STEPS:
        return ()
    fields = fields_of(STEPS[kind])
    return tuple(field for name, field in fields.items() if name not in AROUND)


def path_data(rows: Sequence[Row], reader: SettingsReader) -> tuple[list[Any], dict[Location, int]]:
    """Return the steps in the format of a study file, and the row of each step by location."""
    path: list[dict[str, Any]] = []
    places: dict[Location, int] = {}
    around: dict[str, list[Any]] = {name: [] for name in AROUND}
    games = sum(
        last_text(row, "kind") != Games.kind and last_text(row, "around") not in AROUND
        for row in rows[: _position(rows)]
    )
    for number, row in enumerate(rows):
        kind, when = last_text(row, "kind"), last_text(row, "around")
        repeated = when in around and kind != Games.kind
        steps = around[when] if repeated else path
        place = (games, when, len(steps)) if repeated else (len(path),)
        location = ("people", "path", *place)
        places[location], name = number, f"{PATH}.{number}"
        reader.names[location] = name
        if kind not in STEPS:
            reader.problems[name] = f"unknown step {suggest(kind, [*STEPS])}"
        fields = step_fields(kind)
        steps.append({kind: reader.members(fields, row, "", f"{name}.", location)})
    for step in path:
        if isinstance(step.get(Games.kind), dict):
            step[Games.kind] |= {name: steps for name, steps in around.items() if steps}
    return path, places


def _position(rows: Sequence[Row]) -> int:
    """Return the number of the row with the games."""
    kinds = [last_text(row, "kind") for row in rows]
    return kinds.index(Games.kind) if Games.kind in kinds else len(rows)


def path_rows(path: Sequence[Any], around: str = "") -> Iterator[Row]:
    """Yield the rows of a study file's steps; :func:`path_data` is the inverse."""
    for written in path:
        step: Step = read_step(written)
        settings = write_step(step)[step.kind]
        yield from path_rows(settings.get("before", []), "before")
        yield step_row(step.kind, settings, around)
        yield from path_rows(settings.get("after", []), "after")


def step_row(kind: str, settings: Mapping[str, Any], around: str = "") -> Row:
    """Return the row of a step with given settings."""
    texts = members_texts(step_fields(kind), "", settings)
    return {"kind": [kind], "around": [around]} | {name: [text] for name, text in texts}


def new_step(kind: str) -> Row:
    """Return the row of a new step; its texts are examples."""
    return step_row(kind, STEP_TEMPLATES[kind], "after" if kind == "quiz" else "")


def step_name(row: Row) -> str:
    """Return the name of a step in records; by default, its kind."""
    return last_text(row, "name").strip() or last_text(row, "kind")


def new_question(kind: str, row: Row) -> Row:
    """Return the texts of a new question for a step."""
    names = {last_text(row, f"items.{n}.name") for n in range(members(row, "items"))}
    number = next(n for n in range(1, len(names) + 2) if f"question_{n}" not in names)
    item = {"name": f"question_{number}", "ask": "New question", kind: QUESTION_TEMPLATES[kind]}
    fields = next(field.fields for field in step_fields("survey") if field.name == "items")
    return {name: [text] for name, text in members_texts(fields, "", item)}


def place_steps(rows: Sequence[Row], moved: Sequence[int]) -> None:
    """Let moved steps that occur at each game occur before or after it, as their place says."""
    games = _position(rows)
    for number in moved:
        if last_text(rows[number], "around"):
            rows[number]["around"] = ["before" if number < games else "after"]


def extent_of_step(row: Row) -> list[str]:
    """Return the numbers of a step's pages and questions.

    >>> extent_of_step({"kind": ["survey"], "items.0.name": ["a"], "items.1.name": ["b"]})
    ['2 questions']
    """
    return [
        counted(number, noun)
        for name, noun in (("pages", "page"), ("items", "question"))
        if (number := members(row, name))
    ]


def names_in_step(row: Row) -> list[str]:
    """Return a step's name and treatments or, without them, the beginning of its text.

    >>> names_in_step({"kind": ["debrief"], "text": ["Thank you.\\n\\nThe study is over."]})
    ['Thank you.']
    """
    treatments = (last_text(row, f"treatments.{n}.key") for n in range(members(row, "treatments")))
    names = [last_text(row, "name"), ", ".join(filter(None, treatments))]
    if any(names) or extent_of_step(row):
        return [*filter(None, names)]
    texts = (
        in_language({name[len(key) + 1 :]: last_text(row, name) for name in fields}, FIRST)
        for key in ("title", "text")
        if (fields := [name for name in row if name == key or name.startswith(f"{key}.")])
    )
    first = next((text.strip() for text in texts if text.strip()), "").partition("\n")[0]
    short = first if len(first) <= LONGEST_SUMMARY else f"{first[:LONGEST_SUMMARY]}…"
    return [short] if short else []


def advanced_settings(kind: str, name: str) -> tuple[str, ...]:
    """Return the settings of a step's list that most of its members don't need."""
    if name != "items":
        return ()
    return tuple(key for key in ADVANCED_ITEM if kind not in GRADED or key not in GRADED[kind])


def about_step(kind: str) -> str:
    """Return a description of a step kind."""
    return _first_paragraph(STEPS[kind]) if kind in STEPS else ""


def about_answer(kind: str) -> str:
    """Return a description of a kind of answer."""
    return _first_paragraph(KINDS[kind]) if kind in KINDS else ""


def _first_paragraph(described: type) -> str:
    doc = inspect.cleandoc(described.__doc__ or "")
    return " ".join(doc.partition("\n\n")[0].split())
