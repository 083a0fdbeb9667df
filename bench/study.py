"""Duration and memory of running, reporting and resuming the preset ``glee``."""

import os
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.pages import first_chart
from bench.rows import Row, measure

MATCHES = 80_100


def rows() -> Iterator[Row]:
    """Yield the figures of running, reporting and resuming the study with all cores."""
    command = [sys.executable, "-m", "cheaptalk"]
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "glee.sqlite"
        store_option = ["--store", str(store)]
        ran = measure([*command, "run", "glee", *store_option])
        size = store.stat().st_size
        out = Path(folder) / "report.html"
        reported = measure([*command, "report", "glee", *store_option, "--out", str(out)])
        paper = Path(folder) / "paper.html"
        recipe = measure(
            [*command, "report", "glee", "--recipe", "glee", *store_option, "--out", str(paper)]
        )
        forget_one(store)
        resumed = measure([*command, "resume", "glee", *store_option])
        page, tables = (file.stat().st_size / 1e6 for file in (out, paper))
        shown = list(first_chart(paper, "80,100 matches of GLEE with its recipe"))
    cores = f"{os.cpu_count()} cores"
    yield Row("running and reporting 80,100 GLEE matches",
              ran.seconds + reported.seconds, "s", ("<=", 180), cores)  # fmt: skip
    yield Row(
        "peak memory of the largest process", max(ran.peak, reported.peak), "MiB", ("<=", 1536)
    )
    yield Row("run, with a store", MATCHES / ran.seconds, "matches/s", (">=", 2_500),
              f"complete command, {cores}")  # fmt: skip
    yield Row("report", reported.seconds, "s", None, f"{page:.1f} MB of HTML")
    yield Row("report with the recipe glee", recipe.seconds, "s",
              ("<=", 20), f"peak memory {recipe.peak:.0f} MiB")  # fmt: skip
    yield Row("page size: 80,100 matches of GLEE with its recipe", tables, "MB", ("<=", 6))
    yield from shown
    yield Row("store size", size / MATCHES, "bytes per match", ("<=", 1_500))
    yield Row("resuming 80,100 matches with 1 remaining", resumed.seconds, "s", ("<=", 3))


def forget_one(store: Path) -> None:
    """Delete one match from a store."""
    connection = sqlite3.connect(store)
    with connection:
        connection.execute("delete from members where match_number = 4711")
        connection.execute("delete from matches where number = 4711")
    connection.close()
