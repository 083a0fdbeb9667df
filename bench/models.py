"""Client-side cost of model calls, in comparison with Inspect AI.

A mock server in a separate process answers after a fixed delay. The benchmark measures the client's
CPU time without imports. For cheaptalk, this includes the rules, prompts, HTTP client and durable
records. For Inspect, it includes the solver, the OpenAI client and the log, over the same turns.
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
"""Matches of the long study with 20 calls each; the memory goal is for 5,000 matches."""


class Resources(NamedTuple):
    """Resources that a client used.

    Attributes:
        calls: the number of calls.
        cpu: the CPU time in seconds.
        seconds: the wall time.
        peak: the peak memory in MiB.
    """

    calls: int
    cpu: float
    seconds: float
    peak: float

    @property
    def cpu_per_call(self) -> float:
        """Return the CPU time per call in milliseconds."""
        return 1000 * self.cpu / self.calls

    def busy(self, delay: float, concurrency: int) -> float:
        """Return the calls in percent of the maximum with this delay and concurrency."""
        return 100 * self.calls * delay / (concurrency * self.seconds)


def rows() -> Iterator[Row]:
    """Yield the CPU time per call, the share of maximum throughput, and the memory."""
    anchors.install()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with server(0.2) as url:
            study_use = play(url, 512, 256, folder / "fast.sqlite")
            write_turns(folder)
            inspect_use = converse(url, 1024, 256, folder)
        setting = "delay 200 ms, concurrency 256"
        yield Row(
            f"Inspect AI: CPU time per call, {setting}",
            inspect_use.cpu_per_call,
            "ms",
            None,
            rate(inspect_use),
        )
        goal = ("<=", inspect_use.cpu_per_call / 3)
        yield Row(
            f"CPU time per call, {setting}", study_use.cpu_per_call, "ms", goal, rate(study_use)
        )
        with server(2) as url:
            wide = play(url, 3000, 1000, folder / "wide.sqlite")
        yield Row("share of maximum throughput, delay 2 s, concurrency 1,000", wide.busy(2, 1000),
                  "%", (">=", 90),
                  f"{rate(wide)}, {wide.cpu_per_call:.2f} ms of CPU per call")  # fmt: skip
        with server(0.05) as url:
            short = play(url, MATCHES // 4, 256, folder / "short.sqlite")
            long = play(url, MATCHES, 256, folder / "long.sqlite")
        yield Row(f"peak memory, {long.calls:,} calls, concurrency 256", long.peak, "MiB",
                  ("<=", 400), f"{short.peak:.0f} MiB with {short.calls:,} calls")  # fmt: skip


def rate(resources: Resources) -> str:
    """Return the calls per second, with the unit."""
    return f"{resources.calls / resources.seconds:,.0f} calls/s"


@contextmanager
def server(delay: float, *certificates: Path) -> Iterator[str]:
    """Run the mock server with a delay in seconds, over TLS if given a certificate."""
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


def play(url: str, matches: int, concurrency: int, store: Path) -> Resources:
    """Run the study ``bench.live_study``."""
    return run_client([sys.executable, "-m", "bench.live_study", url, matches, concurrency, store])


def converse(url: str, samples: int, concurrency: int, folder: Path) -> Resources:
    """Run the Inspect task ``bench.inspect_turns``."""
    return run_client(
        [anchors.PYTHON, "-m", "bench.inspect_turns", url, samples, concurrency, folder]
    )


def run_client(command: list[str | int | Path]) -> Resources:
    """Run a client, and parse the resources from the last line of its output.

    Raises:
        RuntimeError: the client failed.
    """
    done = subprocess.run(
        [str(part) for part in command], cwd=FOLDER.parent, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))} failed: {done.stdout}{done.stderr}")
    return Resources(**json.loads(done.stdout.splitlines()[-1]))


def write_turns(folder: Path) -> None:
    """Write the messages of a seat in our study to ``turns.json``, for Inspect to send."""
    with ct.Store.open(folder / "fast.sqlite") as store:
        record = store.find(next(store.records()).id)
    prompts = [
        answer.calls[0]["call"]["messages"] for answer in record.answers if answer.actor == "alice"
    ]
    longest = max(prompts, key=len)
    turns = [message["content"] for message in longest if message["role"] != "assistant"]
    assert len(turns) == 1 + CALLS // 2
    (folder / "turns.json").write_text(json.dumps(turns))
