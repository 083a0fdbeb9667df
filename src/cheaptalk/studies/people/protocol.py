"""The protocol: how people come to a study, what they go through, and what they are paid."""

import re
from collections import Counter
from decimal import ROUND_HALF_UP, Decimal
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, field_validator, model_validator

from cheaptalk.rules import Value
from cheaptalk.rules.errors import shown
from cheaptalk.studies.people.items import Words
from cheaptalk.studies.people.steps import AnyStep, Games, Step, steps_within

Ending: TypeAlias = Literal[
    "complete", "declined", "screened_out", "failed_attention", "timed_out", "partner_left",
    "technical", "removed", "withdrawn",
]  # fmt: skip
"""How a visit ends, as :data:`~cheaptalk.records.store.schema.ENDINGS` has it."""
Source: TypeAlias = Literal["open", "prolific", "mturk", "sona", "code"]
EARNING: tuple[Ending, ...] = ("complete", "partner_left", "technical", "timed_out", "withdrawn")
"""Endings at which people keep what their games of the visit earned."""
RETURN = {
    "prolific": "https://app.prolific.com/submissions/complete?cc={code}",
}
"""Where people are sent in the end, by where they came from, unless the study says otherwise."""
PLACEHOLDERS = {
    "PROLIFIC_PID": "{{%PROLIFIC_PID%}}", "STUDY_ID": "{{%STUDY_ID%}}",
    "SESSION_ID": "{{%SESSION_ID%}}", "survey_code": "%SURVEY_CODE%",
    "workerId": "${workerId}", "assignmentId": "${assignmentId}", "hitId": "${hitId}",
}  # fmt: skip
"""What platforms replace in a link, by the name of the parameter."""
ID_PATTERNS: dict[Source, str] = {
    "prolific": "[0-9A-Fa-f]{24}", "mturk": "[0-9A-Z]{5,30}", "sona": "[0-9]{1,24}",
}  # fmt: skip
"""The characters and the length of a platform's ids, as regular expressions."""
ANY_ID = r"\w[\w.@+:~-]{0,99}"
"""The same of ids that come under an ``id_parameter``, from wherever, and of other parameters."""
LONGEST_INVITED = 200
"""Characters of an id or a code that is invited."""
CENT = Decimal("0.01")


def cents(dollars: float | Decimal) -> int:
    """An amount in whole cents; half a cent counts as one.

    >>> cents(0.125), cents(0.1), cents(1.005), cents(-0.004)
    (13, 10, 101, 0)
    """
    return int(Decimal(str(dollars)).quantize(CENT, ROUND_HALF_UP) * 100)


class Recruitment(Value):
    """Who may come, and from where.

    Attributes:
        source: where people come from, which tells by which name in the link they are known:
            ``open`` asks for none; with ``code`` people type the code that they were given.
        id_parameter: the name in the link, where it is another than the source's own; ids may then
            have any form that :data:`ANY_ID` describes.
        invited: the only ones who may come, by id or code; None for everybody.
        places: how many may complete; None for as many as the study has tables for.
        one_browser: whether a second person in the same browser is refused.
        return_url: where people are sent in the end; ``{code}`` stands for their code, and
            ``{id}`` for the id they came with.
    """

    source: Source = "open"
    id_parameter: str | None = None
    invited: list[str] | None = None
    places: Annotated[int, Field(ge=1)] | None = None
    one_browser: bool = False
    return_url: str | None = None

    @field_validator("invited", mode="before")
    @classmethod
    def _texts(cls, data: Any) -> Any:
        if not isinstance(data, list):
            return data
        texts = [str(one) for one in data]
        for text in texts:
            if not text.isprintable() or len(text) > LONGEST_INVITED:
                raise ValueError(
                    f"{shown(text)} is not an id or code: write up to {LONGEST_INVITED} printable "
                    "characters"
                )
        return texts

    @field_validator("return_url")
    @classmethod
    def _is_url(cls, url: str | None) -> str | None:
        if url is not None and not url.startswith(("https://", "http://")):
            raise ValueError(f"{shown(url)} is no address; it begins with https://")
        return url

    @model_validator(mode="after")
    def _knows_whom(self) -> "Recruitment":
        if self.source == "open" and self.invited is not None:
            raise ValueError("invited: nobody can be told by an id with source: open; name another")
        if self.source == "code" and self.invited is None:
            raise ValueError("source: code needs the codes, under invited")
        return self

    @property
    def parameters(self) -> tuple[str, ...]:
        """By which names in a link somebody is told; the first is who they are."""
        own = {
            "prolific": ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"),
            "mturk": ("workerId", "assignmentId", "hitId"),
            "sona": ("survey_code",),
            "code": ("code",),
            "open": (),
        }[self.source]
        return (self.id_parameter, *own[1:]) if self.id_parameter and own else own

    def has_form(self, known_by: str) -> bool:
        """Whether an id has the characters and the length of the source's ids.

        Codes have no form of their own: those that are invited are legal.

        >>> Recruitment(source="sona").has_form("1017")
        True
        >>> Recruitment(source="sona").has_form("1017\\n99,1000.00")
        False
        """
        if self.source == "code":
            return known_by.isprintable()
        pattern = ANY_ID if self.id_parameter else ID_PATTERNS.get(self.source, ANY_ID)
        return re.fullmatch(pattern, known_by) is not None

    def sent_to(self, code: str, known_by: str) -> str | None:
        """Where somebody is sent in the end; None where they are told a code alone."""
        url = self.return_url or RETURN.get(self.source)
        return None if url is None else url.replace("{code}", code).replace("{id}", known_by)


