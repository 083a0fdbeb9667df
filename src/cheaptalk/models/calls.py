"""A call to a chat model and what comes of it."""

from enum import StrEnum
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field


class Frozen(BaseModel):
    """Plain data, immutable and without other fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ChatMessage(Frozen):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


Reasoning: TypeAlias = (
    Literal["none", "minimal", "low", "medium", "high"] | Annotated[int, Field(ge=1, strict=True)]
)
"""How much a model is to reason before it answers: a level, or a budget of tokens."""
Route: TypeAlias = Literal["schema", "tool", "text"]
"""How an answer is asked for: by the provider's own JSON schema, as the arguments of a tool, or in
words alone."""
AskedRoute: TypeAlias = Literal["auto", Route]
"""A route, or the strictest that the server knows."""


class ModelSettings(Frozen):
    """How a model is to answer. What is not set is left to the provider and not sent.

    Not every model takes every setting: :func:`~cheaptalk.models.check_settings` says which. With
    ``stream`` the answer comes in pieces as it is written, which keeps long connections alive.
    """

    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    seed: int | None = None
    stop: tuple[str, ...] | None = None
    reasoning: Reasoning | None = None
    stream: Literal[True] | None = None


class AnswerForm(Frozen):
    """The form of the answer that is wanted.

    Attributes:
        name: of the answer's type.
        json_schema: its JSON schema.
        route: how to ask for it; ``auto`` takes the strictest that the server knows.
        example: a legal answer, for scripted models alone: no other is ever shown it.
    """

    name: str
    json_schema: dict[str, Any]
    route: AskedRoute = "auto"
    example: str | None = None


class ModelCall(Frozen):
    """A request to a model.

    Attributes:
        model: the model string, such as ``openai/gpt-4o`` or ``vllm/NAME@http://host:8000/v1``.
        messages: the conversation so far.
        settings: sampling settings.
        form: the form of the answer that is wanted, where one is.
        game: the game that the call is about, which agents are told.
        seat: the seat whose call it is, which agents are told.
    """

    model: str
    messages: tuple[ChatMessage, ...]
    settings: ModelSettings = ModelSettings()
    form: AnswerForm | None = None
    game: str | None = None
    seat: str | None = None


class Failure(StrEnum):
    """Why a call brought no answer."""

    REFUSED = "refused"
    """The model declined."""
    FILTERED = "filtered"
    """A filter of the provider's stopped the question or the answer."""
    TIMED_OUT = "timed_out"
    LEFT = "left"
    """The person who was asked has left for good."""
    PROVIDER_ERROR = "provider_error"


class Usage(Frozen):
    """Tokens of one call.

    Attributes:
        input_tokens: of the question, cached ones included.
        output_tokens: of the answer, reasoning included.
        cached_tokens: those of the input that the provider had read before.
        reasoning_tokens: those of the output that were spent on reasoning.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(**{name: count + getattr(other, name) for name, count in self})


class Reply(Frozen):
    """What a call brought.

    Attributes:
        text: the reply's text, character for character; None when the call failed.
        failure: why there is no text.
        detail: the provider's own words about a failure.
        retry: whether trying again may help.
        retry_after: seconds after which the provider wants to be asked again.
        status: the HTTP status of a failure that came with one.
        unreached: true where no server could be reached, so that nothing was sent.
        id: what the server calls this reply; None if it may not be unique.
        model: the model id that came back.
        fingerprint: what the provider calls the system behind it.
        finish: the provider's finish reason; ``length`` where the text was cut off.
        route: how the answer was asked for.
        rerouted: true where the server refused that way, and another is left: sent again, the call
            takes it.
        tools: the tools that the model called, by name; None where it called none.
        sent: the settings that went over the wire.
        reasoning: the model's reasoning, where the provider gives it; never part of the answer.
        usage: tokens used.
        reported: what the server said of tokens, as JSON, where that cannot be true: ``usage`` is
            then our own count, at the high end.
        seconds: from sending to the last byte.
        cached: whether it was bought before and taken from the cache.
        saved: what it cost when it was bought, for one from the cache; no part of ``usage``.
        batch: whether it came from a provider's batch, which is cheaper.
        dollars: what it cost at the prices of the time; None where the price is not known.
    """

    text: str | None = None
    failure: Failure | None = None
    detail: str | None = None
    retry: bool = False
    retry_after: float | None = None
    status: int | None = None
    unreached: Literal[True] | None = None
    id: str | None = None
    model: str | None = None
    fingerprint: str | None = None
    finish: str | None = None
    route: Route | None = None
    rerouted: Literal[True] | None = None
    tools: tuple[str, ...] | None = None
    sent: dict[str, Any] | None = None
    reasoning: str | None = None
    usage: Usage = Usage()
    reported: str | None = None
    seconds: float = 0.0
    cached: bool = False
    saved: Usage | None = None
    batch: bool = False
    dollars: float | None = None

    @property
    def uncounted(self) -> bool:
        """Whether nobody knows its tokens: no count came, and the call was not turned away."""
        return not (self.usage.input_tokens or self.status or self.unreached)

    @property
    def truncated(self) -> bool:
        """Whether the text breaks off because no more tokens were allowed."""
        return self.text is not None and self.finish == "length"
