"""The sealed-bid auction: rules, theory, metrics, strategies and prompts."""

from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.games.sealed_bid_auction import SPEC, rules
from cheaptalk.games.sealed_bid_auction.strategies import equilibrium_bid
from cheaptalk.rules import Chance, IllegalAction, Result, Table
from tests.games.tables import metric, play_out, result_of

GAMA = rules.SealedBidAuction(draws="gama")


def hands(*rows: tuple[int, ...], precedence: tuple[tuple[str, ...], ...] = ()) -> rules.Valuations:
    return rules.Valuations(valuations=rows, precedence=precedence)


def auction(players: int = 3, rounds: int = 1, **parameters: Any) -> rules.SealedBidAuction:
    return rules.SealedBidAuction(players=players, rounds=rounds, **parameters)


def result(
    game: rules.SealedBidAuction, instance: rules.Valuations, *bids: tuple[int, ...]
) -> Result:
    return result_of(game, *bids, instance=instance)


def gama_score(strategy: str, published: bool = False, **settings: Any) -> float | None:
    """Return the score of ten players of a strategy with GAMA-Bench's valuations."""
    outcome = play_out(GAMA, SPEC.strategies[strategy].with_settings(**settings))
    return metric("score", Result.of(GAMA, GAMA.draw_instance(Chance("any")), outcome), published)


def test_highest_bid_wins_and_pays_first_or_second_price() -> None:
    prices: list[tuple[Any, int]] = [("first", 70), ("second", 60)]
    for price, paid in prices:
        game = auction(price=price)
        match = result(game, hands((100, 90, 80)), (60, 70, 10))
        assert match.outcome == rules.Bids(
            choices=((60, 70, 10),), gains=((0, 90 - paid, 0),), winners=("player_2",)
        )
        assert game.payoffs(match.outcome) == {"player_1": 0, "player_2": 90 - paid, "player_3": 0}


def test_precedence_decides_only_ties() -> None:
    for favoured in ("player_1", "player_3"):
        instance = hands((50, 50, 50), (50, 50, 50), precedence=((favoured,), (favoured,)))
        match = result(auction(rounds=2), instance, (40, 30, 40), (10, 30, 20))
        assert match.outcome.winners == (favoured, "player_2")
    match = result(auction(price="second"), hands((9, 9, 9)), (1, 8, 8))
    assert (match.outcome.winners, match.outcome.gains) == (("player_2",), ((0, 1, 0),))


def test_bids_above_own_valuation_are_rejected_unless_limits_are_disabled() -> None:
    cases: list[tuple[bool, tuple[int, int, int], int, str]] = [
        (True, (30, 90, 80), 31, '"bid" must be from 0 to 30, not 31'),
        (True, (0, 90, 80), 5, '"bid" must be 0, not 5'),
        (False, (30, 90, 80), -5, '"bid" must be 0 or more, not -5'),
    ]
    for limits, values, bid, reason in cases:
        table = Table(auction(limits=limits), hands(values), "1")
        with pytest.raises(IllegalAction, match=reason):
            table.answer("player_1", rules.Bid(bid=bid))
    game = auction(limits=False)
    match = result(game, hands((30, 90, 80)), (120, 0, 0))
    assert game.payoffs(match.outcome)["player_1"] == -90


def test_gama_bench_valuations_use_seeds_42_to_61() -> None:
    rows = GAMA.draw_instance(Chance("any")).valuations
    assert rows == GAMA.draw_instance(Chance("another")).valuations
    assert rows[0] == (200, 30, 0, 80, 70, 160, 20, 110, 10, 100)
    assert rows[1] == (10, 90, 40, 140, 110, 30, 70, 190, 170, 130)
    assert rows[19] == (150, 50, 170, 60, 100, 90, 190, 120, 110, 0)
    assert len(rows) == 20
    assert len(set(GAMA.draw_instance(Chance("any")).precedence)) == 20  # ties are drawn
    assert sum(value == 0 for row in rows for value in row) == 11


