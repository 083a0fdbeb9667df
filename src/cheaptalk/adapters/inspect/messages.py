"""Conversion of chats and replies between cheaptalk and Inspect."""

from collections.abc import Sequence
from importlib import import_module
from itertools import takewhile
from types import ModuleType
from typing import Any

from cheaptalk.extras import needing
from cheaptalk.models import ChatMessage, Failure, ModelSettings, Reply

NOTHING_ASKED = "The match ended before the first request."
"""The input of a sample whose seat received no request."""
DECLINED = (Failure.REFUSED, Failure.FILTERED)


def inspect_part(name: str) -> ModuleType:
    """Import a module of Inspect, or raise a CheaptalkError if Inspect isn't installed."""
    with needing("inspect"):
        return import_module(name)


def continued(history: Sequence[Any], messages: Sequence[ChatMessage]) -> list[Any]:
    """Convert a chat to Inspect's messages; messages that continue the history keep their IDs."""
    model = inspect_part("inspect_ai.model")
    kinds = {
        "system": model.ChatMessageSystem,
        "user": model.ChatMessageUser,
        "assistant": model.ChatMessageAssistant,
    }
    both = takewhile(
        lambda pair: (pair[0].role, pair[0].content) == (pair[1].role, pair[1].content),
        zip(history, messages, strict=False),
    )
    prefix = [old for old, _ in both]
    return prefix + [
        kinds[message.role](content=message.content) for message in messages[len(prefix) :]
    ]


def to_reply(output: Any) -> Reply:
    """Convert Inspect's output to a reply, including truncation and content filtering."""
    if output.empty:
        return Reply(text="", finish="stop")
    if output.stop_reason == "content_filter":
        return Reply(failure=Failure.FILTERED, detail=output.error)
    cut_off = output.stop_reason in ("max_tokens", "model_length")
    return Reply(text=output.completion, finish="length" if cut_off else "stop")


def inspect_output(reply: Reply, model_name: str) -> Any:
    """Convert a recorded reply to Inspect's output, with reasoning, tokens and cost."""
    model = inspect_part("inspect_ai.model")
    name, used, choices = reply.model or model_name, reply.usage, []
    if reply.text is not None or reply.failure in DECLINED:
        content: Any = reply.text or ""
        if reply.reasoning is not None:
            thought = model.ContentReasoning(reasoning=reply.reasoning)
            content = [thought, model.ContentText(text=content)]
        message = model.ChatMessageAssistant(content=content, source="generate", model=name)
        ended = "max_tokens" if reply.truncated else "stop"
        why = "content_filter" if reply.failure else ended
        choices = [model.ChatCompletionChoice(message=message, stop_reason=why)]
    usage = model.ModelUsage(
        input_tokens=used.input_tokens - used.cached_tokens,
        output_tokens=used.output_tokens,
        total_tokens=used.input_tokens + used.output_tokens,
        input_tokens_cache_read=used.cached_tokens,
        reasoning_tokens=used.reasoning_tokens,
        total_cost=reply.dollars,
    )
    error = reply.failure and (reply.detail or reply.failure.value)
    return model.ModelOutput(
        model=name, choices=choices, usage=usage, time=reply.seconds, error=error
    )


def inspect_config(settings: ModelSettings) -> Any:
    """Convert sampling settings to Inspect's settings; unset settings remain unset."""
    options = settings.model_dump(exclude={"stop", "reasoning", "stream"})
    level, tokens = settings.reasoning, None
    if isinstance(level, int):
        level, tokens = None, level
    options |= {"reasoning_effort": level, "reasoning_tokens": tokens}
    options["stop_seqs"] = settings.stop and list(settings.stop)
    return inspect_part("inspect_ai.model").GenerateConfig(**options)
