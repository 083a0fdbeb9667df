"""Faults between a model and its caller, as seen from the server."""

import asyncio
import gzip
import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

from aiohttp import web

from tests.attack.secrets import forms
from tests.attack.wires import LONG_TOKEN, Reply, Wire, fields

BOMB = gzip.compress(bytes(2**28), 9)
HUGE = 2_000_000
"""Characters in the longest text."""
PIECES = 20
"""Number of parts of a slow reply."""
HOSTILE_TEXT = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil\u2066\u200b\r\x08\x00"
"""Control codes that take over a terminal or hide text."""


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

    @property
    def data(self) -> dict[str, Any]:
        return self.wire.write(self.reply)

    @property
    def usage(self) -> Any:
        return self.data["usage"]

    def bill(self) -> None:
        self.sending.input_tokens = self.reply.input_tokens
        self.sending.output_tokens = self.reply.output_tokens
        self.sending.lied = self.reply.usage is not None

    def answer(self) -> web.Response:
        """Bill the reply and send it as an answer."""
        self.sending.answer_digest = digest(self.reply.text)
        return self.respond(json.dumps(self.data).encode())

    def respond(self, body: bytes, **headers: str) -> web.Response:
        self.bill()
        return web.Response(body=body, content_type="application/json", headers=headers)

    async def begin(self, length: int | None = None) -> web.StreamResponse:
        self.bill()
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.content_length = length
        await response.prepare(self.request)
        return response


Fault = Callable[[Exchange], Awaitable[web.StreamResponse]]
FAULTS: dict[str, Fault] = {}


def fault(act: Fault) -> Fault:
    FAULTS[act.__name__] = act
    return act


def error_response(status: int, retry_after: str | None = None) -> web.Response:
    data = {"error": {"message": f"status {status}, sorry", "type": "error", "code": None}}
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return web.json_response(data, status=status, headers=headers)


def page(text: str, status: int = 200) -> web.Response:
    html = f"<html><body>{text}</body></html>"
    return web.Response(text=html, content_type="text/html", status=status)


def in_a_second() -> str:
    return format_datetime(datetime.now(tz=UTC) + timedelta(seconds=1), usegmt=True)


def changed(exchange: Exchange, **fields: Any) -> Exchange:
    exchange.reply = replace(exchange.reply, **fields)
    return exchange


def sent(exchange: Exchange, **fields: Any) -> web.Response:
    """Send a changed reply that does not count as an answer."""
    return exchange.respond(json.dumps(changed(exchange, **fields).data).encode())


def latin_1(exchange: Exchange) -> bytes:
    model = exchange.reply.model + "\N{INVERTED EXCLAMATION MARK}"
    return json.dumps(changed(exchange, model=model).data, ensure_ascii=False).encode("latin-1")


def huge(exchange: Exchange) -> Exchange:
    reply = exchange.reply
    tokens = reply.output_tokens + HUGE // LONG_TOKEN
    return changed(exchange, text=f"{'.' * HUGE}\n{reply.text}", output_tokens=tokens)


def failed(message: str, kind: str = "error", code: Any = None, status: int = 503) -> web.Response:
    error = {"message": message, "type": kind, "code": code}
    return web.json_response({"error": error}, status=status)


def in_json(data: Any) -> bytes:
    return json.dumps(data).encode()


def taken_over(exchange: Exchange) -> Exchange:
    """Put terminal control codes before the answer and into the model's name."""
    text = f"{HOSTILE_TEXT}\n{exchange.reply.text}"
    return changed(exchange, text=text, tool=None, model=f"tiny{HOSTILE_TEXT}")


