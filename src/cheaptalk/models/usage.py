"""Tokens of a call: how a server's count is read, whether it can be true, and our own count.

What cannot be true stays in the record (``Reply.reported``), and is counted by us instead: by the
bytes that went over the wire, at the high end.
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
"""Tokens that a model may spend on reasoning before one answer, few and many, by its setting.

Providers promise no numbers; a budget of tokens is the most that it names."""
FEWEST_CHARACTERS = 3.0
"""Characters of a token, at the least: English has about four, JSON and numbers fewer."""
MOST_CHARACTERS = 40.0
"""Characters of a token beyond which a count is too small to be true, however long the words."""
MOST = 1_000_000_000
"""Tokens of one call beyond which no count can be true, whoever made it."""
GENEROUS = 20
"""How many times our own count a server's may be: templates and tools of its own add to it."""
UNSEEN = 10_000
"""Tokens of input that servers may add in any case."""
LONGEST_ANSWER = 1_000_000
"""Tokens of the longest answer where a call sets no limit, reasoning included."""
KEPT = 500
"""Characters that are kept of what a server reports."""
IMPOSSIBLE = Usage(input_tokens=-1)
"""What is read of a count that cannot be one."""


def reasoning_of(settings: ModelSettings, *, unset: str = "none") -> tuple[int, int]:
    """Tokens that one answer may spend on reasoning: few and many.

    Args:
        unset: the level that the model takes by itself.

    >>> reasoning_of(ModelSettings(reasoning="low")), reasoning_of(ModelSettings(reasoning=4096))
    ((50, 2000), (0, 4096))
    """
    chosen = settings.reasoning or unset
    return (0, chosen) if isinstance(chosen, int) else REASONING[chosen]


def characters(call: ModelCall) -> int:
    """Characters that a call sends: its messages, and the schema of its answer."""
    return schema_characters(call) + sum(len(message.content) for message in call.messages)


def schema_characters(call: ModelCall) -> int:
    """Characters of the schema that a call sends; none where it asks in words."""
    return len(_schema(call))


def _schema(call: ModelCall) -> str:
    formal = call.form is not None and call.form.route != "text"
    return str(call.form.json_schema) if call.form and formal else ""


def read_usage(reported: Any, kind: type[T], usage_of: Callable[[T], Usage]) -> dict[str, Any]:
    """What a reply says of tokens: ``usage``, and ``reported`` until :func:`metered` has judged it.

    Args:
        reported: by the server; nothing where it does not count.
        kind: the form in which it should be.
        usage_of: reads it.

    >>> read_usage({"n": "many"}, dict[str, int], lambda found: Usage(input_tokens=found["n"]))
    {'usage': Usage(input_tokens=-1, ...), 'reported': '{"n": "many"}'}
    """
    if reported is None or (isinstance(reported, dict) and not _said(reported)):
        return {}
    try:
        usage = usage_of(msgspec.convert(reported, kind))
    except msgspec.ValidationError:
        usage = IMPOSSIBLE
    return {"usage": usage, "reported": json.dumps(reported)[:KEPT]}


def _said(reported: dict[str, Any]) -> bool:
    return any(count is not None for count in reported.values())


def metered(reply: Reply, call: ModelCall, *, alone: bool = True) -> Reply:
    """A reply whose usage can be true: the server's count, else ours, beside what it reported.

    Args:
        alone: whether what is counted is this call; an agent may make calls of its own.
    """
    if reply.reported is None:
        return reply
    if _consistent(reply.usage) and not (alone and _misses(reply, call)):
        return reply.model_copy(update={"reported": None})
    turned_away = reply.status is not None
    return reply.model_copy(update={"usage": Usage() if turned_away else own_count(reply, call)})


def own_count(reply: Reply, call: ModelCall) -> Usage:
    """The tokens of a call and its reply by their bytes, at the high end.

    Reasoning that does not come back is as much as its setting allows, within the tokens asked for.
    """
    said, thought = _tokens(reply.text), _tokens(reply.reasoning)
    reasoning = thought or (reasoning_of(call.settings)[1] if reply.text else 0)
    most = most_tokens(call.settings, call.model)
    if most is not None:
        reasoning = min(reasoning, max(most - said, thought))
    return Usage(
        input_tokens=_tokens(_schema(call)) + sum(_tokens(one.content) for one in call.messages),
        output_tokens=said + reasoning,
        reasoning_tokens=reasoning,
    )


def _tokens(text: str | None) -> int:
    """The most tokens that a text may have."""
    return math.ceil(len((text or "").encode()) / FEWEST_CHARACTERS)


def _consistent(usage: Usage) -> bool:
    """Whether all are numbers of tokens, and no part is more than its whole."""
    within = all(0 <= count <= MOST for _, count in usage)
    cached = usage.cached_tokens <= usage.input_tokens
    return within and cached and usage.reasoning_tokens <= usage.output_tokens


def _misses(reply: Reply, call: ModelCall) -> bool:
    """Whether a count is too small for what was sent and said, or too large."""
    own, used, answered = own_count(reply, call), reply.usage, reply.text is not None
    most = most_tokens(call.settings, call.model) or LONGEST_ANSWER
    asked = (sum(len(one.content) for one in call.messages) if answered else 0, used.input_tokens)
    said = (len(reply.text or ""), used.output_tokens)
    return (
        any(there > MOST_CHARACTERS * tokens for there, tokens in (asked, said))
        or used.input_tokens > max(GENEROUS * own.input_tokens, UNSEEN)
        or used.output_tokens > max(GENEROUS * own.output_tokens, most)
    )
