"""The diner's dilemma: rules, theory, metrics, strategies and prompts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.games.diners_dilemma import SPEC
from cheaptalk.games.diners_dilemma.rules import DinersDilemma, Dish
from cheaptalk.games.diners_dilemma.strategies import dominant_dish, efficient_dish
from cheaptalk.rules import Instance
from tests.games.tables import metric, play_out, result_of

TABLE_8 = (
    (10, 15, 20, 20),
    (11, 5, 20, 7),
    (4, 19, 9, 20),
    (1, 8, 19, 12),
    (4, 5, 17, 7),
    (2, 11, 8, 13),
)
"""P_l, U_l, P_h and U_h of GAMA-Bench's Table 8."""


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


def test_bill_is_split_equally() -> None:
    game = new_game(players=4, rounds=2)
    result = result_of(game, orders("hlll"), orders("hhhh"))
    assert result.outcome.gains == ((7.5, 2.5, 2.5, 2.5), (0, 0, 0, 0))
    assert list(game.payoffs(result.outcome).values()) == [7.5, 2.5, 2.5, 2.5]


@st.composite
def small_games(draw: st.DrawFn) -> DinersDilemma:
    numbers, differences = st.integers(0, 20), st.integers(1, 20)
    price, utility = draw(numbers), draw(numbers)
    menu = (price, utility, price + draw(differences), utility + draw(differences))
    return new_game(*menu, players=draw(st.integers(2, 5)), rounds=1)


def gains(game: DinersDilemma, letters: str) -> list[float]:
    return game.gains(1, orders(letters), Instance())


def test_menus_of_table_8_gama_bench_are_dilemmas() -> None:
    for menu in TABLE_8:
        game = new_game(*menu)
        assert dominant_dish(game.players, game.pleasure, game.price) == "costly"
        assert efficient_dish(game.pleasure, game.price) == "cheap"


@given(small_games(), st.integers(0, 4))
def test_best_dishes_maximise_own_and_total_payoffs(game: DinersDilemma, others: int) -> None:
    rest = ("h" * others).ljust(4, "l")[: game.players - 1]
    everyone = game.players
    for best, costly, cheap in (
        (
            dominant_dish(game.players, game.pleasure, game.price),
            gains(game, f"h{rest}")[0],
            gains(game, f"l{rest}")[0],
        ),
        (
            efficient_dish(game.pleasure, game.price),
            sum(gains(game, "h" * everyone)),
            sum(gains(game, "l" * everyone)),
        ),
    ):
        if best is None:
            assert costly == pytest.approx(cheap)
        else:
            assert (costly > cheap) == (best == "costly")


def test_cooperation_pays_more_than_equilibrium() -> None:
    game = new_game(players=5, rounds=3)
    selfish, kind = play_out(game, "equilibrium"), play_out(game, "cooperator")
    assert selfish.choices == (orders("h" * 5),) * 3
    assert kind.choices == (orders("l" * 5),) * 3
    assert sum(game.payoffs(kind).values()) > sum(game.payoffs(selfish).values())


def test_cooperators_react_to_costly_order() -> None:
    game = new_game(players=4, rounds=3)
    rogue = SPEC.strategies["fixed"].with_settings(choices=("costly", "cheap", "cheap"))
    strict = SPEC.strategies["conditional_cooperator"].with_settings(threshold=1)
    outcome = play_out(game, rogue, "grim", "conditional_cooperator", strict)
    assert outcome.choices == (orders("hlll"), orders("lhlh"), orders("lhhh"))


def test_strategies_and_efficiency_agree_without_dilemma() -> None:
    for menu, dish, efficiency in (((1, 1, 2, 9), "h", 0.5), ((1, 1, 99, 2), "l", 0.5)):
        game = new_game(*menu, players=2, rounds=1)
        for name in ("equilibrium", "cooperator"):
            assert play_out(game, name).choices == (orders(dish * 2),)
        assert metric("efficiency", result_of(game, orders("hl"))) == efficiency
    even = result_of(new_game(1, 1, 2, 2, players=2, rounds=1), orders("hl"))
    assert metric("efficiency", even) == 1
