"""Whatever is asked of an application, straight away, as no client would send it."""

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


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    text: str


class Asker:
    """An application that stays from one example to the next, and the way to ask it for anything.

    What is asked for goes straight to the application, as no client would send it.
    """

    def __init__(self, runner: asyncio.Runner, client: httpx2.AsyncClient) -> None:
        self.runner = runner
        transport: Any = client._transport
        self.app: Any = transport.app

    def run(self, doing: Awaitable[Result]) -> Result:
        """What comes of doing something here."""

        async def done() -> Result:
            return await doing

        return self.runner.run(done())

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> Answer:
        """Ask for something, and check that the answer is a proper one."""
        given = {name.replace("_", "-"): text for name, text in headers.items()}
        named = {"host": "test", "content-type": FORM} | given
        answer = self.run(self._ask(method, path, body, named))
        assert answer.status in PROPER, answer
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert SCRIPT not in answer.text
        assert SCRIPT not in str(answer.headers)
        return answer

    async def _ask(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        sent: list[Any] = []
        waiting = iter([{"type": "http.request", "body": body}])

        async def receive() -> Any:
            return next(waiting, {"type": "http.disconnect"})

        async def send(message: Any) -> None:
            sent.append(message)

        where, _, query = path.partition("?")
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
            "scheme": "http", "path": where, "raw_path": where.encode(errors="replace"),
            "query_string": query.encode(errors="replace"), "root_path": "",
            "headers": [
                (name.encode(), text.encode("latin-1", "replace"))
                for name, text in headers.items()
            ],
            "client": ("127.0.0.1", 1), "server": ("test", 80),
        }  # fmt: skip
        await self.app(scope, receive, send)
        body = b"".join(item.get("body", b"") for item in sent)
        told = {name.decode(): text.decode() for name, text in sent[0]["headers"]}
        return Answer(sent[0]["status"], told, body.decode(errors="replace"))


NASTY = [
    SCRIPT, f'"{SCRIPT}', "\x00", "\x1b[2J\x07\r\n\u2028", "\u202e\ufeff", "NaN", "-inf", "1e999",
    "9" * 5_000, "-1", "0", "1_0", "1,5", "\u0661", "[1, 2]", '{"a": {"b": []}}', "null", "true",
    "player_1: 9", ":", "a: b: c", "x" * 50_000, "{{ 7 * 7 }}", "'; drop table matches; --", "",
]  # fmt: skip
WILD = st.one_of(
    st.sampled_from([item.encode() for item in NASTY]), st.text(max_size=30).map(str.encode),
    st.binary(max_size=20), st.just(b"\xed\xa0\x80"), st.integers().map(lambda item: b"%d" % item),
)  # fmt: skip
"""What stands in a field: numbers, words, HTML, control characters, halves of characters."""


def encoded(pairs: list[tuple[str, bytes]]) -> bytes:
    """A form as browsers send it."""
    return "&".join(
        f"{quote_from_bytes(name.encode())}={quote_from_bytes(value)}" for name, value in pairs
    ).encode()
