"""Solved small games: gains, checked by playing every strategy."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest

from cheaptalk.arrays.games import NoArrayGame, array_game
from cheaptalk.games.bargaining.rules import Bargaining
from cheaptalk.games.item_bargaining.rules import Briefing, ItemBargaining, Move, OfferMade
from cheaptalk.games.negotiation.rules import Negotiation
from cheaptalk.games.pirate_game.rules import PirateGame
from cheaptalk.games.pirate_game.strategies import fates
from cheaptalk.games.sealed_bid_auction.rules import SealedBidAuction
from cheaptalk.learning.tabular import TooLarge, Tree, solve
from cheaptalk.rules import DecisionRequest, Horizon, Instance, Table

TINY = ItemBargaining(quantities=(1, 1), highest_value=1, rounds=1, discount=0.9)
"""Two items worth a point each, and outside options of one or two points."""
OFFERS = list(product((0, 1), repeat=2))
OPENINGS = [Move(action="WALK"), *(Move(action="COUNTEROFFER", offer=offer) for offer in OFFERS)]
ANSWERS = [*OPENINGS, Move(action="ACCEPT")]


def information(request: DecisionRequest) -> tuple[Any, ...]:
    """Return a seat's information in the tiny game: its outside option and its offer."""
    briefing: Briefing = request.briefing
    offer = request.event.offer if isinstance(request.event, OfferMade) else None
    return briefing.outside, offer


def payoff(instance: Instance, second: Mapping[tuple[Any, ...], Move], first: Move) -> float:
    """Return player 2's payoff from a pure strategy against one opening."""
    table = Table(TINY, instance, "tiny")
    table.answer("player_1", first)
    if not table.over:
        table.answer("player_2", second[information(table.request("player_2"))])
    assert table.outcome is not None
    return TINY.seat_payoffs(table.outcome)["player_2"]


def test_no_strategy_beats_the_best_response() -> None:
    game = array_game(TINY)
    tree, (instances, chances) = Tree(game), game.every_instance()
    assert sum(chances) == pytest.approx(1)
    decisions = list(product((1, 2), OFFERS))
    got = []
    walk, accept = ANSWERS[0], ANSWERS[-1]
    for choices in product((walk, accept), repeat=len(decisions)):  # a late offer is a walk
        second = dict(zip(decisions, choices, strict=True))
        got.append(
            sum(
                chance * np.mean([payoff(instance, second, first) for first in OPENINGS])
                for instance, chance in zip(instances, chances, strict=True)
            )
        )
    best, policy = tree.best_response(tree.uniform(), 1)
    assert best == pytest.approx(max(got))
    assert min(got) < best - 0.1
    assert tree.expected(policy)[1] == pytest.approx(best)


@pytest.mark.parametrize(
    ("rules", "parts"),
    [
        (ItemBargaining(quantities=(1, 1), highest_value=1, rounds=2, least_outside=0), None),
        (Bargaining(money=10, horizon=Horizon(rounds=2), messages=False), 5),
        (Negotiation(horizon=Horizon(rounds=2), messages=False), 5),
    ],
    ids=["items", "bargaining", "negotiation"],
)
def test_cfr_solution_leaves_negligible_gains(rules: Any, parts: int | None) -> None:
    game = array_game(rules) if parts is None else type(array_game(rules))(rules, parts)  # type: ignore[call-arg]
    tree, looks = Tree(game), []
    uniform = tree.gains(tree.uniform())
    solution = solve(
        tree, 60, evaluations=3, progress=lambda number, gains: looks.append((number, gains))
    )
    most = max(game.rules.payoff_bounds().values(), key=lambda bounds: bounds[1])[1]
    assert [number for number, _ in looks] == [20, 40, 60] == list(solution.gains)
    assert max(solution.gains[60]) < 0.01 * most
    assert max(solution.gains[60]) < 0.05 * uniform.max()
    for level, table in zip(tree.levels, solution.policy, strict=True):
        assert not table[~level.legal].any()
        np.testing.assert_allclose(table.sum(axis=1), 1)


def test_expected_payoffs_match_random_play() -> None:
    game = array_game(ItemBargaining(quantities=(2, 1), highest_value=1, rounds=2))
    tree, luck, count = Tree(game), np.random.default_rng(5), 40_000
    state = game.draw_instance(luck.random((count, game.uniforms)))
    for _ in range(game.longest):
        state = game.step(state, game.random_action(state, luck.random(count)))
    returns = game.returns(state)
    error = returns.std(axis=0) / np.sqrt(count)
    assert (np.abs(returns.mean(axis=0) - tree.expected(tree.uniform())) < 4 * error).all()


def test_too_large_games_are_rejected() -> None:
    with pytest.raises(NoArrayGame, match="highest_value"):
        Tree(array_game(ItemBargaining()))
    with pytest.raises(NoArrayGame, match="too many instances"):
        Tree(array_game(SealedBidAuction()))
    game = array_game(ItemBargaining(quantities=(1, 1), highest_value=2, rounds=2))
    with pytest.raises(TooLarge, match="more than 1,000 nodes; use smaller parameters"):
        Tree(game, max_nodes=1_000)


def test_pirates_match_backward_induction() -> None:
    tree = Tree(array_game(PirateGame(players=3, gold=4)))
    solved = solve(tree, 200)
    wanted = [fate.gold for fate in fates(3, 4, "half")]
    np.testing.assert_allclose(tree.expected(solved.policy), wanted, atol=0.01)
    assert tree.gains(solved.policy).max() < 0.01


def test_auction_solution_is_an_equilibrium() -> None:
    rules = SealedBidAuction(players=2, rounds=1, high=4, step=2, distinct=False)
    tree = Tree(array_game(rules))
    assert tree.chances.shape == (18,)
    assert tree.decisions == 6
    assert tree.gains(solve(tree, 200).policy).max() < 0.01
