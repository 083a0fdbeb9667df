"""Error messages that state the problem, its location and the legal values."""

import json
import re
import traceback
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from sys import stdlib_module_names
from types import FrameType
from typing import Any, NamedTuple, Self, TypeAlias, TypeVar

from pydantic import BaseModel, PydanticUserError, ValidationError
from pydantic_core import ErrorDetails

from cheaptalk.renamed import RENAMED_COLUMNS, RENAMED_METRICS

SHAPES = {
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "text",
}
"""The expected type in words, by the type of the pydantic error."""
T = TypeVar("T")
LONGEST = 100
"""Maximum characters of user-written text that an error repeats."""


ERROR_FORMAT = "CHEAPTALK_ERRORS"
"""Environment variable; if it is ``json``, commands print their error as a last line of JSON."""
TRACEBACK_COMMAND = str(Path("IPython", "core", "magics", "execution.py"))
"""The end of the path of the file in IPython that defines the command %tb."""


class Advice(NamedTuple):
    """A part of an error message that advises the user to set an argument to a value.

    Attributes:
        text: the wording for Python users; the command line names the option instead.
    """

    text: str
    argument: str
    value: object


class CheaptalkError(Exception):
    """An error that the user can fix; the message is one sentence with the cause and the fix.

    The arguments are the parts of the sentence: strings, and :class:`Advice` that the command line
    rewords as options.

    >>> try:
    ...     ct.get_game("bargainig")
    ... except ct.CheaptalkError as error:
    ...     print(error)
    unknown game "bargainig" (did you mean "bargaining"?)
    >>> print(CheaptalkError("too few instances; ", Advice("say paired=False", "paired", False)))
    too few instances; say paired=False
    """

    def __str__(self) -> str:
        parts = (part.text if isinstance(part, Advice) else str(part) for part in self.args)
        return "".join(parts)

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows: the message, or a traceback for its command %tb."""
        callers = (frame for frame, _ in traceback.walk_stack(None))
        if any(caller.f_code.co_filename.endswith(TRACEBACK_COMMAND) for caller in callers):
            return traceback.format_exception(self)
        return [f"{type(self).__name__}: {self}", "Run %tb to show the traceback."]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the error's class, arguments and attributes, without calling ``__init__``."""
        return _same_error, (type(self), self.args, self.__dict__)


def _same_error(
    kind: type[CheaptalkError], args: tuple[object, ...], attributes: dict[str, Any]
) -> CheaptalkError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


class WrongValue(CheaptalkError, ValueError):
    """An invalid value of an argument or field; the message names both."""

    @classmethod
    def of_field(cls, kind: type[BaseModel], error: ValidationError) -> "WrongValue":
        """Return an error about the first invalid field in a call of a class.

        >>> ct.studies.Cap(dollars=-1)
        Traceback (most recent call last):
        cheaptalk.rules.errors.WrongValue: dollars of Cap must be greater than 0, not -1
        """
        name = kind.__name__.removesuffix("_settings")  # of a strategy
        problems = problems_in(error)
        problem = next((p for p in problems if p.code == "extra_forbidden"), problems[0])
        path, message = ".".join(map(str, problem.location)), problem.message
        if problem.code == "extra_forbidden" and len(problem.location) == 1:
            return cls(f"{name}: unknown key {suggest(path, list(kind.model_fields))}")
        if path and message.startswith(("is missing", "should ")):
            return cls(f"{path} of {name} {message.replace('should ', 'must ', 1)}")
        return cls(f"{name}: {problem}")


class UnknownName(CheaptalkError, KeyError):
    """A name that does not exist; the message suggests the nearest existing name."""


def unknown(what: str, name: str, known: Iterable[str]) -> UnknownName:
    """Return an error for an unknown name that suggests the nearest, or lists all known names."""
    return UnknownName(f"unknown {what} {suggest(name, sorted(known))}")


class Named(dict[str, T]):
    """Objects by name, as a dictionary whose error for an unknown name suggests the nearest.

    >>> ct.get_game("bargaining").strategies["liner"]
    Traceback (most recent call last):
    cheaptalk.rules.errors.UnknownName: unknown strategy "liner" (did you mean "linear"?)
    """

    what = "name"

    @classmethod
    def of(cls, what: str, objects: Mapping[str, T]) -> Self:
        """Return named objects of the kind that ``what`` describes, such as "strategy"."""
        named = cls(objects)
        named.what = what
        return named

    def __missing__(self, name: str) -> T:
        raise unknown(self.what, str(name), self)


