"""Texts that describe how matches ended: counts, and causes of failures."""

import re

from cheaptalk.rules import counted

FAILED_CALL = re.compile(r'call for "([^"]*)" in request \d+: ')
"""Start of the reason of a match whose call failed: the actor and the request."""
HTTPS = re.compile(r"; if it speaks https, write https://[^;]*")
"""Hint for a server that no call has reached."""


def ended_text(
    ended: int,
    planned: int | None,
    *,
    forfeited: int = 0,
    failed: int = 0,
    unit: str = "match",
    verb: str = "ended",
) -> str:
    """Describe how many matches ended, were forfeited or failed.

    >>> ended_text(6, 6), ended_text(1, None)
    ('6 of 6 matches ended', '1 match ended')
    >>> ended_text(3, 3, forfeited=3), ended_text(3, 6, failed=1)
    ('3 of 3 matches ended, 3 of them forfeited', '3 of 6 matches ended; 1 failed')

    Args:
        ended: finished and forfeited matches.
        planned: all matches; None if unknown.
        failed: matches that stopped with an error; the next run plays them again.
        unit, verb: the counted items, and what happened to them.
    """
    text = counted(ended, unit) if planned is None else f"{ended:,} of {counted(planned, unit)}"
    text += f" {verb}"
    if forfeited:
        text += f", {forfeited:,} of them forfeited"
    return f"{text}; {failed:,} failed" if failed else text


def cause(reason: str, *, reached: bool = True) -> str:
    """Shorten a failed call's error message to its cause, omitting the actor and the request.

    Args:
        reached: whether another call succeeded, so that the hint on https is unnecessary.

    >>> cause('call for "bob" in request 1: status 500')
    'status 500'
    """
    text = FAILED_CALL.sub("", reason)
    return HTTPS.sub("", text) if reached else text
