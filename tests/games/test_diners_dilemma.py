"""The diner's dilemma: rules, theory, metrics, strategies and prompts."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from cheaptalk.games.diners_dilemma import SPEC
from cheaptalk.games.diners_dilemma.rules import DinersDilemma, Dish
from cheaptalk.games.diners_dilemma.strategies import dominant_dish, efficient_dish
from cheaptalk.rules import Instance
from tests.games.tables import play_out, result_of, score_of

TABLE_8 = (
    (10, 15, 20, 20),
    (11, 5, 20, 7),
    (4, 19, 9, 20),
    (1, 8, 19, 12),
    (4, 5, 17, 7),
    (2, 11, 8, 13),
)
"""P_l, U_l, P_h and U_h of GAMA-Bench's Table 8."""

menus = st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(1, 20), st.integers(1, 20))


def new_game(*menu: float, **parameters: Any) -> DinersDilemma:
    cheap_price, cheap_utility, costly_price, costly_utility = menu or (10, 15, 20, 20)
    return DinersDilemma(
        cheap_price=cheap_price,
        cheap_utility=cheap_utility,
        costly_price=costly_price,
        costly_utility=costly_utility,
        **parameters,
    )


def orders(letters: str) -> tuple[Dish, ...]:
    """Return orders from letters, h for costly and l for cheap."""
    return tuple("costly" if letter == "h" else "cheap" for letter in letters)


# Rules


def test_bill_is_split_equally() -> None:
    game = new_game(players=4, rounds=2)
    result = result_of(game, orders("hlll"), orders("hhhh"))
    assert result.outcome.gains == ((7.5, 2.5, 2.5, 2.5), (0, 0, 0, 0))
    assert game.payoffs(result.outcome) == {
        "player_1": 7.5,
        "player_2": 2.5,
        "player_3": 2.5,
        "player_4": 2.5,
    }


def test_invalid_menus_are_rejected() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"costly_price": 10}, "costly_price: must be above cheap_price"),
        ({"cheap_utility": 20}, "costly_utility: must be above cheap_utility"),
    ]
    for parameters, reason in cases:
        with pytest.raises(ValidationError, match=reason):
            DinersDilemma(**parameters)


@given(menus, st.integers(2, 5), st.data())
def test_payoff_bounds_are_tight(
    menu: tuple[int, int, int, int], players: int, data: st.DataObject
) -> None:
    cheap_price, cheap_utility, more, better = menu
    game = new_game(
        cheap_price,
        cheap_utility,
        cheap_price + more,
        cheap_utility + better,
        players=players,
        rounds=1,
    )
    low, high = game.payoff_bounds()["player"]
    gains = [
        gain
        for letters in product("hl", repeat=players)
        for gain in game.gains(1, orders("".join(letters)), Instance())
    ]
    assert (min(gains), max(gains)) == pytest.approx((low, high))


# Theory


def test_menus_of_table_8_gama_bench_are_dilemmas() -> None:
    for menu in TABLE_8:
        game = new_game(*menu)
        assert dominant_dish(game.players, game.pleasure, game.price) == "costly"
        assert efficient_dish(game.pleasure, game.price) == "cheap"


@given(menus, st.integers(2, 6), st.integers(0, 5))
def test_dominant_dish_pays_more_against_all_orders(
    menu: tuple[int, int, int, int], players: int, others: int
) -> None:
    cheap_price, cheap_utility, more, better = menu
    game = new_game(
        cheap_price,
        cheap_utility,
        cheap_price + more,
        cheap_utility + better,
        players=players,
        rounds=1,
    )
    costly = min(others, players - 1)
    rest = orders("h" * costly + "l" * (players - 1 - costly))
    with_costly = game.gains(1, ("costly", *rest), Instance())[0]
    with_cheap = game.gains(1, ("cheap", *rest), Instance())[0]
    best = dominant_dish(players, better, more)
    if best is None:
        assert with_costly == pytest.approx(with_cheap)
    else:
        assert (with_costly > with_cheap) == (best == "costly")


