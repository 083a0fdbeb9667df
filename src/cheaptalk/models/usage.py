"""Token usage: parsing, plausibility checks and estimates of missing counts.

Implausible counts are kept in the record (``Reply.reported``) and replaced with an upper estimate
from the number of bytes.
"""

import json
import math
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from cheaptalk.models.calls import ModelCall, ModelSettings, Reply, Usage
from cheaptalk.models.settings import most_tokens

T = TypeVar("T")

REASONING = {
    "none": (0, 0),
    "minimal": (0, 500),
    "low": (50, 2_000),
    "medium": (100, 8_000),
    "high": (300, 20_000),
}
"""Low and high reasoning tokens per answer, by level; a number of tokens is an upper limit."""
FEWEST_CHARACTERS = 3.0
"""Minimum characters per token: English has about four, JSON and numbers fewer."""
MOST_CHARACTERS = 40.0
"""Maximum plausible characters per token."""
MOST = 1_000_000_000
"""Maximum plausible tokens of a call."""
GENEROUS = 20
"""Maximum ratio of a server's count to cheaptalk's estimate; templates and tools add tokens."""
UNSEEN = 10_000
"""Input tokens that a server may always add."""
LONGEST_ANSWER = 1_000_000
"""Maximum plausible tokens of an answer without a limit, including reasoning."""
KEPT = 500
"""Maximum characters of a server's token report that are kept."""
IMPOSSIBLE = Usage(input_tokens=-1)
"""The usage of an unreadable token report."""


def reasoning_of(settings: ModelSettings, *, unset: str = "none") -> tuple[int, int]:
    """Return low and high estimates of reasoning tokens per answer, with a default level if unset.

    >>> reasoning_of(ModelSettings(reasoning="low")), reasoning_of(ModelSettings(reasoning=4096))
    ((50, 2000), (0, 4096))
    """
    chosen = settings.reasoning or unset
    return (0, chosen) if isinstance(chosen, int) else REASONING[chosen]


def characters(call: ModelCall) -> int:
    """Return the number of characters of a call's messages and schema."""
    return schema_characters(call) + sum(len(message.content) for message in call.messages)


def schema_characters(call: ModelCall) -> int:
    """Return the number of characters of a call's schema; 0 for plain text."""
    return len(_schema(call))


def _schema(call: ModelCall) -> str:
    return str(call.form.json_schema) if call.form and call.form.route != "text" else ""


def read_usage(reported: Any, kind: type[T], usage_of: Callable[[T], Usage]) -> dict[str, Any]:
    """Convert a server's token counts to usage, without checking their plausibility.

    >>> read_usage({"n": "many"}, dict[str, int], lambda count: Usage(input_tokens=count["n"]))
    {'usage': Usage(input_tokens=-1, ...), 'reported': '{"n": "many"}'}
    """
    counts = reported.values() if isinstance(reported, dict) else (reported,)
    if all(count is None for count in counts):
        return {}
    try:
        usage = usage_of(msgspec.convert(reported, kind))
    except msgspec.ValidationError:
        usage = IMPOSSIBLE
    return {"usage": usage, "reported": json.dumps(reported)[:KEPT]}


def metered(reply: Reply, call: ModelCall, *, alone: bool = True) -> Reply:
    """Replace implausible token usage with cheaptalk's own estimate.

    Unless ``alone`` is set, the counts may cover further calls, as with agents.
    """
    if reply.reported is None:
        return reply
    usage = reply.usage
    is_consistent = (
        all(0 <= count <= MOST for _, count in usage)
        and usage.cached_tokens <= usage.input_tokens
        and usage.reasoning_tokens <= usage.output_tokens
    )
    if is_consistent and not (alone and _is_implausible(reply, call)):
        return reply.model_copy(update={"reported": None})
    counted = Usage() if reply.status is not None else own_count(reply, call)
    return reply.model_copy(update={"usage": counted})


def own_count(reply: Reply, call: ModelCall) -> Usage:
    """Return an upper estimate of the tokens of a call and its reply.

    Unreported reasoning is assumed to be as long as its level and ``max_tokens`` allow.
    """
    text_tokens, reasoning_tokens = _tokens(reply.text), _tokens(reply.reasoning)
    reasoning = reasoning_tokens or (reasoning_of(call.settings)[1] if reply.text else 0)
    maximum = most_tokens(call.settings, call.model)
    if maximum is not None:
        reasoning = min(reasoning, max(maximum - text_tokens, reasoning_tokens))
    return Usage(
        input_tokens=_tokens(_schema(call))
        + sum(_tokens(message.content) for message in call.messages),
        output_tokens=text_tokens + reasoning,
        reasoning_tokens=reasoning,
    )


def _tokens(text: str | None) -> int:
    """Return an upper estimate of the number of tokens in a text."""
    return math.ceil(len((text or "").encode()) / FEWEST_CHARACTERS)


def _is_implausible(reply: Reply, call: ModelCall) -> bool:
    """Return whether token counts are implausible for the lengths of a call and its reply."""
    counted, used = own_count(reply, call), reply.usage
    maximum = most_tokens(call.settings, call.model) or LONGEST_ANSWER
    sent = 0 if reply.text is None else sum(len(message.content) for message in call.messages)
    return (
        sent > MOST_CHARACTERS * used.input_tokens
        or len(reply.text or "") > MOST_CHARACTERS * used.output_tokens
        or used.input_tokens > max(GENEROUS * counted.input_tokens, UNSEEN)
        or used.output_tokens > max(GENEROUS * counted.output_tokens, maximum)
    )
