"""Frames by round: a row for each round of the matches that count."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.frames import MetricError, read_matches, read_rounds
from cheaptalk.frames import rounds as module
from cheaptalk.rules import Point, Result, Series
from tests.fakes import install_game
from tests.played import play

SILENT: dict[str, Any] = {
    "name": "silent",
    "games": [{"game": "item_bargaining"}],
    "players": {
        "soft": {"strategies": {"item_bargaining": "soft"}},
        "mute": {"model": "vllm/mute"},
    },
    "instances": 1,
}
"""A study with a model whose replies can't be parsed."""


def test_rows_agree_with_the_frames_of_matches(well: Path) -> None:
    frames, matches = read_rounds(well, "well"), read_matches(well, "well")
    assert list(frames) == ["bargaining", "negotiation", "persuasion"]
    for game, frame in frames.items():
        keys = ["match_id", "configuration", "instance", "repeat", "pairing"]
        assert frame.columns[:8] == [*keys, "round", "seat", "player"]
        assert frame.select(keys).unique(maintain_order=True).equals(matches[game].select(keys))
        assert frame.select(["match_id", "round", "seat"]).is_duplicated().sum() == 0
        players = matches[game].unpivot(
            ["player_alice", "player_bob"], index="match_id", variable_name="seat", value_name="who"
        ).with_columns(pl.col("seat").str.strip_prefix("player_"))  # fmt: skip
        joined = frame.drop_nulls("seat").join(players, on=["match_id", "seat"], how="left")
        assert (joined["player"] == joined["who"]).all()
        assert frame.filter(pl.col("seat").is_null())["player"].null_count() == (
            frame["seat"].null_count()
        )
    frame = frames["persuasion"]
    first = frame.filter(pl.col("match_id") == frame["match_id"][0])
    assert first["round"].to_list() == sorted([*range(1, 6)] * 2)
    assert first["seat"].to_list() == [None, "bob"] * 5
    for game in ("negotiation", "bargaining"):
        agreed = matches[game].filter(pl.col("agreement") == 1)
        last = frames[game].group_by("match_id", maintain_order=True).last()
        both = agreed.join(last, on="match_id")
        assert both.height == agreed.height > 0
        assert (both["round"] == both["rounds_played"]).all()
        assert game == "bargaining" or (both["offered_price_factor"] == both["price_factor"]).all()
    bought = frames["persuasion"].group_by("match_id").agg(pl.col("bought").sum())
    both = matches["persuasion"].join(bought, on="match_id")
    assert (both["sales"] == both["bought"]).all()


def test_only_finished_matches_have_rounds(badly: Path) -> None:
    match_tables = read_matches(badly, "badly").values()
    matches = pl.concat([frame.select("match_id", "status") for frame in match_tables])
    frames = read_rounds(badly, "badly", only=["bought", "demand"])
    ids = {match for frame in frames.values() for match in frame["match_id"]}
    assert ids == set(matches.filter(pl.col("status") == "finished")["match_id"])
    assert ids < set(matches["match_id"])


@pytest.mark.parametrize("policy", ["keep", "drop"])
def test_dropped_matches_have_no_rounds(tmp_path: Path, policy: str) -> None:
    path = play(tmp_path, SILENT | {"unanswered": {"unparsable": policy}})
    matches, rounds = read_matches(path, "silent"), read_rounds(path, "silent")
    (frame,), (by_round,) = matches.values(), rounds.values()
    with_mute = frame.filter(pl.col("pairing") == "soft / mute")["match_id"]
    assert set(frame["status"]) == {"finished"}
    assert set(with_mute) <= set(frame.filter(dropped=policy == "drop")["match_id"])
    assert bool(set(with_mute) & set(by_round["match_id"])) == (policy == "keep")


def test_only_requested_series_are_included(well: Path) -> None:
    frames = read_rounds(well, "well", only=["bought", "demand"])
    assert {game: frame.columns[8:] for game, frame in frames.items()} == {
        "bargaining": ["demand"],
        "persuasion": ["bought"],
    }
    assert set(frames["persuasion"]["seat"]) == {"bob"}
    with pytest.raises(ct.CheaptalkError, match='did you mean "bought"'):
        read_rounds(well, "well", only=["bougt"])
    with pytest.raises(ct.records.StoreError, match='did you mean "well"'):
        read_rounds(well, "wel")


def test_chunks_give_the_same_frame_as_one(well: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = read_rounds(well, "well")
    monkeypatch.setattr(module, "PART", 7)
    for game, frame in read_rounds(well, "well").items():
        assert frame.equals(expected[game])


def late(result: Result) -> Iterator[Point]:
    """Fail in the second round."""
    yield Point(1, "alice", 1.0)
    raise ZeroDivisionError("no surplus")


def odd(result: Result) -> Iterator[Point]:
    """Name an unknown seat."""
    yield Point(1, "carol", 1.0)


def doubled(result: Result) -> Iterator[Point]:
    """As published."""
    yield Point(1, "alice", 2.0)


def once(result: Result) -> Iterator[Point]:
    """As in the paper."""
    yield Point(1, "alice", 1.0)


def with_series(monkeypatch: pytest.MonkeyPatch, *series: Series) -> None:
    game_spec = replace(ct.get_game("bargaining"), series={entry.name: entry for entry in series})
    install_game(monkeypatch, game_spec)


def test_invalid_series_error_names_the_series(well: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for series, pattern in [
        (Series("late", late), r"series late of bargaining failed on match \w+: ZeroDivision"),
        (Series("odd", odd), r"series odd of bargaining failed on match \w+: KeyError: 'carol'"),
        (Series("low", once, bounds=(0.0, 0.5)), r"low of bargaining is 1, which is not between 0"),
        (Series("player", once), 'the series name "player"'),
        (Series("round", once), 'the series name "round"'),
    ]:
        with_series(monkeypatch, series)
        with pytest.raises(MetricError, match=pattern):
            read_rounds(well, "well")


def test_published_variants_are_used_if_available(
    well: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_series(monkeypatch, Series("twice", once, doubled), Series("same", once))
    frame = read_rounds(well, "well", as_published=True)["bargaining"]
    assert set(frame["twice"]) == {2.0}
    assert set(frame["same"]) == {1.0}
    assert set(read_rounds(well, "well")["bargaining"]["twice"]) == {1.0}
