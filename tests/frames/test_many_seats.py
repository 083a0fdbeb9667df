"""Frames of games whose number of seats depends on their parameters."""

from pathlib import Path

import polars as pl

import cheaptalk as ct
from cheaptalk.frames import read_matches
from cheaptalk.frames.matches import KINDS
from tests.played import CROWD, play

GIVERS = [f"giver_{number}" for number in range(1, 11)]


def test_columns_cover_the_seats_of_all_configurations(toys: None, tmp_path: Path) -> None:
    with ct.Store.open(play(tmp_path, CROWD)) as store:
        frames = read_matches(store, "crowd", moves=True)
        records = list(store.records("crowd"))
    frame = frames["giving"]
    assert [name for name in frame.columns if name.startswith(("player_", "payoff_"))] == [
        *(f"player_{giver}" for giver in GIVERS), *(f"payoff_{giver}" for giver in GIVERS),
    ]  # fmt: skip
    ten = frame.filter(pl.col("game_givers") == 10)
    assert set(ten["pairing"]) == {"free / luck x 9", "luck x 10", "free x 3 / luck x 4 / kind x 3"}
    assert "luck / luck" in set(frame["pairing"])
    rows = {row["match_id"]: row for item in frames.values() for row in item.rows(named=True)}
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
            assert row[f"moves_{seat}"] == ok
            assert [row[f"answers_{seat}_{kind}"] for kind in KINDS] == [
                ok, *([0 if present else None] * (len(KINDS) - 1)),
            ]  # fmt: skip