@given(menus, st.integers(2, 6))
def test_efficient_dish_maximises_total_payoff(
    menu: tuple[int, int, int, int], players: int
) -> None:
    cheap_price, cheap_utility, more, better = menu
    game = new_game(
        cheap_price,
        cheap_utility,
        cheap_price + more,
        cheap_utility + better,
        players=players,
        rounds=1,
    )
    all_costly = sum(game.gains(1, orders("h" * players), Instance()))
    all_cheap = sum(game.gains(1, orders("l" * players), Instance()))
    best = efficient_dish(better, more)
    if best is None:
        assert all_costly == pytest.approx(all_cheap)
    else:
        assert (all_costly > all_cheap) == (best == "costly")


# Metrics


def test_score_is_share_of_costly_dishes() -> None:
    for letters, score in (("h" * 10, 100), ("l" * 10, 0), ("hhhllllllh", 40)):
        assert score_of(SPEC, orders(letters)) == pytest.approx(score)
        assert score_of(SPEC, orders(letters), orders("l" * 10)) == pytest.approx(score / 2)


def test_other_metrics() -> None:
    game = new_game(players=4, rounds=2)
    result = result_of(game, orders("hlll"), orders("hhhl"))
    values = {name: metric.of(result) for name, metric in SPEC.metrics.items()}
    assert values == {
        "score": 50,
        "cheap": 0.5,
        "last_round": 0.25,
        "gain": 2.5,
        "efficiency": 0.5,
    }


def test_costly_dish_worth_its_price_is_efficient() -> None:
    result = result_of(new_game(1, 1, 2, 9, players=2, rounds=1), orders("hl"))
    assert SPEC.metrics["efficiency"].of(result) == 0.5
    result = result_of(new_game(1, 1, 2, 2, players=2, rounds=1), orders("hl"))
    assert SPEC.metrics["efficiency"].of(result) == 1


# Strategies


def test_cooperation_pays_more_than_equilibrium() -> None:
    game = new_game(players=5, rounds=3)
    selfish = play_out(game, SPEC.strategies["equilibrium"])
    kind = play_out(game, SPEC.strategies["cooperator"])
    assert selfish.choices == (orders("h" * 5),) * 3
    assert kind.choices == (orders("l" * 5),) * 3
    assert sum(game.payoffs(kind).values()) > sum(game.payoffs(selfish).values())


def test_strategies_agree_without_dilemma() -> None:
    for menu, dish in (((1, 1, 2, 9), "h"), ((1, 1, 99, 2), "l")):
        for name in ("equilibrium", "cooperator"):
            outcome = play_out(new_game(*menu, players=3, rounds=1), SPEC.strategies[name])
            assert outcome.choices == (orders(dish * 3),)


def test_fixed_player_cycles_through_orders() -> None:
    fixed = SPEC.strategies["fixed"].with_settings(choices=("cheap", "costly"))
    outcome = play_out(new_game(players=2, rounds=3), fixed)
    assert outcome.choices == (orders("ll"), orders("hh"), orders("ll"))


def test_cooperators_react_to_costly_order() -> None:
    game = new_game(players=4, rounds=3)
    rogue = SPEC.strategies["fixed"].with_settings(choices=("costly", "cheap", "cheap"))
    grim, patient = SPEC.strategies["grim"], SPEC.strategies["conditional_cooperator"]
    strict = patient.with_settings(threshold=1)
    outcome = play_out(game, rogue, grim, patient, strict)
    assert outcome.choices == (orders("hlll"), orders("lhlh"), orders("lhhh"))


def test_random_player_follows_probability() -> None:
    always = SPEC.strategies["random"].with_settings(costly=1)
    assert play_out(new_game(players=2, rounds=9), always).choices == (orders("hh"),) * 9
    outcome = play_out(new_game(players=100, rounds=20), SPEC.strategies["random"])
    share = sum(row.count("costly") for row in outcome.choices) / 2_000
    assert share == pytest.approx(0.5, abs=0.05)
