"""Replies for rejected requests and malformed responses."""

import email.utils
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import msgspec

from cheaptalk.models.calls import Failure, Reply
from cheaptalk.models.http.secrets import scrubbed, scrubbed_values
from cheaptalk.models.model_strings import OWN_KEY, ModelName

SAID = 500
"""Maximum characters of a server's error message."""
BEGINNING = 100
"""Maximum characters of a malformed response that a message shows."""
AGAIN = frozenset({408, 409, 425, 429})
"""HTTP statuses below 500 after which a retry may succeed."""
MISSED = frozenset({200, 404, 405})
"""HTTP statuses that indicate a missing model or a wrong URL."""
PAGE = re.compile(r"\s*<(!doctype\s+html|html)\b", re.IGNORECASE)
TITLE = re.compile(r"<title[^>]*>([^<]*)", re.IGNORECASE)
TAG = re.compile(r"<[^>]*>")
WANTS_TLS = re.compile(
    r"HTTP request (was )?(sent )?to (an )?HTTPS|plain HTTP to an SSL|requires TLS", re.IGNORECASE
)
"""Error messages of servers that require https."""
LOCKED = (401, 403)
"""HTTP statuses of a missing or wrong key."""
SPENT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
"""Permanent error codes with status 429."""
FILTERS = frozenset({"content_filter", "content_policy_violation", "invalid_prompt"})
"""Error codes of content filters."""


class EndpointTrouble(Exception):
    """Raised if a request to an endpoint failed; ``again`` is set if a retry may succeed."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.detail or "unknown")
        self.again = reply.retry
        self.status = reply.status


def broken(detail: str, *, retry: bool, **fields: Any) -> Reply:
    """Return a failure reply for a provider error, with a one-line message."""
    line = " ".join(detail.split())[:SAID]
    return Reply(failure=Failure.PROVIDER_ERROR, detail=line, retry=retry, **fields)


def timed_out(deadline: float) -> Reply:
    """Return the failure reply of a call without an answer within a timeout in seconds."""
    detail = f"no answer within {deadline:g} seconds"
    return Reply(failure=Failure.TIMED_OUT, detail=detail, retry=True)


def malformed(error: Exception, data: bytes, secrets: tuple[str, ...] = ()) -> Reply:
    """Return a failure reply that quotes the beginning of a malformed response.

    >>> malformed(ValueError("no JSON"), b"I accept.").detail
    "the server's response is malformed: no JSON; it begins with: I accept."
    """
    why = " ".join(str(error).split())[: SAID // 2]
    return broken(
        f"the server's response is malformed: {why}; {beginning(data, secrets)}", retry=True
    )


def beginning(data: bytes, secrets: tuple[str, ...]) -> str:
    """Return the beginning of a response body as one line, with secrets removed."""
    text = " ".join(scrubbed(data.decode(errors="replace"), secrets).split())
    return f"it begins with: {text[:BEGINNING]}" if text else "it is empty"


def complaint(error: Any, status: int | None = None) -> Reply:
    """Convert a provider's JSON error in any common form to a failure reply."""
    inner = error.get("error", error) if isinstance(error, dict) else error
    code = inner.get("code") or inner.get("type") if isinstance(inner, dict) else None
    message = inner.get("message") or inner.get("detail") if isinstance(inner, dict) else inner
    if status is None:
        status = code if isinstance(code, int) and 400 <= code < 600 else 500
    message = (
        message if isinstance(message, str) else msgspec.json.encode(message or error).decode()
    )
    reply = broken(_with_status(status, message), retry=worth_retrying(status, code), status=status)
    if isinstance(code, str) and code in FILTERS:
        return reply.model_copy(update={"failure": Failure.FILTERED})
    return reply


def _with_status(status: int, message: str) -> str:
    """Prefix an error message with its HTTP status, without repeating the number."""
    text = message.strip().removeprefix(str(status)).lstrip(" :,-")
    return f"status {status}: {text}" if text else f"status {status}"


def worth_retrying(status: int, code: object) -> bool:
    """Return whether a retry may succeed after a response with this HTTP status and error code."""
    return (status in AGAIN or status >= 500) and not (isinstance(code, str) and code in SPENT)


def refused(
    status: int, headers: Mapping[str, str], data: bytes, secrets: tuple[str, ...]
) -> Reply:
    """Return the failure reply for a response with an HTTP error status."""
    try:
        reply = complaint(scrubbed_values(msgspec.json.decode(data), secrets), status)
    except (ValueError, RecursionError):
        text = scrubbed(data.decode(errors="replace"), secrets)
        message = web_page(text) if PAGE.match(text) else text[: 4 * SAID]
        if status == 400 and WANTS_TLS.search(text):
            message = "the server requires https: write https:// in the URL"
        reply = broken(_with_status(status, message), retry=worth_retrying(status, None))
    if 300 <= status < 400 and (target := headers.get("Location")):
        reply = broken(
            f"status {status}: the server redirects to {_origin(target)}, and redirects are not "
            "followed; use that URL if it is correct",
            retry=False,
        )
    delay = retry_after(headers, datetime.now(UTC))
    return reply.model_copy(update={"retry_after": delay, "status": status})


def web_page(text: str) -> str:
    """Describe an HTML response by its title or its first words.

    >>> web_page("<!doctype html><title>Not here</title>...")
    'a web page, "Not here"'
    >>> web_page("<html><b>It</b> is away.</html>")
    'a web page, "It is away."'
    """
    title = TITLE.search(text)
    text = " ".join((title[1] if title else TAG.sub(" ", text)).split())
    return f'a web page, "{text[:100]}"'


def hinted(reply: Reply, name: ModelName, url: str) -> Reply:
    """If a call to a custom URL failed, add a hint about the URL or the key to its error."""
    hint = ""
    if reply.status in MISSED and name.protocol == "chat":
        hint = f"the URL usually ends in /v1, and calls are sent to {url}"
    elif reply.status in LOCKED:
        hint = f"no key is sent to a URL in a model string: {OWN_KEY}"
    if name.at_home or not hint or (reply.status in MISSED and name.url.endswith("/v1")):
        return reply
    return reply.model_copy(update={"detail": f"{reply.detail} ({hint})"})


def _origin(url: str) -> str:
    """Return the scheme, host and port of a URL, without any secrets."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "a URL that cannot be read"
    return f"{parts.scheme}://{parts.hostname}{port}" if parts.hostname else "another path"


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the retry delay in seconds from response headers; None if they contain none.

    >>> retry_after({"retry-after": "2.5"}, datetime.now(UTC))
    2.5
    """
    for header, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(header)
        if value is None:
            continue
        seconds = math.nan
        with suppress(ValueError, OverflowError):
            when = email.utils.parsedate_to_datetime(value)
            seconds = (when.replace(tzinfo=when.tzinfo or UTC) - now).total_seconds()
        with suppress(ValueError):
            seconds = float(value) * unit
        if math.isfinite(seconds):
            return max(0.0, seconds)
    return None
