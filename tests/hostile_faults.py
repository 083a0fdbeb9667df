"""What can go wrong between a model and whoever calls it, as seen from the server's side."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

from aiohttp import web

HUGE = 2_000_000
"""Characters of the longest text."""
PIECES = 20
"""Parts in which a slow reply comes."""


def digest(text: str | None) -> str | None:
    """By what the account knows a text."""
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()


@dataclass
class Sending:
    """What became of one sending of a call.

    Attributes:
        did: ``answer`` or the name of a fault.
        input_tokens, output_tokens: billed.
        said: the digest of the text that was sent as an answer; None where there was none.
    """

    did: str
    input_tokens: int = 0
    output_tokens: int = 0
    said: str | None = None


@dataclass
class Exchange:
    """A request that is to be answered, or not."""

    request: web.Request
    sending: Sending
    data: dict[str, Any]
    late: float

    @property
    def choice(self) -> dict[str, Any]:
        """The completion's one choice."""
        choice: dict[str, Any] = self.data["choices"][0]
        return choice

    @property
    def text(self) -> str:
        """The answer, or the arguments of the tool that it calls."""
        message = self.choice["message"]
        if message.get("tool_calls"):
            return str(message["tool_calls"][0]["function"]["arguments"])
        return str(message["content"])

    @text.setter
    def text(self, text: str) -> None:
        message = self.choice["message"]
        if message.get("tool_calls"):
            message["tool_calls"][0]["function"]["arguments"] = text
        else:
            message["content"] = text

    def bill(self) -> None:
        """Charge for the completion as it is now."""
        usage = self.data["usage"]
        self.sending.input_tokens = usage["prompt_tokens"]
        self.sending.output_tokens = usage["completion_tokens"]

    def answered(self) -> web.Response:
        """The completion as a reply that was billed and counts as an answer."""
        self.sending.said = digest(self.text)
        return self.sent(json.dumps(self.data).encode())

    def sent(self, body: bytes) -> web.Response:
        """A reply that was billed, whatever it holds."""
        self.bill()
        return web.Response(body=body, content_type="application/json")

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
    exchange.text += "\N{INVERTED EXCLAMATION MARK}"
    body = json.dumps(exchange.data, ensure_ascii=False)
    return exchange.sent(body.encode("latin-1"))


@fault
async def wrong_shape(exchange: Exchange) -> web.StreamResponse:
    """Send JSON that is no completion."""
    usage = exchange.data["usage"]
    return exchange.sent(json.dumps({"choices": {"text": "hello"}, "usage": usage}).encode())


@fault
async def no_choice(exchange: Exchange) -> web.StreamResponse:
    """Send a completion without a choice, and the bill."""
    return exchange.sent(json.dumps(exchange.data | {"choices": []}).encode())


@fault
async def cut_text(exchange: Exchange) -> web.StreamResponse:
    """Stop at the greatest number of tokens, before the answer is complete."""
    exchange.text = exchange.text[: exchange.text.find("{") + 2]
    exchange.choice["finish_reason"] = "length"
    return exchange.answered()


@fault
async def refusal(exchange: Exchange) -> web.StreamResponse:
    """Let the model decline."""
    declined = {"role": "assistant", "content": None, "refusal": "I would rather not."}
    exchange.choice["message"] = declined
    return exchange.sent(json.dumps(exchange.data).encode())


@fault
async def filtered(exchange: Exchange) -> web.StreamResponse:
    """Let a filter stop the answer."""
    exchange.choice["message"] = {"role": "assistant", "content": None}
    exchange.choice["finish_reason"] = "content_filter"
    return exchange.sent(json.dumps(exchange.data).encode())


@fault
async def silence(exchange: Exchange) -> web.StreamResponse:
    """Answer with no text at all."""
    exchange.choice["message"] = {"role": "assistant", "content": ""}
    exchange.choice["finish_reason"] = "stop"
    return exchange.answered()


@fault
async def huge_text(exchange: Exchange) -> web.StreamResponse:
    """Answer after two million characters of other things."""
    exchange.text = f"{'.' * HUGE}\n{exchange.text}"
    usage = exchange.data["usage"]
    usage["completion_tokens"] += HUGE // 32
    usage["total_tokens"] += HUGE // 32
    return exchange.answered()


@fault
async def other_model(exchange: Exchange) -> web.StreamResponse:
    """Answer with another model than was asked for."""
    exchange.data["model"] = "something-smaller"
    return exchange.answered()


@fault
async def dripping(exchange: Exchange) -> web.StreamResponse:
    """Send the reply bit by bit."""
    body = json.dumps(exchange.data).encode()
    exchange.sending.said = digest(exchange.text)
    response = await exchange.begun()
    size = len(body) // PIECES + 1
    for start in range(0, len(body), size):
        await response.write(body[start : start + size])
        await asyncio.sleep(0.01)
    return response


@fault
async def streamed(exchange: Exchange) -> web.StreamResponse:
    """Send the reply as a stream of events, which nobody asked for."""
    choice = exchange.choice
    delta = {"index": 0, "delta": choice.pop("message"), "finish_reason": None}
    last = choice | {"delta": {}}
    common = {key: exchange.data[key] for key in ("id", "created", "model")}
    common["object"] = "chat.completion.chunk"
    chunks = [common | {"choices": [delta]}, common | {"choices": [last]}]
    chunks.append(common | {"choices": [], "usage": exchange.data["usage"]})
    exchange.sending.said = digest(str(delta["delta"]["content"]))
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    exchange.bill()
    body = "".join([*lines, "data: [DONE]\n\n"])
    return web.Response(text=body, content_type="text/event-stream")


@fault
async def too_late(exchange: Exchange) -> web.StreamResponse:
    """Think for longer than anybody waits, and bill for it."""
    exchange.bill()
    await asyncio.sleep(exchange.late)
    return exchange.answered()
