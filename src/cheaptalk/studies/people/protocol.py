"""The protocol of a human study: recruitment, steps and payments."""

import re
from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import parse_qsl, quote, urlsplit

from pydantic import Field, field_validator, model_validator

from cheaptalk.records.store.schema import Ending as Ending  # re-exported
from cheaptalk.renamed import RENAMED_PLACEHOLDERS
from cheaptalk.rules import Value, suggest
from cheaptalk.rules.errors import LocatedError, shown
from cheaptalk.studies.people.items import Item
from cheaptalk.studies.people.page_texts.files import (
    TEMPLATE,
    check_contents,
    content_of,
    suffix_of,
)
from cheaptalk.studies.people.page_texts.protocol_texts import check_path
from cheaptalk.studies.people.page_texts.texts import ADJUSTABLE, CONTENT, Words
from cheaptalk.studies.people.pay_rules import Pay as Pay  # re-exported
from cheaptalk.studies.people.steps import (
    AnyStep,
    Games,
    Payment,
    Quiz,
    Step,
    located_steps,
    with_names,
)

Source: TypeAlias = Literal["open", "prolific", "mturk", "sona", "code"]
RETURN = {"prolific": "https://app.prolific.com/submissions/complete?cc={code}"}
"""Default completion URLs by recruitment source."""
PLACEHOLDERS = {name: f"{{{{%{name}%}}}}" for name in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")}
PLACEHOLDERS |= {name: f"${{{name}}}" for name in ("workerId", "assignmentId", "hitId")}
PLACEHOLDERS["survey_code"] = "%SURVEY_CODE%"
"""Placeholders that platforms replace with values, by URL parameter."""
ID_PATTERNS: dict[Source, str] = {
    "prolific": "[0-9A-Fa-f]{24}",
    "mturk": "[0-9A-Z]{5,30}",
    "sona": "[0-9]{1,24}",
}
"""Regular expressions for participant ids, by recruitment source."""
ANY_ID = r"\w[\w.@+:~-]{0,99}"
"""The regular expression for the values of a custom ``id_parameter`` and of other parameters."""
LONGEST_INVITED = 200
"""Maximum characters of an invited id or code."""


def sona_problem(url: str) -> str:
    """Return why a completion URL of SONA gives no credit; empty if it is complete.

    >>> link = "https://uni.sona-systems.com/webstudy_credit.aspx?experiment_id=1&credit_token=2"
    >>> sona_problem(f"{link}&survey_code={{id}}"), sona_problem(link)
    ('', 'lacks survey_code={id}; copy the completion URL from SONA, and write {id} for XXXX')
    """
    given = dict(parse_qsl(urlsplit(url).query))
    for name in ("experiment_id", "credit_token"):
        if not given.get(name):
            return f"lacks {name}=...; copy the completion URL from SONA, and write {{id}} for XXXX"
    if given.get("survey_code") != "{id}":
        return "lacks survey_code={id}; copy the completion URL from SONA, and write {id} for XXXX"
    return ""


class Recruitment(Value):
    """Settings for the recruitment, identification and number of participants.

    Attributes:
        source: the recruitment source, which determines the id parameter of the link. The source
            ``open`` requires no id; with ``code``, participants enter a code.
        id_parameter: a custom URL parameter for the id; ids may then have any source's format.
        invited: the invited ids or codes; by default, anyone may participate or, with ``code``,
            everyone who got a personal code.
        places: maximum number of completions; by default, as many as the study's matches require.
        one_browser: whether to reject a second participant in the same browser.
        return_url: the completion URL, also by ending, such as ``{complete: URL, screened_out:
            URL}``; ``{code}`` and ``{id}`` are replaced with the completion code and the
            participant's id.
    """

    source: Source = "open"
    id_parameter: Annotated[str | None, Field(title="ID parameter")] = None
    invited: Annotated[list[str] | None, ADJUSTABLE] = None
    places: Annotated[Annotated[int, Field(ge=1)] | None, ADJUSTABLE] = None
    one_browser: Annotated[bool, ADJUSTABLE] = False
    return_url: Annotated[str | dict[Ending, str] | None, Field(title="Return URL"), ADJUSTABLE] = (
        None
    )

    @field_validator("invited", mode="before")
    @classmethod
    def _texts(cls, data: Any) -> Any:
        if not isinstance(data, list):
            return data
        texts = [str(value) for value in data]
        for text in texts:
            if not text.isprintable() or len(text) > LONGEST_INVITED:
                raise ValueError(
                    f"{shown(text)} is not an id or code; use up to {LONGEST_INVITED} printable "
                    "characters"
                )
        return texts

    @field_validator("return_url")
    @classmethod
    def _is_url(cls, urls: str | dict[Ending, str] | None) -> str | dict[Ending, str] | None:
        for url in [urls] if isinstance(urls, str) else (urls or {}).values():
            if not url.startswith(("https://", "http://")):
                raise ValueError(f"{shown(url)} is not a URL; it must start with https://")
        return urls

    @model_validator(mode="after")
    def _has_credit_link(self) -> "Recruitment":
        url = self.url("complete") if self.source == "sona" else None
        if url is not None and (problem := sona_problem(url)):
            raise LocatedError(f"{shown(url)} {problem}", "return_url")
        return self

    @model_validator(mode="after")
    def _knows_whom(self) -> "Recruitment":
        if self.source == "open" and self.invited is not None:
            raise LocatedError(
                "source open admits anyone, without ids; set another source", "invited"
            )
        return self

    @property
    def parameters(self) -> tuple[str, ...]:
        """The recruitment link's URL parameters; the first identifies the participant."""
        names = {
            "prolific": ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"),
            "mturk": ("workerId", "assignmentId", "hitId"),
            "sona": ("survey_code",),
            "code": ("code",),
            "open": (),
        }[self.source]
        return (self.id_parameter, *names[1:]) if self.id_parameter and names else names

    def has_form(self, known_by: str) -> bool:
        """Return whether a participant id has the recruitment source's format, if any.

        >>> Recruitment(source="sona").has_form("1017")
        True
        >>> Recruitment(source="sona").has_form("1017\\n99,1000.00")
        False
        """
        if self.source == "code":
            return known_by.isprintable()
        pattern = ANY_ID if self.id_parameter else ID_PATTERNS.get(self.source, ANY_ID)
        return re.fullmatch(pattern, known_by) is not None

    def url(self, ending: Ending) -> str | None:
        """Return the completion URL of an ending, with placeholders; None if there is none."""
        if isinstance(self.return_url, dict):
            return self.return_url.get(ending, RETURN.get(self.source))
        return self.return_url or RETURN.get(self.source)

    def sent_to(self, code: str, known_by: str, ending: Ending = "complete") -> str | None:
        """Return a participant's completion URL; None if participants only see a code.

        >>> recruitment = Recruitment(return_url={"quota_full": "https://panel.org/full?id={id}"})
        >>> recruitment.sent_to("", "a b", "quota_full"), recruitment.sent_to("", "a b")
        ('https://panel.org/full?id=a%20b', None)
        """
        url = self.url(ending)
        if url is None:
            return None
        return url.replace("{code}", quote(code, safe="")).replace("{id}", quote(known_by, safe=""))


class Limits(Value):
    """Limits on a participant's visits and games.

    Attributes:
        visits: maximum number of visits.
        games: maximum number of games in all visits.
        hours: minimum hours between two games of one family.
    """

    visits: Annotated[int, Field(ge=1)] = 1
    games: Annotated[int, Field(ge=1)] = 1000
    hours: Annotated[float, Field(ge=0, le=24 * 365, title="Hours between games")] = 0


class Protocol(Value):
    """The protocol of a human study.

    Attributes:
        title: the heading of the pages.
        path: the steps, in order.
        codes: completion codes by ending; for other endings, each participant gets a separate code.
        contact: contact details, such as an e-mail address.
        cohorts: groups within which participants are matched; the first group is the default.
        keep_days: days to keep personal data after the study's end; by default, no limit.
        logo: an image at the top of all pages.
        files: images and templates of pages by the name that texts use; in Python, a ``Path``. In a
            study file, only needed for files whose path differs from their name.
    """

    title: Words = ""
    recruitment: Recruitment = Recruitment()
    limits: Limits = Limits()
    path: Annotated[list[AnyStep], Field(min_length=1)]
    pay: Annotated[Pay, Field(title="Payment")] = Pay()
    codes: dict[Ending, str] = Field(default_factory=dict, title="Completion codes")
    contact: Annotated[str, CONTENT] = ""
    cohorts: Annotated[list[str], Field(min_length=1)] = ["main"]  # noqa: RUF012 - frozen
    keep_days: Annotated[
        Annotated[float, Field(gt=0)] | None, Field(title="Retention in days"), ADJUSTABLE
    ] = None
    logo: Annotated[str, CONTENT] = ""
    files: Annotated[dict[str, str], CONTENT] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _has_no_old_placeholder(cls, data: Any) -> Any:
        for old, new in RENAMED_PLACEHOLDERS.items():
            if old in str(data):
                raise ValueError(f"the placeholder {old} was renamed to {new}; replace it")
        return data

    @field_validator("codes", mode="before")
    @classmethod
    def _texts(cls, data: Any) -> Any:
        return {key: str(value) for key, value in data.items()} if isinstance(data, dict) else data

    @field_validator("path")
    @classmethod
    def _named(cls, path: list[Step]) -> list[Step]:
        return with_names(path)

    @model_validator(mode="after")
    def _has_one_place_for_games(self) -> "Protocol":
        games = [step for step in self.path if isinstance(step, Games)]
        if len(games) != 1:
            raise LocatedError(
                "exactly one step must be {games: ...}; it sets the number of games", "path"
            )
        names = Counter(step.called for step in self.steps)
        duplicates = [name for name, count in names.items() if count > 1]
        if duplicates:
            raise LocatedError(
                f'two steps have the name "{duplicates[0]}"; rename one, for example '
                "{survey: {name: second, ...}}",
                "path",
            )
        return self

    @field_validator("files", mode="before")
    @classmethod
    def _read(cls, data: Any) -> Any:
        """Read files that Python code names by a ``Path``."""
        if not isinstance(data, dict):
            return data
        try:
            return {
                name: content_of(name, value.read_bytes()) if isinstance(value, Path) else value
                for name, value in data.items()
            }
        except OSError as error:
            raise ValueError(f"{error.filename} cannot be read: {error.strerror}") from None

    @field_validator("files")
    @classmethod
    def _are_contents(cls, files: dict[str, str]) -> dict[str, str]:
        check_contents(files)
        return files

    @model_validator(mode="after")
    def _has_valid_texts(self) -> "Protocol":
        try:
            check_path(self.path, self.files)
        except LocatedError as error:
            problem = error.problem
            raise LocatedError(problem.message, "path", *problem.location) from None
        if self.logo and (self.logo not in self.files or suffix_of(self.logo) == TEMPLATE):
            raise LocatedError(
                f"{shown(self.logo)} is not among the study's images; put it into the folder of "
                "the study file or, in the laboratory, upload it on the page Files",
                "logo",
            )
        return self

    @model_validator(mode="after")
    def _fits_design(self) -> "Protocol":
        games = self.games
        for step in self.steps:
            condition = step.when.get("treatment")
            for name in condition.any_of if condition and games.treatments else ():
                if name not in games.treatments:
                    raise LocatedError(
                        f"{step.called}: unknown treatment {suggest(name, list(games.treatments))}",
                        "path",
                    )
        if games.design == "arrival":
            return self
        if self.limits.visits > 1 or self.limits.hours:
            raise LocatedError(
                f"design: {games.design} requires a single visit; remove visits and hours", "limits"
            )
        if self.limits.games < games.count:
            raise LocatedError(
                f"the design has {games.count} games, but games is {self.limits.games}; remove it",
                "limits",
            )
        earlier = self.path[: self.path.index(games)]
        items = {item.name: item for step in earlier for item in getattr(step, "items", ())}
        if games.stratify is not None and games.stratify not in items:
            raise LocatedError(
                f"games: stratify: unknown item {suggest(games.stratify, list(items))}; it must be "
                "asked before the games",
                "path",
            )
        return self

    @model_validator(mode="after")
    def _has_payable_steps(self) -> "Protocol":
        tasks, treatments = self.pay.tasks, list(self.games.treatments)
        for name in tasks.steps:
            steps = {step.called: step for step in self.steps}
            if name not in steps:
                problem = f"unknown step {suggest(name, list(steps))}"
                raise LocatedError(problem, "pay", "tasks", "steps")
            items = [item for part in steps[name].parts for item in part if item.correct]
            if not items and not isinstance(steps[name], Quiz):
                problem = f"{name} has no correct answers; set correct in its items"
                raise LocatedError(problem, "pay", "tasks", "steps")
        for number, rule in enumerate(self.pay.bonus):
            for name in rule.treatment:
                if name not in treatments:
                    problem = f"unknown treatment {suggest(name, treatments)}"
                    if not treatments:
                        problem = "only games with a design have treatments; use game or when"
                    raise LocatedError(problem, "pay", "bonus", number, "treatment")
        return self

    @model_validator(mode="after")
    def _shows_payment_at_the_end(self) -> "Protocol":
        """Refuse pages with payments before the last step that affects them."""
        affects = [
            isinstance(step, Games) or step.called in self.pay.tasks.steps for step in self.path
        ]
        last = len(affects) - affects[::-1].index(True) - 1
        for location, step in located_steps(self.path):
            if isinstance(step, Payment) and step not in self.path[last:]:
                raise LocatedError(
                    f"move {step.called} behind the games and all paid tasks", "path", *location
                )
        return self

    @property
    def link(self) -> str:
        """The recruitment link as a relative URL, with the source platform's placeholders.

        >>> Protocol(path=["games"], recruitment={"source": "sona"}).link
        '/?survey_code=%SURVEY_CODE%'
        """
        parameters = self.recruitment.parameters
        if self.recruitment.source in ("open", "code"):
            return "/"
        return "/?" + "&".join(
            f"{parameter}={PLACEHOLDERS.get(parameter, '...')}" for parameter in parameters
        )

    @property
    def steps(self) -> list[Step]:
        """All steps in order, including those before and after each game."""
        return [step for _, step in located_steps(self.path)]

    @cached_property
    def columns(self) -> dict[str, tuple[Item, str]]:
        """The item of each recorded answer, and the row of the item, by column."""
        items = (item for step in self.steps for part in step.parts for item in part)
        return {column: (item, key) for item in items for key, column in item.columns.items()}

    @property
    def games(self) -> Games:
        """The step that contains the games."""
        return next(step for step in self.path if isinstance(step, Games))
