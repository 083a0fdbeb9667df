"""Errors that are told to people."""

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
