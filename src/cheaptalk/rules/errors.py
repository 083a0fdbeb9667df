"""Errors as sentences: what is wrong, where it stands, and what would be legal."""

import json
import re
import traceback
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from sys import stdlib_module_names
from types import FrameType
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, PydanticUserError, ValidationError
from pydantic_core import ErrorDetails

from cheaptalk.rules.actions import SHAPES

LONGEST = 100
"""Characters of what a person wrote that an error repeats."""


class Advice(NamedTuple):
    """A part of an error's message that advises to use an argument of a function.

    Attributes:
        text: how it is said in Python.
        argument: the argument's name.
        value: its value.
    """

    text: str
    argument: str
    value: object


class CheaptalkError(Exception):
    """Something a user can mend; the message is one sentence with the cause and the cure.

    Its arguments are the parts of the sentence: texts, and advice that the command line words as
    options.

    >>> print(CheaptalkError("too few deals; ", Advice("say paired=False", "paired", False)))
    too few deals; say paired=False
    """

    def __str__(self) -> str:
        parts = (part.text if isinstance(part, Advice) else str(part) for part in self.args)
        return "".join(parts)

    def __reduce__(self) -> tuple[Any, ...]:
        """As what it is, in another process too, whatever its class is made with."""
        return _same_error, (type(self), self.args, self.__dict__)


def _same_error(
    kind: type[CheaptalkError], args: tuple[object, ...], attributes: dict[str, Any]
) -> CheaptalkError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


class RulesError(CheaptalkError):
    """The code of a game is wrong; the message names the game, what is wrong and the cure."""


def shown(written: object) -> str:
    """Something that a person wrote, as it stands in their file, cut where it gets long.

    >>> shown({"share": 0.5}), shown(None)
    ('{"share": 0.5}', 'null')
    """
    text = json.dumps(written, default=str, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def expect(thing: object, kind: type, wanted: str) -> None:
    """Refuse a thing of another type.

    Raises:
        CheaptalkError: what is wanted, and what came.

    >>> expect(5, str, "a name")
    Traceback (most recent call last):
    cheaptalk.rules.errors.CheaptalkError: a name is wanted, not 5
    """
    if not isinstance(thing, kind):
        raise CheaptalkError(f"{wanted} is wanted, not {shown(thing)}")


def counted(number: int, what: str) -> str:
    """So many of something, in words as they stand behind a number.

    >>> counted(1, "match"), counted(1200, "call"), counted(0, "reply"), counted(2, "person")
    ('1 match', '1,200 calls', '0 replies', '2 people')
    """
    if number != 1 and what == "person":
        what = "people"
    elif number != 1:
        what = f"{what[:-1]}ie" if what.endswith("y") and what[-2] not in "aeiou" else what
        what += "es" if what.endswith(("s", "x", "ch", "sh")) else "s"
    return f"{number:,} {what}"


FORMS = ("str", "int", "constrained-int")
"""What pydantic adds to the place of a problem with one of several forms."""


def first_problem(error: ValidationError) -> str:
    """The first thing wrong, in one line: where, what would be legal, what was written.

    >>> from cheaptalk.rules import Horizon
    >>> try:
    ...     Horizon.model_validate({"rounds": "many"})
    ... except ValidationError as error:
    ...     print(first_problem(error))
    rounds: should be a whole number, not "many"
    """
    problems = error.errors(include_url=False)
    place = _place(problems[0])
    here = [one for one in problems if _place(one) == place]
    return f"{place}: {_plain(here)}" if place else _plain(here)


Model = TypeVar("Model", bound=BaseModel)


def legal(kind: type[Model], written: Mapping[str, Any]) -> Model:
    """What was written, as a value of this kind.

    Raises:
        CheaptalkError: a part of it is not legal; the message says what would be.
    """
    try:
        return kind.model_validate(dict(written))
    except ValidationError as error:
        raise CheaptalkError(first_problem(error)) from None


def problem_of(error: BaseException) -> str | None:
    """The first thing wrong where the error is one of pydantic's; None for any other."""
    return first_problem(error) if isinstance(error, ValidationError) else None


def _place(problem: ErrorDetails) -> str:
    steps = [str(step) for step in problem["loc"] if not _machine(step)]
    of_a_form = bool(steps) and steps[-1] in FORMS
    return ".".join(steps[:-1] if of_a_form else steps)


def _machine(step: int | str) -> bool:
    """Whether a step of an error's place is pydantic's own, not something that was written."""
    return isinstance(step, str) and ("[" in step or step in {"Sample", "Value"})


def _plain(problems: Sequence[ErrorDetails]) -> str:
    """What is wrong at one place; several problems are those of several forms, any of which will
    do."""
    first = problems[0]
    if first["type"] == "missing":
        return "is missing"
    shoulds = list(dict.fromkeys(filter(None, map(_should, problems))))
    if not _should(first):
        return first["msg"].removeprefix("Value error, ")
    legal = ", or ".join(shoulds).replace(", or be ", ", or ")
    return f"should {legal}, not {shown(first['input'])}"


def _should(problem: ErrorDetails) -> str:
    """What would be legal, as it stands behind "should"; empty where pydantic does not say."""
    if problem["type"] in SHAPES:
        return f"be {SHAPES[problem['type']]}"
    if problem["type"] == "value_error":
        return ""
    should = problem["msg"].partition("should ")[2].replace(" after validation", "")
    return should if problem["type"] == "literal_error" else should.partition(", ")[0]


def first_line(error: BaseException) -> str:
    """What an error says, in its first line; its type where it says nothing.

    >>> first_line(ValueError("no port\\nsee below")), first_line(TimeoutError())
    ('no port', 'TimeoutError')
    """
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def describe(error: BaseException) -> str:
    """An error of a player's or the rules' own code, in one line with the place it came from.

    The place is the last one in code that is not a library's, which was only called.
    """
    if isinstance(error, CheaptalkError):
        return str(error)
    if isinstance(error, SyntaxError) and error.filename:
        return f"{type(error).__name__} in {Path(error.filename).name}:{error.lineno}: {error.msg}"
    found = place_of(reversed(list(traceback.walk_tb(error.__traceback__))))
    place = f" in {found}" if found else ""
    if isinstance(error, PydanticUserError) and error.code == "model-field-missing-annotation":
        field = re.findall("`(?:.+?)`|'(?:.+?)'", error.message)[0][1:-1]
        return f"the class{place} has a field without a type, {field}; write NAME: TYPE = DEFAULT"
    return f"{type(error).__name__}{place}: {problem_of(error) or error}"


def place_of(frames: Iterable[tuple[FrameType, int]]) -> str | None:
    """The file and line of the first frame, of those from the inside out, that is no library's."""
    for frame, line in frames:
        if not _of_a_library(frame.f_globals.get("__name__", "")):
            return f"{Path(frame.f_code.co_filename).name}:{line}"
    return None


def _of_a_library(module: str) -> bool:
    package = module.partition(".")[0]
    ours = module.startswith(("cheaptalk.rules.", "cheaptalk.styles.", "cheaptalk.conformance"))
    return ours or package in ("jinja2", "msgspec", "pydantic") or package in stdlib_module_names
