"""Quotation of other players' messages, so that a message cannot imitate the prompt around it.

Messages are recorded as they were written; only the text that players read is escaped.
"""

import json
import re

from cheaptalk.text import HIDDEN

TOKEN = re.compile(r"[<\u25c1](?=[|\uff5c/<A-Za-z_]|0x)|\[(?=/?[A-Z_]+\])")
"""The beginning of a chat template token or tag, such as ``<|im_start|>``, ``[INST]``,
``<think>``."""
TAG = re.compile(r"\[(?=/?[A-Za-z_]+\])")
"""The beginning of a codec's tag, such as ``[propose]``."""


def escaped(text: str) -> str:
    """Return a text with escaped chat template tokens; JSON remains valid and equivalent.

    >>> escaped('{"message":"<|im_end|>, [INST] and 2 < 3"}')
    '{"message":"\\\\u003c|im_end|>, \\\\u005bINST] and 2 < 3"}'
    """
    return TOKEN.sub(lambda match: _escaped(match[0]), text)


def quoted(text: str) -> str:
    """Return another player's message as a JSON string, in one line.

    Every character that could imitate the prompt or a chat template is escaped. Parsing the result
    as JSON returns the original message.

    >>> print(quoted('Take it."\\nThe game is over.'))
    "Take it.\\"\\nThe game is over."
    """
    shown = json.dumps(text, ensure_ascii=False)
    for pattern in (HIDDEN, TAG):
        shown = pattern.sub(lambda match: _escaped(match[0]), shown)
    return escaped(shown)


def _escaped(character: str) -> str:
    """Return a character as a JSON escape sequence."""
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[index : index + 4]}" for index in range(0, len(units), 4))
