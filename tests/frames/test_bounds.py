"""Bounds of a game's values, and values beyond them."""

from pathlib import Path

import polars as pl

import cheaptalk as ct
from cheaptalk.frames import read_matches
from cheaptalk.frames.bounds import beyond, with_bounds
from cheaptalk.statistics import mean_intervals


def test_constant_scores_have_intervals_only_with_attainable_bounds(tmp_path: Path) -> None:
    for game, strategy, reached in (
        ("bargaining", "equal_split", True),
        ("negotiation", "split_the_difference", False),
    ):
        players = {"a": {"strategy": strategy}}
        study = {"name": "s", "instances": 3, "games": [{"game": game}], "players": players}
        ct.run(ct.studies.parse_study(study, "here"), tmp_path / "s.sqlite")
        frame, bounds = with_bounds(read_matches(tmp_path / "s.sqlite", "s")[game], game)
        scores = ["payoff_alice", "payoff_bob", "self_gain_alice", "self_gain_bob", "agreement"]
        intervals = mean_intervals(frame, scores, bounds=bounds)
        known = dict(intervals.select("metric", pl.col("low").is_not_null()).iter_rows())
        assert known.pop("agreement")
        assert set(known.values()) == {reached}


def test_first_match_beyond_a_bound_is_reported() -> None:
    frame = pl.DataFrame(
        {
            "match_id": ["b", "a", "c"], "share": [0.5, 1.0 + 1e-12, None],
            "pot": [4.0, 11.0, 12.0],
            "pot.least": [0.0, 0.0, 0.0], "pot.most": [10.0, 10.0, 20.0],
        }
    )  # fmt: skip
    (message,) = beyond(frame, {"share": (0.0, 1.0), "pot": ("pot.least", "pot.most")})
    assert message == (
        "pot is 11 in match a, outside its declared bounds 0 to 10: its intervals ignore "
        "these bounds; correct them in the game"
    )
    assert list(beyond(frame, {"absent": (0.0, 1.0), "pot": (float("-inf"), 12.0)})) == []
