"""Faults between a model and its caller, as seen from the server."""

import asyncio
import gzip
import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import cache
from typing import Any

from aiohttp import web

from tests.attack.secrets import forms
from tests.attack.wires import LONG_TOKEN, Reply, Wire, chat_stream, fields

HUGE = 2_000_000
"""Characters in the longest text."""
PIECES = 20
"""Number of parts of a slow reply."""
HOSTILE_TEXT = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil\u2066\u200b\r\x08\x00"
"""Control codes that take over a terminal or hide text."""


@cache
def zip_bomb() -> bytes:
    """Return a small body that is 256 MiB when decompressed."""
    return gzip.compress(bytes(2**28))


def digest(text: str | None) -> str | None:
    """Return the digest by which the account identifies a text; normalise JSON first."""
    if text is None:
        return None
    given = fields(text)
    if isinstance(given, dict):
        text = json.dumps(given, sort_keys=True)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


@dataclass
class Sending:
    """The outcome of one attempt at a call.

    Attributes:
        did: ``answer`` or the name of a fault.
        input_tokens, output_tokens: the billed tokens.
        answer_digest: the digest of the text sent as an answer; None without an answer.
        lied: whether the server reported other tokens than it billed.
    """

    did: str
    input_tokens: int = 0
    output_tokens: int = 0
    answer_digest: str | None = None
    lied: bool = False


@dataclass
class Exchange:
    """A request and its planned reply.

    Attributes:
        reply: the reply, which a fault may change before it is sent.
        late: a delay in seconds that exceeds the caller's deadline.
        secret: the key in the request.
    """

    request: web.Request
    sending: Sending
    wire: Wire
    reply: Reply
    late: float
    secret: str = ""

    def change(self, **changes: Any) -> "Exchange":
        self.reply = replace(self.reply, **changes)
        return self

    @property
    def body(self) -> bytes:
        return json.dumps(self.wire.write(self.reply)).encode()

    def bill(self, *, answer: bool = False) -> None:
        self.sending.input_tokens = self.reply.input_tokens
        self.sending.output_tokens = self.reply.output_tokens
        self.sending.lied = self.reply.usage is not None
        if answer:
            self.sending.answer_digest = digest(self.reply.text)

    def answer(self) -> web.Response:
        """Bill the reply and send it as an answer."""
        self.bill(answer=True)
        return web.Response(body=self.body, content_type="application/json")

    def respond(self, body: bytes | None = None, **headers: str) -> web.Response:
        """Bill the reply, and send it or another body that doesn't count as an answer."""
        self.bill()
        data = self.body if body is None else body
        return web.Response(body=data, content_type="application/json", headers=headers)

    def respond_without_answer(self) -> web.Response:
        usage = self.wire.write(self.reply)["usage"]
        return self.respond(json.dumps({"choices": [], "content": None, "usage": usage}).encode())

    def hang_up(self, response: web.StreamResponse) -> web.StreamResponse:
        if self.request.transport is not None:
            self.request.transport.abort()
        return response


def failed(message: Any, code: Any = None, status: int = 503, **headers: str) -> web.Response:
    data = {"error": {"message": message, "type": code or "error", "code": code}}
    return web.json_response(data, status=status, headers=headers)


def too_many(retry_after: str) -> web.Response:
    return failed("slow down", status=429, **{"Retry-After": retry_after})


def page(text: str, status: int = 200) -> web.Response:
    html = f"<html><body>{text}</body></html>"
    return web.Response(text=html, content_type="text/html", status=status)


def in_a_second() -> str:
    return format_datetime(datetime.now(tz=UTC) + timedelta(seconds=1), usegmt=True)


def latin_1(exchange: Exchange) -> bytes:
    exchange.change(model=exchange.reply.model + "\N{INVERTED EXCLAMATION MARK}")
    data = exchange.wire.write(exchange.reply)
    return json.dumps(data, ensure_ascii=False).encode("latin-1")


def huge(reply: Reply) -> dict[str, Any]:
    tokens = reply.output_tokens + HUGE // LONG_TOKEN
    return {"text": f"{'.' * HUGE}\n{reply.text}", "output_tokens": tokens}


def elsewhere(exchange: Exchange) -> web.Response:
    target = f"http://localhost:{exchange.request.url.port}{exchange.wire.path}"
    return web.Response(status=307, headers={"Location": target})


def echo_in_answer(exchange: Exchange) -> web.Response:
    """Repeat the key before the answer and in the model's name."""
    words = f"Your key is {exchange.secret}, {echoes(exchange.secret)}.\n"
    tokens = exchange.reply.output_tokens + len(words) // 8
    text, model = words + exchange.reply.text, f"tiny-{exchange.secret}"
    return exchange.change(text=text, tool=None, output_tokens=tokens, model=model).respond()


def echoes(secret: str) -> str:
    """Return a secret in every form that :mod:`tests.attack.secrets` looks for."""
    return " ".join(form.decode("latin-1") for form in sorted(forms(secret)))


