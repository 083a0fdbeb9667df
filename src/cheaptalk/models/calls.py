"""Model calls and replies, independent of the provider."""

from enum import StrEnum
from typing import Annotated, Any, Literal, Protocol, TypeAlias

from pydantic import Field

from cheaptalk.rules.actions import Data


class ChatMessage(Data):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


Reasoning: TypeAlias = (
    Literal["none", "minimal", "low", "medium", "high"] | Annotated[int, Field(ge=1, strict=True)]
)
"""The amount of reasoning before an answer: a level, or a number of tokens."""
Route: TypeAlias = Literal["schema", "tool", "text"]
"""An answer format: the provider's JSON schema mode, a tool call, or plain text."""
AskedRoute: TypeAlias = Literal["auto", Route]
"""An answer format; ``auto`` selects the strictest format that the server supports."""


class ModelSettings(Data):
    """Sampling settings of a model; settings that are None are not sent.

    :func:`~cheaptalk.models.check_settings` checks which settings a model supports. ``stream``
    streams the response, which keeps long connections alive.
    """

    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    seed: int | None = None
    stop: tuple[str, ...] | None = None
    reasoning: Reasoning | None = None
    stream: Literal[True] | None = None


class AnswerForm(Data):
    """The required structure of an answer, as a JSON schema.

    Attributes:
        name: the name of the answer's type.
        json_schema: its JSON schema.
        route: the answer format; ``auto`` uses the strictest that the server supports.
        example: a legal answer, used only by scripted models.
    """

    name: str
    json_schema: dict[str, Any]
    route: AskedRoute = "auto"
    example: str | None = None


class ModelCall(Data):
    """A request to a model.

    Attributes:
        model: the model string, such as ``openai/gpt-4o`` or ``vllm/NAME@http://host:8000/v1``.
        messages: the conversation so far.
        settings: sampling settings.
        form: the required form of the answer, if any.
        game: the game's name, which is sent to agents.
        seat: the seat's name, which is sent to agents.
    """

    model: str
    messages: tuple[ChatMessage, ...]
    settings: ModelSettings = ModelSettings()
    form: AnswerForm | None = None
    game: str | None = None
    seat: str | None = None


class Failure(StrEnum):
    """The reason why a call has no answer."""

    REFUSED = "refused"
    """The model declined."""
    FILTERED = "filtered"
    """The provider's content filter blocked the prompt or the answer."""
    TIMED_OUT = "timed_out"
    LEFT = "left"
    """The person has left permanently."""
    PROVIDER_ERROR = "provider_error"


class Usage(Data):
    """Token counts of one model call.

    Attributes:
        input_tokens: prompt tokens, including cached ones.
        output_tokens: response tokens, including reasoning.
        cached_tokens: input tokens from the provider's prompt cache.
        reasoning_tokens: output tokens spent on reasoning.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(**{name: count + getattr(other, name) for name, count in self})


class Reply(Data):
    """The reply to a model call, or the reason why there is none.

    Attributes:
        text: the verbatim text; None if the call failed.
        failure: the kind of failure, if any.
        detail: the provider's error message.
        retry: whether a retry may succeed.
        retry_after: the delay before a retry that the provider requested, in seconds.
        status: the HTTP status of a failure, if any.
        unreached: true if no server was reached and nothing was sent.
        id: the server's id of the reply; None if it may not be unique.
        model: the model id that the server reported.
        fingerprint: the provider's system fingerprint.
        finish: the provider's finish reason; ``length`` if the text was truncated.
        route: the answer format used.
        rerouted: true if the server rejected the answer format and the next attempt uses another.
        tools: names of the tools that the model called; None for none.
        sent: the settings that were sent.
        reasoning: the model's reasoning, if reported; never part of the answer.
        usage: token usage.
        reported: the server's implausible token counts as JSON; ``usage`` is then cheaptalk's own
            upper estimate.
        seconds: duration from sending to the last byte.
        cached: whether the reply came from the response cache.
        saved: the original usage of a cached reply; not part of ``usage``.
        batch: whether the reply came from a provider batch, which costs less.
        dollars: the cost at the time of the call; None if the price is unknown.
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
        """Whether token usage is unknown for a call that was sent and not rejected."""
        return not (self.usage.input_tokens or self.status or self.unreached)

    @property
    def truncated(self) -> bool:
        """Whether the text was cut off at the token limit."""
        return self.text is not None and self.finish == "length"


class Models(Protocol):
    """A client that sends calls to models, and returns all failures as replies."""

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Send one call and return its reply.

        Args:
            number: the call's id, for the server's log or the agent.
            deadline: timeout in seconds from the start of processing to the last byte; time in the
                client's queue is excluded.

        Raises:
            ValueError: the model does not support the call's settings.
        """
