"""Negotiation: rules, strategies, metrics and prompts."""

import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.games.negotiation import SPEC
from cheaptalk.games.negotiation.rules import LeftForJohn, Negotiation, NoTrade, Price, Sale, Sold
from cheaptalk.games.negotiation.strategies import equilibrium_share, optimal_gain
from cheaptalk.rules import IllegalAction, Instance, Result, Table, play
from tests.games.tables import events, table_after

ACCEPT: dict[str, Any] = {"decision": "accept"}
REJECT: dict[str, Any] = {"decision": "reject"}
JOHN: dict[str, Any] = {"decision": "john"}
CAUTIOUS = sorted(set(SPEC.strategies) - {"random"})

factors = st.sampled_from((0.8, 1.0, 1.2, 1.5))


def quiet(**parameters: Any) -> Negotiation:
    return Negotiation(messages=False, **parameters)


def ask(price: float) -> dict[str, Any]:
    return {"price": price}


def match(
    game: Negotiation,
    alice: str,
    bob: str,
    seed: str = "1",
    seller: dict[str, Any] | None = None,
    buyer: dict[str, Any] | None = None,
) -> Table:
    """Play a match between two strategies; ``seller`` and ``buyer`` are their settings."""
    players = {
        "alice": SPEC.strategies[alice].with_settings(**seller or {}),
        "bob": SPEC.strategies[bob].with_settings(**buyer or {}),
    }
    return play(game, Instance(), seed, players)


def prices(table: Table) -> list[float]:
    return [given.action.price for given in table.given if isinstance(given.action, Price)]


def test_trade_pays_difference_and_leaving_for_john_pays_nothing() -> None:
    game = quiet()
    table = table_after(game, ask(11_000), REJECT, ask(9_500), ACCEPT)
    assert table.outcome == Sale(stage=2, price=9_500, ended="trade")
    assert game.payoffs(table.result().outcome) == {"alice": 1_500, "bob": 2_500}
    assert events(table, "alice")[-1] == Sold(2, 9_500, 1_500)
    assert events(table, "bob")[-1] == Sold(2, 9_500, 2_500)
    john = table_after(game, ask(11_000), REJECT, ask(9_500), JOHN)
    assert john.outcome == Sale(stage=2, ended="john")
    assert game.payoffs(john.result().outcome) == {"alice": 0, "bob": 0}
    assert events(john, "alice")[-1] == events(john, "bob")[-1] == LeftForJohn("alice")


def test_rejection_in_single_known_round_leads_to_john() -> None:
    cases: list[tuple[Any, bool, Any]] = [
        (1, True, "john"),
        (1, False, "rounds"),
        (2, True, "rounds"),
        ({"rounds": 1, "hidden": True}, True, "rounds"),
    ]
    for horizon, outside_option, ended in cases:
        names = {} if outside_option else {"bob": "John"}
        game = quiet(horizon=horizon, outside_option=outside_option, names=names)
        table = table_after(game, *[ask(10_000), REJECT] * game.horizon.rounds)
        assert table.outcome == Sale(stage=game.horizon.rounds, ended=ended)
        assert game.payoffs(table.result().outcome) == {"alice": 0, "bob": 0}
        assert events(table, "bob")[-1] == NoTrade(john=ended == "john")


def test_limit_prices_are_legal_and_reach_payoff_bounds() -> None:
    for price in (-0.01, 30_000.01):
        with pytest.raises(IllegalAction, match=r"between 0 and 30,000"):
            table_after(quiet(price_limit=3), ask(price))
    for price in (0, 30_000):
        game = quiet(price_limit=3)
        paid = game.payoffs(table_after(game, ask(price), ACCEPT).result().outcome)
        bounds = game.payoff_bounds()
        assert paid["alice"] == bounds["alice"][price > 0]
        assert paid["bob"] == bounds["bob"][price == 0]


@given(
    st.sampled_from(CAUTIOUS),
    st.sampled_from(CAUTIOUS),
    factors,
    factors,
    st.booleans(),
    st.booleans(),
    st.sampled_from((1, 2, 7, {"rounds": 5, "hidden": True})),
)
def test_cautious_strategies_never_trade_at_a_loss(
    alice: str, bob: str, f_a: float, f_b: float, known: bool, john: bool, horizon: Any
) -> None:
    game = Negotiation(
        scale=100,
        seller_factor=f_a,
        buyer_factor=f_b,
        complete_information=known,
        outside_option=john,
        horizon=horizon,
    )
    payoffs = game.payoffs(match(game, alice, bob).result().outcome)
    assert min(payoffs.values()) >= -1e-6


