"""How fast published games are read, played again, scored and stored, where they lie beside us."""

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

from bench.rows import Row
from cheaptalk.papers.gama.importer.importer import read_gama
from cheaptalk.papers.glee.importer import read_glee
from cheaptalk.papers.self_play.importer import read_dond
from cheaptalk.records import Store
from cheaptalk.records.imports import Collection, ForeignGame, Intake, import_matches
from cheaptalk.rules import Result, get_game

T = TypeVar("T")

DATA = Path(__file__).parents[2] / "shared" / "data"
"""Published data, which are no part of the repository; without them there is nothing to measure."""


def rows() -> Iterator[Row]:
    """Seconds for the recorded games of GAMA, and for storing each collection."""
    if not DATA.is_dir():
        return
    seconds, scored = timed(partial(score, read_gama(DATA / "gama")))
    yield Row(f"{scored:,} recorded games of GAMA read, played again and scored", seconds, "s",
              ("<=", 5), "unstored, on one core")  # fmt: skip
    for name, found in (
        ("GAMA", read_gama(DATA / "gama")),
        ("GLEE", read_glee(DATA / "glee")),
        ("Deal or No Deal", read_dond([DATA / "deal_or_no_deal" / "data.txt"])),
    ):
        seconds, importing = timed(partial(store, found))
        yield Row(f"{importing.read:,} games of {name} imported into a store", seconds, "s", None,
                  f"{len(importing.skipped):,} of them left out")  # fmt: skip


def timed(task: Callable[[], T]) -> tuple[float, T]:
    """How many seconds a task takes, and what it returns."""
    started = time.perf_counter()
    done = task()
    return time.perf_counter() - started, done


def score(found: Collection) -> int:
    """Score games by the paper and as published; how many there were."""
    scored = 0
    for one in found.games:
        if isinstance(one, ForeignGame):
            table = one.table
            assert table.outcome is not None
            result = Result.of(table.game, table.instance, table.outcome)
            metric = get_game(table.game.name).metrics["score"]
            for as_published in (False, True):
                metric.variant(as_published)(result)
            scored += 1
    return scored


def store(found: Collection) -> Intake:
    """Import games into a new store."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.open(Path(folder) / "games.sqlite", create=True) as opened,
    ):
        return import_matches(found, opened, "games")
