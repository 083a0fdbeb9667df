"""Invented games in the file format of GAMA: three players, two rounds."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

NAMES = {
    "guess": "guessing_game_v1_1",
    "bar": "bar_game_implicit_v1_1",
    "dollar": "divide_dollar_v1_1",
    "goods": "public_goods",
    "diners": "diner_dilemma_v1_1",
    "auction": "sealed_bid_auction",
    "battle": "battle_royale",
    "pirates": "pirate_game",
}

Data = dict[str, Any]


def make_file(
    kind: str,
    settings: Data,
    rounds: Sequence[Data],
    records: Sequence[Sequence[Any]],
    utilities: Sequence[Sequence[float]] | None = None,
) -> Data:
    """Return a game file of settings, rounds, each player's choices and, optionally, utilities."""
    meta = {"name_exp": NAMES[kind], "player_num": len(records), "round_id": len(rounds)}
    prompt = [{"role": "system", "content": "You are playing a game."}]
    utilities = utilities or [[0.5] * len(chosen) for chosen in records]
    players = [
        {
            "model": "lab/Talker-7B",
            "id": f"player_{number}",
            "prompt": prompt,
            "records": list(chosen),
            "utility": list(gained),
        }
        for number, (chosen, gained) in enumerate(zip(records, utilities, strict=True))
    ]
    return {
        "meta": meta | settings | {"version": "v1"},
        "round_records": [dict(round_) for round_ in rounds],
        "player_data": players,
    }


def guess() -> Data:
    """Numbers 60, 30 and 0, then 40, 40 and 10: both averages are 30, so the target is 20."""
    settings = {"min": 0, "max": 100, "ratio": 2 / 3, "ratio_str": "2/3"}
    rounds = [
        {"responses": [0, 60, 30], "mean": 30, "mean_ratio": 20.0, "winner": 30, "winner_num": 1},
        {
            "responses": [40, 10, 40],
            "mean": 30.0,
            "mean_ratio": 20.0,
            "winner": 10,
            "winner_num": 1,
        },
    ]
    return make_file("guess", settings, rounds, [(60, 40), (30, 40), (0, 10)])


def bar() -> Data:
    """Two of three players go, which is too many; then one goes."""
    settings = {
        "min": 0,
        "max": 10,
        "home": 5,
        "ratio": 0.6,
        "ratio_str": "60%",
        "mode": "implicit",
    }
    rounds = [
        {
            "responses": ["go", "go", "stay"],
            "go_num": 2,
            "go_ratio": 2 / 3,
            "winner": "stay",
            "utility": 0,
        },
        {
            "responses": ["go", "stay", "stay"],
            "go_num": 1,
            "go_ratio": 1 / 3,
            "winner": "go",
            "utility": 10,
        },
    ]
    records = [("go", "go"), ("go", "stay"), ("stay", "stay")]
    return make_file("bar", settings, rounds, records, [(0, 10), (0, 5), (5, 5)])


def dollar() -> Data:
    """Bids add up to 120 of 100; then one player bids 100 and the others bid 0."""
    rounds = [
        {"responses": [30, 50, 40], "total_proposal": 120},
        {"responses": [0, 0, 100], "total_proposal": 100},
    ]
    records = [(50, 100), (40, 0), (30, 0)]
    return make_file("dollar", {"golds": 100}, rounds, records, [(0, 100), (0, 0), (0, 0)])


def goods() -> Data:
    """Contributions of 10, 20 and 0 tokens; then of 0, 25 (more than the endowment) and 0."""
    settings = {
        "tokens": 20,
        "ratio": 2,
        "token_initialization": "fixed",
        "reset": True,
        "rand_min": 11,
    }
    rounds = [
        {"responses": [10, 20, 0], "total_tokens": 30},
        {"responses": [0, 25, 0], "total_tokens": 25},
    ]
    kept = [(10, 20), (0, -5), (20, 20)]
    data = make_file("goods", settings, rounds, [(10, 0), (20, 25), (0, 0)], kept)
    for player in data["player_data"]:
        player["tokens"] = [20, 10.5]
    return data


