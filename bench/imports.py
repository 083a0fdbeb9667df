"""Speed of importing and scoring published games, if their files are available."""

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
from cheaptalk.records.imports import GameCollection, ImportedGame, ImportSummary, import_matches
from cheaptalk.rules import Result, get_game

T = TypeVar("T")

DATA = Path(__file__).parents[2] / "shared" / "data"
"""The published data. They are not in the repository; without them there are no results."""


def rows() -> Iterator[Row]:
    """Yield the time to score GAMA's recorded games, and to import each collection."""
    if not DATA.is_dir():
        return
    seconds, scored = timed(partial(score, read_gama(DATA / "gama")))
    yield Row(f"reading, replaying and scoring {scored:,} recorded games of GAMA", seconds, "s",
              ("<=", 5), "no store, one core")  # fmt: skip
    for name, collection in (
        ("GAMA", read_gama(DATA / "gama")),
        ("GLEE", read_glee(DATA / "glee")),
        ("Deal or No Deal", read_dond([DATA / "deal_or_no_deal" / "data.txt"])),
    ):
        seconds, importing = timed(partial(store, collection))
        yield Row(f"importing {importing.read:,} games of {name} into a store", seconds, "s", None,
                  f"{len(importing.skipped):,} of them skipped")  # fmt: skip


def timed(task: Callable[[], T]) -> tuple[float, T]:
    """Run a task, and return its duration in seconds and its result."""
    started = time.perf_counter()
    done = task()
    return time.perf_counter() - started, done


def score(collection: GameCollection) -> int:
    """Score GAMA's games with the paper's formula and the published one; return their number."""
    scored = 0
    for game in collection.games:
        if isinstance(game, ImportedGame):
            table = game.table
            assert table.outcome is not None
            result = Result.of(table.game, table.instance, table.outcome)
            metric = get_game(table.game.name).metrics["score"]
            for as_published in (False, True):
                metric.variant(as_published)(result)
            scored += 1
    return scored


def store(collection: GameCollection) -> ImportSummary:
    """Import games into a new store."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.open(Path(folder) / "games.sqlite", create=True) as opened,
    ):
        return import_matches(collection, opened, "games")
