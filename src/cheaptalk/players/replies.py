"""Replies that are no answers: what is wrong with them, and how they are shown to their author."""

from typing import NamedTuple

from cheaptalk.models import Reply
from cheaptalk.players.thinking import Kind
from cheaptalk.rules import counted
from cheaptalk.styles import Illegal, Unreadable

ECHO = 8_000
"""Characters of a reply that are repeated to the model when it is asked again: twice a message's
limit, so that every answer that could count is repeated whole."""


class Fault(NamedTuple):
    """Why a reply is no answer: the kind of answer that it makes if no better one follows."""

    kind: Kind
    reason: str


def fault(problem: Unreadable, reply: Reply) -> Fault:
    """The fault of a reply in which no answer could be read, for its author to be told."""
    if isinstance(problem, Illegal) or not reply.truncated:
        kind = Kind.ILLEGAL if isinstance(problem, Illegal) else Kind.UNPARSABLE
        return Fault(kind, str(problem))
    tokens = reply.usage.output_tokens
    after = f" after {counted(tokens, 'token')}" if tokens else ""
    return Fault(Kind.TRUNCATED, f"the reply was cut off{after}; answer more briefly")


def echoed(text: str) -> str:
    """A reply as it is repeated to its author: never empty, and not endless.

    >>> echoed(" ")
    '(an empty reply)'
    """
    if not text.strip():
        return "(an empty reply)"
    if len(text) > ECHO:
        text = f"{text[: ECHO // 2]}\n[...]\n{text[-ECHO // 2 :]}"
    return text
