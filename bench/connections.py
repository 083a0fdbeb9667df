"""What a connection per call costs: ``python -m bench.connections``.

Calls to models close their connection after each reply (see ``models/http/reach.py``). This
benchmark makes the same calls with kept connections, over TCP and over TLS, to a server on the
loopback interface, so that only the cost of computing is measured. A network adds round trips: one
for TCP and one for TLS 1.3.
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
AT_ONCE = 64
RUNS = 3
"""Runs of each kind, of which the fastest counts: other work on a machine only slows them down."""
TYPICAL = 0.5
"""Seconds of a typical call to a hosted model."""
ROUND_TRIP = 0.05
"""Seconds to a hosted model's server and back."""
ROUND_TRIPS = {"http": 1, "https": 2}
"""Round trips before the request: TCP, and TLS 1.3."""


class Cost(NamedTuple):
    """What a call cost.

    Attributes:
        cpu: milliseconds of the client's processor.
        rate: calls per second.
    """

    cpu: float
    rate: float


def rows() -> Iterator[Row]:
    """Calls per second with and without kept connections, and the share of a typical call."""
    with TemporaryDirectory() as folder:
        certificate = make_certificate(Path(folder))
        for scheme, files in (("http", ()), ("https", (certificate,))):
            with server(0, *files) as url:
                kept, closed = (cost(url, closes=closes) for closes in (False, True))
            how = f"{AT_ONCE} at once, {CALLS:,} calls, fastest of {RUNS} runs"
            yield Row(f"{scheme}, connections kept", kept.rate, "calls/s", None, how)
            note = f"{kept.cpu:.2f} ms of CPU a call with kept ones, {closed.cpu:.2f} ms without"
            yield Row(f"{scheme}, one connection per call", closed.rate, "calls/s", None, note)
            added = max(0.0, closed.cpu - kept.cpu)
            call = f"a call of {1000 * TYPICAL:.0f} ms"
            yield Row(f"{scheme}, CPU added to {call}", added / TYPICAL / 10, "%", ("<=", 5),
                      f"{added:.2f} ms of the client's processor")  # fmt: skip
            trips = ROUND_TRIPS[scheme]
            yield Row(f"{scheme}, waiting added to {call}", 100 * trips * ROUND_TRIP / TYPICAL, "%",
                      None, f"by arithmetic: {trips} of {1000 * ROUND_TRIP:.0f} ms")  # fmt: skip


def make_certificate(folder: Path) -> Path:
    """Make a key and a certificate of 127.0.0.1 for itself, in one file."""
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
    """Return the lowest cost of several runs."""
    runs = [asyncio.run(call_all(url, closes=closes)) for _ in range(RUNS)]
    return Cost(min(run.cpu for run in runs), max(run.rate for run in runs))


async def call_all(url: str, *, closes: bool) -> Cost:
    """Make all calls, as many at once as there are callers."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # it signs itself
    connector = aiohttp.TCPConnector(limit=0, force_close=closes, ssl=context)
    body = {"model": "instant", "messages": [{"role": "user", "content": "x" * 1_000}]}

    async def call_some(session: aiohttp.ClientSession) -> None:
        for _ in range(CALLS // AT_ONCE):
            async with session.post(f"{url}/chat/completions", json=body) as response:
                await response.read()

    async with aiohttp.ClientSession(connector=connector) as session:
        cpu, began = time.process_time(), time.perf_counter()
        await asyncio.gather(*(call_some(session) for _ in range(AT_ONCE)))
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    calls = CALLS // AT_ONCE * AT_ONCE
    return Cost(1000 * cpu / calls, calls / seconds)


if __name__ == "__main__":
    for row in rows():
        sys.stdout.write(f"{row.what}: {row.value:,.2f} {row.unit} ({row.note})\n")
