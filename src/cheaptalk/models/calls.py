"""A call to a chat model and what comes of it."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Message(_Frozen):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class ModelSettings(_Frozen):
    """How a model is to answer. What is not set is left to the provider and not sent."""

    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    seed: int | None = None
    stop: tuple[str, ...] | None = None

    def sent(self) -> dict[str, object]:
        """The settings that go over the wire, by the names of the OpenAI chat format."""
        return self.model_dump(exclude_none=True, mode="json")


class ModelCall(_Frozen):
    """A request to a model.

    Attributes:
        model: the model string, such as ``openai/gpt-4o`` or ``vllm/NAME@http://host:8000/v1``.
        messages: the conversation so far.
        settings: sampling settings.
    """

    model: str
    messages: tuple[Message, ...]
    settings: ModelSettings = ModelSettings()


class Failure(StrEnum):
    """Why a call brought no answer."""

    REFUSED = "refused"
    """The model, or a filter in front of it, declined."""
    TIMED_OUT = "timed_out"
    PROVIDER_ERROR = "provider_error"


class Usage(_Frozen):
    """Tokens of one call, as the provider counts them."""

    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )


class Reply(_Frozen):
    """What a call brought.

    Attributes:
        text: the reply's text, character for character; None when the call failed.
        failure: why there is no text.
        detail: the provider's own words about a failure.
        retry: whether trying again may help.
        model: the model id that came back.
        finish: the provider's finish reason.
        usage: tokens used.
        seconds: from sending to the last byte.
    """

    text: str | None = None
    failure: Failure | None = None
    detail: str | None = None
    retry: bool = False
    model: str | None = None
    finish: str | None = None
    usage: Usage = Usage()
    seconds: float = 0.0
