"""The schemas that models receive with a decision request, including the docstrings of actions."""

import hashlib
import json

import pytest

import cheaptalk as ct
from cheaptalk.rules import games

SCHEMAS = {
    "bargaining": "61d6994ea7b8",
    "battle_royale": "ce81f5ccd502",
    "chip_trading": "f22bca4a2bdb",
    "deal_or_no_deal": "063a6ef35620",
    "diners_dilemma": "6f39b752e89a",
    "divide_the_dollar": "fd89261e535e",
    "el_farol_bar": "bcb85e9d8eeb",
    "guess_the_average": "3ba83cb91b5e",
    "item_bargaining": "7c054157c1e2",
    "negotiation": "67a60bd5aa15",
    "persuasion": "6db049e2bdb8",
    "pirate_game": "b7d9d715c600",
    "public_goods": "a7ce58adb8a8",
    "sealed_bid_auction": "c3bddfef6d36",
}


@pytest.mark.parametrize("game", games())
def test_action_schemas_match_recorded_calls(game: str) -> None:
    """A changed schema invalidates unfinished matches and cached responses."""
    schemas = [action.model_json_schema() for action in ct.get_game(game).rules.actions]
    text = json.dumps(schemas, sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest()[:12] == SCHEMAS[game]
