"""What is said where a server refuses a request, or says something that it should not."""

import email.utils
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import msgspec

from cheaptalk.models.calls import Failure, Reply
from cheaptalk.models.http.secrets import scrubbed, scrubbed_values
from cheaptalk.models.model_strings import OWN_KEY, ModelName

SAID = 500
"""Characters of a server's complaint that are kept."""
BEGINNING = 100
"""Characters that are shown of an answer that is none."""
AGAIN = frozenset({408, 409, 425, 429})
"""Statuses below 500 after which trying again may help."""
MISSED = frozenset({200, 404, 405})
"""The statuses of what is not there: the model, or a wrong URL, which may lead to a web page."""
PAGE = re.compile(r"\s*<(!doctype\s+html|html)\b", re.IGNORECASE)
TITLE = re.compile(r"<title[^>]*>([^<]*)", re.IGNORECASE)
TAG = re.compile(r"<[^>]*>")
WANTS_TLS = re.compile(
    r"HTTP request (was )?(sent )?to (an )?HTTPS|plain HTTP to an SSL|requires TLS", re.IGNORECASE
)
"""How servers say that a question came over http and should have come over https."""
LOCKED = (401, 403)
"""The statuses of what wants a key, or another one."""
SPENT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
"""Codes of a status 429 that no waiting cures."""
FILTERS = frozenset({"content_filter", "content_policy_violation", "invalid_prompt"})
"""Codes of an error that is a filter's verdict on the question."""


class EndpointTrouble(Exception):
    """A request failed.

    Attributes:
        again: whether trying again may help.
        status: the HTTP status, if one came back.
    """

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.detail or "unknown")
        self.again = reply.retry
        self.status = reply.status


def broken(detail: str, *, retry: bool, **more: Any) -> Reply:
    """A failure of the provider, in one line of its own words."""
    said = " ".join(detail.split())[:SAID]
    return Reply(failure=Failure.PROVIDER_ERROR, detail=said, retry=retry, **more)


def malformed(error: Exception, data: bytes, secrets: tuple[str, ...] = ()) -> Reply:
    """What is said of a reply that is not what it should be: why, and what it begins with.

    >>> malformed(ValueError("no JSON"), b"I accept.").detail
    "the server's reply is not what it should be: no JSON; it begins with: I accept."
    """
    why = " ".join(str(error).split())[: SAID // 2]
    return broken(
        f"the server's reply is not what it should be: {why}; {beginning(data, secrets)}",
        retry=True,
    )


def beginning(data: bytes, secrets: tuple[str, ...]) -> str:
    """What somebody begins with, in one line without secrets."""
    text = " ".join(scrubbed(data.decode(errors="replace"), secrets).split())
    return f"it begins with: {text[:BEGINNING]}" if text else "it is empty"


def complaint(error: Any, status: int | None = None) -> Reply:
    """What a server's JSON error says, in the forms that servers give it."""
    inner = error.get("error", error) if isinstance(error, dict) else error
    code = inner.get("code") or inner.get("type") if isinstance(inner, dict) else None
    said = inner.get("message") or inner.get("detail") if isinstance(inner, dict) else inner
    if status is None:
        status = code if isinstance(code, int) and 400 <= code < 600 else 500
    said = said if isinstance(said, str) else msgspec.json.encode(said or error).decode()
    reply = broken(_with_status(status, said), retry=worth_retrying(status, code), status=status)
    if isinstance(code, str) and code in FILTERS:
        return reply.model_copy(update={"failure": Failure.FILTERED})
    return reply


def _with_status(status: int, said: str) -> str:
    """A server's complaint behind its status, which many repeat in their words."""
    rest = said.strip().removeprefix(str(status)).lstrip(" :,-")
    return f"status {status}: {rest}" if rest else f"status {status}"


def worth_retrying(status: int, code: object) -> bool:
    """Whether trying again may help, by a reply's status and its error's code."""
    return (status in AGAIN or status >= 500) and not (isinstance(code, str) and code in SPENT)


def refused(
    status: int, headers: Mapping[str, str], data: bytes, secrets: tuple[str, ...]
) -> Reply:
    """What is said by a status that is no success."""
    try:
        reply = complaint(scrubbed_values(msgspec.json.decode(data), secrets), status)
    except (ValueError, RecursionError):
        text = scrubbed(data.decode(errors="replace"), secrets)
        said = web_page(text) if PAGE.match(text) else text[: 4 * SAID]
        if status == 400 and WANTS_TLS.search(text):
            said = "the server wants https: write https:// in the URL"
        reply = broken(_with_status(status, said), retry=worth_retrying(status, None))
    if 300 <= status < 400 and (place := headers.get("Location")):
        reply = broken(
            f"status {status}: the server sends calls on to {_place(place)}, where nothing is sent "
            "unasked; write that URL if it is right",
            retry=False,
        )
    after = retry_after(headers, datetime.now(UTC))
    return reply.model_copy(update={"retry_after": after, "status": status})


def web_page(text: str) -> str:
    """A web page in a few words: its title, or what it begins with.

    >>> web_page("<!doctype html><title>Not here</title>...")
    'a web page, "Not here"'
    >>> web_page("<html><b>It</b> is away.</html>")
    'a web page, "It is away."'
    """
    title = TITLE.search(text)
    words = " ".join((title[1] if title else TAG.sub(" ", text)).split())
    return f'a web page, "{words[:100]}"'


def hinted(reply: Reply, name: ModelName, url: str) -> Reply:
    """A reply with what may be wrong with a URL of one's own whose server turns a call away.

    Args:
        url: where the call was sent.
    """
    hint = ""
    if reply.status in MISSED and name.protocol == "chat":
        hint = f"the URL mostly ends in /v1, and calls go to {url}"
    elif reply.status in LOCKED:
        hint = f"no key is sent to a model string's own URL: {OWN_KEY}"
    if name.at_home or not hint or (reply.status in MISSED and name.url.endswith("/v1")):
        return reply
    return reply.model_copy(update={"detail": f"{reply.detail} ({hint})"})


def _place(url: str) -> str:
    """Scheme, host and port of a URL, which hold no secret."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "a URL that cannot be read"
    return f"{parts.scheme}://{parts.hostname}{port}" if parts.hostname else "another path"


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds after which a server wants to be asked again, by its headers; None if it says none.

    >>> retry_after({"retry-after": "2.5"}, datetime.now(UTC))
    2.5
    """
    for header, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        said = headers.get(header)
        if said is None:
            continue
        try:
            seconds = float(said) * unit
        except ValueError:
            seconds = _until(said, now)
        if math.isfinite(seconds):
            return max(0.0, seconds)
    return None


def _until(date: str, now: datetime) -> float:
    """Seconds until an HTTP date; not a number if it is none."""
    try:
        when = email.utils.parsedate_to_datetime(date)
    except (ValueError, OverflowError):
        return math.nan
    return (when.replace(tzinfo=when.tzinfo or UTC) - now).total_seconds()
