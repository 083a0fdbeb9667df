"""One question over HTTP: whatever a server does comes back as a reply.

A server that streams though nobody asked it to is understood as well.
"""

import asyncio
import email.utils
import json
import math
import os
import re
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain
from typing import Any, TypeAlias
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import msgspec

from cheaptalk.models.calls import Failure, Reply
from cheaptalk.models.http.secrets import (
    of_proxy,
    scrubbed,
    scrubbed_reply,
    scrubbed_values,
)
from cheaptalk.models.model_strings import OWN_KEY, ModelName


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class _ToolCall(msgspec.Struct):
    function: _Function | None = None
    index: int = 0


class ContentPart(msgspec.Struct):
    """A part of a message whose content comes as a list: words, or thoughts before them."""

    text: str | None = None
    thinking: "str | list[ContentPart] | None" = None


Content: TypeAlias = str | list[ContentPart] | None
"""What a message says, whole or in parts."""


def words_and_thoughts(content: Content) -> tuple[str, str]:
    """The words of a message's content, and the thoughts that come with them."""
    if isinstance(content, list):
        words = "".join(part.text or "" for part in content)
        inner = (words_and_thoughts(part.thinking)[0] for part in content)
        return words, "".join(inner)
    return content or "", ""


class _Delta(msgspec.Struct):
    content: Content = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[_ToolCall] | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    finish_reason: str | None = None
    index: int = 0


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    model: str | None = None
    system_fingerprint: str | None = None
    usage: Any = None
    error: Any = None


def joined(data: bytes) -> dict[str, Any]:
    """One completion in the chat format from a whole stream of its pieces.

    Raises:
        ValueError: the stream breaks off, or is none of that format.
    """
    whole: dict[str, Any] = {}
    choices: dict[int, list[_Choice]] = {}
    for chunk in _chunks(data):
        if chunk.error:
            return {"error": chunk.error}
        for name in ("model", "system_fingerprint", "usage"):
            if getattr(chunk, name) is not None:
                whole[name] = getattr(chunk, name)
        for choice in chunk.choices or ():
            choices.setdefault(choice.index, []).append(choice)
    if not choices:
        raise ValueError("the stream breaks off")
    return whole | {"choices": [_joined_choice(choices[index]) for index in sorted(choices)]}


def _joined_choice(pieces: Sequence[_Choice]) -> dict[str, Any]:
    """One choice from its pieces."""
    deltas = [one.delta for one in pieces if one.delta is not None]
    finish = next((one.finish_reason for one in reversed(pieces) if one.finish_reason), None)
    if finish is None:
        raise ValueError("the stream breaks off")
    calls: dict[int, list[_Function]] = {}
    for call in chain.from_iterable(delta.tool_calls or () for delta in deltas):
        if call.function is not None:
            calls.setdefault(call.index, []).append(call.function)
    said = [words_and_thoughts(delta.content) for delta in deltas]
    message: dict[str, Any] = {
        name: "".join(getattr(delta, name) or "" for delta in deltas) or None
        for name in ("refusal", "reasoning_content", "reasoning")
    }
    message["content"] = "".join(words for words, _ in said) or None
    message["reasoning"] = "".join(thoughts for _, thoughts in said) or message["reasoning"]
    message["tool_calls"] = [
        {"function": {
            "name": next((one.name for one in calls[place] if one.name), None),
            "arguments": "".join(one.arguments or "" for one in calls[place]),
        }}
        for place in sorted(calls)
    ]  # fmt: skip
    return {"message": message, "finish_reason": finish}


def _chunks(data: bytes) -> Iterator[_Chunk]:
    for line in data.splitlines():
        said = line.removeprefix(b"data:").strip()
        if line.startswith(b"data:") and said != b"[DONE]":
            yield msgspec.convert(decoded(said), _Chunk)


def decoded(data: bytes) -> Any:
    """JSON as servers write it: numbers beyond all measure, and those that are none, become text.

    >>> decoded(b'{"tokens": 1e999, "seconds": NaN, "text": "7"}')
    {'tokens': '1e999', 'seconds': 'NaN', 'text': '7'}

    Raises:
        ValueError: it is no JSON.
    """
    try:
        return msgspec.json.decode(data)
    except ValueError:
        found = json.loads(data, parse_int=_whole, parse_float=_number, parse_constant=str)
        return msgspec.json.decode(json.dumps(found))  # as strict in all else


def _whole(written: str) -> int | str:
    return int(written) if len(written) <= LONG_NUMBER else written


def _number(written: str) -> float | str:
    found = float(written)
    return found if math.isfinite(found) else written


