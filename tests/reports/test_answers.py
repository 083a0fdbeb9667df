"""The sentence that a game's part begins with: who did best, and whether that can be told."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.reports.recipes.margins import ALPHA
from cheaptalk.reports.study.answers import answer, margins
from cheaptalk.reports.study.scores import GameScores
from tests.fakes import install_game
from tests.toys import BOX

PLACES = {"left": "left", "right": "right"}


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a game of two payoffs without measures of gains be known."""
    install_game(monkeypatch, BOX)


def scores(rows: list[tuple[str, int, float]]) -> GameScores:
    """A game in which players of the left place got so much on deals; the right is all the same."""
    frame = pl.DataFrame(
        [
            {
                "match": f"{at}", "status": "finished", "dropped": False, "rules": 1,
                "configuration": "c", "deal": f"{deal}", "pairing": f"{who} / rival",
                "player.left": who, "player.right": "rival",
                "payoff.left": got, "payoff.right": 0.0, "hits": 0.0,
                **{f"kind.{place}.{kind.value}": int(kind == "ok")
                   for place in PLACES for kind in ct.players.Kind},
            }
            for at, (who, deal, got) in enumerate(rows)
        ]
    )  # fmt: skip
    return GameScores("guessing", frame, PLACES)


def played(deals: int, **gains: Callable[[int], float]) -> GameScores:
    return scores([(who, deal, gain(deal)) for deal in range(deals) for who, gain in gains.items()])


def test_who_is_ahead_beyond_doubt_did_best() -> None:
    game = played(20, ann=lambda deal: 3 + deal % 2, bob=lambda deal: 1.0 + deal % 3 / 10)
    (margin,) = margins(game, "left")
    assert margin.behind == "bob"
    assert margin.size == pytest.approx(3.5 - 1.095)
    assert margin.low is not None
    assert 2 < margin.low < margin.size
    assert answer(game).text.startswith("ann did best as Left: Payoff Left 3.500, 2.405 more than")
    assert "rival as Right: Payoff Right 0.000" in answer(game).text


def test_deals_that_move_both_alike_leave_the_difference_sure() -> None:
    """Paired by deal: what a deal adds to both is no doubt about who is ahead."""
    luck = np.random.default_rng(1).normal(0, 5, 30)
    noise = np.random.default_rng(2).normal(0, 0.1, (2, 30))
    ours, theirs = luck + noise[0] + 1, luck + noise[1]
    game = played(30, ann=lambda deal: ours[deal], bob=lambda deal: theirs[deal])
    (margin,) = margins(game, "left")
    difference = ours - theirs
    assert margin.size == pytest.approx(difference.mean())
    width = 2.0452296 * difference.std(ddof=1) / 30**0.5  # Student's t of 29 degrees
    assert (margin.low, margin.high) == pytest.approx(
        (margin.size - width, margin.size + width), rel=1e-6
    )


def test_what_cannot_be_told_yet_says_how_many_matches_would_tell() -> None:
    game = played(10, ann=lambda deal: deal % 5 + 0.5, bob=lambda deal: (deal + 2) % 5)
    (margin,) = margins(game, "left")
    assert not margin.told
    assert margin.more is not None
    said = answer(game)
    assert said.text.startswith("Who does best as Left cannot be told yet: ann")
    needed = float(f"{20 * margin.more:.2g}")
    assert f"about {needed:,.0f} matches like these 20 would tell" in said.text
    tell = f"(20 matches were played, about {needed:,.0f} would tell)"
    assert said.short == f"ann leads as Left, not yet beyond doubt {tell}; rival alone as Right"
    many = played(round(10 * margin.more), ann=lambda deal: deal % 5 + 0.5,
                  bob=lambda deal: (deal + 2) % 5)  # fmt: skip
    assert next(margins(many, "left")).told


def test_what_never_varied_is_always_so_and_one_deal_tells_nothing() -> None:
    always = played(12, ann=lambda _: 2.0, bob=lambda _: 1.0)
    assert (
        "ann did best as Left: Payoff Left 2.000, 1.000 more than bob (the same on every deal)"
        in (answer(always).text)
    )
    once = played(1, ann=lambda _: 2.0, bob=lambda _: 1.0)
    assert "cannot be told yet: ann (Payoff Left 2.000) is 1.000 ahead of bob (one deal); more" in (
        answer(once).text
    )
    even = played(12, ann=lambda _: 1.0, bob=lambda _: 1.0)
    assert answer(even).text.startswith("ann and bob did equally well as Left: Payoff Left 1.000.")
    alike = played(12, ann=lambda _: 1.0, bob=lambda _: 1.0, cat=lambda _: 1.0)
    assert answer(alike).text.startswith("All 3 players did equally well as Left")
    both = dict.fromkeys(("ann", "bob"), lambda _: 1.0) | {"cat": lambda _: 0.5}
    assert answer(played(12, **both)).short.startswith("ann and bob did equally well as Left;")


def test_the_best_of_equals_is_named_in_few_studies() -> None:
    """Of five players who are alike, one is said to be best in at most one of twenty studies."""
    chance = np.random.default_rng(3)
    named, studies = 0, 200
    for _ in range(studies):
        gains: Any = chance.normal(size=(12, 5))
        game = scores(
            [(f"p{who}", deal, gains[deal, who]) for deal in range(12) for who in range(5)]
        )
        named += all(one.told for one in margins(game, "left"))
    assert named / studies <= ALPHA
