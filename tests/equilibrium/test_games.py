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
"""Both seat orders of each pair on two instances: the first seat is worth 10 more."""
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


def test_payoffs_average_both_seats() -> None:
    ignored = [
        match("a", "b", 99, 99, "d3", status="failed"),
        match("a", "b", 99, 99, dropped=True),
    ]
    game = EmpiricalGame.of_frame(frame([*ASYMMETRIC, *ignored]))
    assert game.labels == ("a", "b")
    assert_allclose(game.payoffs(), [[16, (13 + 15 + 3 + 5) / 4], [(2 + 4 + 12 + 14) / 4, 12]])
    assert_array_equal(game.counts(), [[2, 4], [4, 2]])
    assert_array_equal(game.instances(), [[2, 2], [2, 2]])
    assert not game.missing
    assert not game.thin
    expected = "2 strategies, 8 matches\n       a      b\na  16.00   9.00\nb   8.00  12.00"
    assert str(game) == expected
    reordered = game.only(["b", "a"])
    assert reordered.labels == ("b", "a")
    assert_allclose(reordered.payoffs(), game.payoffs()[::-1, ::-1])
    more = [match("a", "b", 14, 3, instance) for instance in ("d3", "d4")]
    uneven = EmpiricalGame.of_frame(frame([*ASYMMETRIC, *more]))
    assert_allclose(uneven.payoffs(), game.payoffs())  # both seat orders have equal weight
    assert uneven.counts()[0, 1] == 6
    lopsided = frame(ASYMMETRIC[:2] + ASYMMETRIC[4:])
    with pytest.raises(ValueError, match="the players of a / b never swapped seats; also play"):
        EmpiricalGame.of_frame(lopsided)
    assert EmpiricalGame.of_frame(lopsided, one_sided=True).payoffs()[0, 1] == 14


def test_bimatrix_keeps_seats_separate() -> None:
    game = EmpiricalBimatrix.of_frame(frame(ASYMMETRIC))
    a, b = game.payoffs()
    assert_allclose(a, [[21, 14], [13, 17]])
    assert_allclose(b, [[11, 3], [4, 7]])
    assert_array_equal(game.counts(), [[2, 2], [2, 2]])
    with pytest.raises(CheaptalkError, match="1 pair without a match: b / a; play the"):
        EmpiricalBimatrix.of_frame(frame([*ASYMMETRIC[:2], *ASYMMETRIC[4:]])).payoffs()


def test_metrics_are_means_over_matches_with_a_value() -> None:
    matches = frame(ASYMMETRIC).with_columns(
        fair=pl.Series([1.0, None, 0.0, 0.0, None, None, 1, 1])
    )
    game = EmpiricalGame.of_frame(matches, metrics=["fair"])
    assert_allclose(game.value("fair"), [[np.nan, 1 / 3], [1 / 3, 1]])
    with pytest.raises(ValueError, match='no metric "envy"; it has fair'):
        game.value("envy")


def test_missing_and_thin_cells_are_named_in_errors() -> None:
    holes = [row for row in ASYMMETRIC if {row["player_first"], row["player_second"]} != {"b"}]
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
    only_rivals = EmpiricalGame.of_frame(frame([match("a", "b", 1, 1), match("b", "a", 1, 1)]))
    with pytest.raises(CheaptalkError, match="no strategy has played against itself"):
        only_rivals.payoffs()


def test_few_instances_for_skewed_payoffs_give_a_warning() -> None:
    few = "instances per pair of strategies are few"
    for instances, spread, warning in [
        (24, 0.0, f"24 {few}; intervals may be too narrow, and 25"),
        (30, 0.0, ""),
        (30, 1.0, f"30 {few} for payoffs as skewed as these; intervals"),
    ]:
        draw = np.random.default_rng(3)
        played = [
            match(row, column, value, value, f"d{instance}")
            for instance in range(instances)
            for row, column in product("ab", repeat=2)
            for value in (np.exp(spread * draw.normal()) if spread else draw.normal(),)
        ]
        assert EmpiricalGame.of_frame(frame(played)).few_instances.startswith(warning)


def test_largest_complete_subset_excludes_as_few_as_possible() -> None:
    labels = "abcde"
    met = {("a", "b"), ("a", "c"), ("b", "c"), ("d", "e"), ("a", "d")}
    matches = [
        match(first, second, 1, 1) for pair in met for first, second in (pair, pair[::-1])
    ] + [match(label, label, 1, 1) for label in labels]
    assert EmpiricalGame.of_frame(frame(matches)).largest_complete() == ("a", "b", "c")
    assert EmpiricalGame.of_frame(frame(ASYMMETRIC)).largest_complete() == ("a", "b")


def test_games_are_mixed_by_weight() -> None:
    other = [
        row | {"configuration": "e", "payoff_first": 0.0, "payoff_second": 8.0}
        for row in ASYMMETRIC
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


def test_samples_are_named_by_distinguishing_parameters() -> None:
    matches = frame([*ASYMMETRIC, *(row | {"configuration": "e"} for row in ASYMMETRIC)])
    talk = pl.Series([True] * 8 + [None] * 8)
    parametrised = matches.with_columns(talk.alias("game_talk"), pl.lit(1).alias("game_x"))
    game = EmpiricalGame.of_frame(parametrised)
    assert [sample.name for sample in game.samples] == ["talk=true", "talk=none"]
    unlike = pl.Series([True, False] * 8)
    other = EmpiricalGame.of_frame(matches.with_columns(unlike.alias("game_talk")))
    assert [sample.name for sample in other.samples] == ["c", "e"]


def test_game_can_be_built_from_payoffs() -> None:
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


def test_invalid_games_are_rejected() -> None:
    cases: list[Any] = [
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
    ]
    for build, message in cases:
        with pytest.raises(ValueError, match=message):
            build()


def test_payoffs_of_a_study_match_theory(played: Path) -> None:
    with ct.Store.open(played) as store:
        game = EmpiricalGame.of_study(
            store, "extremes", game="item_bargaining", where=pl.col("game_rounds") == 3
        )
        mixed = EmpiricalGame.of_study(store, "extremes", "extremes", game="item_bargaining")
        with pytest.raises(ValueError, match=r"Name one of the games.*bargaining, item_bargaining"):
            EmpiricalGame.of_study(store, "extremes")
    theory = extreme_payoffs(ItemBargaining(discount=0.98, rounds=3))
    drawn = bootstrap_equilibrium(game, draws=200).payoffs
    for (row, column), expected in theory.items():
        at = game.labels.index(row), game.labels.index(column)
        assert abs(game.payoffs()[at] - expected) <= 4 * drawn[:, *at].std()
    assert_allclose(bootstrap_equilibrium(game, draws=50).mixtures, [[0, 0, 1]] * 50)
    assert_array_equal(game.counts(), [[40, 80, 80], [80, 40, 80], [80, 80, 40]])
    assert sorted(sample.name for sample in mixed.samples) == ["rounds=3", "rounds=5"]
    assert_array_equal(mixed.counts(), 2 * game.counts())
