"""Resilience of a study's server to floods of connections.

All participants have a page with an event stream open. An attacker at another address uses the link
of one participant to request 10,000 concurrent event streams, several times. Then the attacker
opens connections without ever completing a request. Meanwhile, a participant loads pages.
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
"""The attacker's address. Linux assigns all of 127.0.0.0/8 to the loopback interface."""
SETTLED = 12.0
"""Seconds between a flood and the memory reading; idle connections are closed after 5 s."""
BETWEEN_PAGES = 0.1
"""Pause between two page loads of the participant, in seconds."""


def rows() -> Iterator[Row]:
    """Yield refused streams, page load times, memory and the closing of half-open connections."""
    soft_limit()
    with serving(STUDY) as server, attacking() as attacker:
        yield from asyncio.run(attacked(server, attacker))


def attacking() -> ProcessPoolExecutor:
    """Return an executor that runs the attacker in a separate process."""
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))


def soft_limit() -> None:
    """Raise this process's soft limit on open files to the hard limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def attacked(server: Server, attacker: ProcessPoolExecutor) -> list[Row]:
    """Open all participants' pages, attack the server, and return the results."""
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as people:
        paths = [await entered(people, server, number) for number in range(PEOPLE)]
        streams = [await people.get(f"{server.url}{path}/events") for path in paths]
        refused = sum(stream.status != 200 for stream in streams)
        await asyncio.sleep(SETTLED)
        loop = asyncio.get_running_loop()
        results = [Row(f"refused event streams of {PEOPLE} participants", refused, "", ("<=", 0))]
        memory = [rss(server)]
        for number in range(1, FLOODS + 1):
            attack = loop.run_in_executor(attacker, flood, server.url, f"{paths[0]}/events")
            statuses, seconds = await pages_during(people, server.url + paths[1], attack)
            await asyncio.sleep(SETTLED)
            memory.append(rss(server))
            note = f"{dict(statuses)}; {len(seconds)} page loads, median {ms(seconds, 50):.0f} ms, "
            note += f"maximum {1000 * max(seconds):.0f} ms"
            min_refused = STREAMS - STREAMS_OF_VISITOR
            results += [
                Row(f"flood {number}: refused streams of {STREAMS:,} of one participant",
                    STREAMS - statuses["200"], "", (">=", min_refused), note),
                Row(f"flood {number}: page load time, p95", ms(seconds, 95), "ms"),
            ]  # fmt: skip
        note = ", ".join(f"{mib:.0f}" for mib in memory) + f" MiB before and after {FLOODS} floods"
        results.append(
            Row("memory after the last flood", memory[-1] / memory[0], "times the initial memory",
                ("<=", 1.1), note)
        )  # fmt: skip
        stalling = loop.run_in_executor(attacker, stall, server.url)
        closed, seconds = await pages_during(people, server.url + paths[1], stalling)
        note = f"{HALF_OPEN:,} connections; slowest page load {1000 * max(seconds):.0f} ms"
        results += [
            Row(
                "half-open connections: time until the last is closed",
                max(closed),
                "s",
                ("<=", 15),
                note,
            ),
            Row(
                "page load time with half-open connections, p95", ms(seconds, 95), "ms", ("<=", 250)
            ),
        ]
        closed_streams = sum(stream.content.at_eof() for stream in streams)
        results.append(
            Row("participants' event streams closed by the attacks", closed_streams, "", ("<=", 0))
        )
        for stream in streams:
            stream.close()
    return results


async def entered(people: aiohttp.ClientSession, server: Server, number: int) -> str:
    """Enter the study as a participant, and return the path of the first page."""
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
    """Load a page repeatedly until an attack ends.

    Returns:
        The attack's result and the seconds of each page load.
    """
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
    """Return a percentile of durations in milliseconds."""
    return 1000 * statistics.quantiles(seconds, n=100)[percent - 1]


def rss(server: Server) -> float:
    """Return the resident memory of the server's process in MiB."""
    assert server.process is not None
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    match = re.search(r"VmRSS:\s+(\d+)", status)
    return int(match[1]) / 1024 if match else 0.0


def flood(url: str, path: str) -> Counter[str]:
    """Request ``STREAMS`` event streams concurrently, and count the response statuses."""
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
    """Open connections without completing a request; return the seconds until each is closed."""
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
    """Open a connection from the attacker's address."""
    address = urlsplit(url)
    assert address.hostname is not None
    return await asyncio.open_connection(address.hostname, address.port, local_addr=(ATTACKER, 0))