def test_last_proposer_takes_surplus_in_equilibrium() -> None:
    for rounds in range(1, 8):
        share = equilibrium_share("alice", rounds)
        assert share == rounds % 2
        assert equilibrium_share("bob", rounds) == 1 - share
        outcome = match(Negotiation(horizon=rounds), "subgame_perfect", "subgame_perfect").outcome
        assert outcome == Sale(stage=1, price=8_000 + 4_000 * share, ended="trade")


def test_equilibrium_player_waits_for_last_round() -> None:
    table = match(Negotiation(horizon=4), "fixed_price", "subgame_perfect")
    assert table.outcome == Sale(stage=4, ended="rounds")
    assert set(prices(table)[1::2]) == {8_000}


def test_prices_of_trades() -> None:
    """9,600 leaves a fifth of 12,000; from 0.5 to 0.1 in eight steps, linear demands it in
    stage 7."""
    fixed, split = "fixed_price", "split_the_difference"
    private = {"complete_information": False}
    hidden = {"horizon": {"rounds": 9, "hidden": True}}
    cases: list[tuple[dict[str, Any], str, str, dict[str, Any], int, float]] = [
        (hidden, "subgame_perfect", "subgame_perfect", {}, 1, 10_000),
        ({}, "prior_optimal", "zero_intelligence", {}, 1, 12_000),
        ({}, "minimax_regret", "zero_intelligence", {}, 1, 12_000),
        ({}, split, split, {}, 1, 10_000),
        (private | {"horizon": 1}, fixed, split, {"seller": {"markup": 0.5}}, 1, 12_000),
        ({"horizon": 9}, fixed, "linear", {"buyer": {"end": 0.1}}, 7, 9_600),
        ({}, fixed, fixed, {"buyer": {"markup": 0.1}}, 1, 9_600),
    ]
    for parameters, alice, bob, settings, stage, price in cases:
        outcome = match(Negotiation(**parameters), alice, bob, **settings).outcome
        assert outcome == Sale(stage=stage, price=price, ended="trade")


def test_players_without_surplus_do_not_trade() -> None:
    for john, ended in ((True, "john"), (False, "rounds")):
        game = Negotiation(seller_factor=1.5, buyer_factor=1, outside_option=john, horizon=2)
        assert match(game, "subgame_perfect", "subgame_perfect").result().outcome.ended == ended
    hopeless = Negotiation(seller_factor=1.5, buyer_factor=1, horizon=1)
    for name in ("prior_optimal", "minimax_regret"):
        assert prices(match(hopeless, name, "fixed_price")) == [15_000]
    table = match(Negotiation(horizon=4), "fixed_price", "fixed_price", seller={"markup": 0.6})
    assert prices(table) == [12_800, 9_600, 12_800, 9_600]


gains = st.lists(st.integers(-50, 100).map(float), min_size=1, max_size=6)


@given(gains)
def test_optimal_price_is_best_on_grid(possible: list[float]) -> None:
    def expected(demanded: float) -> float:
        return demanded * sum(gain >= demanded for gain in possible)

    best = optimal_gain(possible)
    assert expected(best) == max(expected(step / 2) for step in range(202))
    assert best >= 0


def test_prior_optimal_prices_against_prior() -> None:
    game = Negotiation(seller_factor=1, complete_information=False, horizon=2)
    table = match(game, "prior_optimal", "prior_optimal")
    # The seller earns 0.2 * 2/4 at 1.2 and 0.5 * 1/4 at 1.5; the buyer, with a value of 12,000,
    # gains only from a seller with a value of 0.8 of that.
    assert prices(table) == [15_000, 9_600]
    sure = match(game, "prior_optimal", "fixed_price", seller={"factors": [1.3]})
    assert prices(sure)[0] == 13_000


