"""Conditions on a participant's earlier answers."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, Field, PlainSerializer, field_validator, model_validator

from cheaptalk.rules import Value
from cheaptalk.studies.people.answers import Recorded, is_same, scalar_text


class Condition(Value):
    """A condition on the answer to an earlier question; unanswered questions never meet it.

    Attributes:
        any_of: the answers that meet it; by default, all.
        none_of: answers that don't meet it.
        min, max: inclusive bounds on a number.
        above, below: exclusive bounds on a number.
    """

    any_of: list[str] = Field(default_factory=list)
    none_of: list[str] = Field(default_factory=list)
    min: float | None = None
    max: float | None = None
    above: float | None = None
    below: float | None = None

    @field_validator("any_of", "none_of", mode="before")
    @classmethod
    def _texts(cls, data: Any) -> Any:
        return [scalar_text(value) for value in (data if isinstance(data, list) else [data])]

    @model_validator(mode="after")
    def _requires_something(self) -> "Condition":
        if not self.model_fields_set:
            raise ValueError("a condition needs an answer, a list of answers, or bounds")
        return self

    @property
    def bounds(self) -> bool:
        """Whether the condition compares numbers."""
        return {*(self.min, self.max, self.above, self.below)} != {None}

    def holds(self, answer: Recorded) -> bool:
        """Return whether an answer meets the condition.

        >>> Condition(min=18, below=65).holds(65), Condition(any_of=["yes"]).holds("Yes")
        (False, True)
        """
        if answer is None:
            return False
        if self.any_of and not any(_agrees(answer, text) for text in self.any_of):
            return False
        if any(_agrees(answer, text) for text in self.none_of):
            return False
        if not self.bounds:
            return True
        return (
            not isinstance(answer, str)
            and (self.min is None or answer >= self.min)
            and (self.max is None or answer <= self.max)
            and (self.above is None or answer > self.above)
            and (self.below is None or answer < self.below)
        )


def _agrees(answer: Recorded, text: str) -> bool:
    if isinstance(answer, str):
        return is_same(answer, text)
    try:
        return answer == float(text)
    except ValueError:
        return False


def _read(data: Any) -> Any:
    if isinstance(data, Mapping | Condition):
        return data
    return {"any_of": data}


def _write(condition: Condition) -> Any:
    data = condition.model_dump(mode="json", exclude_defaults=True)
    if [*data] != ["any_of"]:
        return data
    values = data["any_of"]
    return values[0] if len(values) == 1 else values


When: TypeAlias = dict[str, Annotated[Condition, BeforeValidator(_read), PlainSerializer(_write)]]
"""Conditions by the column of the answer, such as ``age`` or ``trust.people``."""


def hold(when: Mapping[str, Condition], answers: Mapping[str, Recorded]) -> bool:
    """Return whether a participant's answers meet all conditions."""
    return all(condition.holds(answers.get(name)) for name, condition in when.items())
