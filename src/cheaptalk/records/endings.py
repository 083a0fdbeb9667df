"""Texts on how matches ended: counts, and reasons of failures."""

import re

from cheaptalk.rules import counted

FAILED_CALL = re.compile(r'call for "([^"]*)" in request \d+: ')
"""Start of the reason of a match whose call failed: the actor and the request."""
HTTPS = re.compile(r"; if it speaks https, write https://[^;]*")
"""A hint for a server that no call has reached."""


def ended_text(
    ended: int,
    planned: int | None,
    *,
    forfeited: int = 0,
    failed: int = 0,
    unit: str = "match",
    verb: str = "ended",
) -> str:
    """State how many matches have ended and how, so that no failure hides behind a total.

    >>> ended_text(6, 6), ended_text(1, None)
    ('6 of 6 matches ended', '1 match ended')
    >>> ended_text(3, 3, forfeited=3), ended_text(3, 6, failed=1)
    ('3 of 3 matches ended, 3 of them forfeited', '3 of 6 matches ended; 1 failed')

    Args:
        ended: finished and forfeited matches.
        planned: all matches; None if unknown.
        forfeited: how many of the ended ones were forfeited.
        failed: matches that stopped by an error and are played again by the next run.
        unit: what is counted.
        verb: what happened to it.
    """
    text = counted(ended, unit) if planned is None else f"{ended:,} of {counted(planned, unit)}"
    text += f" {verb}"
    if forfeited:
        text += f", {forfeited:,} of them forfeited"
    return f"{text}; {failed:,} failed" if failed else text


def cause(reason: str, *, reached: bool = True) -> str:
    """Return why a call failed, without the seat and the number of the request.

    Args:
        reached: whether any call succeeded, so that the address is right; drops the hint on https.

    >>> cause('call for "bob" in request 1: status 500')
    'status 500'
    """
    text = FAILED_CALL.sub("", reason)
    return HTTPS.sub("", text) if reached else text
