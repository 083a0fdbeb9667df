"""GAMA-Bench's scores of its recorded games, computed from the files as an oracle for metrics.

The scores follow appendix E of the paper as implemented in its code: an auction's ratios are at
least 0, and a valuation of 0 counts as 1; a battle is scored over the rounds played; a vote
against one coin is never right.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean as mean
from typing import Any

Data = dict[str, Any]


def rounds(data: Data) -> Iterator[tuple[Any, ...]]:
    """Yield all players' choices, round by round."""
    return zip(*(player["records"] for player in data["player_data"]), strict=True)


def guess(data: Data) -> float:
    """Return 100 minus the mean of all numbers."""
    return 100 - mean(mean(row) for row in rounds(data))


def bar(data: Data) -> float:
    """Return how close attendance is to 60 %, relative to the largest distance."""
    return 100 * (0.6 - mean(abs(row.count("go") / 10 - 0.6) for row in rounds(data))) / 0.6


def dollar(data: Data) -> float:
    """Return how close the sums of bids are to 100."""
    return max(0.0, 100 - mean(abs(sum(row) - 100) for row in rounds(data)))


def goods(data: Data) -> float:
    """Return the share of the 20 tokens that was kept."""
    return 100 * (20 - mean(mean(row) for row in rounds(data))) / 20


def diners(data: Data) -> float:
    """Return the share of orders that are not cheap."""
    return 100 * (1 - mean(row.count("cheap") / 10 for row in rounds(data)))


def auction(data: Data) -> float:
    """Return how far bids are below valuations, relative to the valuations."""
    valued = [round_["valuations"] for round_ in data["round_records"]]
    shades = [
        max(0, value - bid) / (value or 1)
        for values, bids in zip(valued, rounds(data), strict=True)
        for value, bid in zip(values, bids, strict=True)
    ]
    return 100 * mean(shades)


def battle(data: Data) -> float:
    """Return the share of rounds that target the best other player still alive."""
    right = 0
    for shot in data["round_records"]:
        others = [name for name, _ in shot["initial_players"]]
        others.remove(f"player_{shot['player_shooting']}")
        right += others[-1] == f"player_{shot['shot_player']}"
    return 100 * right / len(data["round_records"])


def pirates(data: Data) -> float:
    """Return the mean of the score of plans and the share of right votes."""
    distances, votes = [], []
    for ballot in data["round_records"]:
        plan, responses = ballot["gold_distribution"], ballot["responses"]
        best = [0, *(1 - place % 2 for place in range(1, len(plan)))]
        best[0] = 100 - sum(best)
        distances.append(sum(abs(a - b) for a, b in zip(plan, best, strict=True)))
        for place in range(1, len(plan)):
            coins, accepts = plan[place], responses[place] == "accept"
            even = place % 2 == 0
            right = not accepts if coins == 0 else accepts and (coins > 1 or even)
            votes.append(right)
    return 50 * (200 - mean(distances)) / 200 + 50 * mean(votes)


ORACLES: dict[str, Callable[[Data], float]] = {
    "guessing_game": guess,
    "bar_game_implicit": bar,
    "divide_dollar": dollar,
    "public_goods": goods,
    "diner_dilemma": diners,
    "sealed_bid_auction": auction,
    "battle_royale": battle,
    "pirate_game": pirates,
}
"""Score functions by GAMA's name of the game, in the order of Table 1."""

PREFIXES = {
    "gpt-3.5-turbo-0125": "",
    "gemini-1.0-pro": "gemini-1.0-pro_",
    "Meta-Llama-3.1-8B-Instruct": "llama-3.1-8b_",
    "Mixtral-8x7B-Instruct-v0.1": "mixtral-8x7b_",
    "Qwen2-72B-Instruct": "qwen2-72b_",
}
"""File name prefixes by model."""

RUNS = range(1, 6)


def scores(root: Path) -> dict[tuple[str, str, int], float]:
    """Return the score of every recorded game by game, model and run."""
    by_run = {}
    for game, oracle in ORACLES.items():
        for model, prefix in PREFIXES.items():
            for run in RUNS:
                (path,) = (root / game).rglob(f"{prefix}{game}_v1_{run}.json")
                by_run[game, model, run] = oracle(json.loads(path.read_text()))
    return by_run
