"""Form fields for participant settings: one per common setting, and YAML for the others."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Literal, NamedTuple

from pydantic import ValidationError

from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.errors import first_problem, shown
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.web.console.designs.parameter_fields import single_number
from cheaptalk.yaml_files import as_block, as_yaml, parse_yaml

PATH, BONUS, OTHER = "path", "pay.bonus", "more"
"""Names of the steps, the bonus rules, and the settings without a field."""
SOURCES = {
    "": "default", "open": "anyone with the link", "prolific": "Prolific", "mturk": "MTurk",
    "sona": "SONA", "code": "invitation codes",
}  # fmt: skip
"""Display texts of recruitment sources."""


class PeopleField(NamedTuple):
    """The form field of a setting for participants.

    Attributes:
        name: path in the protocol, such as ``pay.base``.
        label, about: display texts.
        kind: a text, a number, one text per line, one of :data:`SOURCES`, or YAML.
        example: placeholder.
    """

    name: str
    label: str
    about: str = ""
    kind: Literal["text", "number", "lines", "source", "yaml"] = "text"
    example: str = ""


class FieldGroup(NamedTuple):
    """A titled group of form fields."""

    title: str
    fields: tuple[PeopleField, ...]


GROUPS = (
    FieldGroup("Pages", (
        PeopleField("title", "Title", "Heading of every page."),
        PeopleField("contact", "Contact", "Email address at the bottom of every page."),
    )),
    FieldGroup("Recruitment", (
        PeopleField("recruitment.source", "Source", kind="source"),
        PeopleField("recruitment.places", "Places", "Maximum number of participants who "
                    "complete the study. Blank: as many as the planned matches allow.", "number"),
        PeopleField("limits.visits", "Visits", "Maximum per participant.", "number", "1"),
        PeopleField("limits.games", "Games", "Maximum per participant, over all visits.", "number"),
        PeopleField("limits.hours", "Hours between games", "Minimum, for games of the same "
                    "family.", "number", "0"),
        PeopleField("recruitment.invited", "Invited only", "IDs or codes, one per line. Blank: "
                    "anyone.", "lines"),
        PeopleField("cohorts", "Cohorts", "One per line. Participants meet only within a cohort.",
                    "lines", "main"),
    )),
    FieldGroup("Payment", (
        PeopleField("pay.currency", "Currency", "", "text", "USD"),
        PeopleField("pay.base", "Base payment", "", "number", "0"),
        PeopleField("pay.game", "Payment per game", "", "number", "0"),
        PeopleField("pay.max", "Maximum bonus", "Per participant.", "number"),
        PeopleField(BONUS, "Bonus per game", "YAML. The first rule that matches a game applies. "
                    "rate is the amount per unit of payoff.", "yaml", "- {rate: 0.02, max: 2}"),
    )),
    FieldGroup("Completion codes", (
        PeopleField("codes.complete", "Completed", "Blank: a different code for each participant."),
        PeopleField("codes.screened_out", "Screened out"),
        PeopleField("codes.failed_attention", "Failed attention check"),
        PeopleField("codes.timed_out", "No match found in time"),
        PeopleField("codes.partner_left", "Partner left"),
        PeopleField("keep_days", "Retention in days", "After the study is closed. Blank: "
                    "data are kept indefinitely.", "number"),
    )),
    FieldGroup("Other settings", (
        PeopleField(OTHER, "Other settings", "YAML, as under people in a study file.", "yaml",
                    "recruitment: {one_browser: true}"),
    )),
)  # fmt: skip
FIELDS = {field.name: field for group in GROUPS for field in group.fields}


class PeopleProblem(CheaptalkError):
    """An invalid participant setting, with the name of its form field."""

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        super().__init__(problem)


def protocol_from(texts: Mapping[str, str], path: Sequence[Any] = ()) -> Protocol | None:
    """Build the participant protocol from the texts of form fields; None if all are empty.

    Args:
        path: the steps of the participants.

    Raises:
        PeopleProblem: the protocol is invalid.
    """
    filled = {name: text.strip() for name, text in texts.items() if text.strip()}
    if not filled and not path:
        return None
    data = _read(FIELDS[OTHER], filled.pop(OTHER, "{}"))
    if not isinstance(data, dict):
        raise PeopleProblem(
            OTHER, f"{shown(data)} are not settings; write NAME: VALUE, one per line"
        )
    for name, text in filled.items():
        _set_value(data, name, _read(FIELDS[name], text))
    if not path:
        raise PeopleProblem(PATH, "add the steps of the study, at least the games")
    _set_value(data, PATH, list(path))
    try:
        return Protocol.model_validate(data)
    except ValidationError as error:
        problem = first_problem(error)
        location = ".".join(map(str, error.errors()[0]["loc"][:2])) or problem.partition(":")[0]
        named = next(
            (name for name in (*FIELDS, PATH) if _overlaps(f"{location}.", f"{name}.")), OTHER
        )
        raise PeopleProblem(named, problem.removeprefix(f"{named}: ")) from None
    except CheaptalkError as error:
        raise PeopleProblem(OTHER, str(error)) from None


def _overlaps(location: str, field: str) -> bool:
    return location.startswith(field) or field.startswith(location)


def _read(field: PeopleField, text: str) -> Any:
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


def _set_value(data: dict[str, Any], name: str, value: Any) -> None:
    *above, last = name.split(".")
    for part in above:
        data = data.setdefault(part, {})
        if not isinstance(data, dict):
            raise PeopleProblem(OTHER, f"{part}: write NAME: VALUE, one per line")
    if last in data:
        raise PeopleProblem(OTHER, f"enter {name} in the field for it, not here")
    data[last] = value


def people_texts(protocol: Protocol) -> dict[str, str]:
    """Return the field texts of a participant protocol; :func:`protocol_from` is the inverse."""
    settings = deepcopy(protocol.model_dump(mode="json", exclude_unset=True, exclude={PATH}))
    texts = {name: _text(field, _pop_value(settings, name)) for name, field in FIELDS.items()}
    texts[OTHER] = as_block(_without_empty(settings)) if _without_empty(settings) else ""
    return texts


def _pop_value(data: dict[str, Any], name: str) -> Any:
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


def _without_empty(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if value != {}}
