"""Kinds of answers to questions: their settings, admissible answers and recorded values.

A kind of answer is a subclass of :class:`Answer`, and a macro of the same name in the template
``web/participants/templates/answers.jinja``, which renders its fields.
"""

import re
import unicodedata
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Self, TypeAlias

from pydantic import BeforeValidator, Field, PlainSerializer, field_validator, model_validator
from pydantic_core import SchemaError, SchemaValidator, ValidationError, core_schema

from cheaptalk.rules import Value, suggest
from cheaptalk.rules.errors import shown
from cheaptalk.studies.people.page_texts.texts import FIRST, NAME, RECORDED, Words, in_language

Recorded: TypeAlias = str | int | float | None
"""A recorded value; None if the question was not answered."""
DECIMAL = r"[-+]?(?=\.?[0-9])[0-9]{0,15}(\.[0-9]{1,15})?"
"""A decimal number in the recorded format, with a decimal point."""
DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
"""Matches the form of a date; Python also reads other ISO forms, such as 2000-W01-1."""
LONGEST = 5_000
"""Default maximum characters of a text answer."""
MOST_ROWS = 40
OPTION = "Please choose one of the options."
RANGE = "Please enter a number within the allowed range."
EVERY = "Please answer every part of this question."


class Invalid(ValueError):
    """Raised for an invalid answer, with a sentence for the participant."""


def same_words(first: str, second: str) -> bool:
    """Return whether answers agree, ignoring case, accents and surrounding spaces or punctuation.

    >>> same_words(" Sdkot. ", "sdkot"), same_words("café", "CAFE"), same_words("a b", "ab")
    (True, True, False)
    """
    return _normalized(first) == _normalized(second)


def _normalized(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).casefold()
    letters = "".join(character for character in plain if not unicodedata.combining(character))
    return " ".join(letters.split()).strip(" .,;:!?\"'“”„")


def scalar_text(value: object) -> object:
    """Convert a YAML scalar back to text, for example a boolean to yes or no."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, int | float | date) else value


class Answer(Value):
    """A kind of answer; by default, its form has one text field, and one value is recorded.

    A kind with rows has one field per row, and records one value per row.
    """

    kind: ClassVar[str]
    """The key of an item that sets the kind."""
    shorthand: ClassVar[str | None] = None
    """The setting that a value which is not a mapping of settings sets."""
    typed: ClassVar[bool] = False
    """Whether participants type numbers, in the notation of their language."""
    numeric: ClassVar[bool] = True
    """Whether the recorded values are numbers."""
    can_be_blank: ClassVar[bool] = False
    """Whether a form without any input may be a valid answer."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the rows; one empty name if the kind has no rows."""
        return ("",)

    def read(self, texts: Mapping[str, str]) -> dict[str, Recorded]:
        """Return the values to record, by row; texts are by row, and some of them not empty.

        Raises:
            Invalid: the answer is not admissible.
        """
        return {key: self.value(text) if text else None for key, text in texts.items()}

    def value(self, text: str) -> Recorded:
        """Return the value to record for the nonempty text of a row."""
        return text

    def label(self, key: str, value: Recorded) -> Words | None:
        """Return the text of a recorded value; None if it is its own text."""
        return None

    def solutions(self, correct: list[str] | dict[str, str]) -> list[dict[str, Recorded]]:
        """Return each correct answer, as values by row; rows without a value are not graded."""
        if isinstance(correct, list) and self.keys == ("",):
            return [{"": self.value(text)} for text in correct]
        if isinstance(correct, dict) and self.keys != ("",):
            if unknown := [key for key in correct if key not in self.keys]:
                raise ValueError(f"unknown row {suggest(unknown[0], list(self.keys))}")
            return [{key: self.value(text) for key, text in correct.items()}]
        form = "a value or a list" if self.keys == ("",) else "a mapping from rows to values"
        raise ValueError(f"{shown(correct)} is not the solution of a {self.kind}; write {form}")


def is_same(answer: Recorded, expected: Recorded) -> bool:
    """Return whether an answer agrees with a correct one: texts without regard to their case."""
    if isinstance(answer, str) and isinstance(expected, str):
        return same_words(answer, expected)
    return answer is not None and answer == expected


