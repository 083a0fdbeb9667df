"""Items: what people are asked outside a game, what they may answer, and what is right."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import Field, field_validator, model_validator

from cheaptalk.rules import Value
from cheaptalk.rules.errors import shown

Words: TypeAlias = str | dict[str, str]
"""A text for people, or one for each language by its code."""
DECIMAL = r"[-+]?(?=\.?[0-9])[0-9]{0,15}(\.[0-9]{1,15})?"
"""A number as answers are recorded: digits, and a point before decimals."""
NAME = re.compile(r"[a-z][a-z0-9_]{0,59}(\.[a-z][a-z0-9_]{0,59})?")
LONGEST = 5_000
"""Characters of a free answer."""
FIRST = "en"
"""The language of a text that comes first where somebody reads none of its languages."""


def in_language(words: Words, code: str) -> str:
    """A text in a language, else in the first one that it has.

    >>> in_language({"en": "Age", "de": "Alter"}, "de"), in_language("Age", "de")
    ('Alter', 'Age')
    """
    if isinstance(words, str):
        return words
    return words.get(code) or words.get(FIRST) or next(iter(words.values()))


def in_languages(data: Mapping[Any, Any]) -> bool:
    """Whether something written is a text in several languages, by their codes of two letters."""
    return bool(data) and all(re.fullmatch("[a-z]{2}", str(code)) for code in data)


def same_words(one: str, other: str) -> bool:
    """Whether two answers are the same but for case, accents, spaces and marks at their ends.

    >>> same_words(" Sdkot. ", "sdkot"), same_words("café", "CAFE"), same_words("a b", "ab")
    (True, True, False)
    """
    return _bare(one) == _bare(other)


def _bare(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).casefold()
    letters = "".join(one for one in plain if not unicodedata.combining(one))
    return " ".join(letters.split()).strip(" .,;:!?\"'“”„")


class Scale(Value):
    """A scale of whole numbers, such as a Likert scale.

    Attributes:
        low, high: its ends.
        low_label, high_label: what they mean.
    """

    low: int = 1
    high: int = 7
    low_label: Words = ""
    high_label: Words = ""

    @model_validator(mode="after")
    def _is_one(self) -> "Scale":
        if not 1 <= self.high - self.low <= 100:
            raise ValueError(
                f"scale: from {self.low} to {self.high} is none; write {{low: 1, high: 7}}"
            )
        return self


class Item(Value):
    """A question: with choices, a scale, a number between bounds, or an answer in free words.

    Attributes:
        name: of its column in exports and reports.
        ask: the question.
        choices: what may be chosen.
        scale: the numbers to choose among.
        number: the least and the most that may be answered.
        lines: lines of a free answer.
        right: what is to be answered, where anything is: one of these.
        why: what is said to somebody who answered otherwise.
        optional: whether it may stay empty.
    """

    name: str
    ask: Words
    choices: Annotated[list[Words], Field(min_length=2)] | None = None
    scale: Scale | None = None
    number: tuple[float, float] | None = None
    lines: Annotated[int, Field(ge=1, le=20)] = 1
    right: list[str] = Field(default_factory=list)
    why: Words = ""
    optional: bool = False

    @field_validator("name")
    @classmethod
    def _is_name(cls, name: str) -> str:
        if not NAME.fullmatch(name):
            raise ValueError(
                f"{shown(name)} is no name of an item: write small letters, digits and underscores"
            )
        return name

    @field_validator("right", mode="before")
    @classmethod
    def _one_or_several(cls, data: Any) -> Any:
        return [str(_text(one)) for one in (data if isinstance(data, list) else [data])]

    @field_validator("choices", mode="before")
    @classmethod
    def _texts(cls, data: Any) -> Any:
        if not isinstance(data, list):
            return data
        return [one if isinstance(one, Mapping) else _text(one) for one in data]

    @model_validator(mode="after")
    def _is_one_kind(self) -> "Item":
        kinds = [self.choices, self.scale, self.number]
        if sum(one is not None for one in kinds) > 1:
            raise ValueError(f"{self.name}: an item has either choices, a scale or a number")
        for one in self.right:
            if self.problem(one) is not None:
                raise ValueError(f"{self.name}: right: {shown(one)} cannot be answered")
        return self

    @property
    def options(self) -> list[str]:
        """What is sent for each choice: its text in the first language."""
        return [in_language(one, FIRST) for one in self.choices or []]

    def problem(self, written: str) -> str | None:
        """Why something cannot be an answer, as a sentence; None where it can."""
        if not written:
            return None if self.optional else "Please answer this question."
        if self.choices is not None:
            return None if written in self.options else "Please choose one of these."
        if self.scale is not None:
            low, high = self.scale.low, self.scale.high
            fits = re.fullmatch("-?[0-9]{1,9}", written) and low <= int(written) <= high
            return None if fits else "Please choose one of these."
        if self.number is not None:
            return None if _between(written, *self.number) else "Please write a number that fits."
        return None if len(written) <= LONGEST else "That is too long. Please write less."

    def read(self, written: str) -> str | int | float | None:
        """An answer without a problem as it is recorded; None where it was left empty."""
        if not written:
            return None
        if self.scale is not None:
            return int(written)
        return float(written) if self.number is not None else written

    def is_right(self, answer: object) -> bool:
        """Whether an answer is what was wanted; anything is, where nothing was."""
        if self.number is not None and isinstance(answer, int | float):
            return not self.right or any(answer == float(one) for one in self.right)
        return not self.right or any(same_words(str(answer), one) for one in self.right)


def _text(value: object) -> object:
    """What YAML read of a choice, as it was written: yes and no are words here."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, int | float) else value


def _between(written: str, low: float, high: float) -> bool:
    return re.fullmatch(DECIMAL, written) is not None and low <= float(written) <= high


def distinct(items: Iterable[Item], step: str) -> None:
    """Refuse two items of one name.

    Raises:
        ValueError: there are some.
    """
    names = [one.name for one in items]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f'{step}: two items are called "{twice[0]}"')


def answered(items: Iterable[Item], fields: Mapping[str, str]) -> dict[str, Any]:
    """Answers to items as they are recorded, from fields without a problem."""
    return {one.name: one.read(fields.get(one.name, "").strip()) for one in items}


def problems(items: Iterable[Item], fields: Mapping[str, str]) -> dict[str, str]:
    """What is wrong with the fields of a form, by item; empty where nothing is."""
    found = {one.name: one.problem(fields.get(one.name, "").strip()) for one in items}
    return {name: problem for name, problem in found.items() if problem is not None}
