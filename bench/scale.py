"""Studies of a thousand to a million scripted matches with SQLite, PostgreSQL and Ray."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa
from tests.postgres import Databases, Server, serving

import cheaptalk as ct
from bench.rows import Measured, Row, measure

SIZES = (1_000, 10_000, 100_000, 1_000_000)
STUDY = """
name: scale
games:
  - {{game: bargaining, fixed: {{horizon: 12, discounts: [0.9, 0.95]}}}}
  - {{game: negotiation, fixed: {{horizon: 10}}}}
players:
  chance: random
  split: {{strategies: {{bargaining: equal_split, negotiation: split_the_difference}}}}
  hard: {{strategies: {{bargaining: fixed_demand, negotiation: boulware}}}}
instances: {instances}
"""
"""Study template with 18 matches per instance and 2 to 24 answers per match."""
MATCHES_PER_INSTANCE = 18
COMMAND = (sys.executable, "-m", "cheaptalk")


def rows() -> Iterator[Row]:
    """Yield the figures of running, inspecting and reporting studies of all sizes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for size in SIZES:
            yield from _in_a_file(folder, size)
        with serving() as server:
            for size in SIZES[1:]:
                yield from _in_postgres(folder, server, size)
        for size in SIZES[1:3]:
            yield from _on_ray(folder, size)


def study_of(folder: Path, size: int) -> Path:
    """Write the file of a study with at least ``size`` matches, and return its path."""
    file = folder / f"scale-{size}.yaml"
    file.write_text(STUDY.format(instances=-(-size // MATCHES_PER_INSTANCE)))
    return file


def _in_a_file(folder: Path, size: int) -> Iterator[Row]:
    for workers in (1, 2):
        store = folder / f"{size}-{workers}.sqlite"
        done = _run(folder, size, store, "--workers", str(workers))
        yield _rate(f"SQLite, processes: {workers}", size, done)
    yield Row(
        f"store size, {size:,} matches, SQLite", store.stat().st_size / size, "bytes per match"
    )
    yield from _inspection(folder, size, str(store), "SQLite")


def _in_postgres(folder: Path, server: Server, size: int) -> Iterator[Row]:
    databases = Databases(server, prefix=f"scale_{size}")
    store = databases.new()
    yield _rate("PostgreSQL, processes: 2", size, _run(folder, size, store, "--workers", "2"))
    yield Row(f"store size, {size:,} matches, PostgreSQL", _bytes(store) / size, "bytes per match")
    yield from _inspection(folder, size, store, "PostgreSQL")
    shared = databases.new()
    ct.Store.open(shared, create=True).close()
    options = ["run", str(study_of(folder, size)), "--workers", "1", "--store", shared]
    other = subprocess.Popen([*COMMAND, *options], stdout=subprocess.DEVNULL)
    done = measure([*COMMAND, *options])
    other.wait()
    yield _rate("PostgreSQL, two concurrent runs, 1 process each", size, done)


def _on_ray(folder: Path, size: int) -> Iterator[Row]:
    local = _run(folder, size, folder / f"here-{size}.sqlite", "--workers", "2")
    yield _rate("SQLite, processes: 2, for comparison with Ray", size, local)
    rates = {}
    for processors in (1, 2):
        with _cluster(processors):
            store = folder / f"ray-{size}-{processors}.sqlite"
            _run(folder, 1_000, folder / f"warm-{size}-{processors}.sqlite", "--cluster", "ray")
            done = _run(folder, size, store, "--cluster", "ray")
        rates[processors] = size / done.seconds
        yield _rate(f"SQLite, Ray, processors: {processors}", size, done)
    ratio = rates[2] / rates[1]
    yield Row(
        f"Ray, speedup with a second processor, {size:,} matches", ratio, "times", (">=", 1.7)
    )
    slowdown = size / rates[2] / local.seconds - 1
    title = f"Ray, additional time compared with local processes, {size:,} matches"
    yield Row(title, 100 * slowdown, "%", ("<=", 10))


@contextmanager
def _cluster(processors: int) -> Iterator[None]:
    ray = Path(sys.executable).parent / "ray"
    start = ["start", "--head", f"--num-cpus={processors}", "--include-dashboard=false"]
    subprocess.run([ray, *start], check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run([ray, "stop", "--force"], check=True, capture_output=True)


def _inspection(folder: Path, size: int, store: str, backend: str) -> Iterator[Row]:
    """Yield the resources that ``status`` and ``report`` need for a completed study."""
    large = size == SIZES[-1]
    status = measure([*COMMAND, "status", "--store", store])
    yield Row(f"status, {size:,} matches, {backend}", status.seconds, "s",
              ("<=", 1) if large else None)  # fmt: skip
    page = str(folder / "report.html")
    report = measure([*COMMAND, "report", "scale", "--store", store, "--out", page])
    yield Row(f"report, {size:,} matches, {backend}", report.seconds, "s",
              ("<=", 60) if large else None)  # fmt: skip
    yield Row(f"report, peak memory, {size:,} matches, {backend}", report.peak, "MiB",
              ("<=", 1_536) if large else None)  # fmt: skip


def _run(folder: Path, size: int, store: Path | str, *options: str) -> Measured:
    return measure([*COMMAND, "run", str(study_of(folder, size)), "--store", str(store), *options])


def _rate(setting: str, size: int, done: Measured) -> Row:
    note = f"{done.seconds:.1f} s for the command; {os.cpu_count()} cores"
    return Row(f"run, {size:,} matches, {setting}", size / done.seconds, "matches/s", None, note)


def _bytes(store: str) -> int:
    engine = sa.create_engine(store)
    with engine.connect() as connection:
        count = connection.scalar(sa.text("select pg_database_size(current_database())"))
    engine.dispose()
    return int(count or 0)
