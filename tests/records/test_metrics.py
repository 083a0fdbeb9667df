"""Metrics that are stored when matches end, and recomputed when their definitions change."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import sqlalchemy as sa

import cheaptalk as ct
from cheaptalk.frames import read_matches
from cheaptalk.records import metrics
from cheaptalk.records.metrics import MetricSet
from cheaptalk.records.store import schema, sqlite
from cheaptalk.rules import Metric, Result, get_game
from tests.frames.test_matches import boom, with_metrics
from tests.played import WELL, play

STORED = sa.select(schema.metrics).order_by(schema.metrics.c.match_number)
SMALL = WELL | {"instances": 1, "repeats": 1}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return play(tmp_path, SMALL)


def stored(path: Path) -> list[Any]:
    with ct.Store.open(path) as store, store.reading() as connection:
        return list(connection.execute(STORED))


def frame_of(path: Path, **options: Any) -> pl.DataFrame:
    return read_matches(path, "well", **options)["bargaining"]


def replace_rows(path: Path, **values: Any) -> None:
    with ct.Store.open(path) as store, store.transaction() as connection:
        connection.execute(sa.update(schema.metrics).values(**values))


def test_frames_use_stored_metrics(path: Path) -> None:
    rows = stored(path)
    assert len(rows) == sum(len(frame) for frame in read_matches(path, "well").values())
    functions = MetricSet.of("bargaining").functions
    replace_rows(path, numbers=bytes(8 * len(functions)))
    for as_published in (False, True):
        frame = frame_of(path, as_published=as_published)
        assert set(frame.select(*get_game("bargaining").metrics).unique().row(0)) == {0.0}


def test_changed_definitions_are_recomputed_and_stored(path: Path) -> None:
    rows, frame = stored(path), frame_of(path)
    replace_rows(path, definitions="another version", numbers=b"")
    few = frame_of(path, only=["agreement"])
    assert few.equals(frame.select(few.columns))
    assert stored(path) != rows, "other metrics may fail, so all are stored or none"
    assert frame_of(path).equals(frame)
    assert stored(path) == rows


def test_read_only_store_keeps_outdated_metrics(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = frame_of(path)
    replace_rows(path, definitions="another version")
    rows = stored(path)
    monkeypatch.setattr(sqlite, "is_writable", lambda at: at.parent != path.parent)
    assert frame_of(path).equals(frame)
    assert stored(path) == rows


def constant(result: Result) -> float:
    """One."""
    return 1.0


def test_failing_or_unknown_metrics_are_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_metrics(monkeypatch, Metric("boom", boom), Metric("constant", constant))
    path = play(tmp_path, SMALL)
    assert frame_of(path, only=["constant"])["constant"].unique().to_list() == [1.0]
    with pytest.raises(ct.frames.MetricError, match="boom"):
        frame_of(path)
    measured = len(stored(path))
    assert (
        measured
        == sum(map(len, read_matches(path, "well", only=[]).values()))
        - frame_of(path, only=[]).height
    )


def test_definitions_depend_on_code_and_version(monkeypatch: pytest.MonkeyPatch) -> None:
    of_game = MetricSet.of("bargaining").definitions
    assert of_game is not None
    with_metrics(monkeypatch, Metric("constant", constant))
    first = MetricSet.of("bargaining").definitions
    with_metrics(monkeypatch, Metric("constant", constant, bounds=(0.0, 1.0)))
    assert len({of_game, first, MetricSet.of("bargaining").definitions}) == 3
    monkeypatch.setattr(constant, "__module__", "__main__")  # as if entered interactively
    with_metrics(monkeypatch, Metric("typed", constant))
    assert MetricSet.of("bargaining").definitions is None
    monkeypatch.undo()
    monkeypatch.setattr(metrics, "__version__", "9")
    metrics._metric_set.cache_clear()
    with_metrics(monkeypatch, Metric("constant", constant))
    assert MetricSet.of("bargaining").definitions != first
    metrics._metric_set.cache_clear()