def test_regret_minimising_prices_follow_density() -> None:
    game = Negotiation(seller_factor=1, complete_information=False, horizon=3, buyer_factor=0.2)
    drawn = []
    for number in range(200):
        first, _, second = prices(match(game, "minimax_regret", "fixed_price", seed=str(number)))
        assert first == second
        drawn.append(first)
    lowest, highest = 10_000 + 5_000 / math.e, 15_000
    assert lowest - 0.01 <= min(drawn) < max(drawn) <= highest
    places = sorted(1 + math.log((price - 10_000) / 5_000) for price in drawn)
    gaps = [abs(place - number / 200) for number, place in enumerate(places)]
    assert max(gaps) < 0.12  # Kolmogorov and Smirnov: below 0.115 in 99 of 100 samples
    game = Negotiation(buyer_factor=1, seller_factor=2, complete_information=False, horizon=2)
    named = {prices(match(game, "fixed_price", "minimax_regret", seed=s))[1] for s in "abcdefgh"}
    assert len(named) == 8
    assert all(5_000 <= price <= 10_000 - 5_000 / math.e + 0.01 for price in named)


def test_splitting_traders_halve_distance_until_negligible() -> None:
    game = Negotiation(complete_information=False)
    table = match(game, "split_the_difference", "split_the_difference")
    named = prices(table)
    assert named[:3] == [12_000, 9_000, 10_500]
    distances = [abs(later - earlier) for earlier, later in pairwise(named)]
    assert all(b == pytest.approx(a / 2, abs=0.02) for a, b in pairwise(distances))
    assert table.result().outcome.ended == "trade"
    assert distances[-1] <= 0.01 * 12_000 < distances[-2]


def test_zero_intelligence_avoids_losses() -> None:
    game = Negotiation(complete_information=False, horizon=2, buyer_factor=1)
    seller, buyer = [], []
    for number in range(100):
        table = match(game, "zero_intelligence", "zero_intelligence", seed=str(number))
        seller.append(prices(table)[0])
        buyer += prices(table)[1:]
        if table.outcome == Sale(stage=1, price=seller[-1], ended="trade"):
            assert seller[-1] <= 10_000
        else:
            assert seller[-1] > 10_000
    assert 8_000 <= min(seller) < 9_000
    assert 15_000 < max(seller) <= 16_000
    assert 0 <= min(buyer) < 1_500
    assert 8_500 < max(buyer) <= 10_000


def test_strategies_respect_narrow_price_limit() -> None:
    for name in sorted(SPEC.strategies):
        game = Negotiation(price_limit=0.875, buyer_factor=0.4, complete_information=False)
        named = prices(match(game, name, name))
        assert named
        assert 0 <= min(named) <= max(named) <= 8_750


def test_metrics_match_hand_calculation() -> None:
    names = (
        *("agreement", "self_gain_alice", "self_gain_bob", "price_factor", "rounds_played"),
        *("efficiency", "fairness"),
    )
    trade = dict(zip(names, (1, 0.3, 0.1, 1.1, 3, 1, 1 - 4 * 0.1**2), strict=True))
    failure: dict[str, float | None] = dict(zip(names, (0, 0, 0, None, 2, 0, 1), strict=True))
    lower = {"seller_factor": 1.2, "buyer_factor": 0.8}
    equal = {"seller_factor": 1.2, "buyer_factor": 1.2}
    sold, unsold = Sale(stage=1, price=10_000, ended="trade"), Sale(stage=1, ended="rounds")
    dear = Sale(stage=1, price=17_000, ended="trade")
    cases: list[tuple[dict[str, Any], Sale, dict[str, float | None]]] = [
        ({}, Sale(stage=3, price=11_000, ended="trade"), dict(trade)),
        ({}, Sale(stage=2, ended="john"), failure),
        ({}, Sale(stage=2, ended="rounds"), failure),
        ({}, sold, {"efficiency": 1, "fairness": 1}),
        (lower, sold, {"efficiency": 0}),
        (lower, unsold, {"efficiency": 1}),
        (equal, sold, {"efficiency": 1}),
        (equal, unsold, {"efficiency": 1}),
        ({}, dear, {"fairness": 1 - 4 * 0.7**2}),
    ]
    for parameters, outcome, expected in cases:
        result = Result(Negotiation(**parameters), Instance(), outcome)
        values = {name: SPEC.metrics[name].of(result) for name in expected}
        assert values == pytest.approx(expected)
    clipped = SPEC.metrics["fairness"].variant(as_published=True)
    assert clipped(Result(Negotiation(), Instance(), dear)) == 0
