"""Wins and ties counted from matches, metrics by side, and Elo ratings over random orders."""

from itertools import starmap
from typing import Any

import numpy as np
import polars as pl
import pytest

from cheaptalk.equilibrium import elo, mean_elo, tally
from cheaptalk.equilibrium.empirical.metrics import by_row, names_of, sided
from tests.equilibrium.matches import frame as matches_frame
from tests.equilibrium.matches import match


def frame(*matches: tuple[Any, ...], **columns: list[Any]) -> pl.DataFrame:
    """Return finished matches with the given players and payoffs."""
    return matches_frame(starmap(match, matches)).with_columns(
        pl.Series(name, values) for name, values in columns.items()
    )


def test_higher_payoff_wins_in_either_seat() -> None:
    result = tally(
        frame(
            ("a", "b", 3.0, 1.0),
            ("b", "a", 1.0, 3.0),
            ("b", "a", 2.0, 1.0),
            ("b", "c", 0.3, 0.1 + 0.2),
            ("c", "c", 5.0, 1.0),
        )
    )
    assert result.names == ("a", "b", "c")
    assert result.wins.tolist() == [[0, 2, 0], [1, 0, 0], [0, 0, 0]]
    assert result.ties.tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert result.scores.tolist() == [1, 0, 1, 0.5]


def test_only_scored_matches_of_selected_players_count() -> None:
    matches = frame(
        ("a", "b", 3.0, 1.0),
        ("a", "b", 0.0, 1.0),
        ("a", "b", 0.0, 1.0),
        ("c", "a", 1.0, 0.0),
        ("a", "b", None, None),
        status=["finished", "failed", "finished", "finished", "finished"],
        dropped=[False, False, True, False, False],
    )
    result = tally(matches, ["b", "a"])
    assert result.wins.tolist() == [[0, 0], [1, 0]]
    assert len(result.scores) == 1
    with pytest.raises(ValueError, match="matches of 2 players, not of 1"):
        tally(pl.DataFrame({"player_first": ["a"]}))


def test_mean_elo_is_the_mean_of_elo_over_orders() -> None:
    result = tally(
        frame(
            ("a", "b", 3.0, 1.0), ("b", "c", 2.0, 2.0), ("c", "a", 4.0, 1.0), ("a", "b", 1.0, 2.0)
        )
    )
    games = list(
        zip(result.first.tolist(), result.second.tolist(), result.scores.tolist(), strict=True)
    )
    orders = np.random.default_rng(5).permuted(np.tile(np.arange(4), (7, 1)), axis=1)
    one_by_one = [elo([games[at] for at in order], 3) for order in orders]
    assert mean_elo(result, orders=7, seed=5) == pytest.approx(np.mean(one_by_one, axis=0))
    assert mean_elo(result).mean() == pytest.approx(1500)
    with pytest.raises(ValueError, match="orders must be at least 1"):
        mean_elo(result, orders=0)


def test_seat_metrics_are_converted_to_row_and_column() -> None:
    matches = frame(
        ("a", "b", 0.0, 0.0),
        ("b", "a", 0.0, 0.0),
        ("a", "a", 0.0, 0.0),
        ("b", "b", 0.0, 0.0),
        given_first=[1.0, 2.0, 3.0, None],
        given_second=[10.0, 20.0, 5.0, 7.0],
    )
    table = sided(matches, "given", "value")
    row, column = (table[name].to_list() for name in names_of("value"))
    assert row == [1, 20, 4, 7]
    assert column == [10, 2, 4, 7]
    combined = by_row(np.array([[1.0, 2], [2, np.nan]]), np.array([[1.0, 3], [3, np.nan]]))
    np.testing.assert_array_equal(combined, [[1, 2], [3, np.nan]])
    with pytest.raises(ValueError, match="no column given_first"):
        sided(matches.drop("given_first"), "given", "value")
