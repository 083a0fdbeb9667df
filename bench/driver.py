"""Throughput of matches without models or a store, on one core."""

import statistics
import time
from collections.abc import Iterator, Mapping
from typing import Any

from bench.rows import Row
from cheaptalk.rules import Chance, Decide, Game, games, get_game, play

ROUNDS = 5
Pair = tuple[str, dict[str, Any], tuple[str, ...], float | None]
PAIRS: tuple[Pair, ...] = (
    ("bargaining", {}, ("equal_split", "equal_split"), 20_000.0),
    ("bargaining", {}, ("subgame_perfect", "subgame_perfect"), 20_000.0),
    ("bargaining", {}, ("boulware", "conceder"), None),
    ("battle_royale", {}, ("strongest",), None),
    ("chip_trading", {}, ("zero_intelligence",), None),
    ("deal_or_no_deal", {}, ("honest",), None),
    ("diners_dilemma", {}, ("conditional_cooperator",), None),
    ("divide_the_dollar", {}, ("proportional",), None),
    ("el_farol_bar", {}, ("reinforcement",), None),
    ("guess_the_average", {}, ("best_response",), None),
    ("item_bargaining", {}, ("aspire",), 15_000.0),
    ("negotiation", {}, ("split_the_difference", "split_the_difference"), None),
    ("persuasion", {"signal": "binary"}, ("honest", "trusting"), None),
    ("pirate_game", {}, ("equilibrium",), None),
    ("public_goods", {}, ("conditional_cooperator",), None),
    ("public_goods_punishment", {}, ("reciprocal",), None),
    ("sealed_bid_auction", {}, ("equilibrium",), None),
    ("trust_game", {}, ("reciprocal", "fair"), None),
    ("ultimatum_game", {"strategy_method": False}, ("fair", "fair"), None),
)
"""Game, parameters, the strategy of each role (used for all its seats), and required matches/s."""


def pairing(pair: Pair) -> tuple[Game, dict[str, Decide]]:
    """Return the game of a pairing and the strategy of each role."""
    name, parameters, players, _ = pair
    game_spec = get_game(name)
    chosen = [game_spec.strategies[player].with_settings() for player in players]
    return game_spec.rules.model_validate(parameters), dict(
        zip(game_spec.rules.roles, chosen, strict=True)
    )


def rate(game: Game, players: Mapping[str, Decide], matches: int) -> tuple[float, float]:
    """Play matches; return the matches per second and the decision requests per match."""
    requests = 0
    started = time.perf_counter()
    for number in range(matches):
        seed = f"bench/{number}"
        requests += play(game, game.draw_instance(Chance(seed)), seed, players).requests
    return matches / (time.perf_counter() - started), requests / matches


def rows() -> Iterator[Row]:
    """Yield the rate of each pairing: the median of several rounds of up to a second."""
    for pair in PAIRS:
        name, _, players, goal = pair
        game, strategies = pairing(pair)
        expected, _ = rate(game, strategies, 50)
        rates = [rate(game, strategies, min(int(expected) + 1, 3_000)) for _ in range(ROUNDS)]
        value = statistics.median(matches for matches, _ in rates)
        seats = " against ".join(players) if len(players) > 1 else f"{players[0]} in all seats"
        yield Row(
            f"{name}, {seats}, no store, one core",
            value,
            "matches/s",
            None if goal is None else (">=", goal),
            f"{rates[0][1]:.1f} decision requests per match",
        )


def covered() -> set[str]:
    """Return the names of the games that this benchmark plays."""
    return {name for name, *_ in PAIRS} & set(games())
