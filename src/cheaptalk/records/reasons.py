"""Reasons of failed matches, as they are grouped and counted."""

import re

FAILED_CALL = re.compile(r'call for "([^"]*)" in request \d+: ')
"""How the reason of a match begins whose call failed: the seat, and which request it was."""
HTTPS = re.compile(r"; if it speaks https, write https://[^;]*")
"""A hint for a server that no call has reached."""


def cause(reason: str, *, reached: bool = True) -> str:
    """Return why a call failed, without the seat and the number of the request.

    Args:
        reached: whether any call succeeded, so that the address is right; drops the hint on https.

    >>> cause('call for "bob" in request 1: status 500')
    'status 500'
    """
    text = FAILED_CALL.sub("", reason)
    return HTTPS.sub("", text) if reached else text
