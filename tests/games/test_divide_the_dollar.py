"""Divide the dollar: rules, prompts, score, theory and scripted players."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.games.divide_the_dollar import SPEC
from cheaptalk.games.divide_the_dollar.rules import DivideTheDollar
from cheaptalk.games.divide_the_dollar.strategies import best_bid, equilibrium_bid
from cheaptalk.games.rounds import UNLIMITED, RoundsPlayed
from cheaptalk.rules import IllegalAction
from tests.games.tables import play_out, result_of, score_of, table_of

bids = st.lists(st.integers(0, 100), min_size=2, max_size=8)


def rules(**parameters: Any) -> DivideTheDollar:
    return DivideTheDollar.model_validate({"players": 3, "rounds": 1, **parameters})


def match(*names: str, **parameters: Any) -> RoundsPlayed[Any]:
    game = DivideTheDollar.model_validate({"rounds": 4, **parameters})
    return play_out(game, *(SPEC.strategies[name] for name in names))


# Rules.


@given(bids, st.integers(1, 300))
def test_bids_are_paid_only_if_their_sum_fits(row: list[int], golds: int) -> None:
    game = rules(players=len(row), golds=golds, limits=False)
    received = list(result_of(game, row).outcome.gains[0])
    assert received == (row if sum(row) <= golds else [0] * len(row))


def test_sum_equal_to_gold_fits() -> None:
    assert result_of(rules(), (50, 30, 20)).outcome.gains == ((50.0, 30.0, 20.0),)
    assert result_of(rules(), (50, 30, 21)).outcome.gains == ((0.0, 0.0, 0.0),)


def test_out_of_range_bids_are_rejected() -> None:
    for bid in (-1, 101):
        with pytest.raises(IllegalAction, match=f"must be from 0 to 100, not {bid}"):
            table_of(rules(), (bid, 0, 0))


def test_disabled_limits_accept_bids_like_published_code() -> None:
    for bid in (-5, 187, UNLIMITED, -UNLIMITED):
        game = rules(limits=False)
        result = result_of(game, (bid, 10, 20))
        received = (bid, 10, 20) if bid + 30 <= 100 else (0, 0, 0)
        assert result.outcome.gains == (received,)
        low, high = game.payoff_bounds()["player"]
        assert all(low <= payoff <= high for payoff in game.payoffs(result.outcome).values())


def test_disabled_limits_still_cap_bid_size() -> None:
    with pytest.raises(IllegalAction, match="must be 1000000000 or less, not 1000000001"):
        table_of(rules(limits=False), (UNLIMITED + 1, 0, 0))


def test_payoff_bounds_are_reached() -> None:
    assert rules(rounds=3).payoff_bounds() == {"player": (0.0, 300.0)}
    assert result_of(rules(), (100, 0, 0)).outcome.gains[0][0] == 100
    unlimited = rules(limits=False)
    assert unlimited.payoff_bounds()["player"] == (-UNLIMITED, UNLIMITED)


# Score.


def test_score_of_fixed_bids() -> None:
    cases = [
        ([10] * 10, 100),
        ([0] * 10, 0),
        ([20] * 10, 0),
        ([91] + [1] * 9, 100),
        ([5] * 10, 50),
        ([12] * 10, 80),
        ([100] * 10, 0),
    ]
    for row, score in cases:
        assert score_of(SPEC, *[row] * 20) == pytest.approx(score)


def test_score_penalises_misses_in_both_directions() -> None:
    assert score_of(SPEC, [8] * 10, [12] * 10) == pytest.approx(80)
    assert score_of(SPEC, [20] * 10, [30] * 10, golds=400) == pytest.approx(62.5)


def test_agreement_demand_and_efficiency() -> None:
    result = result_of(rules(rounds=2), (50, 30, 10), (50, 50, 50))
    values = {name: metric.of(result) for name, metric in SPEC.metrics.items()}
    assert values == {
        "score": pytest.approx(70),
        "agreement": 0.5,
        "demand": pytest.approx(1.2),
        "efficiency": pytest.approx(0.45),
    }


# Theory.


def regrets(golds: int, bids: Sequence[int]) -> list[int]:
    """Return how much more each player could have received with a bid from 0 to ``golds``."""
    total = sum(bids)
    return [best_bid(golds, total - bid) - (bid if total <= golds else 0) for bid in bids]


@given(st.integers(1, 500), st.integers(2, 12))
def test_equal_shares_are_an_equilibrium(golds: int, players: int) -> None:
    shares = [equilibrium_bid(golds, players, number) for number in range(1, players + 1)]
    assert sum(shares) == golds
    assert max(shares) - min(shares) <= 1
    assert regrets(golds, shares) == [0] * players


@given(st.integers(1, 60), st.lists(st.integers(0, 60), min_size=2, max_size=5))
def test_regrets_match_enumeration(golds: int, row: list[int]) -> None:
    game = rules(players=len(row), golds=golds, limits=False)

    def payoff(player: int, bid: int) -> float:
        tried = [*row[:player], bid, *row[player + 1 :]]
        return game.gains(1, tried, game.instance_type())[player]

    expected = [
        max(payoff(player, bid) for bid in range(golds + 1)) - payoff(player, placed)
        for player, placed in enumerate(row)
    ]
    assert regrets(golds, row) == expected
    for player, placed in enumerate(row):
        best = best_bid(golds, sum(row) - placed)
        assert payoff(player, best) == max(payoff(player, bid) for bid in range(golds + 1))


# Strategies.


def test_equilibrium_players_divide_all_gold() -> None:
    assert match("equilibrium", players=3).choices == ((34, 33, 33),) * 4
    assert match("equilibrium").choices == ((10,) * 10,) * 4


def test_table_8_equilibrium_players_score_100() -> None:
    for golds in (50, 100, 200, 400, 800):
        rows = match("equilibrium", golds=golds).choices
        assert score_of(SPEC, *rows, golds=golds) == pytest.approx(100)


def test_best_responder_yields_to_greedy_player() -> None:
    greedy = SPEC.strategies["fixed"].with_settings(choices=(91,))
    others = [SPEC.strategies["best_response"]]
    game = rules(players=2, rounds=3)
    assert play_out(game, greedy, *others).choices == ((91, 50), (91, 9), (91, 9))


def test_best_responders_oscillate_after_greedy_bid() -> None:
    once = SPEC.strategies["fixed"].with_settings(choices=(100, 0, 0, 0))
    game = rules(players=3, rounds=4)
    rows = play_out(game, once, SPEC.strategies["best_response"], SPEC.strategies["best_response"])
    assert [sum(row) for row in rows.choices] == [166, 0, 200, 0]


def test_proportional_bids_fit_after_one_round() -> None:
    once = SPEC.strategies["fixed"].with_settings(choices=(100, 60))
    game = rules(players=3, rounds=2)
    rows = play_out(game, once, SPEC.strategies["proportional"], SPEC.strategies["proportional"])
    assert rows.choices == ((100, 33, 33), (60, 19, 19))
    assert rows.gains[1] == (60.0, 19.0, 19.0)
