"""Rows of the study form for an experiment's steps before, between and after games."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cheaptalk.rules.errors import first_problem
from cheaptalk.studies.people.steps import STEPS, Games, Step, read_step, write_step
from cheaptalk.yaml_files import as_block, parse_yaml, read_yaml

GAMES = Games.kind
WHEN = {"": "once", "before": "before each game", "after": "after each game"}
"""Display texts of the times at which a step can occur."""
STEP_TEMPLATES: Mapping[str, str] = read_yaml(Path(__file__).with_name("step_templates.yaml"))
"""Initial text of a new step, by kind."""


@dataclass
class StepFields:
    """A step of the experiment in the study form.

    Attributes:
        kind: kind of step.
        when: one of :data:`WHEN`.
        text: its settings as YAML, or the text itself if the step has only a text.
    """

    kind: str = ""
    when: str = ""
    text: str = ""


class StepProblem(Exception):
    """An invalid step of the experiment, with the index of its form row."""

    def __init__(self, number: int, problem: str) -> None:
        super().__init__(problem)
        self.number = number


def step_rows(path: Sequence[Step]) -> list[StepFields]:
    """Return the form rows for an experiment's steps; :func:`path_from` is the inverse."""
    return list(_rows(path))


def _rows(path: Sequence[Step], when: str = "") -> Iterator[StepFields]:
    for step in path:
        settings = write_step(step)[step.kind]
        for key in ("before", "after"):
            settings.pop(key, None)
        if isinstance(step, Games):
            yield from _rows(step.before, "before")
        yield StepFields(step.kind, when, _text(step, settings))
        if isinstance(step, Games):
            yield from _rows(step.after, "after")


def _text(step: Step, settings: Mapping[str, Any]) -> str:
    text = settings.get("text")
    if step.shorthand == "text" and [*settings] == ["text"] and isinstance(text, str):
        return text
    return as_block(dict(settings)) if settings else ""


def path_from(rows: Sequence[StepFields]) -> list[dict[str, Any]]:
    """Return the steps that form rows describe; raise :class:`StepProblem` for an invalid row."""
    around: dict[str, list[dict[str, Any]]] = {"before": [], "after": []}
    path: list[dict[str, Any]] = []
    for number, row in enumerate(rows):
        settings = _settings(number, row)
        try:
            read_step({row.kind: settings})
        except ValidationError as error:
            raise StepProblem(number, first_problem(error)) from None
        except ValueError as error:
            raise StepProblem(number, str(error)) from None
        if row.when in around and row.kind != GAMES:
            around[row.when].append({row.kind: settings})
        else:
            path.append({row.kind: settings})
    for step in path:
        if GAMES in step:
            step[GAMES] |= {name: steps for name, steps in around.items() if steps}
    return path


def _settings(number: int, row: StepFields) -> Any:
    step_type = STEPS.get(row.kind)
    textual = step_type is not None and step_type.shorthand == "text"
    try:
        settings = parse_yaml(row.text) if row.text.strip() else {}
    except ValueError as error:
        if textual:
            return row.text.strip()
        raise StepProblem(number, str(error)) from None
    is_settings = (
        isinstance(settings, dict)
        and step_type is not None
        and {*settings} & {*step_type.model_fields, "en"}
    )
    if textual and settings and not is_settings:
        return row.text.strip()
    if row.kind == GAMES and not isinstance(settings, dict):
        return {Games.shorthand: settings}
    return settings


def about_step(kind: str) -> str:
    """Return a description of a step kind and its settings."""
    if kind not in STEPS:
        return ""
    step_type = STEPS[kind]
    summary = " ".join(inspect.cleandoc(step_type.__doc__ or "").partition("\n\n")[0].split())
    names = [
        name for name in step_type.model_fields if name not in ("before", "after", "name", "once")
    ]
    return f"{summary} Settings: {', '.join([*names, 'name', 'once'])}."
