"""Invented games in GLEE's file format, as in its older and newer releases."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cheaptalk.records import MatchRecord, Store

OFFERS = "alice_gain,bob_gain,message,player,round,decision"
PRICES = "message,product_price,player,round,decision"
PITCHES = "round_quality,product_worth,player,round,message,decision"
BUYERS = "round_quality,product_worth,player,round,decision,message"


def config(game: str, args: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """Return a configuration of a person, Alice, against a model, Bob."""
    return {
        "game_type": game,
        "player_1_type": "otree",
        "player_1_args": {"public_name": "Alice", "model_name": "otree"},
        "player_2_type": "otree_LLM",
        "player_2_args": {"public_name": "Bob", "model_name": "otree_LLM"},
        "game_args": args,
        "commit": "abc123",
    } | changed


OPEN = {"complete_information": True, "messages_allowed": True}


def bargaining(**changed: Any) -> dict[str, Any]:
    """Return a configuration of the newer release, with discounts in the game's settings."""
    args = {"money_to_divide": 100, "max_rounds": 2, "delta_1": 0.8, "delta_2": 0.9}
    return config("bargaining", args | OPEN | changed)


def models(delta_1: float = 0.8, delta_2: float = 0.9) -> dict[str, Any]:
    """Return players of the older release: two models, each with a discount."""
    alice = {"public_name": "Alice", "delta": delta_1, "model_name": "acme/talk-7B"}
    bob = {"public_name": "Bob", "delta": delta_2, "model_name": "publishers/acme/models/chat-1"}
    return {
        "player_1_type": "hf",
        "player_1_args": alice | {"model_kwargs": {"num_gpus": 1}},
        "player_2_type": "vertexai",
        "player_2_args": bob | {"player_id": 3},
        "game": None,
        "date": "2024-08-01 10:00:00",
    }


def negotiation(**changed: Any) -> dict[str, Any]:
    values = {"seller_value": 0.8, "buyer_value": 1.2, "product_price_order": 100}
    return config("negotiation", values | OPEN | {"max_rounds": 10} | changed)


def persuasion(**changed: Any) -> dict[str, Any]:
    values = {"p": 0.5, "v": 3.0, "c": 0, "product_price": 10, "total_rounds": 2}
    knowledge = {"is_myopic": False, "is_seller_know_cv": True, "is_buyer_know_p": True}
    messages = {"seller_message_type": "text", "allow_buyer_message": False}
    return config("persuasion", values | knowledge | messages | changed)


AGREED = ["60,40,Take it.,Alice,1,", ",,,Bob,1,reject", "30,70,,Bob,2,", ",,,Alice,2,accept"]
SOLD = ["Hello.,90,Alice,1,", ",,Bob,1,AcceptOffer"]
PITCHED = [
    "high-quality,30,Nature,1,,",
    ",,Alice,1,Good.,",
    ",,Bob,1,,yes",
    "low-quality,0.0,Nature,2,,",
    ",,Alice,2,Good.,",
    ",,Bob,2,,no",
]


def write(
    root: Path,
    name: str,
    written: dict[str, Any],
    header: str,
    rows: Sequence[str],
    end: str = "\n",
) -> Path:
    """Write a game folder."""
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(written))
    text = end.join([header, *rows, ""])
    (folder / "game.csv").write_text(text, encoding="utf-8", newline="")
    return folder


def write_agreed(root: Path, name: str = "AGREED") -> Path:
    """Write a bargaining game that ends with an agreement in the second round."""
    return write(root, name, bargaining(), OFFERS, AGREED)


def write_all(root: Path) -> Path:
    """Write one game of each family."""
    write_agreed(root, "one/AGREED")
    write(root, "one/SOLD", negotiation(), PRICES, SOLD, "\r\n")
    write(root, "two/deeper/PITCHED", persuasion(), PITCHES, PITCHED)
    return root


def by_id(store: Store, study: str = "glee-import") -> dict[str, MatchRecord]:
    """Return a study's matches by their GLEE ID."""
    return {record.instance_key: record for record in store.records(study, bodies=True)}