class Limits(Value):
    """How much one person may play.

    Attributes:
        visits: how often they may come, each time with the games of one visit.
        games: in all.
        hours: that must lie between two games of one family.
    """

    visits: Annotated[int, Field(ge=1)] = 1
    games: Annotated[int, Field(ge=1)] = 1000
    hours: Annotated[float, Field(ge=0, le=24 * 365)] = 0


class Bonus(Value):
    """What a game is worth in money: the first rule that fits it counts.

    Attributes:
        game: the game it is for; None for all.
        when: parameters that the game must have.
        rate: dollars for each unit of what is paid for: of the payoff in the game's unit or, with
            ``measure``, of that measure.
        measure: a measure of the game, such as ``surplus_ratio``; ``{place}`` stands for the
            person's place.
        least, most: dollars that it is at least, and at most.
        nothing: dollars paid where there is nothing to be paid for; by default ``least``.
    """

    game: str | None = None
    when: dict[str, Any] = Field(default_factory=dict)
    rate: float
    measure: str | None = None
    least: Annotated[float, Field(ge=0)] = 0
    most: Annotated[float, Field(ge=0)] | None = None
    nothing: Annotated[float, Field(ge=0)] | None = None

    def fits(self, game: str, parameters: dict[str, Any]) -> bool:
        """Whether it is for a game with these parameters."""
        return self.game in (None, game) and all(
            name in parameters and parameters[name] == value for name, value in self.when.items()
        )

    def of(self, earned: float) -> int:
        """Cents for what somebody got.

        >>> Bonus(rate=0.013).of(35), Bonus(rate=1, most=0.3).of(2), Bonus(rate=1, nothing=1).of(0)
        (46, 30, 100)
        """
        if earned <= 0 and self.nothing is not None:
            return cents(self.nothing)
        rate, least = Decimal(str(self.rate)), Decimal(str(self.least))
        got = max(least, rate * Decimal(str(earned)))  # in floats 0.013 * 35 is too little
        return cents(got if self.most is None else min(got, Decimal(str(self.most))))


class Pay(Value):
    """What people are paid, in dollars or another currency of a hundred cents.

    Attributes:
        currency: its code, such as USD.
        base: for completing.
        game: for each game that was played to its end.
        bonus: for what was earned in it.
        aborted: for a game in which somebody else at the table gave no valid answer in the end, in
            place of both; None where such a game is paid like any other.
        one_game: whether one game of the visit alone is paid for, drawn at random.
        most: bonus of one person over all visits; None without a bound.
        ended: what is paid besides for visits that end otherwise, by ending; ``timed_out`` is paid
            to those who waited in vain for others.
    """

    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")] = "USD"
    base: Annotated[float, Field(ge=0)] = 0
    game: Annotated[float, Field(ge=0)] = 0
    bonus: list[Bonus] = Field(default_factory=list)
    aborted: Annotated[float, Field(ge=0)] | None = None
    one_game: bool = False
    most: Annotated[float, Field(ge=0)] | None = None
    ended: dict[Ending, Annotated[float, Field(ge=0)]] = Field(default_factory=dict)

    @property
    def anything(self) -> bool:
        """Whether anything is paid at all."""
        return bool(self.base or self.game or self.bonus or any(self.ended.values()))


class Protocol(Value):
    """What a study with people consists of besides its games.

    Attributes:
        title: what people see over the pages.
        recruitment: who may come.
        limits: how much one person may play.
        path: the steps, in order.
        pay: what they are paid.
        codes: what people show in the end, by ending; where there is none, each has their own.
        contact: whom people can ask, such as an address.
        cohorts: groups whose people never meet those of another; the first is where people come to
            whose link names none.
        keep_days: days after its end for which people's data are kept; None for ever.
    """

    title: Words = ""
    recruitment: Recruitment = Recruitment()
    limits: Limits = Limits()
    path: Annotated[list[AnyStep], Field(min_length=1)]
    pay: Pay = Pay()
    codes: dict[Ending, str] = Field(default_factory=dict)
    contact: str = ""
    cohorts: Annotated[list[str], Field(min_length=1)] = ["main"]  # noqa: RUF012 - frozen
    keep_days: Annotated[float, Field(gt=0)] | None = None

    @field_validator("codes", mode="before")
    @classmethod
    def _texts(cls, data: Any) -> Any:
        return {key: str(one) for key, one in data.items()} if isinstance(data, dict) else data

    @model_validator(mode="after")
    def _has_one_place_for_games(self) -> "Protocol":
        games = [step for step in self.path if isinstance(step, Games)]
        if len(games) != 1:
            raise ValueError("path: exactly one step is {games: ...}; how many it says itself")
        names = Counter(step.called for step in self.steps)
        twice = [name for name, count in names.items() if count > 1]
        if twice:
            raise ValueError(
                f'path: two steps are called "{twice[0]}"; give one another name, as in '
                f"{{{twice[0]}: {{name: second, ...}}}}"
            )
        return self

    @property
    def link(self) -> str:
        """Where people come to, below the study's address, with what their source puts in.

        >>> Protocol(path=["games"], recruitment={"source": "sona"}).link
        '/?survey_code=%SURVEY_CODE%'
        """
        parameters = self.recruitment.parameters
        if self.recruitment.source in ("open", "code"):
            return "/"
        return "/?" + "&".join(f"{one}={PLACEHOLDERS.get(one, '...')}" for one in parameters)

    @property
    def steps(self) -> list[Step]:
        """All steps in the order of the path, those around a game with it."""
        return list(steps_within(self.path))

    @property
    def games(self) -> Games:
        """The step in which people play."""
        return next(step for step in self.path if isinstance(step, Games))
