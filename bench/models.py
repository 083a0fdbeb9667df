"""Models at the table: what a call costs the client, side by side with Inspect AI.

The server answers at once or after a delay, in a process of its own; what is measured is the CPU
time of whoever calls it, imports apart. Ours is the whole path: rules, words, client and a durable
record; Inspect's its solver, the OpenAI client and its own log, over the same turns.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import cheaptalk as ct
from bench import anchors
from bench.live_study import CALLS
from bench.rows import Row

FOLDER = Path(__file__).parent
MATCHES = int(os.environ.get("BENCH_MATCHES", "1000"))
"""Matches of the long study, each of twenty calls; 5,000 make the 100,000 calls of the goal."""


class Took(NamedTuple):
    """What a client took.

    Attributes:
        calls: that it made.
        cpu, seconds: of the processor and of the clock.
        peak: memory in MiB at its highest.
    """

    calls: int
    cpu: float
    seconds: float
    peak: float

    @property
    def each(self) -> float:
        """Milliseconds of CPU time a call."""
        return 1000 * self.cpu / self.calls

    def busy(self, delay: float, at_once: int) -> float:
        """The share in percent of the calls that the delay and the concurrency allow."""
        return 100 * self.calls * delay / (at_once * self.seconds)


def rows() -> Iterator[Row]:
    """CPU a call, how much of the ceiling is kept busy, and memory."""
    anchors.install()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with server(0.2) as url:
            ours = play(url, 512, 256, folder / "fast.sqlite")
            write_turns(folder)
            theirs = converse(url, 1024, 256, folder)
        at = "200 ms, 256 at once"
        yield Row(f"Inspect AI: CPU a call, {at}", theirs.each, "ms", None, rate(theirs))
        yield Row(f"CPU a call, {at}", ours.each, "ms", ("<=", theirs.each / 3), rate(ours))
        with server(2) as url:
            wide = play(url, 3000, 1000, folder / "wide.sqlite")
        yield Row("of the ceiling kept busy, 2 s, 1,000 at once", wide.busy(2, 1000), "%",
                  (">=", 90), f"{rate(wide)}, {wide.each:.2f} ms of CPU a call")  # fmt: skip
        with server(0.05) as url:
            short = play(url, MATCHES // 4, 256, folder / "short.sqlite")
            long = play(url, MATCHES, 256, folder / "long.sqlite")
        yield Row(f"memory over {long.calls:,} calls, 256 at once", long.peak, "MiB", ("<=", 400),
                  f"{short.peak:.0f} MiB over {short.calls:,}")  # fmt: skip


def rate(took: Took) -> str:
    """Calls a second."""
    return f"{took.calls / took.seconds:,.0f} calls/s"


@contextmanager
def server(delay: float, *certificates: Path) -> Iterator[str]:
    """Start a server that answers after so many seconds, over TLS if it has a certificate."""
    command = [
        sys.executable,
        str(FOLDER / "instant_model.py"),
        str(delay),
        *map(str, certificates),
    ]
    scheme = "https" if certificates else "http"
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"{scheme}://127.0.0.1:{process.stdout.readline().strip()}/v1"
        finally:
            process.terminate()


def play(url: str, matches: int, at_once: int, store: Path) -> Took:
    """Our study."""
    return take([sys.executable, "-m", "bench.live_study", url, matches, at_once, store])


def converse(url: str, samples: int, at_once: int, folder: Path) -> Took:
    """Inspect's task."""
    return take([anchors.PYTHON, "-m", "bench.inspect_turns", url, samples, at_once, folder])


def take(command: list[str | int | Path]) -> Took:
    """Run a client to its end; the last line it prints says what it took."""
    done = subprocess.run(
        [str(part) for part in command], cwd=FOLDER.parent, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))} failed: {done.stdout}{done.stderr}")
    return Took(**json.loads(done.stdout.splitlines()[-1]))


def write_turns(folder: Path) -> None:
    """The messages of one seat of ours, for Inspect to say."""
    with ct.Store.open(folder / "fast.sqlite") as store:
        record = store.find(next(store.records()).id)
    asked = [
        given.calls[0]["call"]["messages"] for given in record.answers if given.actor == "alice"
    ]
    last = max(asked, key=len)
    said = [message["content"] for message in last if message["role"] != "assistant"]
    assert len(said) == 1 + CALLS // 2
    (folder / "turns.json").write_text(json.dumps(said))
