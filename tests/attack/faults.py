"""Faults between a model and its caller, as seen from the server."""

import asyncio
import gzip
import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

from aiohttp import web

from tests.attack.secrets import forms
from tests.attack.wires import LONG_TOKEN, Reply, Wire, fields

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
        """The reply in the wire's format."""
        return self.wire.write(self.reply)

    @property
    def usage(self) -> Any:
        """The usage that the reply reports."""
        return self.data["usage"]

    def bill(self) -> None:
        """Bill the reply."""
        self.sending.input_tokens = self.reply.input_tokens
        self.sending.output_tokens = self.reply.output_tokens
        self.sending.lied = self.reply.usage is not None

    def answer(self) -> web.Response:
        """Bill the reply and send it as an answer."""
        self.sending.answer_digest = digest(self.reply.text)
        return self.respond(json.dumps(self.data).encode())

    def respond(self, body: bytes, **headers: str) -> web.Response:
        """Bill the reply and send a body of any content."""
        self.bill()
        return web.Response(body=body, content_type="application/json", headers=headers)

    async def begin(self, length: int | None = None) -> web.StreamResponse:
        """Bill the reply and start a stream."""
        self.bill()
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.content_length = length
        await response.prepare(self.request)
        return response


Fault = Callable[[Exchange], Awaitable[web.StreamResponse]]
FAULTS: dict[str, Fault] = {}


def fault(act: Fault) -> Fault:
    """Register a fault under its function's name."""
    FAULTS[act.__name__] = act
    return act


def error_response(status: int, **headers: str) -> web.Response:
    """Return an error in the provider's format."""
    data = {"error": {"message": f"status {status}, sorry", "type": "error", "code": None}}
    return web.json_response(data, status=status, headers=headers)


@fault
async def too_many(exchange: Exchange) -> web.StreamResponse:
    """Return 429 without a Retry-After header."""
    return error_response(429)


@fault
async def too_many_wait_a_second(exchange: Exchange) -> web.StreamResponse:
    """Return 429 with a wait of one second."""
    return error_response(429, **{"Retry-After": "1"})


@fault
async def too_many_wait_until(exchange: Exchange) -> web.StreamResponse:
    """Return 429 with a date for the retry."""
    then = format_datetime(datetime.now(tz=UTC) + timedelta(seconds=1), usegmt=True)
    return error_response(429, **{"Retry-After": then})


@fault
async def too_many_wait_an_hour(exchange: Exchange) -> web.StreamResponse:
    """Return 429 with a wait that exceeds every timeout."""
    return error_response(429, **{"Retry-After": "3600"})


@fault
async def too_many_wait_not(exchange: Exchange) -> web.StreamResponse:
    """Return 429 and allow an immediate retry."""
    return error_response(429, **{"Retry-After": "0"})


@fault
async def internal_error(exchange: Exchange) -> web.StreamResponse:
    """Return 500."""
    return error_response(500)


@fault
async def overloaded(exchange: Exchange) -> web.StreamResponse:
    """Return 503."""
    return error_response(503)


@fault
async def bad_gateway(exchange: Exchange) -> web.StreamResponse:
    """Return the error page of a proxy."""
    page = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
    return web.Response(text=page, content_type="text/html", status=502)


@fault
async def web_page(exchange: Exchange) -> web.StreamResponse:
    """Return a web page with status 200."""
    return web.Response(text="<html><body>Please log in.</body></html>", content_type="text/html")


