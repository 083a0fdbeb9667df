"""Conditions on a participant's earlier answers, and on the parameters of a game."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeAlias

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    ValidationError,
    field_validator,
    model_validator,
)

from cheaptalk.rules import Game, Value
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

    def holds(self, answer: Recorded | list[str]) -> bool:
        """Return whether an answer, or a list of treatments, meets the condition.

        >>> Condition(min=18, below=65).holds(65), Condition(any_of=["yes"]).holds("Yes")
        (False, True)
        >>> Condition(any_of=["firm"]).holds(["fair", "firm"])
        True
        """
        values: Sequence[Recorded] = answer if isinstance(answer, list) else [answer]
        known = [value for value in values if value is not None]
        if not known or _includes(known, self.none_of):
            return False
        if self.any_of and not _includes(known, self.any_of):
            return False
        return not self.bounds or any(map(self._is_within, known))

    def _is_within(self, value: str | float) -> bool:
        return (
            not isinstance(value, str)
            and (self.min is None or value >= self.min)
            and (self.max is None or value <= self.max)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )


def _includes(values: Iterable[str | float], texts: Collection[str]) -> bool:
    return any(_agrees(value, text) for value in values for text in texts)


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


def hold(when: Mapping[str, Condition], answers: Mapping[str, Recorded | list[str]]) -> bool:
    """Return whether a participant's answers, and the treatments, meet all conditions."""
    return all(condition.holds(answers.get(name)) for name, condition in when.items())


def has_parameters(game: Game, parameters: Mapping[str, Any]) -> bool:
    """Return whether a game has parameters, which may be written as in a study file.

    >>> from cheaptalk.rules import get_game
    >>> game = get_game("bargaining").rules(horizon=12)
    >>> has_parameters(game, {"horizon": 12}), has_parameters(game, {"horizon": 6})
    (True, False)
    """
    if not parameters:
        return True
    try:
        return type(game).model_validate({**game.model_dump(mode="json"), **parameters}) == game
    except ValidationError:  # another game's parameters
        return False
