from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import cheaptalk as ct
from cheaptalk.equilibrium.empirical.bootstrap import bootstrap_equilibrium
from cheaptalk.equilibrium.empirical.empirical_games import EmpiricalBimatrix, EmpiricalGame
from cheaptalk.games.item_bargaining.rules import ItemBargaining
from cheaptalk.rules import CheaptalkError
from tests.equilibrium.matches import frame, match
from tests.games.extremes import extreme_payoffs
from tests.played import play

EXTREMES: dict[str, Any] = {
    "name": "extremes",
    "seed": 3,
    "games": [
        {
            "game": "item_bargaining",
            "fixed": {"discount": 0.98},
            "cases": [{"rounds": 3}, {"rounds": 5}],
        },
        {"game": "bargaining", "fixed": {"horizon": 3}},
    ],
    "players": {
        label: {"strategies": {"item_bargaining": label}} for label in ("soft", "tough", "walk")
    }
    | {"luck": {"strategies": {"bargaining": "random"}}},
    "instances": 40,
}
"""Both seats of a pair, by turns, on two instances: the first seat is worth 10 more."""
ASYMMETRIC = [
    match("a", "b", 13, 2, "d1"),
    match("a", "b", 15, 4, "d2"),
    match("b", "a", 12, 3, "d1"),
    match("b", "a", 14, 5, "d2"),
    match("a", "a", 20, 10, "d1"),
    match("a", "a", 22, 12, "d2"),
    match("b", "b", 17, 7, "d1"),
    match("b", "b", 17, 7, "d2"),
]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return play(tmp_path_factory.mktemp("extremes"), EXTREMES)


def test_seats_are_exchanged_and_own_play_counts_both() -> None:
    game = EmpiricalGame.of_frame(frame(ASYMMETRIC))
    assert game.labels == ("a", "b")
    assert_allclose(game.payoffs(), [[16, (13 + 15 + 3 + 5) / 4], [(2 + 4 + 12 + 14) / 4, 12]])
    assert_array_equal(game.counts(), [[2, 4], [4, 2]])
    assert_array_equal(game.instances(), [[2, 2], [2, 2]])
    assert not game.missing
    assert not game.thin
    said = "2 strategies, 8 matches\n       a      b\na  16.00   9.00\nb   8.00  12.00"
    assert str(game) == said


def test_both_orders_weigh_alike_though_one_was_played_more() -> None:
    more = [*ASYMMETRIC, match("a", "b", 14, 3, "d3"), match("a", "b", 14, 3, "d4")]
    game = EmpiricalGame.of_frame(frame(more))
    assert_allclose(game.payoffs(), EmpiricalGame.of_frame(frame(ASYMMETRIC)).payoffs())
    assert game.counts()[0, 1] == 6


def test_a_bimatrix_keeps_the_seats_apart() -> None:
    game = EmpiricalBimatrix.of_frame(frame(ASYMMETRIC))
    a, b = game.payoffs()
    assert_allclose(a, [[21, 14], [13, 17]])
    assert_allclose(b, [[11, 3], [4, 7]])
    assert_array_equal(game.counts(), [[2, 2], [2, 2]])


def test_matches_that_do_not_count_are_left_out() -> None:
    worse = [
        *ASYMMETRIC,
        match("a", "b", 99, 99, "d3", status="failed"),
        match("a", "b", 99, 99, "d3", dropped=True),
    ]
    assert_allclose(
        EmpiricalGame.of_frame(frame(worse)).payoffs(),
        EmpiricalGame.of_frame(frame(ASYMMETRIC)).payoffs(),
    )


def test_measures_are_means_over_the_matches_that_have_them() -> None:
    matches = frame(ASYMMETRIC).with_columns(
        fair=pl.Series([1.0, None, 0.0, 0.0, None, None, 1, 1])
    )
    game = EmpiricalGame.of_frame(matches, metrics=["fair"])
    assert_allclose(game.value("fair"), [[np.nan, 1 / 3], [1 / 3, 1]])
    with pytest.raises(ValueError, match='no metric "envy"; it has fair'):
        game.value("envy")