class Text(Answer):
    """Free text.

    Attributes:
        lines: lines of the text field.
        min_length, max_length: bounds on the number of characters.
        pattern: a regular expression that the entire answer must match.
    """

    kind = "text"
    numeric = False
    shorthand = "lines"

    lines: Annotated[int, Field(ge=1, le=40)] = 1
    min_length: Annotated[int, Field(ge=0)] = 0
    max_length: Annotated[int, Field(ge=1, le=LONGEST)] = LONGEST
    pattern: str | None = None

    @field_validator("pattern")
    @classmethod
    def _is_pattern(cls, pattern: str | None) -> str | None:
        if pattern is not None:
            _matcher(pattern)
        return pattern

    def value(self, text: str) -> Recorded:
        if len(text) > self.max_length:
            raise Invalid("Your answer is too long. Please shorten it.")
        if len(text) < self.min_length:
            raise Invalid("Your answer is too short. Please write more.")
        if self.pattern is not None:
            try:
                _matcher(self.pattern).validate_python(text)
            except ValidationError:
                raise Invalid("Your answer does not have the required form.") from None
        return text


@lru_cache(200)
def _matcher(pattern: str) -> SchemaValidator:
    """Return a validator of texts that match a pattern, in time that grows linearly with them."""
    schema = core_schema.str_schema(pattern=rf"\A(?:{pattern})\z", regex_engine="rust-regex")
    try:
        return SchemaValidator(schema)
    except SchemaError:
        raise ValueError(
            f"{shown(pattern)} is not a regular expression; look-around and back-references are "
            "not supported"
        ) from None


class Choices(Answer):
    """One of several options; the option's text in the fallback language is recorded."""

    kind = "choices"
    numeric = False
    shorthand = "options"

    options: Annotated[list[Annotated[Words, RECORDED]], Field(min_length=2)]

    @field_validator("options", mode="before")
    @classmethod
    def _texts(cls, data: Any) -> Any:
        if not isinstance(data, list):
            return data
        return [option if isinstance(option, Mapping) else scalar_text(option) for option in data]

    @property
    def values(self) -> list[str]:
        """The submitted value of each option: its text in the fallback language."""
        return [in_language(option, FIRST) for option in self.options]

    def value(self, text: str) -> Recorded:
        if text not in self.values:
            raise Invalid(OPTION)
        return text

    def label(self, key: str, value: Recorded) -> Words | None:
        return dict(zip(self.values, self.options, strict=True)).get(str(value))


