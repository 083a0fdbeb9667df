"""Participants in a study's form: what is changed most has a field, all else is YAML."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Literal, NamedTuple

from pydantic import ValidationError

from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.errors import first_problem, shown
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.web.console.designs.parameter_fields import single_number
from cheaptalk.yaml_files import as_block, as_yaml, parse_yaml

PATH, BONUS, MORE = "path", "pay.bonus", "more"
"""The steps, which have rows of their own; the rules of the bonus, and whatever has no field."""
SOURCES = {
    "": "not said", "open": "anybody who has the link", "prolific": "Prolific", "mturk": "MTurk",
    "sona": "SONA", "code": "people with a code that they type",
}  # fmt: skip
"""Where participants come from, as people read it."""


class PeopleField(NamedTuple):
    """A setting of the protocol as a field.

    Attributes:
        name: where it stands in the protocol, such as ``pay.base``.
        label, about: what people read.
        kind: a text, a number, a text in each line, a choice among :data:`SOURCES`, or YAML.
        example: what stands in the field while it is empty.
    """

    name: str
    label: str
    about: str = ""
    kind: Literal["text", "number", "lines", "source", "yaml"] = "text"
    example: str = ""


class Group(NamedTuple):
    """Fields that belong together, under a title."""

    title: str
    fields: tuple[PeopleField, ...]


GROUPS = (
    Group("What they see", (
        PeopleField("title", "Title", "Over every page."),
        PeopleField("contact", "Whom they can ask", "An address, at the foot of every page."),
    )),
    Group("Who comes", (
        PeopleField("recruitment.source", "From where", kind="source"),
        PeopleField("recruitment.places", "Places", "How many may complete. Blank: as many as "
                    "there are matches for.", "number"),
        PeopleField("limits.visits", "Visits", "How often one person may come.", "number", "1"),
        PeopleField("limits.games", "Games", "Of one person, in all.", "number"),
        PeopleField("limits.hours", "Hours", "Between two games of a kind.", "number", "0"),
        PeopleField("recruitment.invited", "Only these", "Ids or codes, one in each line. Blank: "
                    "everybody.", "lines"),
        PeopleField("cohorts", "Cohorts", "One in each line: people of two never meet.", "lines",
                    "main"),
    )),
    Group("What they are paid", (
        PeopleField("pay.currency", "Currency", "", "text", "USD"),
        PeopleField("pay.base", "For completing", "", "number", "0"),
        PeopleField("pay.game", "For each game", "", "number", "0"),
        PeopleField("pay.most", "Bonus at the most", "Of one person.", "number"),
        PeopleField(BONUS, "Bonus of a game", "YAML: the first rule that fits a game counts; rate "
                    "is what a unit of the payoff is worth.", "yaml", "- {rate: 0.02, most: 2}"),
    )),
    Group("Codes that they show in the end", (
        PeopleField("codes.complete", "Completed", "Blank: each has their own."),
        PeopleField("codes.screened_out", "Screened out"),
        PeopleField("codes.failed_attention", "Failed attention"),
        PeopleField("codes.timed_out", "Waited in vain"),
        PeopleField("codes.partner_left", "A partner left"),
        PeopleField("keep_days", "Days that data are kept", "After the study is closed. Blank: "
                    "for ever.", "number"),
    )),
    Group("Anything else", (
        PeopleField(MORE, "Anything else", "YAML, as under people: in a study file.", "yaml",
                    "recruitment: {one_browser: true}"),
    )),
)  # fmt: skip
FIELDS = {field.name: field for group in GROUPS for field in group.fields}


class PeopleProblem(CheaptalkError):
    """Something typed that makes no protocol.

    Attributes:
        field: in which it stands.
    """

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        super().__init__(problem)


def protocol_from(typed: Mapping[str, str], path: Sequence[Any] = ()) -> Protocol | None:
    """What participants go through, from the texts of the fields; None where nothing is written.

    Args:
        path: the steps.

    Raises:
        PeopleProblem: it makes no protocol.
    """
    written = {name: text.strip() for name, text in typed.items() if text.strip()}
    if not written and not path:
        return None
    data = _read(FIELDS[MORE], written.pop(MORE, "{}"))
    if not isinstance(data, dict):
        raise PeopleProblem(MORE, f"{shown(data)} are no settings: write NAME: VALUE in each line")
    for name, text in written.items():
        _put(data, name, _read(FIELDS[name], text))
    if not path:
        raise PeopleProblem(PATH, "say what participants go through: add steps, the games at least")
    _put(data, PATH, list(path))
    try:
        return Protocol.model_validate(data)
    except ValidationError as error:
        problem = first_problem(error)
        where = ".".join(map(str, error.errors()[0]["loc"][:2])) or problem.partition(":")[0]
        named = next((name for name in (*FIELDS, PATH) if _meets(f"{where}.", f"{name}.")), MORE)
        raise PeopleProblem(named, problem.removeprefix(f"{named}: ")) from None
    except CheaptalkError as error:
        raise PeopleProblem(MORE, str(error)) from None


def _meets(place: str, field: str) -> bool:
    """Whether a field holds a place of the protocol, or is the first that stands in it."""
    return place.startswith(field) or field.startswith(place)


def _read(field: PeopleField, text: str) -> Any:
    """The value that stands in a field.

    Raises:
        PeopleProblem: it cannot be read.
    """
    try:
        match field.kind:
            case "lines":
                return [line.strip() for line in text.splitlines() if line.strip()]
            case "text" if not text.startswith("{"):
                return text
            case "number":
                return single_number(text)
            case _:
                return parse_yaml(text)
    except ValueError as error:
        raise PeopleProblem(field.name, str(error)) from None


def _put(data: dict[str, Any], name: str, value: Any) -> None:
    """Set what stands in a protocol under a name.

    Raises:
        PeopleProblem: it is written under anything else, too.
    """
    *above, last = name.split(".")
    for part in above:
        data = data.setdefault(part, {})
        if not isinstance(data, dict):
            raise PeopleProblem(MORE, f"{part}: write NAME: VALUE, each in a line")
    if last in data:
        raise PeopleProblem(MORE, f"{name} has a field of its own; leave it out here")
    data[last] = value


def people_texts(protocol: Protocol) -> dict[str, str]:
    """The texts of the fields, from which :func:`protocol_from` makes an equal protocol."""
    rest = deepcopy(protocol.model_dump(mode="json", exclude_unset=True, exclude={PATH}))
    texts = {name: _text(field, _taken(rest, name)) for name, field in FIELDS.items()}
    texts[MORE] = as_block(_pruned(rest)) if _pruned(rest) else ""
    return texts


def _taken(data: dict[str, Any], name: str) -> Any:
    """Take out what stands in a protocol under a name; None where nothing does, or what is empty,
    which a blank field would not say.
    """
    *above, last = name.split(".")
    for part in above:
        data = data.get(part, {})
    return data.pop(last) if data.get(last, "") not in ("", []) else None


def _text(field: PeopleField, value: Any) -> str:
    if value is None:
        return ""
    match field.kind:
        case "lines":
            return "\n".join(map(str, value))
        case "yaml":
            return as_block(value)
        case "number" if float(value).is_integer():
            return str(int(value))
        case _:
            return value if isinstance(value, str) else as_yaml(value)


def _pruned(data: Mapping[str, Any]) -> dict[str, Any]:
    """What is left of a protocol when its fields were taken out, without what is empty then."""
    return {name: value for name, value in data.items() if value != {}}