CALL_HEADER = "X-Cheaptalk-Call"
"""The header that carries a call's number, so that a server's log can be held against ours."""
LONGEST = 8 * 2**20
"""Bytes of the longest reply that is read."""
SAID = 500
"""Characters of a server's complaint that are kept."""
AGAIN = frozenset({408, 409, 425, 429})
"""Statuses below 500 after which trying again may help."""
LONG_NUMBER = 20
"""Digits of a whole number that is read as one, where JSON is read leniently."""
MISSED = frozenset({200, 404, 405})
"""The statuses of what is not there: the model, or a wrong URL, which may lead to a web page."""
PAGE = re.compile(r"\s*<(!doctype\s+html|html)\b", re.IGNORECASE)
TITLE = re.compile(r"<title[^>]*>([^<]*)", re.IGNORECASE)
TAG = re.compile(r"<[^>]*>")
WANTS_TLS = re.compile(
    r"HTTP request (was )?(sent )?to (an )?HTTPS|plain HTTP to an SSL|requires TLS", re.IGNORECASE
)
"""How servers say that a question came over http and should have come over https."""
NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"})
"""What TLS makes of a server's answer that is none of TLS."""
WRITE_HTTPS = "if it speaks https, write https:// in the URL"
LOCKED = (401, 403)
"""The statuses of what wants a key, or another one."""
SPENT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
"""Codes of a status 429 that no waiting cures."""
FILTERS = frozenset({"content_filter", "content_policy_violation", "invalid_prompt"})
"""Codes of an error that is a filter's verdict on the question."""


class Wire:
    """One pool of connections to all servers: as many at once as calls are made."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def post(
        self,
        url: str,
        headers: Mapping[str, str],
        body: Mapping[str, Any],
        key: str | None,
        deadline: float,
        read: Callable[[Any], Reply],
    ) -> Reply:
        """Post JSON and read the JSON that comes back.

        Args:
            key: a secret that no reply repeats, whatever the server says; nor does one repeat a
                proxy's password.
            deadline: seconds until the call counts as timed out, from sending to the last byte.
            read: makes a reply of what the server said; may raise ValueError.
        """
        started = time.monotonic()
        proxy = proxy_of(url)
        secrets = secrets_at(url, key)
        try:
            async with asyncio.timeout(deadline):
                sending = self._pool().post(
                    url, json=body, headers=headers, proxy=proxy, allow_redirects=False
                )
                async with sending as response:
                    reply = await _said(response, secrets, read)
        except TimeoutError:
            detail = f"no answer within {deadline:g} seconds"
            reply = Reply(failure=Failure.TIMED_OUT, detail=detail, retry=True)
        except (aiohttp.ClientError, OSError) as error:
            reply = lost_connection(error, url)
        reply = scrubbed_reply(reply, secrets)
        return reply.model_copy(update={"seconds": round(time.monotonic() - started, 4)})

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _pool(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),
            )
        return self._session


def secrets_at(url: str, key: str | None) -> tuple[str, ...]:
    """What no reply from a URL may repeat: the key that is sent, and a proxy's password."""
    return (*((key,) if key else ()), *of_proxy(proxy_of(url)))


async def _said(
    response: aiohttp.ClientResponse, secrets: tuple[str, ...], read: Callable[[Any], Reply]
) -> Reply:
    """What a response says, without secrets."""
    found = bytearray()
    while part := await response.content.readany():
        found += part
        if len(found) > LONGEST:
            return broken(f"the reply is longer than {LONGEST:,} bytes", retry=True)
    data = bytes(found)
    if response.status == 200 and PAGE.match(text := data.decode(errors="replace")):
        said = f"the server answers with {_page(scrubbed(text, secrets))}"
        return broken(said, retry=True, status=response.status)
    if not 200 <= response.status < 300:
        return refused(response.status, response.headers, data, secrets)
    try:
        stream = response.content_type == "text/event-stream"
        whole = joined(data) if stream else decoded(data)
        return read(scrubbed_values(whole, secrets))
    except (ValueError, RecursionError) as error:
        return broken(f"the server's reply is not what it should be: {error}", retry=True)


@lru_cache(maxsize=64)
def proxy_of(url: str) -> str | None:
    """The proxy that the environment names for a URL."""
    parts = urlsplit(url)
    if proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme)


LOST: tuple[tuple[type[Exception], str], ...] = (
    (aiohttp.ServerDisconnectedError, "the server closed it without an answer"),
    (aiohttp.ClientPayloadError, "the reply breaks off, or cannot be unpacked"),
    (aiohttp.ClientResponseError, "the server's reply is no HTTP"),
    (aiohttp.InvalidURL, "the URL cannot be read"),
)
"""What is said of a connection that broke, by the error."""


