"""What can go wrong between a model and whoever calls it, as seen from the server's side."""

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
from tests.attack.wires import LONG_TOKEN, Said, Wire, fields

HUGE = 2_000_000
"""Characters of the longest text."""
PIECES = 20
"""Parts in which a slow reply comes."""
HOSTILE_TEXT = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil\u2066\u200b\r\x08\x00"
"""What would take over a terminal, or hide in a line."""


def digest(text: str | None) -> str | None:
    """By what the account knows a text; JSON by what it says, however it is spaced."""
    if text is None:
        return None
    given = fields(text)
    if isinstance(given, dict):
        text = json.dumps(given, sort_keys=True)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


@dataclass
class Sending:
    """What became of one sending of a call.

    Attributes:
        did: ``answer`` or the name of a fault.
        input_tokens, output_tokens: billed.
        said: the digest of the text that was sent as an answer; None where there was none.
        lied: whether the server said that it billed something else.
    """

    did: str
    input_tokens: int = 0
    output_tokens: int = 0
    said: str | None = None
    lied: bool = False


@dataclass
class Exchange:
    """A request that is to be answered, or not.

    Attributes:
        said: the answer, which a fault may change before it is sent.
        late: seconds that are more than the caller's deadline.
        secret: the key that the request came with.
    """

    request: web.Request
    sending: Sending
    wire: Wire
    said: Said
    late: float
    secret: str = ""

    @property
    def data(self) -> dict[str, Any]:
        """The answer as its wire writes it."""
        return self.wire.write(self.said)

    @property
    def usage(self) -> Any:
        """What the answer says that it took."""
        return self.data["usage"]

    def bill(self) -> None:
        """Charge for the answer."""
        self.sending.input_tokens = self.said.input_tokens
        self.sending.output_tokens = self.said.output_tokens
        self.sending.lied = self.said.usage is not None

    def answered(self) -> web.Response:
        """A reply that was billed and counts as an answer."""
        self.sending.said = digest(self.said.text)
        return self.sent(json.dumps(self.data).encode())

    def sent(self, body: bytes, **headers: str) -> web.Response:
        """A reply that was billed, whatever it holds."""
        self.bill()
        return web.Response(body=body, content_type="application/json", headers=headers)

    async def begun(self, length: int | None = None) -> web.StreamResponse:
        """The beginning of a reply that was billed."""
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


def complaint(status: int, **headers: str) -> web.Response:
    """An error in the provider's format."""
    data = {"error": {"message": f"status {status}, sorry", "type": "error", "code": None}}
    return web.json_response(data, status=status, headers=headers)


@fault
async def too_many(exchange: Exchange) -> web.StreamResponse:
    """Say that there are too many requests, and not when to come back."""
    return complaint(429)


@fault
async def too_many_wait_a_second(exchange: Exchange) -> web.StreamResponse:
    """Want to be left alone for a second."""
    return complaint(429, **{"Retry-After": "1"})


@fault
async def too_many_wait_until(exchange: Exchange) -> web.StreamResponse:
    """Want to be left alone until a date."""
    then = format_datetime(datetime.now(tz=UTC) + timedelta(seconds=1), usegmt=True)
    return complaint(429, **{"Retry-After": then})


@fault
async def too_many_wait_an_hour(exchange: Exchange) -> web.StreamResponse:
    """Want to be left alone for longer than anybody's patience."""
    return complaint(429, **{"Retry-After": "3600"})


@fault
async def too_many_wait_not(exchange: Exchange) -> web.StreamResponse:
    """Say to come back at once."""
    return complaint(429, **{"Retry-After": "0"})


@fault
async def internal_error(exchange: Exchange) -> web.StreamResponse:
    """Break down."""
    return complaint(500)


@fault
async def overloaded(exchange: Exchange) -> web.StreamResponse:
    """Have no capacity left."""
    return complaint(503)


@fault
async def bad_gateway(exchange: Exchange) -> web.StreamResponse:
    """Answer with the page of a proxy in front."""
    page = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
    return web.Response(text=page, content_type="text/html", status=502)


@fault
async def web_page(exchange: Exchange) -> web.StreamResponse:
    """Answer with a page that calls itself a success."""
    return web.Response(text="<html><body>Please log in.</body></html>", content_type="text/html")


@fault
async def hung_up(exchange: Exchange) -> web.StreamResponse:
    """Drop the connection before a reply."""
    return _gone(exchange, web.Response())