def diners() -> Data:
    """One cheap and two costly dishes; then three orders that GAMA counted as costly."""
    settings = {"cheap_cost": 10, "cheap_utility": 15, "exp_cost": 20, "exp_utility": 20}
    rounds = [
        {
            "responses": ["cheap", "costly", "costly"],
            "cheap_player": 1,
            "total_cost": 50,
            "cost_msg": "2 * 20 + 1 * 10 = 50",
            "avg_cost": 50 / 3,
        },
        {
            "responses": ["costly_dish", "cheap_dish", "costly_or_cheap"],
            "cheap_player": 0,
            "total_cost": 60,
            "cost_msg": "3 * 20 + 0 * 10 = 60",
            "avg_cost": 20.0,
        },
    ]
    records = [("cheap", "costly_dish"), ("costly", "cheap_dish"), ("costly", "costly_or_cheap")]
    return make_file("diners", settings, rounds, records, [(-5 / 3, 0), (10 / 3, 0), (10 / 3, 0)])


def auction() -> Data:
    """The third player wins a tie at 50; then the second wins with 90."""
    settings = {
        "valuation_min": 0,
        "valuation_max": 200,
        "interval": 10,
        "seed": 44,
        "mode": "highest bid",
    }
    rounds = [
        {
            "responses": [50, 10, 50],
            "bid_winner": "player_2",
            "bid_winner_proposed": 50,
            "bid_winner_payment": 50,
            "utility": [0, 0, 20],
            "valuations": [60, 20, 70],
        },
        {
            "responses": [0, 90, 80],
            "bid_winner": "player_1",
            "bid_winner_proposed": 90,
            "bid_winner_payment": 90,
            "utility": [0, -10, 0],
            "valuations": [0, 80, 90],
        },
    ]
    return make_file("auction", settings, rounds, [(50, 0), (10, 90), (50, 80)])


def battle() -> Data:
    """An intentional miss, a hit, a shot at oneself, one at an eliminated player, a final hit."""
    shots = [
        ("0", "null", False),
        ("1", "2", True),
        ("0", "0", False),
        ("1", "2", False),
        ("0", "1", True),
    ]
    living = [["player_0", 35], ["player_1", 40], ["player_2", 45]]
    rounds = []
    for number, (shooter, target, out) in enumerate(shots):
        rounds.append(
            {
                "responses": [target],
                "player_shooting": shooter,
                "shot_player": target,
                "out": out,
                "action": "miss" if target == "null" else "shoot",
                "initial_players": living if number < 2 else living[:2],
            }
        )
    rounds[0]["removed_player_info"] = ["player_2", "player_1"]
    settings = {"base_hit_rate": 35, "interval": 5}
    records = [["null", "0", "1"], ["2", "2"], []]
    return make_file("battle", settings, rounds, records)


def pirates() -> Data:
    """A plan that keeps all coins is rejected; then a plan passes with two of two votes."""
    rounds = [
        {"gold_distribution": [100, 0, 0], "responses": ["accept", "reject", "reject"]},
        {"gold_distribution": [99, 1], "responses": ["accept", "accept"]},
    ]
    records = [["accept"], ["reject", "accept"], ["reject", "accept"]]
    return make_file("pirates", {"gold": 100}, rounds, records)


KINDS = {
    "guess": guess,
    "bar": bar,
    "dollar": dollar,
    "goods": goods,
    "diners": diners,
    "auction": auction,
    "battle": battle,
    "pirates": pirates,
}


def write(root: Path, name: str, data: Data) -> Path:
    """Write a game file below ``root`` and return its path."""
    path = root / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))
    return path


def write_all(root: Path) -> Path:
    """Write one game of each kind."""
    for kind, make in KINDS.items():
        write(root, f"{kind}/{kind}_1", make())
    return root
