"""How fast matches are played through the rules alone, unstored, on one core."""

import statistics
import time
from collections.abc import Iterator

from bench.rows import Row
from cheaptalk.rules import Chance, Decide, Game, game_box, games, play

ROUNDS = 5
Pair = tuple[str, dict[str, str], str, str, float | None]
PAIRS: tuple[Pair, ...] = (
    ("bargaining", {}, "equal_split", "equal_split", 20_000.0),
    ("bargaining", {}, "subgame_perfect", "subgame_perfect", 20_000.0),
    ("bargaining", {}, "boulware", "conceder", None),
    ("negotiation", {}, "split_the_difference", "split_the_difference", None),
    ("persuasion", {"signal": "binary"}, "honest", "trusting", None),
)


def pairing(pair: Pair) -> tuple[Game, Decide, Decide]:
    """The game and the two players of a pairing."""
    name, parameters, *players = pair[:4]
    box = game_box(name)
    alice, bob = (box.strategies[one].with_settings() for one in players)
    return box.rules.model_validate(parameters), alice, bob


def rate(game: Game, alice: Decide, bob: Decide, matches: int) -> tuple[float, float]:
    """Matches a second, and questions a match."""
    requests = 0
    players = {"alice": alice, "bob": bob}
    started = time.perf_counter()
    for number in range(matches):
        seed = f"bench/{number}"
        requests += play(game, game.deal(Chance(seed)), seed, players).requests
    return matches / (time.perf_counter() - started), requests / matches


def rows() -> Iterator[Row]:
    """Matches a second for some pairings, the median of several rounds."""
    for pair in PAIRS:
        name, _, alice, bob, goal = pair
        rates = [rate(*pairing(pair), 3_000) for _ in range(ROUNDS)]
        value = statistics.median(found for found, _ in rates)
        yield Row(
            f"{name}, {alice} against {bob}, played unstored on one core",
            value,
            "matches/s",
            None if goal is None else (">=", goal),
            f"{rates[0][1]:.1f} answers a match",
        )


def covered() -> set[str]:
    """The games that these benchmarks play."""
    return {name for name, *_ in PAIRS} & set(games())
