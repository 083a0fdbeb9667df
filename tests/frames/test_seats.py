"""Frames of seats, and the equality of frames, exported tables and SQL views."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import cheaptalk as ct
from cheaptalk.records.exports.columns import DATE_TIME, JSON, shared_columns
from cheaptalk.records.exports.sheets import MOMENT

STUDY = ct.Study(
    name="mixed",
    games=[
        {"game": "bargaining", "fixed": {"horizon": 3}, "grid": {"discounts": [[0.8, 0.9]]}},
        {"game": "persuasion"},
        {"game": "item_bargaining"},
        {"game": "public_goods", "fixed": {"players": 4, "rounds": 2}},
    ],
    players={
        "luck": {"strategies": {"bargaining": "random", "persuasion": "random"}},
        "gpt": {"model": "script/legal", "cross": {"temperature": [0, 0.5]}},
    },
    instances=1,
)
READERS = {"matches": ct.read_matches, "seats": ct.read_seats}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ct.Store]:
    with ct.Store.open(tmp_path_factory.mktemp("seats") / "s.sqlite", create=True) as opened:
        ct.run(STUDY, opened)
        yield opened


@pytest.fixture(scope="module")
def seats(store: ct.Store) -> Mapping[str, pl.DataFrame]:
    return ct.read_seats(store, "mixed", moves=True)


def test_each_seat_is_a_row_with_its_player_and_opponent(
    store: ct.Store, seats: Mapping[str, pl.DataFrame]
) -> None:
    for record in store.records("mixed", bodies=True):
        rows = seats[record.game].filter(match_id=record.id).rows(named=True)
        assert [row["seat"] for row in rows] == list(record.seats)
        labels = {seat: record.label(seat) for seat in record.seats}
        for row in rows:
            own, others = row["seat"], [seat for seat in labels if seat != row["seat"]]
            assert row["role"] == record.roles[own]
            assert row["player"] == labels[own]
            assert row["opponent"] == ct.records.line_up([labels[seat] for seat in others])
            assert row["payoff"] == (record.payoffs or {})[own]
            assert json.loads(row["settings"]) == record.seats[own]["spec"]
            is_model = row["player"].startswith("gpt")
            assert (row["kind"], row["model"]) == (
                ("model", "script/legal") if is_model else ("strategy", None)
            )
            assert row["settings_temperature"] == record.seats[own]["spec"].get("temperature")
            assert row["factor_temperature"] == (row["player"].split("/")[1] if is_model else None)
            assert row["moves"] == sum(answer.actor == own for answer in record.answers)


def test_metrics_of_a_seat_lose_its_name(
    store: ct.Store, seats: Mapping[str, pl.DataFrame]
) -> None:
    matches = ct.read_matches(store, "mixed")["item_bargaining"]
    for seat in ("player_1", "player_2"):
        own = seats["item_bargaining"].filter(seat=seat)
        assert own["own_mistakes"].equals(matches[f"own_mistakes_{seat}"], null_equal=True)
        assert own["agreement"].equals(matches["agreement"], null_equal=True)
    assert "own_mistakes_player_1" not in seats["item_bargaining"].columns


def test_shares_add_up_to_one_if_payoffs_are_comparable(seats: Mapping[str, pl.DataFrame]) -> None:
    total = pl.col("payoff").sum().over("match_id")
    for game in ("bargaining", "public_goods"):
        rows = seats[game].with_columns(total=total)
        paid = rows.filter(pl.col("total") > 0)
        assert paid.height
        assert paid["share"].to_list() == pytest.approx((paid["payoff"] / paid["total"]).to_list())
        assert rows.filter(pl.col("total") == 0)["share"].null_count() == rows.height - paid.height
    assert seats["persuasion"]["share"].null_count() == seats["persuasion"].height


@pytest.mark.parametrize("table", READERS)
def test_frames_equal_exported_tables(store: ct.Store, tmp_path: Path, table: str) -> None:
    exported = pl.read_parquet(
        ct.export(store, "mixed", tmp_path / "out", "parquet").path / f"{table}.parquet"
    )
    keys = [key for key in ("match_id", "seat") if table == "seats" or key != "seat"]
    for game, frame in READERS[table](store, "mixed", moves=True).items():
        own = exported.filter(game=game).select(frame.columns)
        assert frame.sort(keys).equals(own.sort(keys), null_equal=True)
        assert frame.schema == own.schema


BODY = {
    "forfeited_by",
    "forfeited_seat",
    "forfeit_kind",
    "dropped_because",
    "replaces",
    "bought_by",
    "first_move",
    "seed",
    "package",
    "source_system",
    "source_folder",
    "source_date",
}
"""Columns of matches that views lack, because they need a compressed record or several rows."""
LACKING = {"matches": BODY, "seats": {"share"}}
AS_JSON = {"matches": {"payoffs", "outcome"}, "seats": {"kinds"}}
"""Columns of views in place of several columns of each game."""


@pytest.mark.parametrize("table", READERS)
def test_views_equal_exported_tables(store: ct.Store, tmp_path: Path, table: str) -> None:
    query = f"select * from v_{table}"  # noqa: S608
    view = pl.read_database(query, store.backend.engine, infer_schema_length=None)
    path = ct.export(store, "mixed", tmp_path / "out", "parquet").path / f"{table}.parquet"
    exported = pl.read_parquet(path)
    types = {column.name: column.type for column in shared_columns(table, "table")}
    assert set(view.columns) == types.keys() - LACKING[table] | AS_JSON[table]
    names = [name for name in view.columns if types.get(name, JSON) != JSON]
    for name in names:
        if types[name] == DATE_TIME:
            view = view.with_columns(pl.col(name).cast(pl.String).str.to_datetime(MOMENT))
    keys = [key for key in ("match_id", "seat") if key in view.columns]
    assert_frame_equal(
        view.select(names).cast(exported.select(names).schema).sort(keys),
        exported.select(names).sort(keys),
    )
