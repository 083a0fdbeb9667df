"""The documented nginx setup in front of the rooms: streams, addresses and timeouts."""

import asyncio
import os
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import pytest

from cheaptalk.loopback import listening
from cheaptalk.web.rooms.connections import DESCRIPTORS, Streams
from tests.web.served import served
from tests.web.walker import Rooms

DOCS = Path(__file__).parents[2] / "docs" / "people" / "play-in-the-browser.md"
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
needs_nginx = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
ANN, BOB = "127.0.0.5", "127.0.0.6"
"""Addresses of visitors; on Linux, all of 127.0.0.0/8 are local."""


def free_port() -> int:
    with listening(0) as listener:
        port: int = listener.getsockname()[1]
        return port


def documented_config(port: int, upstream: int) -> str:
    """Return the documented configuration for another port, without its certificate."""
    block = str(re.findall(r"```nginx\n(.*?)```", DOCS.read_text(), re.DOTALL)[0])
    changes = [
        (r"listen .*;", f"listen 127.0.0.1:{port};"), (r" *ssl_certificate.*\n", ""),
        (r"127\.0\.0\.1:8643", f"127.0.0.1:{upstream}"), (r"_timeout 10s", "_timeout 1s"),
        (r"server_name .*;", "server_name 127.0.0.1;"),
    ]  # fmt: skip
    for before, after in changes:
        block, count = re.subn(before, after, block)
        assert count, before
    return block


@asynccontextmanager
async def proxied(folder: Path) -> AsyncIterator[tuple[Rooms, int]]:
    """Serve rooms behind nginx; yield them and the port of nginx."""
    port = free_port()
    async with served(folder, f"http://127.0.0.1:{port}") as rooms:
        upstream = rooms.client.base_url.port
        assert upstream is not None
        assert NGINX is not None
        paths = "\n".join(f"{item}_temp_path {folder}/{item};" for item in TEMPORARY)
        user = "user root;" if os.geteuid() == 0 else ""
        (folder / "nginx.conf").write_text(
            f"{user} daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;\n"
            f"events {{ worker_connections 64; }}\nhttp {{ {paths}\n"
            f"{documented_config(port, upstream)} }}\n"
        )
        process = await asyncio.create_subprocess_exec(
            NGINX, "-e", f"{folder}/error.log", "-c", f"{folder}/nginx.conf"
        )
        try:
            async with asyncio.timeout(30):
                while True:
                    assert process.returncode is None, (folder / "error.log").read_text()
                    with suppress(OSError):
                        _, writer = await asyncio.open_connection("127.0.0.1", port)
                        writer.close()
                        break
                    await asyncio.sleep(0.02)
            yield rooms, port
        finally:
            process.terminate()
            await process.wait()


def visitor(address: str) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(local_addr=(address, 0), force_close=True)
    return aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(20))


@pytest.fixture
def one_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit each address to one stream."""
    monkeypatch.setattr(Streams.__init__, "__defaults__", (8, 1))


@needs_nginx
async def test_nginx_passes_events_immediately(tmp_path: Path) -> None:
    async with proxied(tmp_path) as (rooms, port), visitor(ANN) as ann:
        walker = await rooms.sit("bargaining")
        await walker.until(">Your turn<")
        url = f"http://127.0.0.1:{port}{walker.path}/events?after={walker.visitor.notifier.number}"
        async with ann.get(url) as stream, asyncio.timeout(20):
            assert stream.headers["Content-Type"].startswith("text/event-stream")
            await stream.content.readline()
            walker.visitor.notifier.notify()
            while b"moved" not in await stream.content.readline():
                assert not stream.content.at_eof()


@needs_nginx
async def test_visitors_behind_nginx_are_limited_by_their_own_addresses(
    tmp_path: Path, one_stream: None
) -> None:
    async with proxied(tmp_path) as (rooms, port), visitor(ANN) as ann, visitor(BOB) as bob:
        tables = [await rooms.sit("bargaining") for _ in range(2)]
        urls = [f"http://127.0.0.1:{port}{table.path}/events" for table in tables]
        forged = {"X-Forwarded-For": "203.0.113.9"}
        async with (
            ann.get(urls[0]) as first,
            ann.get(urls[1], headers=forged) as second,
            bob.get(urls[1]) as third,
        ):
            assert [item.status for item in (first, second, third)] == [200, 429, 200]


@needs_nginx
async def test_nginx_closes_connections_whose_header_never_ends(tmp_path: Path) -> None:
    async with proxied(tmp_path) as (_, port), asyncio.timeout(30):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        with suppress(ConnectionResetError):
            await reader.read()
        writer.close()


async def test_forwarded_headers_are_ignored_without_a_proxy(
    tmp_path: Path, one_stream: None
) -> None:
    async with served(tmp_path) as rooms, visitor("127.0.0.1") as ann:
        base = rooms.url
        tables = [await rooms.sit("bargaining") for _ in range(2)]
        urls = [f"{base}{table.path}/events" for table in tables]
        forged = {"X-Forwarded-For": "203.0.113.9", "Forwarded": "for=203.0.113.9"}
        async with ann.get(urls[0]) as first, ann.get(urls[1], headers=forged) as second:
            assert [item.status for item in (first, second)] == [200, 429]


def test_documented_unit_allows_enough_descriptors() -> None:
    unit = (DOCS.parent / "run-a-human-study.md").read_text()
    (allowed,) = re.findall(r"^LimitNOFILE=([0-9]+)$", unit, re.MULTILINE)
    assert int(allowed) == DESCRIPTORS
