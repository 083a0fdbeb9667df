"""Estimates of the remaining time from the work of each game, and their stability."""

from collections import Counter
from itertools import pairwise

import pytest

from cheaptalk.studies.runs.progress import TimeLeft


def simulate(
    time_left: TimeLeft, games: dict[str, tuple[int, float]], speed: float = 1.0
) -> list[tuple[float, float | None]]:
    """Play (matches, work per match) of each game; return pairs of time and estimate."""
    estimates, seconds = [], 0.0
    for game, (count, _) in games.items():
        time_left.plan(game, count)
    for game, (count, work) in games.items():
        for _ in range(count):
            seconds += work / speed
            time_left.end(game, work)
            estimates.append((seconds, time_left.after(seconds)))
    return estimates


def test_estimate_is_exact_for_uniform_matches() -> None:
    estimates = simulate(TimeLeft(), {"quick": (100, 2.0)})
    assert [remaining for _, remaining in estimates[:2]] == [None, None], "nothing is measured"
    for seconds, remaining in estimates[2:]:
        assert remaining == pytest.approx(200 - seconds)


def test_later_long_matches_count_by_their_work() -> None:
    games = {"quick": (900, 1.0), "long": (100, 9.0)}
    estimates = dict(simulate(TimeLeft(expected={"quick": 2.0, "long": 18.0}), games))
    assert estimates[450.0] == pytest.approx(1_350, rel=0.05), "a quarter of the work is done"
    assert estimates[900.0] == pytest.approx(900, rel=0.05)
    assert estimates[1_350.0] == pytest.approx(450, rel=0.05)


def test_unknown_game_is_estimated_like_known_ones() -> None:
    estimates = dict(simulate(TimeLeft(), {"quick": (50, 2.0), "new": (50, 2.0)}))
    assert estimates[50.0] == pytest.approx(150, rel=0.05)


def test_work_on_live_matches_reduces_remaining_work() -> None:
    time_left = TimeLeft()
    time_left.plan("game", 10)
    for _ in range(5):
        time_left.end("game", 10.0)
    assert time_left.remaining() == 50
    assert time_left.remaining(under_way=20.0) == 30
    assert time_left.remaining(under_way=44.0) == pytest.approx(11), "long matches last longer"
    assert time_left.remaining(under_way=500.0) == pytest.approx(125)
    for _ in range(4):
        time_left.end("game", 10.0)
    assert time_left.remaining(under_way=2.0) == 8
    assert time_left.remaining(under_way=9.8) == pytest.approx(2.45)


def test_matches_played_elsewhere_shorten_the_estimate() -> None:
    time_left = TimeLeft()
    time_left.plan("quick", 400)
    for second in range(1, 101):
        time_left.end("quick", 1.0)
        estimate = time_left.after(float(second), elsewhere=3 * second)
        assert estimate is None or estimate == pytest.approx(100 - second)
    assert estimate == pytest.approx(0)


def test_estimates_change_smoothly() -> None:
    time_left = TimeLeft()
    time_left.plan("game", 2_000)
    estimates = [0.0]
    for second in range(2, 600):
        for _ in range(0 if second % 60 < 30 else 2):  # no progress half of the time
            time_left.end("game", 1.0)
        estimates.append(time_left.after(float(second)) or 0.0)
    after_a_while = estimates[240:]
    steps = [abs(before - after) for before, after in pairwise(after_a_while)]
    assert max(steps) < 0.05 * max(after_a_while)


def test_shared_time_is_split_by_expected_work() -> None:
    time_left = TimeLeft()
    time_left.plan("quick", 100)
    time_left.plan("long", 100)
    time_left.end("quick", 1.0)
    time_left.end("long", 9.0)
    time_left.share(Counter(quick=10, long=10), 200.0)
    assert time_left.work_of("long") / time_left.work_of("quick") == pytest.approx(9)
    assert sum(game.work for game in time_left.games.values()) == pytest.approx(210)
