"""Cost of opening a new connection for each model call: ``python -m bench.connections``.

Model calls close their connection after each reply (see ``models/http/reach.py``). This benchmark
compares them with calls over persistent connections, with TCP and with TLS. The server listens on
the loopback interface, so the benchmark measures only CPU costs. On a network, each new connection
adds round trips: one for TCP and one for TLS 1.3.
"""

import asyncio
import shutil
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import aiohttp

from bench.models import server
from bench.rows import Row

CALLS = 2_000
CONCURRENCY = 64
RUNS = 3
"""Runs of each kind; the fastest counts, because other load only slows runs down."""
CALL_SECONDS = 0.5
"""Duration of a typical call to a hosted model, in seconds."""
ROUND_TRIP = 0.05
"""Round-trip time to a hosted model's server, in seconds."""
ROUND_TRIPS = {"http": 1, "https": 2}
"""Round trips before the first request of a connection: TCP, and TLS 1.3."""


class Cost(NamedTuple):
    """Cost of a call.

    Attributes:
        cpu: the client's CPU time per call, in milliseconds.
        rate: calls per second.
    """

    cpu: float
    rate: float


def rows() -> Iterator[Row]:
    """Yield the rates with and without persistent connections, and the added share of a call."""
    with TemporaryDirectory() as folder:
        certificate = make_certificate(Path(folder))
        for scheme, files in (("http", ()), ("https", (certificate,))):
            with server(0, *files) as url:
                persistent, closed = (cost(url, closes=closes) for closes in (False, True))
            how = f"{CALLS:,} calls, {CONCURRENCY} concurrent, fastest of {RUNS} runs"
            yield Row(f"{scheme}, persistent connections", persistent.rate, "calls/s", None, how)
            note = (
                f"{closed.cpu:.2f} ms of CPU per call, {persistent.cpu:.2f} ms with persistent ones"
            )
            yield Row(f"{scheme}, one connection per call", closed.rate, "calls/s", None, note)
            added = max(0.0, closed.cpu - persistent.cpu)
            call = f"a call of {1000 * CALL_SECONDS:.0f} ms"
            yield Row(f"{scheme}, CPU time added to {call}", added / CALL_SECONDS / 10, "%",
                      ("<=", 5), f"{added:.2f} ms on the client")  # fmt: skip
            trips = ROUND_TRIPS[scheme]
            yield Row(f"{scheme}, latency added to {call}",
                      100 * trips * ROUND_TRIP / CALL_SECONDS, "%", None,
                      f"computed: {trips} x {1000 * ROUND_TRIP:.0f} ms round trip")  # fmt: skip


def make_certificate(folder: Path) -> Path:
    """Write a key and a self-signed certificate for 127.0.0.1 to one file; return its path."""
    openssl, path = shutil.which("openssl"), folder / "certificate.pem"
    assert openssl is not None
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1", "-addext",
         "subjectAltName=IP:127.0.0.1", "-keyout", path, "-out", folder / "public.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    path.write_text(path.read_text() + (folder / "public.pem").read_text())
    return path


def cost(url: str, *, closes: bool) -> Cost:
    """Measure several runs; return the lowest CPU time and the highest rate."""
    runs = [asyncio.run(call_all(url, closes=closes)) for _ in range(RUNS)]
    return Cost(min(run.cpu for run in runs), max(run.rate for run in runs))


async def call_all(url: str, *, closes: bool) -> Cost:
    """Make all calls with ``CONCURRENCY`` callers, and return the cost of a call."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = (
        False,
        ssl.CERT_NONE,
    )  # the certificate is self-signed
    connector = aiohttp.TCPConnector(limit=0, force_close=closes, ssl=context)
    body = {"model": "instant", "messages": [{"role": "user", "content": "x" * 1_000}]}

    async def call_repeatedly(session: aiohttp.ClientSession) -> None:
        for _ in range(CALLS // CONCURRENCY):
            async with session.post(f"{url}/chat/completions", json=body) as response:
                await response.read()

    async with aiohttp.ClientSession(connector=connector) as session:
        cpu, began = time.process_time(), time.perf_counter()
        await asyncio.gather(*(call_repeatedly(session) for _ in range(CONCURRENCY)))
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    calls = CALLS // CONCURRENCY * CONCURRENCY
    return Cost(1000 * cpu / calls, calls / seconds)


if __name__ == "__main__":
    for row in rows():
        sys.stdout.write(f"{row.title}: {row.value:,.2f} {row.unit} ({row.note})\n")
