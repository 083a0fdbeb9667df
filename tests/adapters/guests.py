"""A study with a guest, in every game, and answers of that guest."""

import json
from collections.abc import Sequence
from typing import Any

from cheaptalk.rules import games
from cheaptalk.stand_in import answer

NAME, TOKEN = "mine", "a token of mine"
SHORT: dict[str, dict[str, Any]] = {
    "bargaining": {"horizon": 4},
    "negotiation": {"horizon": 4},
    "persuasion": {"horizon": 4},
    "item_bargaining": {"rounds": 3},
    "chip_trading": {"rounds": 1},
    "battle_royale": {"hit_rates": [0.3, 0.5, 1]},
    "pirate_game": {"players": 4},
}
"""Parameters by which games are short; all others are of three players and rounds."""
THREE = {"players": 3, "rounds": 3}


def every_game(deals: int = 1, **player: Any) -> dict[str, Any]:
    """A study in which a guest plays every game with itself."""
    own = {name: SHORT.get(name, {} if name == "deal_or_no_deal" else THREE) for name in games()}
    return {
        "name": "coming",
        "deals": deals,
        "games": [{"game": name, "fixed": fixed} for name, fixed in own.items()],
        "players": {NAME: {"model": f"guest/{NAME}", **player}},
        "pairing": "self",
    }


def said(messages: Sequence[dict[str, str]]) -> dict[str, Any]:
    """A legal answer: the fields of the form where it is JSON, else a text."""
    text = answer([*messages])
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    return {"answer": found} if isinstance(found, dict) else {"text": text}
