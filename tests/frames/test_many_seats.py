"""Frames of games whose number of seats depends on their parameters."""

from pathlib import Path

import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.frames import match_frames
from cheaptalk.frames.matches import KINDS
from tests.played import CROWD, play

GIVERS = [f"giver_{number}" for number in range(1, 11)]


@pytest.fixture
def crowd(toys: None, tmp_path: Path) -> Path:
    return play(tmp_path, CROWD)


def test_columns_cover_the_seats_of_all_configurations_in_order(crowd: Path) -> None:
    with ct.Store.open(crowd) as store:
        frame = match_frames(store, "crowd")["giving"]
    assert [name for name in frame.columns if name.startswith(("player_", "payoff_"))] == [
        *(f"player_{giver}" for giver in GIVERS), *(f"payoff_{giver}" for giver in GIVERS),
    ]  # fmt: skip


def test_columns_of_missing_seats_are_null(crowd: Path) -> None:
    with ct.Store.open(crowd) as store:
        frames = match_frames(store, "crowd")
        records = list(store.records("crowd"))
    rows = {row["match_id"]: row for frame in frames.values() for row in frame.rows(named=True)}
    assert {len(record.seats) for record in records} == {2, 3, 10}
    for record in records:
        row = rows[record.id]
        assert record.payoffs is not None
        for name in (name for name in row if name.startswith("player_")):
            seat = name.removeprefix("player_")
            present = seat in record.seats
            assert row[name] == (record.label(seat) if present else None)
            assert row[f"payoff_{seat}"] == record.payoffs.get(seat)
            ok = record.kinds[seat]["ok"] if present else None
            assert [row[f"answers_{seat}_{kind}"] for kind in KINDS] == [
                ok, *([0 if present else None] * (len(KINDS) - 1)),
            ]  # fmt: skip


def test_pairing_abbreviates_long_runs_of_a_label(crowd: Path) -> None:
    with ct.Store.open(crowd) as store:
        frame = match_frames(store, "crowd")["giving"]
    ten = frame.filter(pl.col("game.givers") == 10)
    assert set(ten["pairing"]) == {"free / luck x 9", "luck x 10", "free x 3 / luck x 4 / kind x 3"}
    assert "luck / luck" in set(frame["pairing"])
