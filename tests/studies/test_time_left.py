"""The time that is left, from counted progress: by the work of each game, steadily."""

from collections import Counter
from itertools import pairwise

import pytest

from cheaptalk.studies.runs.time_left import TimeLeft


def played(
    left: TimeLeft, games: dict[str, tuple[int, float]], speed: float = 1.0
) -> list[tuple[float, float | None]]:
    """Play games one after the other, with so many matches of so much work each; the seconds
    at which they end and what is told then."""
    told, seconds = [], 0.0
    for game, (count, _) in games.items():
        left.plan(game, count)
    for game, (count, work) in games.items():
        for _ in range(count):
            seconds += work / speed
            left.end(game, work)
            told.append((seconds, left.after(seconds)))
    return told


def test_matches_of_one_game_end_when_it_is_told() -> None:
    told = played(TimeLeft(), {"quick": (100, 2.0)})
    for seconds, left in told:
        assert left == pytest.approx(200 - seconds)


def test_long_matches_that_are_to_come_count_by_their_work() -> None:
    games = {"quick": (900, 1.0), "long": (100, 9.0)}
    told = dict(played(TimeLeft(expected={"quick": 2.0, "long": 18.0}), games))
    assert told[450.0] == pytest.approx(1_350, rel=0.05), "half of the matches but one, a quarter"
    assert told[900.0] == pytest.approx(900, rel=0.05)
    assert told[1_350.0] == pytest.approx(450, rel=0.05)


def test_a_game_of_which_nothing_is_known_is_taken_to_be_like_the_others() -> None:
    told = dict(played(TimeLeft(), {"quick": (50, 2.0), "new": (50, 2.0)}))
    assert told[50.0] == pytest.approx(150, rel=0.05)


def test_what_was_done_on_matches_under_way_is_not_left() -> None:
    left = TimeLeft()
    left.plan("game", 10)
    for _ in range(5):
        left.end("game", 10.0)
    assert left.remaining() == 50
    assert left.remaining(under_way=20.0) == 30
    assert left.remaining(under_way=500.0) == pytest.approx(5), "they have not ended"


def test_what_others_play_is_not_left_and_makes_it_end_sooner() -> None:
    left = TimeLeft()
    left.plan("quick", 400)
    for second in range(1, 101):
        left.end("quick", 1.0)
        told = left.after(float(second), elsewhere=3 * second)
        assert told is None or told == pytest.approx(100 - second)


def test_it_does_not_jump() -> None:
    left = TimeLeft()
    left.plan("game", 2_000)
    told = [0.0]
    for second in range(2, 600):
        for _ in range(0 if second % 60 < 30 else 2):  # it stands still half of the time
            left.end("game", 1.0)
        told.append(left.after(float(second)) or 0.0)
    after_a_while = told[240:]
    steps = [abs(one - other) for one, other in pairwise(after_a_while)]
    assert max(steps) < 0.05 * max(after_a_while)


def test_nothing_is_told_before_anything_is_known() -> None:
    left = TimeLeft()
    left.plan("game", 10)
    assert left.after(100.0) is None
    left.end("game", 1.0)
    assert left.after(101.0) is not None


def test_time_that_games_took_together_is_shared_by_what_they_take() -> None:
    left = TimeLeft()
    left.plan("quick", 100)
    left.plan("long", 100)
    left.end("quick", 1.0)
    left.end("long", 9.0)
    left.share(Counter(quick=10, long=10), 200.0)
    assert left.work_of("long") / left.work_of("quick") == pytest.approx(9)
    assert sum(one.work for one in left.games.values()) == pytest.approx(210)


def test_the_rest_takes_in_proportion_to_the_work_that_is_left() -> None:
    left = TimeLeft()
    left.plan("game", 10)
    for _ in range(4):
        left.end("game", 5.0)
    assert left.cost_left(2.0, work_done=20) == pytest.approx(3.0)
    assert left.cost_left(2.5, work_done=25) == pytest.approx(2.5), (
        "five calls of the next are made"
    )
