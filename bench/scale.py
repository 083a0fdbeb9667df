"""Studies of a thousand to a million scripted matches: in a file, in PostgreSQL, and on Ray."""

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
from bench.rows import Measured, Row, metric

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
"""Eighteen matches an instance, of 2 to 24 answers each."""
A_INSTANCE = 18
COMMAND = (sys.executable, "-m", "cheaptalk")


def rows() -> Iterator[Row]:
    """Play, look at and report studies of all sizes."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for size in SIZES:
            yield from _in_a_file(folder, size)
        with serving() as server:
            for size in SIZES[1:]:
                yield from _in_postgres(folder, server, size)
        for size in SIZES[1:3]:
            yield from _on_ray(folder, size)


def study_of(folder: Path, size: int) -> Path:
    """The file of a study of so many matches."""
    file = folder / f"scale-{size}.yaml"
    file.write_text(STUDY.format(instances=-(-size // A_INSTANCE)))
    return file


def _in_a_file(folder: Path, size: int) -> Iterator[Row]:
    for workers in (1, 2):
        store = folder / f"{size}-{workers}.sqlite"
        done = _run(folder, size, store, "--workers", str(workers))
        yield _rate(f"in a file, {workers} processes", size, done)
    yield Row(f"{size:,} matches in a file", store.stat().st_size / size, "bytes a match")
    yield from _looks(folder, size, str(store), "in a file")


def _in_postgres(folder: Path, server: Server, size: int) -> Iterator[Row]:
    databases = Databases(server, prefix=f"scale_{size}")
    store = databases.new()
    yield _rate("in PostgreSQL, 2 processes", size, _run(folder, size, store, "--workers", "2"))
    yield Row(f"{size:,} matches in PostgreSQL", _bytes(store) / size, "bytes a match")
    yield from _looks(folder, size, store, "in PostgreSQL")
    shared = databases.new()
    ct.Store.open(shared, create=True).close()
    options = ["run", str(study_of(folder, size)), "--workers", "1", "--store", shared]
    other = subprocess.Popen([*COMMAND, *options], stdout=subprocess.DEVNULL)
    done = metric([*COMMAND, *options])
    other.wait()
    yield _rate("in PostgreSQL, shared by two runs of 1 process", size, done)


def _on_ray(folder: Path, size: int) -> Iterator[Row]:
    here = _run(folder, size, folder / f"here-{size}.sqlite", "--workers", "2")
    yield _rate("in a file, 2 processes, again", size, here)
    rates = {}
    for processors in (1, 2):
        with _cluster(processors):
            store = folder / f"ray-{size}-{processors}.sqlite"
            _run(folder, 1_000, folder / f"warm-{size}-{processors}.sqlite", "--cluster", "ray")
            done = _run(folder, size, store, "--cluster", "ray")
        rates[processors] = size / done.seconds
        yield _rate(f"in a file, on Ray with {processors} processors", size, done)
    ratio = rates[2] / rates[1]
    yield Row(f"two processors of Ray against one, {size:,} matches", ratio, "times", (">=", 1.7))
    more = size / rates[2] / here.seconds - 1
    yield Row(f"Ray against processes, {size:,} matches", 100 * more, "% longer", ("<=", 10))


@contextmanager
def _cluster(processors: int) -> Iterator[None]:
    ray = Path(sys.executable).parent / "ray"
    start = ["start", "--head", f"--num-cpus={processors}", "--include-dashboard=false"]
    subprocess.run([ray, *start], check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run([ray, "stop", "--force"], check=True, capture_output=True)


def _looks(folder: Path, size: int, store: str, where: str) -> Iterator[Row]:
    """What it takes to look at a study that was played."""
    large = size == SIZES[-1]
    status = metric([*COMMAND, "status", "--store", store])
    yield Row(f"status of {size:,} matches {where}", status.seconds, "s",
              ("<=", 1) if large else None)  # fmt: skip
    page = str(folder / "report.html")
    report = metric([*COMMAND, "report", "scale", "--store", store, "--out", page])
    yield Row(f"report of {size:,} matches {where}", report.seconds, "s",
              ("<=", 60) if large else None)  # fmt: skip
    yield Row(f"the same: largest process, {where}", report.peak, "MiB",
              ("<=", 1_536) if large else None)  # fmt: skip


def _run(folder: Path, size: int, store: Path | str, *options: str) -> Measured:
    return metric([*COMMAND, "run", str(study_of(folder, size)), "--store", str(store), *options])


def _rate(how: str, size: int, done: Measured) -> Row:
    note = f"{done.seconds:.1f} s, the whole command; {os.cpu_count()} cores"
    return Row(f"{size:,} matches {how}", size / done.seconds, "matches/s", None, note)


def _bytes(store: str) -> int:
    engine = sa.create_engine(store)
    with engine.connect() as connection:
        found = connection.scalar(sa.text("select pg_database_size(current_database())"))
    engine.dispose()
    return int(found or 0)
