"""A study in which a remote agent plays every game, and the agent's answers."""

import json
from collections.abc import Sequence
from typing import Any

from cheaptalk.mock_models import answer
from cheaptalk.rules import games

NAME, TOKEN = "mine", "a token of mine"
SHORT: dict[str, dict[str, Any]] = {
    "bargaining": {"horizon": 4},
    "negotiation": {"horizon": 4},
    "persuasion": {"horizon": 4},
    "item_bargaining": {"rounds": 3},
    "chip_trading": {"rounds": 1},
    "battle_royale": {"hit_rates": [0.3, 0.5, 1]},
    "pirate_game": {"players": 4},
    "deal_or_no_deal": {},
    "public_goods_punishment": {"rounds": 1, "punishment_rounds": 1},
    "trust_game": {},
    "ultimatum_game": {},
}
"""Parameters that shorten games; the others have three players and three rounds."""
THREE = {"players": 3, "rounds": 3}


def every_game(instances: int = 1, **player: Any) -> dict[str, Any]:
    """Return a study in which a remote agent plays every game with itself."""
    short = {name: SHORT.get(name, THREE) for name in games()}
    return {
        "name": "coming",
        "instances": instances,
        "games": [{"game": name, "fixed": fixed} for name, fixed in short.items()],
        "players": {NAME: {"model": f"remote/{NAME}", **player}},
        "pairing": "self",
    }


def make_answer(messages: Sequence[dict[str, str]]) -> dict[str, Any]:
    """Return a legal answer: the fields of the form if it is JSON, else a text."""
    text = answer([*messages])
    try:
        fields = json.loads(text)
    except ValueError:
        fields = None
    return {"answer": fields} if isinstance(fields, dict) else {"text": text}