OTHER_ANSWER = '{"decision": "reject", "message": "No.", "price": 1, "alice_gain": 1}'
LIES: dict[str, tuple[Any, Any]] = {
    "hardly_any_tokens": (1, 0),
    "negative_tokens": (-1_000_000, -5),
    "absurd_tokens": (10**15, 10**30),
    "tokens_in_words": ("many", {"some": [None]}),
}
"""Input and output tokens that servers report instead of those that they bill."""
CHANGED: dict[str, Callable[[Reply], dict[str, Any]]] = {
    "silence": lambda _: {"text": "", "tool": None},
    "huge_text": huge,
    "other_model": lambda _: {"model": "something-smaller"},
    "cut_text": lambda reply: {"text": reply.text[: reply.text.find("{") + 2], "finish": "length"},
    "terminal_codes": lambda reply: {
        "text": f"{HOSTILE_TEXT}\n{reply.text}",
        "tool": None,
        "model": f"tiny{HOSTILE_TEXT}",
    },
    **{name: lambda _, usage=usage: {"usage": usage} for name, usage in LIES.items()},  # type: ignore[misc]
}
"""Faults that change an answer, and the changes."""
UNANSWERED: dict[str, Callable[[Reply], dict[str, Any]]] = {
    "refusal": lambda _: {"finish": "refusal"},
    "filtered": lambda _: {"finish": "content_filter"},
    "lone_surrogate": lambda reply: {"text": f"\ud83d {reply.text}", "tool": None},
    "two_answers": lambda _: {"more": OTHER_ANSWER},
    "other_tool": lambda _: {"tool": "transfer_money"},
}
"""Faults that change a reply so that it does not count as an answer, and the changes."""
RESPONSES: dict[str, Callable[[Exchange], web.StreamResponse]] = {
    "too_many": lambda _: failed("slow down", status=429),
    "too_many_wait_a_second": lambda _: too_many("1"),
    "too_many_wait_until": lambda _: too_many(in_a_second()),
    "too_many_wait_an_hour": lambda _: too_many("3600"),
    "too_many_wait_not": lambda _: too_many("0"),
    "too_many_wait_for_ever": lambda _: too_many("Fri, 31 Dec 99999999999 23:59:59 GMT"),
    "internal_error": lambda _: failed("sorry", status=500),
    "overloaded": lambda _: failed("sorry"),
    "bad_gateway": lambda _: page("502 Bad Gateway: nginx", 502),
    "web_page": lambda _: page("Please log in."),
    "hung_up": lambda exchange: exchange.hang_up(web.Response()),
    "cut_body": lambda exchange: exchange.respond(exchange.body[: len(exchange.body) // 2]),
    "not_utf8": lambda exchange: exchange.respond(latin_1(exchange)),
    "wrong_shape": lambda exchange: exchange.respond(b'{"choices": {"text": "hi"}, "content": 7}'),
    "no_choice": Exchange.respond_without_answer,
    "error_as_success": lambda _: failed("sorry", code=503, status=200),
    "zip_bomb": lambda exchange: exchange.respond(zip_bomb(), **{"Content-Encoding": "gzip"}),
    "deep_json": lambda exchange: exchange.respond(b"[" * 200_000),
    "elsewhere": elsewhere,
    "rude": lambda _: failed(f"no {HOSTILE_TEXT} capacity", HOSTILE_TEXT),
    "echo": lambda exchange: failed(f"not so fast, {exchange.secret}: {echoes(exchange.secret)}"),
    "echo_in_page": lambda exchange: page(f"{exchange.secret} {echoes(exchange.secret)}", 502),
    "echo_in_answer": echo_in_answer,
    **{
        name: lambda exchange, change=change: exchange.change(**change(exchange.reply)).answer()  # type: ignore[misc]
        for name, change in CHANGED.items()
    },
    **{
        name: lambda exchange, change=change: exchange.change(**change(exchange.reply)).respond()  # type: ignore[misc]
        for name, change in UNANSWERED.items()
    },
}
"""Faults that need no waiting."""


async def broken_off(exchange: Exchange) -> web.StreamResponse:
    """Drop the connection in the middle of the reply."""
    return exchange.hang_up(await send(exchange, len(exchange.body) // 2, 1))


async def dripping(exchange: Exchange) -> web.StreamResponse:
    """Send the reply in small parts."""
    exchange.bill(answer=True)
    return await send(exchange, len(exchange.body), PIECES)


async def send(exchange: Exchange, length: int, pieces: int) -> web.StreamResponse:
    """Bill a reply, and send the given number of bytes in pieces."""
    exchange.bill()
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.content_length = len(exchange.body)
    await response.prepare(exchange.request)
    size = length // pieces + 1
    for start in range(0, length, size):
        await response.write(exchange.body[start : min(start + size, length)])
        await asyncio.sleep(0.01)
    return response


async def streamed(exchange: Exchange) -> web.StreamResponse:
    """Send the reply as a stream of events that the caller didn't request."""
    exchange.bill(answer=True)
    return web.Response(body=chat_stream(exchange.reply), content_type="text/event-stream")


async def too_late(exchange: Exchange) -> web.StreamResponse:
    """Answer after the caller's deadline, and bill for it."""
    exchange.bill()
    await asyncio.sleep(exchange.late)
    return exchange.answer()


async def no_http(exchange: Exchange) -> web.StreamResponse:
    """Send bytes that aren't HTTP."""
    if exchange.request.transport is not None:
        exchange.request.transport.write(b"\x16\x03\x01 HTTP/9.9 two hundred\r\nX: \xff\r\n\r\n")
    return exchange.hang_up(web.Response())


def at_once(act: Callable[[Exchange], web.StreamResponse]) -> Callable[..., Any]:
    async def respond(exchange: Exchange) -> web.StreamResponse:
        return act(exchange)

    return respond


FAULTS: dict[str, Callable[[Exchange], Awaitable[web.StreamResponse]]] = {
    **{name: at_once(act) for name, act in RESPONSES.items()},
    **{act.__name__: act for act in (broken_off, dripping, streamed, too_late, no_http)},
}
ALTERED = frozenset({"echo_in_answer", "lone_surrogate", "two_answers", "other_tool"})
"""Faults whose text may be recorded differently than it was sent: without the key, without lone
surrogates, or with a second answer."""
