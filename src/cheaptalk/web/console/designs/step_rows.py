"""The steps of participants in a study's form: a row each, those around each game with theirs."""

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
"""When a step comes, as people read it."""
BEGINNINGS: Mapping[str, str] = read_yaml(Path(__file__).with_name("beginnings.yaml"))
"""What stands in a new step, by its kind."""


@dataclass
class StepFields:
    """A step in the form.

    Attributes:
        kind: of the step.
        when: one of :data:`WHEN`.
        text: its settings, as YAML; of a step that is a text alone, that text.
    """

    kind: str = ""
    when: str = ""
    text: str = ""


class StepProblem(Exception):
    """A row that is no step.

    Attributes:
        number: of the row.
    """

    def __init__(self, number: int, problem: str) -> None:
        super().__init__(problem)
        self.number = number


def step_rows(path: Sequence[Step]) -> list[StepFields]:
    """The rows of a path, from which :func:`path_from` makes an equal one."""
    return list(_rows(path))


def _rows(path: Sequence[Step], when: str = "") -> Iterator[StepFields]:
    for step in path:
        settings = write_step(step)[step.kind]
        for around in ("before", "after"):
            settings.pop(around, None)
        if isinstance(step, Games):
            yield from _rows(step.before, "before")
        yield StepFields(step.kind, when, _text(step, settings))
        if isinstance(step, Games):
            yield from _rows(step.after, "after")


def _text(step: Step, settings: Mapping[str, Any]) -> str:
    alone = settings.get("text")
    if step.shorthand == "text" and [*settings] == ["text"] and isinstance(alone, str):
        return alone
    return as_block(dict(settings)) if settings else ""


def path_from(rows: Sequence[StepFields]) -> list[dict[str, Any]]:
    """The steps of rows, as they are written in a study file.

    Raises:
        StepProblem: one is none.
    """
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
    """What stands in a row.

    Raises:
        StepProblem: it cannot be read.
    """
    of = STEPS.get(row.kind)
    textual = of is not None and of.shorthand == "text"
    try:
        found = parse_yaml(row.text) if row.text.strip() else {}
    except ValueError as error:
        if textual:
            return row.text.strip()
        raise StepProblem(number, str(error)) from None
    known = isinstance(found, dict) and of is not None and {*found} & {*of.model_fields, "en"}
    if textual and found and not known:
        return row.text.strip()
    if row.kind == GAMES and not isinstance(found, dict):
        return {Games.shorthand: found}
    return found


def about_step(kind: str) -> str:
    """What a kind of step is, and which settings it has, in a sentence each."""
    if kind not in STEPS:
        return ""
    of = STEPS[kind]
    gist = " ".join(inspect.cleandoc(of.__doc__ or "").partition("\n\n")[0].split())
    names = [name for name in of.model_fields if name not in ("before", "after", "name", "once")]
    return f"{gist} Settings: {', '.join([*names, 'name', 'once'])}."
