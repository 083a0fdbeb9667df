"""Divide the dollar: rules, prompts, score, theory and scripted players."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.games.divide_the_dollar import SPEC
from cheaptalk.games.divide_the_dollar.rules import DivideTheDollar
from cheaptalk.games.divide_the_dollar.strategies import best_bid, equilibrium_bid
from tests.games.tables import play_out, result_of

bids = st.lists(st.integers(0, 100), min_size=2, max_size=8)


def rules(**parameters: Any) -> DivideTheDollar:
    return DivideTheDollar.model_validate({"players": 3, "rounds": 1, **parameters})


@given(bids, st.integers(1, 300))
def test_bids_are_paid_only_if_their_sum_fits(row: list[int], golds: int) -> None:
    game = rules(players=len(row), golds=golds, limits=False)
    received = list(result_of(game, row).outcome.gains[0])
    assert received == (row if sum(row) <= golds else [0] * len(row))
    assert result_of(rules(), (50, 30, 20)).outcome.gains == ((50.0, 30.0, 20.0),)


@given(st.integers(1, 60), st.lists(st.integers(0, 60), min_size=2, max_size=5))
def test_best_bid_and_equal_shares_match_enumeration(golds: int, row: list[int]) -> None:
    game = rules(players=len(row), golds=golds, limits=False)

    def payoffs(bids: list[int], player: int) -> list[float]:
        """Return a player's payoff for each bid against the other bids."""
        tries = ([*bids[:player], bid, *bids[player + 1 :]] for bid in range(golds + 1))
        return [game.gains(1, tried, game.instance_type())[player] for tried in tries]

    shares = [equilibrium_bid(golds, len(row), number) for number in range(1, len(row) + 1)]
    assert sum(shares) == golds
    assert max(shares) - min(shares) <= 1
    for player, bid in enumerate(row):
        possible = payoffs(row, player)
        assert possible[best_bid(golds, sum(row) - bid)] == max(possible)
        assert max(payoffs(shares, player)) == shares[player]


def test_equilibrium_players_divide_all_gold() -> None:
    assert play_out(rules(rounds=4), "equilibrium").choices == ((34, 33, 33),) * 4
    assert play_out(rules(players=10), "equilibrium").choices == ((10,) * 10,)


def test_strategies_react_to_greedy_bids() -> None:
    cases: list[tuple[tuple[int, ...], str, int, tuple[tuple[int, ...], ...]]] = [
        ((91,), "best_response", 2, ((91, 50), (91, 9), (91, 9))),
        ((100, 0, 0, 0), "best_response", 3, ((100, 33, 33), (0, 0, 0), (0, 100, 100))),
        ((100, 60), "proportional", 3, ((100, 33, 33), (60, 19, 19))),
    ]
    for bids, name, players, choices in cases:
        greedy = SPEC.strategies["fixed"].with_settings(choices=bids)
        game = rules(players=players, rounds=len(choices))
        assert play_out(game, greedy, *[name] * (players - 1)).choices == choices