def test_missing_and_thin_cells_are_named_and_analysis_refuses() -> None:
    holes = [one for one in ASYMMETRIC if {one["player_first"], one["player_second"]} != {"b"}]
    holes += [match("c", "a", 1, 1), match("a", "c", 1, 1), match("c", "c", 1, 1)]
    game = EmpiricalGame.of_frame(frame(holes))
    assert [str(cell) for cell in game.missing] == ["b / b", "b / c"]
    assert [str(cell) for cell in game.thin] == ["a / c", "c / c"]
    assert game.counts()[1, 2] == 0
    assert str(game) == "3 strategies, 9 matches, 2 cells missing"
    assert game.largest_complete() == ("a", "c")
    with pytest.raises(CheaptalkError, match=r"2 pairs.*: b / b, b / c;.*without\(\['b'\]\)"):
        game.payoffs()
    with pytest.raises(CheaptalkError, match=r"2 pairs with fewer than 2 instances: a / c, c / c"):
        bootstrap_equilibrium(game.without(["b"]))
    assert game.without(["b", "c"]).payoffs() == [[16]]


@pytest.mark.parametrize(("instances", "spread", "told"), [
    (24, 0.0, "24 instances per pair of strategies are few; intervals may be too narrow, and 25"),
    (30, 0.0, ""),
    (30, 1.0,
    "30 instances per pair of strategies are few for payoffs as skewed as these; intervals"),
])  # fmt: skip
def test_few_instances_for_the_skewness_of_payoffs_are_told(
    instances: int, spread: float, told: str
) -> None:
    draw = np.random.default_rng(3)
    played = [
        match(row, column, value, value, f"d{instance}")
        for instance in range(instances)
        for row, column in product("ab", repeat=2)
        for value in (np.exp(spread * draw.normal()) if spread else draw.normal(),)
    ]
    assert EmpiricalGame.of_frame(frame(played)).few_instances.startswith(told)


def test_a_bimatrix_names_what_is_missing() -> None:
    with pytest.raises(CheaptalkError, match="1 pair without a match: b / a; play the"):
        EmpiricalBimatrix.of_frame(frame([*ASYMMETRIC[:2], *ASYMMETRIC[4:]])).payoffs()


def test_nothing_complete_is_said() -> None:
    game = EmpiricalGame.of_frame(frame([match("a", "b", 1, 1), match("b", "a", 1, 1)]))
    with pytest.raises(CheaptalkError, match="no strategy has played against itself"):
        game.payoffs()


def test_the_largest_complete_subset_leaves_out_as_few_as_can_be() -> None:
    labels = "abcde"
    met = {("a", "b"), ("a", "c"), ("b", "c"), ("d", "e"), ("a", "d")}
    matches = [match(one, other, 1, 1) for pair in met for one, other in (pair, pair[::-1])] + [
        match(label, label, 1, 1) for label in labels
    ]
    assert EmpiricalGame.of_frame(frame(matches)).largest_complete() == ("a", "b", "c")
    assert EmpiricalGame.of_frame(frame(ASYMMETRIC)).largest_complete() == ("a", "b")


def test_players_who_sat_in_one_order_only_are_named() -> None:
    lopsided = frame(ASYMMETRIC[:2] + ASYMMETRIC[4:])
    with pytest.raises(ValueError, match="the players of a / b never swapped seats; also play"):
        EmpiricalGame.of_frame(lopsided)
    assert EmpiricalGame.of_frame(lopsided, one_sided=True).payoffs()[0, 1] == 14


def test_strategies_in_another_order_are_the_same_game() -> None:
    game = EmpiricalGame.of_frame(frame(ASYMMETRIC))
    turned = game.only(["b", "a"])
    assert turned.labels == ("b", "a")
    assert_allclose(turned.payoffs(), game.payoffs()[::-1, ::-1])


def test_games_are_mixed_by_weight() -> None:
    other = [
        one | {"configuration": "e", "payoff_first": 0.0, "payoff_second": 8.0}
        for one in ASYMMETRIC
    ]
    both = frame(ASYMMETRIC + other)
    first = EmpiricalGame.of_frame(frame(ASYMMETRIC)).payoffs()
    assert_allclose(EmpiricalGame.of_frame(both).payoffs(), first / 2 + 2)
    weighed = EmpiricalGame.of_frame(both, weights={"c": 3, "e": 1})
    assert_allclose(weighed.payoffs(), first * 0.75 + 1)
    pooled = EmpiricalGame.of_frame(both, by=None)
    assert_allclose(pooled.payoffs(), first / 2 + 2)
    assert len(pooled.samples) == 1
    assert pooled.instances()[0, 1] == 4  # an instance is one configuration's
    with pytest.raises(ValueError, match="name each game once: c, e"):
        EmpiricalGame.of_frame(both, weights={"c": 1})
    holes = frame([*ASYMMETRIC, *other[:-2]])
    assert [str(cell) for cell in EmpiricalGame.of_frame(holes).missing] == ["b / b in e"]


