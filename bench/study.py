"""The 80,100 matches of the preset ``glee``: planned, played, stored, reported and resumed."""

import os
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.pages import first_chart
from bench.rows import Row, metric

MATCHES = 80_100


def rows() -> Iterator[Row]:
    """Run, report and resume the study with both cores."""
    command = [sys.executable, "-m", "cheaptalk"]
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "glee.sqlite"
        at = ["--store", str(store)]
        ran = metric([*command, "run", "glee", *at])
        size = store.stat().st_size
        out = Path(folder) / "report.html"
        reported = metric([*command, "report", "glee", *at, "--out", str(out)])
        paper = Path(folder) / "paper.html"
        cooked = metric([*command, "report", "glee", "--recipe", "glee", *at, "--out", str(paper)])
        forget_one(store)
        resumed = metric([*command, "resume", "glee", *at])
        page, tables = (file.stat().st_size / 1e6 for file in (out, paper))
        shown = list(first_chart(paper, "80,100 matches of GLEE by its recipe"))
    cores = f"{os.cpu_count()} cores"
    yield Row("80,100 GLEE matches planned, played, stored and reported",
              ran.seconds + reported.seconds, "s", ("<=", 180), cores)  # fmt: skip
    yield Row("the same: largest process", max(ran.peak, reported.peak), "MiB", ("<=", 1536))
    yield Row("stored matches", MATCHES / ran.seconds, "matches/s", (">=", 2_500),
              f"the whole command, {cores}")  # fmt: skip
    yield Row("the report alone", reported.seconds, "s", None, f"{page:.1f} MB of HTML")
    yield Row("GLEE's tables and figures of all of them, by the recipe", cooked.seconds, "s",
              ("<=", 20), f"{cooked.peak:.0f} MiB at most")  # fmt: skip
    yield Row("page: 80,100 matches of GLEE by its recipe", tables, "MB", ("<=", 6))
    yield from shown
    yield Row("store", size / MATCHES, "bytes a match", ("<=", 1_500))
    yield Row("resume of 80,100 matches with 1 left", resumed.seconds, "s", ("<=", 3))


def forget_one(store: Path) -> None:
    """Take one match out of a store."""
    connection = sqlite3.connect(store)
    with connection:
        connection.execute("delete from members where match_number = 4711")
        connection.execute("delete from matches where number = 4711")
    connection.close()
