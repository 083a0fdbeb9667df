"""A duplicated response never becomes the answer to another request."""

import asyncio
import json
import re

import pytest

from cheaptalk.models import ChatMessage, ModelCall
from cheaptalk.models.clients import AllModels

LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


def response(text: str, number: int) -> bytes:
    """Return a chat completion as raw HTTP."""
    choice = {"message": {"content": text}, "finish_reason": "stop"}
    completion = {"id": f"chatcmpl-{number:030}", "model": "tiny", "choices": [choice]}
    body = json.dumps(completion).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


class DuplicatingServer:
    """A raw server with persistent connections that repeats each response after a delay."""

    def __init__(self, delay: float) -> None:
        self.delay = delay
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
                answer = response(body["messages"][0]["content"], self.requests)
                writer.write(answer)
                self._copies.add(asyncio.create_task(self._send_again(writer, answer)))
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            writer.close()

    async def _send_again(self, writer: asyncio.StreamWriter, answer: bytes) -> None:
        await asyncio.sleep(self.delay)
        if not writer.is_closing():
            writer.write(answer)


@pytest.mark.parametrize("delay", [0, 0.02])
async def test_each_request_gets_its_own_response(delay: float) -> None:
    duplicating = DuplicatingServer(delay)
    server = await asyncio.start_server(duplicating.serve, "127.0.0.1", 0)
    model = f"vllm/tiny@http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    texts = ["one", "two", "three"]
    async with server, AllModels() as models:
        chats = [(ChatMessage(role="user", content=text),) for text in texts]
        calls = [ModelCall(model=model, messages=chat) for chat in chats]
        replies = [await models.call(call, "m", 30) for call in calls]
    assert [reply.text for reply in replies] == texts
    assert duplicating.requests == len({reply.id for reply in replies}) == 3
