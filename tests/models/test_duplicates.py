"""A duplicated response never becomes the answer to another request."""

import asyncio
import json
import re
from collections.abc import Iterator

from cheaptalk.models import ChatMessage, ModelCall, Reply
from cheaptalk.models.clients import open_models

LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


def response(text: str, number: int, stream: bool) -> bytes:
    """Return a chat completion as raw HTTP."""
    known = {"id": f"chatcmpl-{number:030}", "model": "tiny"}
    if not stream:
        choice = {"message": {"content": text}, "finish_reason": "stop"}
        body = json.dumps(known | {"choices": [choice]}).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        return head.encode() + b"\r\n\r\n" + body
    pieces = [
        json.dumps(known | {"choices": [{"delta": {"content": content}, "finish_reason": finish}]})
        for content, finish in ((text[:3], None), (text[3:], "stop"))
    ]
    events = [f"data: {piece}\n\n".encode() for piece in [*pieces, "[DONE]"]]
    chunks = b"".join(f"{len(event):x}\r\n".encode() + event + b"\r\n" for event in [*events, b""])
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked"
    return head.encode() + b"\r\n\r\n" + chunks


class DuplicatingServer:
    """A raw server with persistent connections that repeats each response after a delay."""

    def __init__(self, delay: float, stream: bool) -> None:
        self.delay = delay
        self.stream = stream
        self.requests = 0
        self._copies: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = LENGTH.search(head)
                assert length is not None
                body = json.loads(await reader.readexactly(int(length[1])))
                self.requests += 1
                await asyncio.sleep(1.2 * self.delay)  # the last copy overtakes this response
                answer = response(body["messages"][0]["content"], self.requests, self.stream)
                writer.write(answer)
                self._copies.add(asyncio.create_task(self._send_again(writer, answer)))
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            writer.close()

    async def _send_again(self, writer: asyncio.StreamWriter, answer: bytes) -> None:
        await asyncio.sleep(self.delay)
        if not writer.is_closing():
            writer.write(answer)


def texts(count: int) -> Iterator[str]:
    return (f"price {number}" for number in range(count))


async def replies(delay: float, stream: bool, count: int = 4) -> tuple[list[Reply], int]:
    """Return the replies to sequential calls and the number of requests received."""
    duplicating = DuplicatingServer(delay, stream)
    server = await asyncio.start_server(duplicating.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    settings = {"stream": True} if stream else {}
    async with server, open_models() as models:
        results = [
            await models.call(
                ModelCall.model_validate(
                    {
                        "model": f"vllm/tiny@http://127.0.0.1:{port}/v1",
                        "messages": [ChatMessage(role="user", content=text)],
                        "settings": settings,
                    }
                ),
                f"m/{text}",
                30,
            )
            for text in texts(count)
        ]
    return results, duplicating.requests


def test_each_request_gets_its_own_response() -> None:
    for delay in [0, 0.01, 0.1]:
        for stream in [False, True]:
            results, requests = asyncio.run(replies(delay, stream))
            assert [reply.text for reply in results] == [*texts(4)]
            assert requests == 4
            assert len({reply.id for reply in results}) == 4
