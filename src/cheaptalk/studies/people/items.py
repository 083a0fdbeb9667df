"""Questionnaire items: questions with one kind of answer, conditions and correct answers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import (
    Field,
    SerializeAsAny,
    SerializerFunctionWrapHandler,
    ValidationError,
    field_validator,
    model_serializer,
    model_validator,
)

from cheaptalk.rules import Value
from cheaptalk.rules.errors import LocatedError, problems_in, shown
from cheaptalk.rules.game import unknown_key
from cheaptalk.studies.people.answers import (
    EVERY,
    KINDS,
    Answer,
    Invalid,
    Recorded,
    Text,
    is_same,
    read_answer,
    scalar_text,
    write_answer,
)
from cheaptalk.studies.people.conditions import When, hold
from cheaptalk.studies.people.page_texts.texts import NAME, Words, placeholders, texts_in

REQUIRED = "Please answer this question."


class Item(Value):
    """A question with one kind of answer, by default free text.

    In a study file, the name of the kind is a key with the kind's settings, such as
    ``number: {min: 18, max: 99}`` (see :mod:`.answers`).

    Attributes:
        name: column of the answers in exports and reports.
        ask: text of the question.
        answer: the kind of answer.
        when: conditions on earlier answers under which the question is asked.
        correct: the correct answers; empty if every answer is accepted.
        feedback: text after a wrong answer.
        message: text after an inadmissible answer; by default, a standard text.
        optional: whether participants may leave the question unanswered.
    """

    name: str
    ask: Words
    answer: SerializeAsAny[Answer] = Text()
    when: When = Field(default_factory=dict)
    correct: list[str] | dict[str, str] = Field(
        default_factory=list, json_schema_extra={"widget": "lines"}
    )
    feedback: Words = ""
    message: Words = ""
    optional: bool = False

    @model_validator(mode="before")
    @classmethod
    def _with_kind(cls, data: Any) -> Any:
        """Move the settings under the name of a kind of answer to the field ``answer``."""
        if not isinstance(data, Mapping) or "answer" in data:
            return data
        item = {key: value for key, value in data.items() if value is not None}
        if (lines := item.pop("lines", 1)) != 1:
            item["text"] = lines
        kinds = [key for key in item if key in KINDS]
        if len(kinds) > 1:
            raise ValueError(
                f"{item.get('name', 'item')}: {kinds[0]} and {kinds[1]} can't be combined; choose "
                "one"
            )
        fields = [name for name in cls.model_fields if name != "answer"]
        if unknown := [key for key in item if key not in (*fields, *kinds)]:
            raise ValueError(unknown_key(str(unknown[0]), [*fields, *KINDS]))
        if kinds:
            settings = item.pop(kinds[0])
            try:
                item["answer"] = read_answer(kinds[0], settings)
            except ValidationError as error:
                problem = problems_in(error)[0]
                raise LocatedError(problem.message, kinds[0], *problem.location) from None
        return item

    @model_serializer(mode="wrap")
    def _as_written(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        data: dict[str, Any] = serialize(self)
        if "answer" in data:
            data[self.answer.kind] = write_answer(self.answer, data.pop("answer"))
        return data

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
    def _as_texts(cls, data: Any) -> Any:
        if isinstance(data, Mapping):
            return {str(scalar_text(key)): scalar_text(value) for key, value in data.items()}
        values = data if isinstance(data, list) else [data]
        return [str(scalar_text(value)) for value in values]

    @model_validator(mode="after")
    def _has_possible_solution(self) -> "Item":
        if self.correct:
            try:
                self.answer.solutions(self.correct)
            except Invalid:
                possible = f"{shown(self._impossible())} is not a possible answer"
                raise ValueError(f"{self.name}: correct: {possible}") from None
            except ValueError as error:
                raise ValueError(f"{self.name}: correct: {error}") from None
        return self

    def _impossible(self) -> str:
        """Return the first value of ``correct`` that is not a possible answer."""
        values = self.correct if isinstance(self.correct, list) else [*self.correct.values()]
        for text in values:
            try:
                self.answer.value(text)
            except Invalid:
                return text
        return values[0]

    @property
    def columns(self) -> dict[str, str]:
        """The name of each recorded value, and of its form field, by the answer's row."""
        return {key: f"{self.name}.{key}" if key else self.name for key in self.answer.keys}

    def read(self, fields: Mapping[str, str]) -> dict[str, Recorded]:
        """Convert a form's fields to the recorded values by column.

        Raises:
            Invalid: the answer is missing or not admissible.
        """
        texts = {key: fields.get(name, "").strip() for key, name in self.columns.items()}
        if any(texts.values()) or self.answer.can_be_blank:
            values = self.answer.read(texts)
            if None in values.values() and not self.optional:
                raise Invalid(EVERY)
        elif self.optional:
            values = dict.fromkeys(texts)
        else:
            raise Invalid(REQUIRED)
        return {self.columns[key]: value for key, value in values.items()}

    def problem(self, fields: Mapping[str, str]) -> str | dict[str, str] | None:
        """Return an error message for a form's fields; None if the answer is valid."""
        try:
            self.read(fields)
        except Invalid as invalid:
            is_missing = str(invalid) == REQUIRED
            return self.message if self.message and not is_missing else str(invalid)
        return None

    def is_right(self, answers: Mapping[str, Recorded]) -> bool:
        """Return whether recorded answers are correct; always true if every answer is accepted."""
        return not self.correct or any(
            all(is_same(answers.get(self.columns[key]), right) for key, right in solution.items())
            for solution in self.answer.solutions(self.correct)
        )

    @property
    def solution(self) -> dict[str, str]:
        """The fields of a form with the first correct answer; empty if every answer is accepted."""
        if not self.correct:
            return {}
        values = self.answer.solutions(self.correct)[0]
        return {
            self.columns[key]: value if isinstance(value, str) else f"{value:g}"
            for key, value in values.items()
            if value is not None
        }

    def applies(self, answers: Mapping[str, Recorded | list[str]]) -> bool:
        """Return whether the question is asked, given the participant's earlier answers."""
        return hold(self.when, answers)

    @property
    def references(self) -> list[str]:
        """The columns on which the question depends: those of conditions and placeholders."""
        texts = [name for _, words in texts_in(self) for name in placeholders(words)]
        return list(dict.fromkeys([*self.when, *texts]))


def distinct(items: Iterable[Item], step: str) -> None:
    """Check that the columns of items are unique."""
    names = [name for item in items for name in item.columns.values()]
    duplicates = [name for name in names if names.count(name) > 1]
    if duplicates:
        raise ValueError(f'{step}: two items have the name "{duplicates[0]}"')


def pages_of(items: Sequence[Item]) -> list[list[Item]]:
    """Divide items into pages, so that no item depends on another one of its page."""
    pages: list[list[Item]] = [[]]
    for item in items:
        shown_together = {name for other in pages[-1] for name in other.columns.values()}
        if shown_together & {*item.references}:
            pages.append([])
        pages[-1].append(item)
    return pages


def answered(items: Iterable[Item], fields: Mapping[str, str]) -> dict[str, Recorded]:
    """Convert valid form fields to the answers that are recorded for each item."""
    return {name: value for item in items for name, value in item.read(fields).items()}


def problems(items: Iterable[Item], fields: Mapping[str, str]) -> dict[str, str | dict[str, str]]:
    """Return the error messages for a form's fields by item; empty if all are valid."""
    results = {item.name: item.problem(fields) for item in items}
    return {name: problem for name, problem in results.items() if problem is not None}