class RulesError(CheaptalkError):
    """An error in the code of a game; the message names the game, the cause and the fix."""


Expected = TypeVar("Expected")


def shown(value: object) -> str:
    """Return a user's value as JSON, truncated if it is long.

    >>> shown({"share": 0.5}), shown(None)
    ('{"share": 0.5}', 'null')
    """
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def suggest(name: str, known: Sequence[str]) -> str:
    """Return an unknown name with a hint: its new or the nearest known name, or else all names.

    >>> suggest("horizn", ["money", "horizon"])
    '"horizn" (did you mean "horizon"?)'
    >>> suggest("charlie", ["alice", "bob"])
    '"charlie" (known: alice, bob)'
    >>> suggest("alice_gain", ["agreement", "self_gain_alice"])
    '"alice_gain" (renamed to "self_gain_alice")'
    >>> suggest("finished", ["started_at", "ended_at"]), suggest("rank.low", ["rank_low"])
    ('"finished" (renamed to "ended_at")', '"rank.low" (renamed to "rank_low")')
    """
    renamed = [new for old, new, _ in RENAMED_METRICS if old == name]
    for new in (*renamed, RENAMED_COLUMNS.get(name), name.replace(".", "_")):
        if new in known and new != name:
            return f'"{name}" (renamed to "{new}")'
    attempts = (_nearest(spelling, known) for spelling in (name, name.casefold()))
    nearest = next(filter(None, attempts), None)
    hint = f'did you mean "{nearest[0]}"?' if nearest else f"known: {', '.join(known) or 'none'}"
    return f'"{name}" ({hint})'


def _nearest(name: str, known: Sequence[str]) -> list[str]:
    """Return the most similar known name, with a lower threshold for names with equal initials."""
    same_initial = [candidate for candidate in known if candidate[:1] == name[:1]]
    similar = get_close_matches(name, known, n=1, cutoff=0.7)
    return similar or get_close_matches(name, same_initial, n=1)


def expect(value: object, kind: type[Expected], expected: str) -> Expected:
    """Return an object; raise a :class:`CheaptalkError` if it is not of the expected type."""
    if not isinstance(value, kind):
        raise CheaptalkError(f"expected {expected}, not {shown(value)}")
    return value


def counted(number: int, noun: str) -> str:
    """Return a number and a noun, in the singular or plural as required.

    >>> counted(1, "match"), counted(1200, "call"), counted(0, "reply"), counted(2, "person")
    ('1 match', '1,200 calls', '0 replies', '2 people')
    """
    if number != 1 and noun == "person":
        noun = "people"
    elif number != 1:
        noun = f"{noun[:-1]}ie" if noun.endswith("y") and noun[-2] not in "aeiou" else noun
        noun += "es" if noun.endswith(("s", "x", "ch", "sh")) else "s"
    return f"{number:,} {noun}"


FORMS = ("str", "int", "constrained-int")
"""Last steps of pydantic's error locations for fields with several types."""
Location: TypeAlias = tuple[str | int, ...]
"""The keys and indices that lead to a value in a user's data, as in pydantic's ``loc``."""


class Problem(NamedTuple):
    """A problem in a user's data.

    Attributes:
        location: the invalid value; empty for the data as a whole.
        code: the kind of problem, as in pydantic's ``type``.
        message: cause and fix, without the location.

    >>> print(Problem(("games", 0, "pairing"), "value_error", "null is not a pairing"))
    games.0.pairing: null is not a pairing
    """

    location: Location
    code: str
    message: str

    def __str__(self) -> str:
        path = ".".join(map(str, self.location))
        separator = " " if self.message == "is missing" else ": "
        return f"{path}{separator}{self.message}" if path else self.message


class LocatedError(ValueError):
    """An error of a validator about a value below the validated one, such as one of its keys."""

    def __init__(self, message: str, *location: str | int) -> None:
        self.problem = Problem(location, "value_error", message)
        super().__init__(str(self.problem))


def first_problem(error: ValidationError) -> str:
    """Describe a validation error's first problem in one line, with location and legal values."""
    return str(problems_in(error)[0])