class Scale(Answer):
    """An integer scale, such as a Likert scale, with labels of its ends or of all points.

    Attributes:
        labels: the labels of all points, of which the first has the value ``low``.
    """

    kind = "scale"

    low: int = 1
    high: int = 7
    low_label: Words = ""
    high_label: Words = ""
    labels: list[Words] = Field(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _ends_with_labels(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and isinstance(data.get("labels"), list):
            return {"high": data.get("low", 1) + len(data["labels"]) - 1, **data}
        return data

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if not 1 <= self.high - self.low <= 100:
            raise ValueError(
                f"scale: {self.low} to {self.high} is not a valid scale; write, for example, "
                "{low: 1, high: 7}"
            )
        if self.labels and len(self.labels) != len(self.points):
            raise ValueError(
                f"scale: {len(self.labels)} labels don't fit {len(self.points)} points; label all "
                "points, or omit labels or high"
            )
        return self

    @property
    def points(self) -> range:
        return range(self.low, self.high + 1)

    def value(self, text: str) -> Recorded:
        if not re.fullmatch("-?[0-9]{1,9}", text) or int(text) not in self.points:
            raise Invalid(OPTION)
        return int(text)

    def label(self, key: str, value: Recorded) -> Words | None:
        return self.labels[int(value) - self.low] if self.labels and value is not None else None


class Number(Answer):
    """A number.

    Attributes:
        min, max: the bounds; by default, none.
        decimals: maximum number of decimal places; by default, any.
    """

    kind = "number"
    typed = True

    min: float | None = None
    max: float | None = None
    decimals: Annotated[int, Field(ge=0, le=10)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _as_bounds(cls, data: Any) -> Any:
        if isinstance(data, list | tuple):
            if len(data) != 2:
                raise ValueError(f"{shown(data)} are not bounds; write [minimum, maximum]")
            return {"min": data[0], "max": data[1]}
        return data

    @model_validator(mode="after")
    def _is_range(self) -> Self:
        if self.min is not None and self.max is not None and self.min >= self.max:
            raise ValueError(f"the minimum {self.min:g} must be below the maximum {self.max:g}")
        return self

    def value(self, text: str) -> Recorded:
        if not re.fullmatch(DECIMAL, text):
            raise Invalid(RANGE)
        number = float(text)
        too_low = self.min is not None and number < self.min
        if too_low or (self.max is not None and number > self.max):
            raise Invalid(RANGE)
        if self.decimals is not None and not _has_decimals(text, self.decimals):
            raise Invalid("Please use fewer decimal places.")
        return number

    @property
    def whole(self) -> bool:
        """Whether every admissible answer is an integer."""
        return self.decimals == 0


def _has_decimals(text: str, decimals: int) -> bool:
    number = Decimal(text)
    return number == round(number, decimals)


class Slider(Number):
    """A number on a slider, which has no position before the participant moves it.

    Attributes:
        step: distance between positions.
        low_label, high_label: labels of the ends.
    """

    kind = "slider"

    min: float = 0
    max: float = 100
    step: Annotated[float, Field(gt=0)] = 1
    low_label: Words = ""
    high_label: Words = ""

    @property
    def whole(self) -> bool:
        return super().whole or self.min % 1 == self.step % 1 == 0

    def value(self, text: str) -> Recorded:
        value = super().value(text)
        if (Decimal(text) - Decimal(str(self.min))) % Decimal(str(self.step)):
            raise Invalid("Please enter one of the numbers on the slider.")
        return value


class Date(Answer):
    """A date, recorded as YYYY-MM-DD.

    Attributes:
        min, max: first and last date; by default, any.
    """

    kind = "date"
    numeric = False

    min: date | None = None
    max: date | None = None

    def value(self, text: str) -> Recorded:
        try:
            day = date.fromisoformat(text) if DAY.fullmatch(text) else None
        except ValueError:
            day = None
        if day is None:
            raise Invalid("Please enter a date, in the form 2000-12-31.")
        if day < (self.min or day) or day > (self.max or day):
            raise Invalid("Please enter a date within the allowed range.")
        return text


def _as_rows(data: Any) -> Any:
    """Return rows by name; a list consists of names that are also the rows' texts."""
    if isinstance(data, list | tuple):
        return {str(scalar_text(name)): scalar_text(name) for name in data}
    if isinstance(data, Mapping):
        return {str(scalar_text(name)): text for name, text in data.items()}
    return data


Rows: TypeAlias = Annotated[
    dict[str, Words],
    Field(min_length=2, max_length=MOST_ROWS),
    BeforeValidator(_as_rows),
    PlainSerializer(dict),
]
"""Texts by name, for each of which a value is recorded in the column ``ITEM.NAME``."""


class WithRows(Answer):
    """A kind of answer that records a value for each of several rows."""

    shorthand = "rows"

    rows: Rows

    @field_validator("rows")
    @classmethod
    def _have_names(cls, rows: dict[str, Words]) -> dict[str, Words]:
        for name in rows:
            if not NAME.fullmatch(name) or "." in name:
                raise ValueError(
                    f"{shown(name)} is not a valid name; name each text in lower-case letters, "
                    "digits and underscores, for example {tv: television}"
                )
        return rows

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.rows)


class Checkboxes(WithRows):
    """Any number of options; 1 is recorded for each ticked option, and 0 for the others.

    Attributes:
        rows: the options, by name.
        min, max: bounds on the number of ticked options.
    """

    kind = "checkboxes"
    can_be_blank = True

    min: Annotated[int, Field(ge=0)] = 0
    max: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        most = len(self.rows) if self.max is None else self.max
        if not self.min <= most <= len(self.rows):
            raise ValueError(
                f"min {self.min} and max {most} don't fit {len(self.rows)} options; min must be at "
                "most max, and max at most the number of options"
            )
        return self

    def read(self, texts: Mapping[str, str]) -> dict[str, Recorded]:
        values = {key: self.value(text or "0") for key, text in texts.items()}
        count = sum(value == 1 for value in values.values())
        if count < self.min:
            raise Invalid("Please choose more options.")
        if self.max is not None and count > self.max:
            raise Invalid("Please choose fewer options.")
        return values

    def value(self, text: str) -> Recorded:
        if text not in ("0", "1"):
            raise Invalid(OPTION)
        return int(text)

    def solutions(self, correct: list[str] | dict[str, str]) -> list[dict[str, Recorded]]:
        if isinstance(correct, dict):
            return super().solutions(correct)
        if unknown := [key for key in correct if key not in self.keys]:
            raise ValueError(f"unknown option {suggest(unknown[0], list(self.keys))}")
        return [{key: int(key in correct) for key in self.keys}]


class Ranking(WithRows):
    """A ranking; the position of each entry is recorded, 1 for the first."""

    kind = "ranking"

    @property
    def positions(self) -> range:
        return range(1, len(self.rows) + 1)

    def read(self, texts: Mapping[str, str]) -> dict[str, Recorded]:
        if not all(texts.values()):
            raise Invalid(EVERY)
        values = super().read(texts)
        if len({*values.values()}) < len(values):
            raise Invalid("Please give each entry a different position.")
        return values

    def value(self, text: str) -> Recorded:
        if text not in map(str, self.positions):
            raise Invalid(OPTION)
        return int(text)

    def solutions(self, correct: list[str] | dict[str, str]) -> list[dict[str, Recorded]]:
        if isinstance(correct, dict) or sorted(correct) != sorted(self.keys):
            raise ValueError(
                f"{shown(correct)} is not a ranking; list all of {', '.join(self.keys)} in order"
            )
        return [{key: place for place, key in enumerate(correct, 1)}]


class Grid(WithRows):
    """Several statements on one scale.

    Attributes:
        rows: the statements, by name.
        scale: the scale of all statements.
    """

    kind = "grid"

    scale: Scale = Scale()

    def value(self, text: str) -> Recorded:
        return self.scale.value(text)

    def label(self, key: str, value: Recorded) -> Words | None:
        return self.scale.label(key, value)


class Allocation(WithRows):
    """Amounts that add up to a total; an empty amount is 0.

    Attributes:
        rows: the recipients or purposes, by name.
        total: the sum of all amounts.
        decimals: maximum number of decimal places.
        unit: the unit of the amounts.
    """

    kind = "allocation"
    typed = True

    total: Annotated[float, Field(gt=0)] = 100
    decimals: Annotated[int, Field(ge=0, le=4)] = 0
    unit: Words = ""

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        if not _has_decimals(str(self.total), self.decimals):
            raise ValueError(
                f"amounts with {self.decimals} decimal places can't add up to {self.total:g}; "
                "increase decimals"
            )
        return self

    def read(self, texts: Mapping[str, str]) -> dict[str, Recorded]:
        amounts = {key: text or "0" for key, text in texts.items()}
        values = super().read(amounts)
        if sum(map(Decimal, amounts.values())) != Decimal(str(self.total)):
            raise Invalid("The amounts do not add up to the total.")
        return values

    def value(self, text: str) -> Recorded:
        return Number(min=0, max=self.total, decimals=self.decimals).value(text)


KINDS: Mapping[str, type[Answer]] = {
    kind.kind: kind
    for kind in (
        Text,
        Choices,
        Checkboxes,
        Scale,
        Grid,
        Number,
        Slider,
        Ranking,
        Allocation,
        Date,
    )
}
"""Kinds of answers by name."""


def read_answer(kind: str, settings: Any) -> Answer:
    """Return a kind of answer with settings in the form of a study file."""
    answer = KINDS[kind]
    if isinstance(settings, Answer):
        return settings
    is_rows = isinstance(settings, Mapping) and not {*settings} & {*answer.model_fields}
    if answer.shorthand == "rows" and is_rows:
        settings = {"rows": settings}
    elif answer.shorthand is not None and not isinstance(settings, Mapping):
        settings = {answer.shorthand: settings}
    return answer.model_validate(settings)


def write_answer(answer: Answer, settings: dict[str, Any]) -> Any:
    """Return the settings of an answer in their shortest form; :func:`read_answer` reads it."""
    name = answer.shorthand
    if name is None or [*settings] != [name]:
        return settings
    value = settings[name]
    is_clear = name != "rows" or not {*value} & {*type(answer).model_fields}
    return value if is_clear else settings
