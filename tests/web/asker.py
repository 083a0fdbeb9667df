"""Requests sent directly to an application, in ways that no client would."""

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote_from_bytes

import httpx2
from hypothesis import strategies as st

Result = TypeVar("Result")
SCRIPT = "<script>alert('seen')</script>"
PROPER = {200, 303, 400, 403, 404, 405, 409, 410, 413, 415}
FORM = "application/x-www-form-urlencoded"


class Reply(NamedTuple):
    status: int
    headers: Mapping[str, str]
    text: str


class DirectClient:
    """An application that stays open between examples, and the means to send it any request.

    Requests go straight to the application, in ways that no client would send them.
    """

    def __init__(self, runner: asyncio.Runner, client: httpx2.AsyncClient) -> None:
        self.runner = runner
        transport: Any = client._transport
        self.app: Any = transport.app

    def run(self, work: Awaitable[Result]) -> Result:
        async def main() -> Result:
            return await work

        return self.runner.run(main())

    def request(self, method: str, path: str, body: bytes = b"", **headers: str) -> Reply:
        """Send a request, and check that the response is a proper one."""
        overrides = {name.replace("_", "-"): text for name, text in headers.items()}
        named = {"host": "test", "content-type": FORM} | overrides
        reply = self.run(self._send(method, path, body, named))
        assert reply.status in PROPER, reply
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert SCRIPT not in reply.text
        assert SCRIPT not in str(reply.headers)
        return reply

    async def _send(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Reply:
        sent: list[Any] = []
        waiting = iter([{"type": "http.request", "body": body}])

        async def receive() -> Any:
            return next(waiting, {"type": "http.disconnect"})

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(http_scope(method, path, headers), receive, send)
        body = b"".join(item.get("body", b"") for item in sent)
        fields = {name.decode(): text.decode() for name, text in sent[0]["headers"]}
        return Reply(sent[0]["status"], fields, body.decode(errors="replace"))


def http_scope(method: str, path: str, headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the ASGI scope of a request."""
    route, _, query = path.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": route,
        "raw_path": route.encode(errors="replace"),
        "query_string": query.encode(errors="replace"),
        "root_path": "",
        "headers": [
            (name.encode(), text.encode("latin-1", "replace")) for name, text in headers.items()
        ],
        "client": ("127.0.0.1", 1),
        "server": ("test", 80),
    }


NASTY = [
    SCRIPT, f'"{SCRIPT}', "\x00", "\x1b[2J\x07\r\n\u2028", "\u202e\ufeff", "NaN", "-inf", "1e999",
    "9" * 5_000, "-1", "0", "1_0", "1,5", "\u0661", "[1, 2]", '{"a": {"b": []}}', "null", "true",
    "player_1: 9", ":", "a: b: c", "x" * 50_000, "{{ 7 * 7 }}", "'; drop table matches; --", "",
]  # fmt: skip
WILD = st.one_of(
    st.sampled_from([item.encode() for item in NASTY]), st.text(max_size=30).map(str.encode),
    st.binary(max_size=20), st.just(b"\xed\xa0\x80"), st.integers().map(lambda item: b"%d" % item),
)  # fmt: skip
"""Field values: numbers, words, HTML, control characters, halves of characters."""


def encode_form(pairs: list[tuple[str, bytes]]) -> bytes:
    return "&".join(
        f"{quote_from_bytes(name.encode())}={quote_from_bytes(value)}" for name, value in pairs
    ).encode()