def problems_in(error: ValidationError) -> list[Problem]:
    """Return the problems that a validation error describes, one per location."""
    alternatives: dict[Location, list[ErrorDetails]] = {}
    for details in error.errors(include_url=False):
        steps = [step for step in details["loc"] if not _machine(step)]
        is_form = bool(steps) and steps[-1] in FORMS
        alternatives.setdefault(tuple(steps[:-1] if is_form else steps), []).append(details)
    return [_problem(location, details) for location, details in alternatives.items()]


def _problem(location: Location, alternatives: Sequence[ErrorDetails]) -> Problem:
    cause = alternatives[0].get("ctx", {}).get("error")
    if isinstance(cause, LocatedError):
        return cause.problem._replace(location=location + cause.problem.location)
    return Problem(location, alternatives[0]["type"], _plain(alternatives))


Model = TypeVar("Model", bound=BaseModel)


def legal(kind: type[Model], data: Mapping[str, Any]) -> Model:
    """Return a user's data as a model; raise a :class:`CheaptalkError` that names legal values."""
    try:
        return kind.model_validate(dict(data))
    except ValidationError as error:
        raise CheaptalkError(first_problem(error)) from None


def problem_of(error: BaseException) -> str | None:
    """Describe the first problem of a pydantic error; return None for any other error."""
    return first_problem(error) if isinstance(error, ValidationError) else None


def _machine(step: int | str) -> bool:
    """Return whether a step of an error's location comes from pydantic, not from the user."""
    return isinstance(step, str) and ("[" in step or step in {"Sample", "Value"})


def _plain(problems: Sequence[ErrorDetails]) -> str:
    """Describe the problems at one location, one for each alternative type of its value."""
    first = problems[0]
    if first["type"] == "missing":
        return "is missing"
    options = list(dict.fromkeys(filter(None, map(_should, problems))))
    if not _should(first):
        return first["msg"].removeprefix("Value error, ")
    legal = ", or ".join(options).replace(", or be ", ", or ")
    return f"should {legal}, not {shown(first['input'])}"


def _should(problem: ErrorDetails) -> str:
    """Describe the legal values as the continuation of "should", or "" if pydantic names none."""
    if problem["type"] in SHAPES:
        return f"be {SHAPES[problem['type']]}"
    if problem["type"] == "value_error":
        return ""
    text = problem["msg"].partition("should ")[2].replace(" after validation", "")
    return text if problem["type"] == "literal_error" else text.partition(", ")[0]


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or its type if the message is empty."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def with_article(noun: str) -> str:
    """Return a noun with its indefinite article.

    >>> with_article("Offer"), with_article("Bid")
    ('an Offer', 'a Bid')
    """
    return f"{'an' if noun[0] in 'aeiouAEIO' else 'a'} {noun}"


def describe(error: BaseException) -> str:
    """Describe an error in a player's or a game's code in one line.

    Its location is the innermost frame outside of libraries.
    """
    if isinstance(error, CheaptalkError) and not isinstance(error, WrongValue):
        return str(error)
    if isinstance(error, SyntaxError) and error.filename:
        return f"{type(error).__name__} in {Path(error.filename).name}:{error.lineno}: {error.msg}"
    location = place_of(reversed(list(traceback.walk_tb(error.__traceback__))))
    suffix = f" in {location}" if location else ""
    if isinstance(error, PydanticUserError) and error.code == "model-field-missing-annotation":
        field = re.findall("`(?:.+?)`|'(?:.+?)'", error.message)[0][1:-1]
        return f"the class{suffix} has a field without a type, {field}; write NAME: TYPE = DEFAULT"
    return f"{type(error).__name__}{suffix}: {problem_of(error) or error}"


def place_of(frames: Iterable[tuple[FrameType, int]]) -> str | None:
    """Return the file and line of the first of the given frames that isn't in a library."""
    for frame, line in frames:
        if not _of_a_library(frame.f_globals.get("__name__", "")):
            return f"{Path(frame.f_code.co_filename).name}:{line}"
    return None


def _of_a_library(module: str) -> bool:
    framework = ("cheaptalk.rules.", "cheaptalk.styles.", "cheaptalk.conformance")
    libraries = {"jinja2", "msgspec", "pydantic"} | stdlib_module_names
    return module.startswith(framework) or module.partition(".")[0] in libraries