@fault
async def broken_off(exchange: Exchange) -> web.StreamResponse:
    """Drop the connection in the middle of the reply."""
    body = json.dumps(exchange.data).encode()
    response = await exchange.begun(len(body))
    await response.write(body[: len(body) // 2])
    return _gone(exchange, response)


def _gone(exchange: Exchange, response: web.StreamResponse) -> web.StreamResponse:
    if exchange.request.transport is not None:
        exchange.request.transport.abort()
    return response


@fault
async def cut_body(exchange: Exchange) -> web.StreamResponse:
    """Send half of the JSON as if it were all."""
    body = json.dumps(exchange.data).encode()
    return exchange.sent(body[: len(body) // 2])


@fault
async def not_utf8(exchange: Exchange) -> web.StreamResponse:
    """Send text with a byte that no text has."""
    exchange.said.model += "\N{INVERTED EXCLAMATION MARK}"
    body = json.dumps(exchange.data, ensure_ascii=False)
    return exchange.sent(body.encode("latin-1"))


@fault
async def wrong_shape(exchange: Exchange) -> web.StreamResponse:
    """Send JSON that is no completion."""
    wrong = {"choices": {"text": "hello"}, "content": 7, "usage": exchange.usage}
    return exchange.sent(json.dumps(wrong).encode())


@fault
async def no_choice(exchange: Exchange) -> web.StreamResponse:
    """Send a completion without a choice, and the bill."""
    none = {"choices": [], "content": None, "usage": exchange.usage}
    return exchange.sent(json.dumps(none).encode())


@fault
async def cut_text(exchange: Exchange) -> web.StreamResponse:
    """Stop at the greatest number of tokens, before the answer is complete."""
    exchange.said.text = exchange.said.text[: exchange.said.text.find("{") + 2]
    exchange.said.finish = "length"
    return exchange.answered()


@fault
async def refusal(exchange: Exchange) -> web.StreamResponse:
    """Let the model decline."""
    exchange.said.finish = "refusal"
    return exchange.sent(json.dumps(exchange.data).encode())


@fault
async def filtered(exchange: Exchange) -> web.StreamResponse:
    """Let a filter stop the answer."""
    exchange.said.finish = "content_filter"
    return exchange.sent(json.dumps(exchange.data).encode())


@fault
async def silence(exchange: Exchange) -> web.StreamResponse:
    """Answer with no text at all."""
    exchange.said.text, exchange.said.tool = "", None
    return exchange.answered()


@fault
async def huge_text(exchange: Exchange) -> web.StreamResponse:
    """Answer after two million characters of other things."""
    exchange.said.text = f"{'.' * HUGE}\n{exchange.said.text}"
    exchange.said.output_tokens += HUGE // LONG_TOKEN
    return exchange.answered()


@fault
async def other_model(exchange: Exchange) -> web.StreamResponse:
    """Answer with another model than was asked for."""
    exchange.said.model = "something-smaller"
    return exchange.answered()


@fault
async def dripping(exchange: Exchange) -> web.StreamResponse:
    """Send the reply bit by bit."""
    body = json.dumps(exchange.data).encode()
    exchange.sending.said = digest(exchange.said.text)
    response = await exchange.begun()
    size = len(body) // PIECES + 1
    for start in range(0, len(body), size):
        await response.write(body[start : start + size])
        await asyncio.sleep(0.01)
    return response


@fault
async def streamed(exchange: Exchange) -> web.StreamResponse:
    """Send the reply as a stream of events, which nobody asked for."""
    assert exchange.wire.stream is not None
    exchange.sending.said = digest(exchange.said.text)
    exchange.bill()
    return web.Response(body=exchange.wire.stream(exchange.said), content_type="text/event-stream")


@fault
async def too_late(exchange: Exchange) -> web.StreamResponse:
    """Think for longer than anybody waits, and bill for it."""
    exchange.bill()
    await asyncio.sleep(exchange.late)
    return exchange.answered()


@fault
async def too_many_wait_for_ever(exchange: Exchange) -> web.StreamResponse:
    """Want to be left alone until a year that no calendar has."""
    return complaint(429, **{"Retry-After": "Fri, 31 Dec 99999999999 23:59:59 GMT"})


@fault
async def error_as_success(exchange: Exchange) -> web.StreamResponse:
    """Complain with the status of a success."""
    return web.json_response({"error": {"message": "sorry", "type": "error", "code": 503}})


@fault
async def no_http(exchange: Exchange) -> web.StreamResponse:
    """Answer with bytes that are no reply at all."""
    if exchange.request.transport is not None:
        exchange.request.transport.write(b"\x16\x03\x01 HTTP/9.9 two hundred\r\nX: \xff\r\n\r\n")
    return _gone(exchange, web.Response())


@fault
async def zip_bomb(exchange: Exchange) -> web.StreamResponse:
    """Send a quarter of a gigabyte in a few hundred kilobytes."""
    return exchange.sent(BOMB, **{"Content-Encoding": "gzip"})


@fault
async def deep_json(exchange: Exchange) -> web.StreamResponse:
    """Send JSON that is nested without end."""
    return exchange.sent(b"[" * 200_000)


@fault
async def elsewhere(exchange: Exchange) -> web.StreamResponse:
    """Send the caller to another server."""
    host = f"http://localhost:{exchange.request.url.port}{exchange.wire.path}"
    return web.Response(status=307, headers={"Location": host})


@fault
async def lone_surrogate(exchange: Exchange) -> web.StreamResponse:
    """Put half a character into a text."""
    exchange.said.text, exchange.said.tool = f"\ud83d {exchange.said.text}", None
    return exchange.sent(json.dumps(exchange.data).encode())


@fault
async def terminal_codes(exchange: Exchange) -> web.StreamResponse:
    """Say what would take over a terminal, before the answer."""
    exchange.said.text, exchange.said.tool = f"{HOSTILE_TEXT}\n{exchange.said.text}", None
    exchange.said.model = f"tiny{HOSTILE_TEXT}"
    return exchange.answered()


@fault
async def rude(exchange: Exchange) -> web.StreamResponse:
    """Complain in words that would take over a terminal."""
    error = {"message": f"no {HOSTILE_TEXT} capacity", "type": HOSTILE_TEXT, "code": HOSTILE_TEXT}
    return web.json_response({"error": error}, status=503)


@fault
async def two_answers(exchange: Exchange) -> web.StreamResponse:
    """Say something else beside the answer."""
    exchange.said.more = '{"decision": "reject", "message": "No.", "price": 1, "alice_gain": 1}'
    return exchange.sent(json.dumps(exchange.data).encode())


@fault
async def other_tool(exchange: Exchange) -> web.StreamResponse:
    """Call a tool that was not offered."""
    exchange.said.tool = "transfer_money"
    return exchange.sent(json.dumps(exchange.data).encode())


async def _lie(exchange: Exchange, asked: Any, answered: Any) -> web.StreamResponse:
    exchange.said.usage = asked, answered
    return exchange.answered()


@fault
async def hardly_any_tokens(exchange: Exchange) -> web.StreamResponse:
    """Say that a long question took one token and its answer none."""
    return await _lie(exchange, 1, 0)


@fault
async def negative_tokens(exchange: Exchange) -> web.StreamResponse:
    """Give tokens back."""
    return await _lie(exchange, -1_000_000, -5)


@fault
async def absurd_tokens(exchange: Exchange) -> web.StreamResponse:
    """Say that a few words took more tokens than there are words in the world."""
    return await _lie(exchange, 10**15, 10**30)


@fault
async def tokens_in_words(exchange: Exchange) -> web.StreamResponse:
    """Say how many tokens in a form that is no number."""
    return await _lie(exchange, "many", {"some": [None]})


@fault
async def echo(exchange: Exchange) -> web.StreamResponse:
    """Complain about the key, and repeat it."""
    said = f"not so fast, {exchange.secret}: {echoes(exchange.secret)}"
    return web.json_response({"error": {"message": said}}, status=503)


@fault
async def echo_in_page(exchange: Exchange) -> web.StreamResponse:
    """Answer with a page that repeats the key."""
    page = f"<html><body>{exchange.secret} {echoes(exchange.secret)}</body></html>"
    return web.Response(text=page, content_type="text/html", status=502)


@fault
async def echo_in_answer(exchange: Exchange) -> web.StreamResponse:
    """Repeat the key beside the answer, and as the model's name."""
    words = f"Your key is {exchange.secret}, {echoes(exchange.secret)}.\n"
    exchange.said.text, exchange.said.tool = words + exchange.said.text, None
    exchange.said.output_tokens += len(words) // 8
    exchange.said.model = f"tiny-{exchange.secret}"
    return exchange.sent(json.dumps(exchange.data).encode())


def echoes(secret: str) -> str:
    """A secret as it may come back: in every form that :mod:`tests.attack.secrets` looks for."""
    return " ".join(form.decode("latin-1") for form in forms(secret))


LIES = frozenset({"hardly_any_tokens", "negative_tokens", "absurd_tokens", "tokens_in_words"})
"""Faults that say other tokens than were billed."""
BOMB = gzip.compress(bytes(2**28), 9)
ALTERED = frozenset({"echo_in_answer", "lone_surrogate", "two_answers", "other_tool"})
"""Faults whose text may be recorded in other words than it was sent in: without the key, without
halves of characters, or with what stands beside it."""