SIMPLE: dict[str, Callable[[Exchange], web.StreamResponse]] = {
    "too_many": lambda _: error_response(429),
    "too_many_wait_a_second": lambda _: error_response(429, "1"),
    "too_many_wait_until": lambda _: error_response(429, in_a_second()),
    "too_many_wait_an_hour": lambda _: error_response(429, "3600"),
    "too_many_wait_not": lambda _: error_response(429, "0"),
    "too_many_wait_for_ever": lambda _: error_response(429, "Fri, 31 Dec 99999999999 23:59:59 GMT"),
    "internal_error": lambda _: error_response(500),
    "overloaded": lambda _: error_response(503),
    "bad_gateway": lambda _: page("502 Bad Gateway: nginx", 502),
    "web_page": lambda _: page("Please log in."),
    "hung_up": lambda exchange: _gone(exchange, web.Response()),
    "cut_body": lambda exchange: exchange.respond(
        (body := in_json(exchange.data))[: len(body) // 2]
    ),
    "not_utf8": lambda exchange: exchange.respond(latin_1(exchange)),
    "wrong_shape": lambda exchange: exchange.respond(
        in_json({"choices": {"text": "hello"}, "content": 7, "usage": exchange.usage})
    ),
    "no_choice": lambda exchange: exchange.respond(
        in_json({"choices": [], "content": None, "usage": exchange.usage})
    ),
    "refusal": lambda exchange: sent(exchange, finish="refusal"),
    "filtered": lambda exchange: sent(exchange, finish="content_filter"),
    "silence": lambda exchange: changed(exchange, text="", tool=None).answer(),
    "huge_text": lambda exchange: huge(exchange).answer(),
    "other_model": lambda exchange: changed(exchange, model="something-smaller").answer(),
    "error_as_success": lambda _: failed("sorry", code=503, status=200),
    "zip_bomb": lambda exchange: exchange.respond(BOMB, **{"Content-Encoding": "gzip"}),
    "deep_json": lambda exchange: exchange.respond(b"[" * 200_000),
    "elsewhere": lambda exchange: web.Response(
        status=307,
        headers={"Location": f"http://localhost:{exchange.request.url.port}{exchange.wire.path}"},
    ),
    "lone_surrogate": lambda exchange: sent(
        exchange, text=f"\ud83d {exchange.reply.text}", tool=None
    ),
    "terminal_codes": lambda exchange: taken_over(exchange).answer(),
    "rude": lambda _: failed(f"no {HOSTILE_TEXT} capacity", HOSTILE_TEXT, HOSTILE_TEXT),
    "two_answers": lambda exchange: sent(
        exchange, more='{"decision": "reject", "message": "No.", "price": 1, "alice_gain": 1}'
    ),
    "other_tool": lambda exchange: sent(exchange, tool="transfer_money"),
    "echo": lambda exchange: failed(
        f"not so fast, {exchange.secret}: {echoes(exchange.secret)}", code=None
    ),
    "echo_in_page": lambda exchange: page(f"{exchange.secret} {echoes(exchange.secret)}", 502),
}
"""Faults that need no waiting: errors, replies that are altered, and misreported tokens."""
LIES: dict[str, tuple[Any, Any]] = {
    "hardly_any_tokens": (1, 0),
    "negative_tokens": (-1_000_000, -5),
    "absurd_tokens": (10**15, 10**30),
    "tokens_in_words": ("many", {"some": [None]}),
}
"""Input and output tokens that servers report instead of those that they bill."""
SIMPLE |= {
    name: lambda exchange, usage=usage: changed(exchange, usage=usage).answer()  # type: ignore[misc]
    for name, usage in LIES.items()
}


def at_once(act: Callable[[Exchange], web.StreamResponse]) -> Fault:
    async def respond(exchange: Exchange) -> web.StreamResponse:
        return act(exchange)

    return respond


FAULTS |= {name: at_once(act) for name, act in SIMPLE.items()}


@fault
async def broken_off(exchange: Exchange) -> web.StreamResponse:
    """Drop the connection in the middle of the reply."""
    body = json.dumps(exchange.data).encode()
    response = await exchange.begin(len(body))
    await response.write(body[: len(body) // 2])
    return _gone(exchange, response)


def _gone(exchange: Exchange, response: web.StreamResponse) -> web.StreamResponse:
    if exchange.request.transport is not None:
        exchange.request.transport.abort()
    return response


@fault
async def cut_text(exchange: Exchange) -> web.StreamResponse:
    """Stop at the token limit, before the answer is complete."""
    exchange.reply.text = exchange.reply.text[: exchange.reply.text.find("{") + 2]
    exchange.reply.finish = "length"
    return exchange.answer()


@fault
async def dripping(exchange: Exchange) -> web.StreamResponse:
    """Send the reply in small parts."""
    body = json.dumps(exchange.data).encode()
    exchange.sending.answer_digest = digest(exchange.reply.text)
    response = await exchange.begin()
    size = len(body) // PIECES + 1
    for start in range(0, len(body), size):
        await response.write(body[start : start + size])
        await asyncio.sleep(0.01)
    return response


@fault
async def streamed(exchange: Exchange) -> web.StreamResponse:
    """Send the reply as a stream of events that the caller didn't request."""
    assert exchange.wire.stream is not None
    exchange.sending.answer_digest = digest(exchange.reply.text)
    exchange.bill()
    return web.Response(body=exchange.wire.stream(exchange.reply), content_type="text/event-stream")


@fault
async def too_late(exchange: Exchange) -> web.StreamResponse:
    """Answer after the caller's deadline, and bill for it."""
    exchange.bill()
    await asyncio.sleep(exchange.late)
    return exchange.answer()


@fault
async def no_http(exchange: Exchange) -> web.StreamResponse:
    """Send bytes that aren't HTTP."""
    if exchange.request.transport is not None:
        exchange.request.transport.write(b"\x16\x03\x01 HTTP/9.9 two hundred\r\nX: \xff\r\n\r\n")
    return _gone(exchange, web.Response())


@fault
async def echo_in_answer(exchange: Exchange) -> web.StreamResponse:
    """Repeat the key before the answer and in the model's name."""
    words = f"Your key is {exchange.secret}, {echoes(exchange.secret)}.\n"
    exchange.reply.text, exchange.reply.tool = words + exchange.reply.text, None
    exchange.reply.output_tokens += len(words) // 8
    exchange.reply.model = f"tiny-{exchange.secret}"
    return exchange.respond(json.dumps(exchange.data).encode())


def echoes(secret: str) -> str:
    """Return a secret in every form that :mod:`tests.attack.secrets` looks for."""
    return " ".join(form.decode("latin-1") for form in forms(secret))


ALTERED = frozenset({"echo_in_answer", "lone_surrogate", "two_answers", "other_tool"})
"""Faults whose text may be recorded differently than it was sent: without the key, without lone
surrogates, or with a second answer."""