def test_games_are_called_by_their_parameters_where_these_tell_them_apart() -> None:
    matches = frame([*ASYMMETRIC, *(one | {"configuration": "e"} for one in ASYMMETRIC)])
    talk = pl.Series([True] * 8 + [None] * 8)
    told = matches.with_columns(talk.alias("game.talk"), pl.lit(1).alias("game.x"))
    named = EmpiricalGame.of_frame(told)
    assert [sample.name for sample in named.samples] == ["talk=true", "talk=none"]
    unlike = pl.Series([True, False] * 8)
    other = EmpiricalGame.of_frame(matches.with_columns(unlike.alias("game.talk")))
    assert [sample.name for sample in other.samples] == ["c", "e"]


def test_payoffs_of_anyone_make_a_game() -> None:
    game = EmpiricalGame.of_payoffs([[-1, 2], [0, 1]], ["hawk", "dove"])
    assert_allclose(game.payoffs(), [[-1, 2], [0, 1]])
    assert_allclose(game.without(["hawk"]).payoffs(), [[1]])
    assert not game.counts().any()
    assert not game.thin
    with pytest.raises(CheaptalkError, match="A bootstrap resamples matches"):
        bootstrap_equilibrium(game)
    a, b = EmpiricalBimatrix.of_payoffs([[1, 2, 3]], [[4, 5, 6]], ["r"]).payoffs()
    assert_allclose(a, [[1, 2, 3]])
    assert_allclose(b, [[4, 5, 6]])


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: EmpiricalGame.of_payoffs([[1, 2]]), "square"),
        (lambda: EmpiricalGame.of_payoffs(np.array([[1, 2], [3, np.nan]])), "nan"),
        (lambda: EmpiricalGame.of_payoffs([[1, 2], [3, 4]], ["a", "a"]), 'are called "a"'),
        (lambda: EmpiricalGame.of_payoffs([[1, 2], [3, 4]], ["a"]), "1 label for 2 strategies"),
        (lambda: EmpiricalGame.of_payoffs([[1]], ["a"]).only(["z"]), 'Unknown strategy "z"'),
        (lambda: EmpiricalGame.of_payoffs([[1]], ["a"]).without(["z"]), 'Unknown strategy "z"'),
        (lambda: EmpiricalGame.of_payoffs([[1]], ["a"]).without(["a"]), "Keep at least one"),
        (lambda: EmpiricalGame.of_frame(frame(ASYMMETRIC), metrics=["x"]), 'no column "x"'),
        (
            lambda: EmpiricalGame.of_frame(frame([match("a", "b", 1, 1, status="live")])),
            "no finished match",
        ),
        (
            lambda: EmpiricalGame.of_frame(
                frame(ASYMMETRIC).with_columns(pl.lit("x").alias("player_z"))
            ),
            "matches of 2 players, not of 3",
        ),
    ],
)  # fmt: skip
def test_what_is_no_game_is_refused(made: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        made()


def test_heuristics_of_a_study_pay_what_theory_says(played: Path) -> None:
    with ct.Store.open(played) as store:
        game = EmpiricalGame.of_study(
            store, "extremes", game="item_bargaining", where=pl.col("game.rounds") == 3
        )
        mixed = EmpiricalGame.of_study(store, "extremes", "extremes", game="item_bargaining")
        with pytest.raises(ValueError, match=r"Name one of the games.*bargaining, item_bargaining"):
            EmpiricalGame.of_study(store, "extremes")
    theory = extreme_payoffs(ItemBargaining(discount=0.98, rounds=3))
    drawn = bootstrap_equilibrium(game, draws=200).payoffs
    for (one, other), expected in theory.items():
        at = game.labels.index(one), game.labels.index(other)
        assert abs(game.payoffs()[at] - expected) <= 4 * drawn[:, *at].std()
    assert_allclose(bootstrap_equilibrium(game, draws=50).mixtures, [[0, 0, 1]] * 50)
    assert_array_equal(game.counts(), [[40, 80, 80], [80, 40, 80], [80, 80, 40]])
    assert sorted(sample.name for sample in mixed.samples) == ["rounds=3", "rounds=5"]
    assert_array_equal(mixed.counts(), 2 * game.counts())
