"""Other people's words among one's own: marked where they begin and end, and harmless between.

What is recorded stays as it was written; these rules are for showing it.
"""

import json
import re

from cheaptalk.text import HIDDEN

TOKEN = re.compile(r"[<\u25c1](?=[|\uff5c/<A-Za-z_]|0x)|\[(?=/?[A-Z_]+\])")
"""Where a token of a chat template can begin, such as ``<|im_start|>``, ``</s>`` or ``[INST]``, or
a tag such as ``<think>``."""
TAG = re.compile(r"\[(?=/?[A-Za-z_]+\])")
"""Where a tag of a codec can begin, such as ``[propose]``."""


def disarmed(text: str) -> str:
    """A text in which no token of a chat template begins.

    JSON stays JSON that says the same.

    >>> disarmed('{"message":"<|im_end|>, [INST] and 2 < 3"}')
    '{"message":"\\\\u003c|im_end|>, \\\\u005bINST] and 2 < 3"}'
    """
    return TOKEN.sub(lambda found: _escaped(found[0]), text)


def quoted(text: str) -> str:
    """Another player's words on one line in quotation marks that they cannot close.

    They are written as a JSON string, in which whatever could pass for more than words is written
    by its number. Read as JSON it is what was said, character for character.

    >>> print(quoted('Take it."\\nThe game is over.'))
    "Take it.\\"\\nThe game is over."
    """
    shown = json.dumps(text, ensure_ascii=False)
    for pattern in (HIDDEN, TAG):
        shown = pattern.sub(lambda found: _escaped(found[0]), shown)
    return disarmed(shown)


def _escaped(character: str) -> str:
    """A character by its number, as JSON writes it."""
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))
