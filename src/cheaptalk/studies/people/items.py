"""Questionnaire items: questions, admissible answers and correct answers."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import Field, field_validator, model_validator

from cheaptalk.rules import Value
from cheaptalk.rules.errors import shown

Words: TypeAlias = str | dict[str, str]
"""A text for participants, or a mapping from language code to text."""
DECIMAL = r"[-+]?(?=\.?[0-9])[0-9]{0,15}(\.[0-9]{1,15})?"
"""A decimal number in the recorded format, with a decimal point."""
NAME = re.compile(r"[a-z][a-z0-9_]{0,59}(\.[a-z][a-z0-9_]{0,59})?")
LONGEST = 5_000
"""Maximum characters of a free-text answer."""
FIRST = "en"
"""Code of the fallback language of texts."""


def in_language(words: Words, code: str) -> str:
    """Return a multilingual text in one language, or else in the fallback language.

    >>> in_language({"en": "Age", "de": "Alter"}, "de"), in_language("Age", "de")
    ('Alter', 'Age')
    """
    if isinstance(words, str):
        return words
    return words.get(code) or words.get(FIRST) or next(iter(words.values()))


def in_languages(data: Mapping[Any, Any]) -> bool:
    """Return whether a mapping is a text in several languages, by two-letter codes."""
    return bool(data) and all(re.fullmatch("[a-z]{2}", str(code)) for code in data)


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


class Scale(Value):
    """An integer scale with labelled end points, such as a Likert scale."""

    low: int = 1
    high: int = 7
    low_label: Words = ""
    high_label: Words = ""

    @model_validator(mode="after")
    def _is_one(self) -> "Scale":
        if not 1 <= self.high - self.low <= 100:
            raise ValueError(
                f"scale: {self.low} to {self.high} is not a valid scale; write, for example, "
                "{low: 1, high: 7}"
            )
        return self


class Item(Value):
    """A question with choices, a scale, a bounded number or free text.

    Attributes:
        name: column of the answers in exports and reports.
        ask: text of the question.
        number: the minimum and the maximum.
        lines: lines of a free-text field.
        correct: the correct answers; empty if every answer is accepted.
        feedback: text after a wrong answer.
    """

    name: str
    ask: Words
    choices: Annotated[list[Words], Field(min_length=2)] | None = None
    scale: Scale | None = None
    number: tuple[float, float] | None = None
    lines: Annotated[int, Field(ge=1, le=20)] = 1
    correct: list[str] = Field(default_factory=list)
    feedback: Words = ""
    optional: bool = False

    @field_validator("name")
    @classmethod
    def _is_name(cls, name: str) -> str:
        if not NAME.fullmatch(name):
            raise ValueError(
                f"{shown(name)} is not a valid item name; use lower-case letters, digits and "
                "underscores"
            )
        return name

    @field_validator("correct", mode="before")
    @classmethod
    def _as_list(cls, data: Any) -> Any:
        return [str(_text(value)) for value in (data if isinstance(data, list) else [data])]

    @field_validator("choices", mode="before")
    @classmethod
    def _texts(cls, data: Any) -> Any:
        if not isinstance(data, list):
            return data
        return [choice if isinstance(choice, Mapping) else _text(choice) for choice in data]

    @model_validator(mode="after")
    def _check_kind(self) -> "Item":
        kinds = [self.choices, self.scale, self.number]
        if sum(kind is not None for kind in kinds) > 1:
            raise ValueError(
                f"{self.name}: choices, scale and number can't be combined; choose one"
            )
        for answer in self.correct:
            if self.problem(answer) is not None:
                raise ValueError(f"{self.name}: correct: {shown(answer)} is not a possible answer")
        return self

    @property
    def options(self) -> list[str]:
        """The submitted value of each choice: its text in the fallback language."""
        return [in_language(choice, FIRST) for choice in self.choices or []]

    def problem(self, text: str) -> str | None:
        """Return an error message for an invalid answer; None if the answer is valid."""
        if not text:
            return None if self.optional else "Please answer this question."
        if self.choices is not None:
            return None if text in self.options else "Please choose one of the options."
        if self.scale is not None:
            low, high = self.scale.low, self.scale.high
            fits = re.fullmatch("-?[0-9]{1,9}", text) and low <= int(text) <= high
            return None if fits else "Please choose one of the options."
        if self.number is not None:
            low_number, high_number = self.number
            fits = re.fullmatch(DECIMAL, text) and low_number <= float(text) <= high_number
            return None if fits else "Please enter a number within the allowed range."
        return None if len(text) <= LONGEST else "Your answer is too long. Please shorten it."

    def read(self, text: str) -> str | int | float | None:
        """Convert a valid answer to the recorded value; None if the answer is empty."""
        if not text:
            return None
        if self.scale is not None:
            return int(text)
        return float(text) if self.number is not None else text

    def is_right(self, answer: object) -> bool:
        """Return whether an answer is correct; always true if every answer is accepted."""
        if self.number is not None and isinstance(answer, int | float):
            return not self.correct or any(answer == float(expected) for expected in self.correct)
        return not self.correct or any(
            same_words(str(answer), expected) for expected in self.correct
        )


def _text(value: object) -> object:
    """Convert a YAML scalar back to text, for example a boolean to yes or no."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, int | float) else value


def distinct(items: Iterable[Item], step: str) -> None:
    """Check that item names are unique."""
    names = [item.name for item in items]
    duplicates = [name for name in names if names.count(name) > 1]
    if duplicates:
        raise ValueError(f'{step}: two items have the name "{duplicates[0]}"')


def answered(items: Iterable[Item], fields: Mapping[str, str]) -> dict[str, Any]:
    """Convert valid form fields to the answers that are recorded for each item."""
    return {item.name: item.read(fields.get(item.name, "").strip()) for item in items}


def problems(items: Iterable[Item], fields: Mapping[str, str]) -> dict[str, str]:
    """Return the error messages for a form's fields by item; empty if all are valid."""
    results = {item.name: item.problem(fields.get(item.name, "").strip()) for item in items}
    return {name: problem for name, problem in results.items() if problem is not None}
