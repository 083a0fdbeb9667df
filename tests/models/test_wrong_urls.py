"""Errors for wrong URLs state the problem and suggest a fix."""

import asyncio
import re
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from cheaptalk.models import Failure, ModelName, Reply
from cheaptalk.models.http.failures import hinted
from cheaptalk.models.http.transport import HttpTransport, lost_connection

PEM = Path(__file__).with_name("localhost.pem")
"""A self-signed certificate of localhost and its key, which protects nothing."""
NGINX = (
    "<html>\n<head><title>400 The plain HTTP request was sent to HTTPS port</title></head></html>"
)
GO_SERVER = "Client sent an HTTP request to an HTTPS server.\n"
ALERT = b"\x15\x03\x03\x00\x02\x02\x46"
"""The TLS alert in response to a request without TLS."""


def posted(url: str, *, tls: bool = False, say: web.Response | bytes = b"") -> Reply:
    """Return the reply of a server with a fixed response; ``{port}`` stands for its port."""

    async def post(port: int) -> Reply:
        wire, address = HttpTransport(), url.format(port=port)
        try:
            reply = await wire.post(address, {}, {}, None, 5, lambda data: Reply(text=str(data)))
        finally:
            await wire.close()
        return hinted(reply, ModelName.parse(f"vllm/tiny@{address}"), address)

    if isinstance(say, bytes):
        return asyncio.run(_with_raw_server(say, tls, post))
    return asyncio.run(_with_site(say, tls, post))


async def _with_site(
    say: web.Response, tls: bool, post: Callable[[int], Awaitable[Reply]]
) -> Reply:
    async def answer(_: web.BaseRequest) -> web.Response:
        return say

    server = await asyncio.get_running_loop().create_server(
        web.Server(answer), "127.0.0.1", 0, ssl=_context() if tls else None
    )
    async with server:
        return await post(server.sockets[0].getsockname()[1])


async def _with_raw_server(say: bytes, tls: bool, post: Callable[[int], Awaitable[Reply]]) -> Reply:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(5)
        writer.write(say)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=_context() if tls else None)
    async with server:
        return await post(server.sockets[0].getsockname()[1])


def _context() -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(PEM)
    return context


def page(status: int, text: str) -> web.Response:
    return web.Response(text=text, status=status, content_type="text/html")


HTML = "<!DOCTYPE html>\n<html><head><title> Not <Found> </title></head><body>...</body></html>"
V1_HINT = r" \(the URL usually ends in /v1, and calls are sent to http://127.0.0.1:\d+/\)"
UNTRUSTED = (
    r"the certificate of 127.0.0.1:\d+ is not trusted \(self[- ]signed certificate\): set its "
    "authority's file in SSL_CERT_FILE, or use the host name in the certificate"
)
NO_SERVER = re.escape(
    "no server answers at 127.0.0.1:9 (Connection refused): check that it is running and that "
    "the port is correct"
)
HTTPS_HINT = "; if it uses https, write https:// in the URL"


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # a failed handshake leaves its socket open
@pytest.mark.parametrize(
    ("url", "server", "error"),
    [
        ("https://127.0.0.1:{port}/v1", {"say": page(200, "")},
         r"the server at 127.0.0.1:\d+ does not use https: write http:// in the URL"),
        ("http://127.0.0.1:{port}/v1", {"tls": True},
         "connection failed: the server closed the connection without a response" + HTTPS_HINT),
        ("http://127.0.0.1:{port}/v1", {"say": ALERT},
         "connection failed: the server's response is not HTTP" + HTTPS_HINT),
        ("http://127.0.0.1:{port}/v1", {"say": page(400, NGINX)},
         "status 400: the server requires https: write https:// in the URL"),
        ("http://127.0.0.1:{port}/v1", {"say": page(400, GO_SERVER)},
         "status 400: the server requires https: write https:// in the URL"),
        ("https://127.0.0.1:{port}/v1", {"tls": True},
         UNTRUSTED),
        ("http://127.0.0.1:9/v1", {},
         NO_SERVER),
        ("http://127.0.0.1:{port}/", {"say": page(404, HTML)},
         'status 404: a web page, "Not"' + V1_HINT),
        ("http://127.0.0.1:{port}/", {"say": page(405, "not allowed")},
         "status 405: not allowed" + V1_HINT),
        ("http://127.0.0.1:{port}/", {"say": page(200, HTML)},
         'the server answers with a web page, "Not"' + V1_HINT),
        ("http://127.0.0.1:{port}/v1", {"say": page(404, HTML)}, 'status 404: a web page, "Not"'),
    ],
)  # fmt: skip
def test_wrong_url_error_suggests_fix(
    url: str, server: dict[str, web.Response | bytes | bool], error: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("cheaptalk.models.http.transport.proxy_of", lambda url: None)
    reply = posted(url, **server)  # type: ignore[arg-type]
    assert reply.failure is Failure.PROVIDER_ERROR
    assert re.fullmatch(error, reply.detail or ""), reply.detail


def test_unknown_host_error_names_host() -> None:
    key = aiohttp.client_reqrep.ConnectionKey("no.invalid", 80, False, True, None, None, None)
    error = aiohttp.ClientConnectorDNSError(key, OSError(-2, "Name or service not known"))
    reply = lost_connection(error, str(URL("http://no.invalid/v1")))
    assert reply.detail == (
        'the server "no.invalid" was not found (Name or service not known): check URL and network'
    )
    assert (reply.retry, reply.unreached) == (True, True), "the network may be away for a moment"