def lost_connection(error: Exception, url: str) -> Reply:
    """What is said of a connection that was never made, or broke, in our words and the system's.

    Never in the error's own: they may hold what a server said, or a proxy's password.

    Args:
        url: where the call was sent.
    """
    if isinstance(error, aiohttp.ClientHttpProxyError):
        said = (
            f"the proxy refuses to connect (status {error.status}): check the user and the "
            "password in the environment's HTTPS_PROXY or HTTP_PROXY"
        )
        retry = _worth_retrying(error.status, None)
        return broken(said, retry=retry, status=error.status, unreached=True)
    if isinstance(error, aiohttp.ClientConnectorError):
        return _unreached(error)
    known = next((words for kind, words in LOST if isinstance(error, kind)), None)
    number = error.errno if isinstance(error, OSError) else None
    words = known or _system_words(number) or type(error).__name__
    if known and url.startswith("http://"):
        words += f"; {WRITE_HTTPS}"
    return broken(f"connection failed: {words}", retry=True)


def _unreached(error: aiohttp.ClientConnectorError) -> Reply:
    """What is said where no server could be talked to, with what to do."""
    cause = error.__cause__
    who = "proxy" if isinstance(error, aiohttp.ClientProxyConnectionError) else "server"
    place = f"{error.host}:{error.port}"
    retry = not isinstance(cause, ssl.SSLError)
    if isinstance(cause, ssl.SSLCertVerificationError):
        said = (
            f"the certificate of {place} is not trusted ({cause.verify_message}): name its "
            "authority's file in SSL_CERT_FILE, or write the name that it is made out to"
        )
    elif isinstance(cause, ssl.SSLError) and cause.reason in NO_TLS:
        said = f"the {who} at {place} speaks no https: write http:// in the URL"
    elif isinstance(cause, ssl.SSLError):
        said, retry = f"no {who} answers at {place} ({cause.strerror or cause.reason})", True
    elif isinstance(error, aiohttp.ClientConnectorDNSError):
        said = f'no {who} has the name "{error.host}" ({error.strerror}): check URL and network'
    else:
        why = _system_words(error.errno) or error.strerror or "no connection"
        said = f"no {who} answers at {place} ({why}): is it running, and is that its port?"
    return broken(said, retry=retry, unreached=True)


def _system_words(number: int | None) -> str | None:
    return os.strerror(number) if number and number > 0 else None


def broken(detail: str, *, retry: bool, **more: Any) -> Reply:
    """A failure of the provider, in one line of its own words."""
    said = " ".join(detail.split())[:SAID]
    return Reply(failure=Failure.PROVIDER_ERROR, detail=said, retry=retry, **more)


def complaint(error: Any, status: int | None = None) -> Reply:
    """What a server's JSON error says, in the forms that servers give it."""
    inner = error.get("error", error) if isinstance(error, dict) else error
    code = inner.get("code") or inner.get("type") if isinstance(inner, dict) else None
    said = inner.get("message") or inner.get("detail") if isinstance(inner, dict) else inner
    if status is None:
        status = code if isinstance(code, int) and 400 <= code < 600 else 500
    said = said if isinstance(said, str) else msgspec.json.encode(said or error).decode()
    reply = broken(_with_status(status, said), retry=_worth_retrying(status, code), status=status)
    if isinstance(code, str) and code in FILTERS:
        return reply.model_copy(update={"failure": Failure.FILTERED})
    return reply


def _with_status(status: int, said: str) -> str:
    """A server's complaint behind its status, which many repeat in their words."""
    rest = said.strip().removeprefix(str(status)).lstrip(" :,-")
    return f"status {status}: {rest}" if rest else f"status {status}"


def _worth_retrying(status: int, code: object) -> bool:
    return (status in AGAIN or status >= 500) and not (isinstance(code, str) and code in SPENT)


def refused(
    status: int, headers: Mapping[str, str], data: bytes, secrets: tuple[str, ...]
) -> Reply:
    """What is said by a status that is no success."""
    try:
        reply = complaint(scrubbed_values(msgspec.json.decode(data), secrets), status)
    except (ValueError, RecursionError):
        text = scrubbed(data.decode(errors="replace"), secrets)
        said = _page(text) if PAGE.match(text) else text[: 4 * SAID]
        if status == 400 and WANTS_TLS.search(text):
            said = "the server wants https: write https:// in the URL"
        reply = broken(_with_status(status, said), retry=_worth_retrying(status, None))
    if 300 <= status < 400 and (place := headers.get("Location")):
        reply = broken(
            f"status {status}: the server sends calls on to {_place(place)}, where nothing is sent "
            "unasked; write that URL if it is right",
            retry=False,
        )
    after = retry_after(headers, datetime.now(UTC))
    return reply.model_copy(update={"retry_after": after, "status": status})


def _page(text: str) -> str:
    """A web page in a few words: its title, or what it begins with.

    >>> _page("<!doctype html><title>Not here</title>..."), _page("<html><b>It</b> is away.</html>")
    ('a web page, "Not here"', 'a web page, "It is away."')
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