@given(st.integers(2, 6), st.integers(1, 5), st.booleans(), st.text(max_size=3))
def test_valuations_lie_on_grid(players: int, rounds: int, distinct: bool, seed: str) -> None:
    game = auction(players, rounds, low=20, high=70, step=10, distinct=distinct)
    instance = game.draw_instance(Chance(seed))
    assert [len(row) for row in instance.valuations] == [players] * rounds
    for row, order in zip(instance.valuations, instance.precedence, strict=True):
        assert set(row) <= set(range(20, 71, 10))
        assert not distinct or len(set(row)) == players
        assert sorted(order) == sorted(game.seats)


@given(st.integers(2, 10), st.fractions(0, 1), st.fractions(0, 1))
def test_first_price_equilibrium_bid_is_optimal(
    players: int, valuation: Fraction, other: Fraction
) -> None:
    """Valuations are uniform on [0, 1], and all others bid (N - 1) / N of theirs."""

    def expected(bid: Fraction) -> Fraction:
        beaten = min(bid * Fraction(players, players - 1), Fraction(1))
        return (valuation - bid) * beaten ** (players - 1)

    assert expected(valuation * Fraction(players - 1, players)) >= expected(other)
    assert equilibrium_bid(float(valuation), players, "first") == pytest.approx(
        float(valuation) * (players - 1) / players
    )


def test_grid_lowers_highest_other_valuation() -> None:
    grid, players = range(0, 60, 10), 3
    below = [max(others) for others in combinations(grid, players - 1)]
    average = sum(below) / len(below)
    assert average == pytest.approx(equilibrium_bid(60, players, "first") - 10 / players)


def test_lowest_valuation_raises_equilibrium_bid() -> None:
    assert equilibrium_bid(150, 2, "first", low=100) == 125
    game = auction(2, 1, low=100, common_prior=True)
    table = Table(game, hands((150, 110)), "1")
    strategy = SPEC.strategies["equilibrium"]
    assert strategy(table.request("player_1")) == rules.Bid(bid=125)
    untold = Table(auction(2, 1, low=100), hands((150, 110)), "1")
    assert strategy(untold.request("player_1")) == rules.Bid(bid=75)


def test_scores_of_fixed_bids_with_gama_bench_valuations() -> None:
    cases: list[tuple[str, dict[str, Any], float]] = [
        ("fixed", {"choices": (0,)}, 94.5),
        ("shade", {"share": 0.9}, 9.45),
        ("equilibrium", {}, 9.45),
        ("truthful", {}, 0),
    ]
    for strategy, settings, score in cases:
        assert gama_score(strategy, **settings) == pytest.approx(score)
        assert gama_score(strategy, published=True, **settings) == pytest.approx(score)


def test_published_score_has_floor() -> None:
    match = result(auction(limits=False), hands((0, 100, 50)), (5, 40, 100))
    assert metric("score", match) == pytest.approx(100 * (0 + 0.6 - 1) / 3)
    assert metric("score", match, as_published=True) == pytest.approx(100 * 0.6 / 3)
    second = result(auction(price="second"), hands((0, 0, 0)), (0, 0, 0))
    assert metric("score", second) is metric("score", second, as_published=True) is None
    assert metric("bid_share", second) is None


def test_other_metrics() -> None:
    game = auction(3, 2, limits=False, price="second")
    match = result(game, hands((0, 100, 50), (10, 30, 20)), (5, 40, 100), (10, 30, 20))
    expected = {
        "overbids": 2 / 6,
        "efficiency": 0.5,
        "revenue": (40 + 20) / 2,
        "winner_gain": (10 + 10) / 2,
        "bid_share": (0.4 + 2 + 1 + 1 + 1) / 5,
    }
    assert {name: metric(name, match) for name in expected} == pytest.approx(expected)


def test_fixed_bids_cycle_and_are_limited_to_legal_bids() -> None:
    instance = hands((100, 30), (100, 30), (100, 30))
    fixed = SPEC.strategies["fixed"]
    for limits, last in ((True, 30), (False, 80)):
        table = Table(auction(2, 3, limits=limits), instance, "1")
        bids = []
        while not table.over:
            for seat in ("player_1", "player_2"):
                action = fixed(table.request(seat), choices=(20, 80))
                assert isinstance(action, rules.Bid)
                bids.append(action.bid)
                table.answer(seat, action)
        assert bids == [20, 20, 80, last, 20, 20]
