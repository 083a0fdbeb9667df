"""Expected types of JSON data in a store, validated when the data is read.

A type requires only the keys that reading needs, so that damage is reported where it is read.
"""

from functools import cache
from sys import float_info
from typing import Annotated, Any, NotRequired, TypeAlias, TypedDict, TypeVar

import msgspec

from cheaptalk.players import Kind

T = TypeVar("T")
Finite: TypeAlias = Annotated[float, msgspec.Meta(ge=-float_info.max, le=float_info.max)]
"""A finite number."""


class DamagedValue(Exception):
    """Raised when a value in the store is damaged, with a description of the problem."""


class RecordedReply(TypedDict, total=False):
    """A response to a call, in the stored form of :class:`.Reply`."""

    text: str | None
    failure: str | None
    detail: str | None
    status: int | None
    unreached: bool | None
    id: str | None
    model: str | None
    fingerprint: str | None
    finish: str | None
    route: str | None
    sent: dict[str, Any] | None
    reasoning: str | None
    usage: dict[str, int]
    seconds: float
    cached: bool
    saved: dict[str, int] | None
    batch: bool
    dollars: float | None


class RecordedMessage(TypedDict):
    """A message of a conversation."""

    role: str
    content: str


class RecordedCall(TypedDict, total=False):
    """A call to a model or a person, as it was sent."""

    model: str
    messages: list[RecordedMessage]
    settings: dict[str, Any] | None
    form: dict[str, Any] | None


class MadeCall(TypedDict):
    """A recorded call with its response."""

    call: RecordedCall
    reply: RecordedReply | None
    sending: int
    sent: NotRequired[float]
    received: NotRequired[float]
    bought_by: NotRequired[str]


class RecordedAnswer(TypedDict):
    """A recorded answer to a decision request."""

    request: int
    actor: str
    kind: Kind
    action: dict[str, Any] | None
    calls: NotRequired[list[MadeCall]]


class RecordedChat(TypedDict):
    """A recorded line of chat, or a model's decision to send none."""

    request: int
    actor: str
    text: str | None
    after: NotRequired[list[str]]
    at: NotRequired[float]
    turn: NotRequired[list[int]]
    calls: NotRequired[list[MadeCall]]


class Body(TypedDict):
    """Recorded details of a match that is in progress or has failed."""

    seed: str


class EndedBody(Body):
    """Recorded details of a finished or forfeited match, including its answers."""

    format: int
    package: str
    instance: dict[str, Any]
    answers: list[RecordedAnswer]
    chat: NotRequired[list[RecordedChat]]
    source: NotRequired[dict[str, Any]]


class RecordedRubric(TypedDict):
    """A judge's rubric."""

    name: str


class RecordedModel(TypedDict):
    """A judge's model."""

    model: str


class RecordedJudge(TypedDict):
    """The definition of a judge."""

    rubric: RecordedRubric
    model: RecordedModel


def check_shape(value: T, shape: Any) -> T:
    """Return a value if it matches a type; otherwise raise DamagedValue.

    >>> check_shape({"alice": 1}, dict[str, int])
    {'alice': 1}
    >>> check_shape({"alice": "one"}, dict[str, int])
    Traceback (most recent call last):
    cheaptalk.records.validation.DamagedValue: Expected `int`, got `str` - at `$[...]`
    """
    try:
        msgspec.convert({"value": value}, _holder(shape))
    except msgspec.ValidationError as error:
        raise DamagedValue(str(error).replace("$.value", "$").removesuffix(" - at `$`")) from None
    return value


@cache
def _holder(shape: Any) -> type[msgspec.Struct]:
    """Return a struct with one field of a type; msgspec converts it faster than the bare type."""
    return msgspec.defstruct("Holder", [("value", shape)])