@fault
async def hung_up(exchange: Exchange) -> web.StreamResponse:
    """Drop the connection before the reply."""
    return _gone(exchange, web.Response())


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
async def cut_body(exchange: Exchange) -> web.StreamResponse:
    """Send half of the JSON as if it were complete."""
    body = json.dumps(exchange.data).encode()
    return exchange.respond(body[: len(body) // 2])


@fault
async def not_utf8(exchange: Exchange) -> web.StreamResponse:
    """Send text with a byte that isn't UTF-8."""
    exchange.reply.model += "\N{INVERTED EXCLAMATION MARK}"
    body = json.dumps(exchange.data, ensure_ascii=False)
    return exchange.respond(body.encode("latin-1"))


@fault
async def wrong_shape(exchange: Exchange) -> web.StreamResponse:
    """Send JSON that isn't a completion."""
    wrong = {"choices": {"text": "hello"}, "content": 7, "usage": exchange.usage}
    return exchange.respond(json.dumps(wrong).encode())


@fault
async def no_choice(exchange: Exchange) -> web.StreamResponse:
    """Send a completion without a choice, but with usage."""
    none = {"choices": [], "content": None, "usage": exchange.usage}
    return exchange.respond(json.dumps(none).encode())


@fault
async def cut_text(exchange: Exchange) -> web.StreamResponse:
    """Stop at the token limit, before the answer is complete."""
    exchange.reply.text = exchange.reply.text[: exchange.reply.text.find("{") + 2]
    exchange.reply.finish = "length"
    return exchange.answer()


@fault
async def refusal(exchange: Exchange) -> web.StreamResponse:
    """Refuse to answer."""
    exchange.reply.finish = "refusal"
    return exchange.respond(json.dumps(exchange.data).encode())


@fault
async def filtered(exchange: Exchange) -> web.StreamResponse:
    """Stop at a content filter."""
    exchange.reply.finish = "content_filter"
    return exchange.respond(json.dumps(exchange.data).encode())


@fault
async def silence(exchange: Exchange) -> web.StreamResponse:
    """Answer with an empty text."""
    exchange.reply.text, exchange.reply.tool = "", None
    return exchange.answer()


@fault
async def huge_text(exchange: Exchange) -> web.StreamResponse:
    """Answer after two million characters of filler."""
    exchange.reply.text = f"{'.' * HUGE}\n{exchange.reply.text}"
    exchange.reply.output_tokens += HUGE // LONG_TOKEN
    return exchange.answer()


@fault
async def other_model(exchange: Exchange) -> web.StreamResponse:
    """Answer from another model than requested."""
    exchange.reply.model = "something-smaller"
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
async def too_many_wait_for_ever(exchange: Exchange) -> web.StreamResponse:
    """Return 429 with a date beyond any calendar."""
    return error_response(429, **{"Retry-After": "Fri, 31 Dec 99999999999 23:59:59 GMT"})


@fault
async def error_as_success(exchange: Exchange) -> web.StreamResponse:
    """Return an error with status 200."""
    return web.json_response({"error": {"message": "sorry", "type": "error", "code": 503}})


@fault
async def no_http(exchange: Exchange) -> web.StreamResponse:
    """Send bytes that aren't HTTP."""
    if exchange.request.transport is not None:
        exchange.request.transport.write(b"\x16\x03\x01 HTTP/9.9 two hundred\r\nX: \xff\r\n\r\n")
    return _gone(exchange, web.Response())


@fault
async def zip_bomb(exchange: Exchange) -> web.StreamResponse:
    """Send a quarter of a gigabyte in a few hundred kilobytes."""
    return exchange.respond(BOMB, **{"Content-Encoding": "gzip"})


@fault
async def deep_json(exchange: Exchange) -> web.StreamResponse:
    """Send deeply nested JSON without an end."""
    return exchange.respond(b"[" * 200_000)


@fault
async def elsewhere(exchange: Exchange) -> web.StreamResponse:
    """Redirect the caller to another server."""
    host = f"http://localhost:{exchange.request.url.port}{exchange.wire.path}"
    return web.Response(status=307, headers={"Location": host})


@fault
async def lone_surrogate(exchange: Exchange) -> web.StreamResponse:
    """Put a lone surrogate into a text."""
    exchange.reply.text, exchange.reply.tool = f"\ud83d {exchange.reply.text}", None
    return exchange.respond(json.dumps(exchange.data).encode())


@fault
async def terminal_codes(exchange: Exchange) -> web.StreamResponse:
    """Put terminal control codes before the answer."""
    exchange.reply.text, exchange.reply.tool = f"{HOSTILE_TEXT}\n{exchange.reply.text}", None
    exchange.reply.model = f"tiny{HOSTILE_TEXT}"
    return exchange.answer()


@fault
async def rude(exchange: Exchange) -> web.StreamResponse:
    """Return an error message with terminal control codes."""
    error = {"message": f"no {HOSTILE_TEXT} capacity", "type": HOSTILE_TEXT, "code": HOSTILE_TEXT}
    return web.json_response({"error": error}, status=503)


@fault
async def two_answers(exchange: Exchange) -> web.StreamResponse:
    """Send a second answer beside the first."""
    exchange.reply.more = '{"decision": "reject", "message": "No.", "price": 1, "alice_gain": 1}'
    return exchange.respond(json.dumps(exchange.data).encode())


@fault
async def other_tool(exchange: Exchange) -> web.StreamResponse:
    """Call a tool that was not offered."""
    exchange.reply.tool = "transfer_money"
    return exchange.respond(json.dumps(exchange.data).encode())


async def _misreport(exchange: Exchange, prompt: Any, answer: Any) -> web.StreamResponse:
    exchange.reply.usage = prompt, answer
    return exchange.answer()


@fault
async def hardly_any_tokens(exchange: Exchange) -> web.StreamResponse:
    """Report one input token and no output tokens for a long request."""
    return await _misreport(exchange, 1, 0)


@fault
async def negative_tokens(exchange: Exchange) -> web.StreamResponse:
    """Report negative tokens."""
    return await _misreport(exchange, -1_000_000, -5)


@fault
async def absurd_tokens(exchange: Exchange) -> web.StreamResponse:
    """Report an absurd number of tokens."""
    return await _misreport(exchange, 10**15, 10**30)


@fault
async def tokens_in_words(exchange: Exchange) -> web.StreamResponse:
    """Report tokens that aren't numbers."""
    return await _misreport(exchange, "many", {"some": [None]})


@fault
async def echo(exchange: Exchange) -> web.StreamResponse:
    """Return an error that repeats the key."""
    message = f"not so fast, {exchange.secret}: {echoes(exchange.secret)}"
    return web.json_response({"error": {"message": message}}, status=503)


@fault
async def echo_in_page(exchange: Exchange) -> web.StreamResponse:
    """Return a page that repeats the key."""
    page = f"<html><body>{exchange.secret} {echoes(exchange.secret)}</body></html>"
    return web.Response(text=page, content_type="text/html", status=502)


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


LIES = frozenset({"hardly_any_tokens", "negative_tokens", "absurd_tokens", "tokens_in_words"})
"""Faults that report other tokens than billed."""
BOMB = gzip.compress(bytes(2**28), 9)
ALTERED = frozenset({"echo_in_answer", "lone_surrogate", "two_answers", "other_tool"})
"""Faults whose text may be recorded differently than it was sent: without the key, without lone
surrogates, or with a second answer."""
