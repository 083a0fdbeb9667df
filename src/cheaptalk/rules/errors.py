"""Errors that are told to people, and how they are worded."""

import json

LONGEST = 100
"""Characters of what a person wrote that an error repeats."""


class CheaptalkError(Exception):
    """Something a user can mend; the message is one sentence with the cause and the cure."""


def shown(written: object) -> str:
    """Something that a person wrote, as it stands in their file, cut where it gets long.

    >>> shown({"share": 0.5}), shown(None)
    ('{"share": 0.5}', 'null')
    """
    text = json.dumps(written, default=str, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def counted(number: int, what: str) -> str:
    """So many of something, in words as they stand behind a number.

    >>> counted(1, "match"), counted(1200, "call"), counted(0, "reply")
    ('1 match', '1,200 calls', '0 replies')
    """
    if number != 1:
        what = f"{what[:-1]}ie" if what.endswith("y") and what[-2] not in "aeiou" else what
        what += "es" if what.endswith(("s", "x", "ch", "sh")) else "s"
    return f"{number:,} {what}"
