"""Errors for wrong URLs state the problem and suggest a fix."""

import asyncio
import re
import ssl
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

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


async def posted(url: str, *, tls: bool = False, say: web.Response | bytes = b"") -> Reply:
    """Return the reply of a server with a fixed response; ``{port}`` stands for its port."""

    async def respond(_: web.BaseRequest) -> web.Response:
        assert isinstance(say, web.Response)
        return say

    async def respond_raw(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert isinstance(say, bytes)
        await reader.read(5)
        writer.write(say)
        writer.close()

    wire, context = HttpTransport(), _context() if tls else None
    if isinstance(say, bytes):
        server = await asyncio.start_server(respond_raw, "127.0.0.1", 0, ssl=context)
    else:
        loop, responder = asyncio.get_running_loop(), web.Server(respond)
        server = await loop.create_server(responder, "127.0.0.1", 0, ssl=context)
    async with server:
        address = url.format(port=server.sockets[0].getsockname()[1])
        reply = await wire.post(address, {}, {}, None, 5, lambda data: Reply(text=str(data)))
        await wire.close()
    return hinted(reply, ModelName.parse(f"vllm/tiny@{address}"), address)


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
async def test_wrong_url_error_suggests_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cheaptalk.models.http.transport.proxy_of", lambda url: None)
    http, https = "http://127.0.0.1:{port}/v1", "https://127.0.0.1:{port}/v1"
    root = "http://127.0.0.1:{port}/"
    no_https = r"the server at 127.0.0.1:\d+ does not use https: write http:// in the URL"
    needs_https = "status 400: the server requires https: write https:// in the URL"
    closed = f"connection failed: the server closed the connection without a response{HTTPS_HINT}"
    no_http = f"connection failed: the server's response is not HTTP{HTTPS_HINT}"
    answered = f'the server answers with a web page, "Not"{V1_HINT}'
    cases: list[tuple[str, dict[str, Any], str]] = [
        (https, {"say": page(200, "")}, no_https),
        (http, {"tls": True}, closed),
        (http, {"say": ALERT}, no_http),
        (http, {"say": page(400, NGINX)}, needs_https),
        (http, {"say": page(400, GO_SERVER)}, needs_https),
        (https, {"tls": True}, UNTRUSTED),
        ("http://127.0.0.1:9/v1", {}, NO_SERVER),
        (root, {"say": page(404, HTML)}, f'status 404: a web page, "Not"{V1_HINT}'),
        (root, {"say": page(405, "not allowed")}, f"status 405: not allowed{V1_HINT}"),
        (root, {"say": page(200, HTML)}, answered),
        (http, {"say": page(404, HTML)}, 'status 404: a web page, "Not"'),
    ]
    for url, server, error in cases:
        reply = await posted(url, **server)
        assert reply.failure is Failure.PROVIDER_ERROR
        assert re.fullmatch(error, reply.detail or ""), reply.detail


def test_unknown_host_error_names_host() -> None:
    key = aiohttp.client_reqrep.ConnectionKey("no.invalid", 80, False, True, None, None, None)
    error = aiohttp.ClientConnectorDNSError(key, OSError(-2, "Name or service not known"))
    reply = lost_connection(error, "http://no.invalid/v1")
    assert reply.detail == (
        'the server "no.invalid" was not found (Name or service not known): check URL and network'
    )
    assert (reply.retry, reply.unreached) == (True, True), "the network may be away for a moment"
