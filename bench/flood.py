"""Floods of connections while people take part: what is refused, how soon, and at what memory.

So many people have a page open, each with its event stream. An attacker at another address holds
the link of one participant, asks for 10,000 event streams at once, and does so again; then opens
connections on which a request never becomes complete. Meanwhile people load pages.
"""

import asyncio
import multiprocessing
import re
import resource
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import aiohttp

from bench.participants import STUDY
from bench.rooms import PEOPLE, Server, serving
from bench.rows import Row
from cheaptalk.web.rooms.connections import HEADER_SECONDS, STREAMS_OF_VISITOR

T = TypeVar("T")
STREAMS = 10_000
HALF_OPEN = 1_200
FLOODS = 3
ATTACKER = "127.0.0.66"
"""The attacker's address: Linux has all of 127.0.0.0/8."""
SETTLED = 12.0
"""Seconds after a flood until memory is read: idle connections are closed after 5."""
BETWEEN_PAGES = 0.1
"""Seconds between two pages that one of the people loads."""


def rows() -> Iterator[Row]:
    """Streams beyond the caps, memory after each flood, half-open connections, and pages."""
    soft_limit()
    with serving(STUDY) as server, attacking() as attacker:
        yield from asyncio.run(attacked(server, attacker))


def attacking() -> ProcessPoolExecutor:
    """Start a process of the attacker's own."""
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))


def soft_limit() -> None:
    """Allow this process as many open files as the system does."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def attacked(server: Server, attacker: ProcessPoolExecutor) -> list[Row]:
    """Let people in, and attack the server."""
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as people:
        paths = [await entered(people, server, number) for number in range(PEOPLE)]
        streams = [await people.get(f"{server.url}{path}/events") for path in paths]
        refused = sum(stream.status != 200 for stream in streams)
        await asyncio.sleep(SETTLED)
        at, loop = f"{PEOPLE} people with their pages open", asyncio.get_running_loop()
        found = [Row(f"event streams refused to {at}", refused, "", ("<=", 0))]
        memory = [rss(server)]
        for number in range(1, FLOODS + 1):
            attack = loop.run_in_executor(attacker, flood, server.url, f"{paths[0]}/events")
            statuses, seconds = await pages_during(people, server.url + paths[1], attack)
            await asyncio.sleep(SETTLED)
            memory.append(rss(server))
            note = f"{dict(statuses)}; half of {len(seconds)} pages in {ms(seconds, 50):.0f} ms, "
            note += f"the slowest in {1000 * max(seconds):.0f} ms"
            least = STREAMS - STREAMS_OF_VISITOR
            found += [
                Row(f"flood {number}: of {STREAMS:,} streams of one participant, refused",
                    STREAMS - statuses["200"], "", (">=", least), note),
                Row(f"flood {number}: 95 % of pages", ms(seconds, 95), "ms"),
            ]  # fmt: skip
        note = ", ".join(f"{one:.0f}" for one in memory) + f" MiB before and after {FLOODS} floods"
        found.append(
            Row("memory after the last flood", memory[-1] / memory[0], "of that before",
                ("<=", 1.1), note)
        )  # fmt: skip
        stalling = loop.run_in_executor(attacker, stall, server.url)
        closed, seconds = await pages_during(people, server.url + paths[1], stalling)
        note = f"{HALF_OPEN:,} connections; the slowest page took {1000 * max(seconds):.0f} ms"
        found += [
            Row(
                "half-open connections: the last closes after",
                max(closed),
                "s",
                ("<=", 15),
                note,
            ),
            Row("meanwhile, 95 % of pages", ms(seconds, 95), "ms", ("<=", 250)),
        ]
        hung = sum(stream.content.at_eof() for stream in streams)
        found.append(Row(f"event streams of {at} that the floods ended", hung, "", ("<=", 0)))
        for stream in streams:
            stream.close()
    return found


async def entered(people: aiohttp.ClientSession, server: Server, number: int) -> str:
    """Come to the study; the path of the page."""
    url = f"{server.url}?PROLIFIC_PID={number:024x}&STUDY_ID=bench"
    async with people.get(url) as page:
        text = await page.text()
    action = re.search(r'action="/?([^"]*enter[^"]*)"', text)
    assert action is not None, text
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', text))
    async with people.post(server.url + action[1], data=fields, allow_redirects=False) as sent:
        assert sent.status == 303, (sent.status, await sent.text())
        return sent.headers["Location"].lstrip("/").partition("?")[0]


async def pages_during(
    people: aiohttp.ClientSession, url: str, attack: "asyncio.Future[T]"
) -> tuple[T, list[float]]:
    """Load a page of one of the people until an attack ends: its outcome, and seconds of pages."""
    seconds = []
    while not attack.done():
        began = time.perf_counter()
        async with people.get(url) as page:
            assert page.status == 200, page.status
            await page.read()
        seconds.append(time.perf_counter() - began)
        await asyncio.sleep(BETWEEN_PAGES)
    return attack.result(), seconds


def ms(seconds: list[float], percent: int) -> float:
    """A percentile in milliseconds."""
    return 1000 * statistics.quantiles(seconds, n=100)[percent - 1]


def rss(server: Server) -> float:
    """The memory that the server's process has now, in MiB."""
    assert server.process is not None
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", status)
    return int(found[1]) / 1024 if found else 0.0


def flood(url: str, path: str) -> Counter[str]:
    """Ask for so many event streams at once, and hold the connections; the statuses."""
    soft_limit()
    return asyncio.run(_flood(url, path))


async def _flood(url: str, path: str) -> Counter[str]:
    request = f"GET /{path} HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\n\r\n".encode()
    connecting = asyncio.Semaphore(200)

    async def stream() -> tuple[str, asyncio.StreamWriter | None]:
        async with connecting:
            try:
                reader, writer = await connection(url)
                writer.write(request)
                line = await reader.readline()
            except OSError:
                return "refused", None
        return (line.split()[1].decode() if line else "closed"), writer

    held = await asyncio.gather(*(stream() for _ in range(STREAMS)))
    await asyncio.sleep(2)
    for _, writer in held:
        if writer is not None:
            writer.transport.abort()
    return Counter(status for status, _ in held)


def stall(url: str) -> list[float]:
    """Open connections whose request never becomes complete; how long each lasted, in seconds."""
    soft_limit()
    return asyncio.run(_stall(url))


async def _stall(url: str) -> list[float]:
    async def stalled(number: int) -> float:
        began = time.perf_counter()
        reader, writer = await connection(url)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n"[: number % 25])
        with suppress(OSError):
            await asyncio.wait_for(reader.read(), 3 * HEADER_SECONDS)
        writer.close()
        return time.perf_counter() - began

    return await asyncio.gather(*(stalled(number) for number in range(HALF_OPEN)))


async def connection(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection from the attacker's address."""
    there = urlsplit(url)
    assert there.hostname is not None
    return await asyncio.open_connection(there.hostname, there.port, local_addr=(ATTACKER, 0))
