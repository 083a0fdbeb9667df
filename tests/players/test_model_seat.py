"""A model's settings are data, and part of the player's identity."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from cheaptalk.players import ModelSeat, RosterEntry
from cheaptalk.records.identity import player_digest
from cheaptalk.rules import get_game

FULL: dict[str, Any] = {
    "model": "ollama/llama3",
    "top_p": 0.9,
    "max_tokens": 300,
    "seed": 7,
    "stop": ["END"],
    "persona": "selfish",
    "chain_of_thought": "first",
    "deadline": 20,
}
RECORDED = [
    ({"model": "openai/gpt-4o"}, "082065f93b448a5989e6"),
    (
        {
            "model": "vllm/tiny@http://gpu:1/v1",
            "temperature": 0.5,
            "tries": 2,
            "style": "circle_4",
            "words": "0123456789abcdef",
        },
        "4ec3f4bab17397fe531f",
    ),
    (FULL, "48a7612d38edd112c455"),
]
"""Players of the first records, with the digests that are part of their matches' ids."""
CHANGED: dict[str, Any] = {
    "reasoning": "high",
    "answers": "text",
    "history": {"last": 3},
    "past_answers": "verbatim",
    "refine": {"candidates": 2},
    "reask": "afresh",
    "stream": True,
    "refusals": "final",
    "templates": {"own.jinja": '{% extends "plain.jinja" %}'},
}


def test_digests_of_recorded_players_are_stable() -> None:
    for settings, digest in RECORDED:
        seat = ModelSeat.model_validate(settings)
        assert player_digest(seat) == digest
        assert player_digest(ModelSeat.model_validate(seat.model_dump(mode="json"))) == digest


def test_every_setting_changes_the_digest() -> None:
    plain = ModelSeat.model_validate(FULL)
    other: dict[str, Any] = {
        "model": "ollama/llama3.1",
        "style": "plain",
        "temperature": 1,
        "top_p": 0.8,
        "max_tokens": 301,
        "seed": 8,
        "stop": ["STOP"],
        "persona": "cooperative",
        "chain_of_thought": "split",
        "tries": 4,
        "deadline": 21,
        "words": "0",
        **CHANGED,
    }
    assert set(other) == set(ModelSeat.model_fields)
    digests = {
        name: player_digest(ModelSeat.model_validate(FULL | {name: value}))
        for name, value in other.items()
    }
    assert len({*digests.values(), player_digest(plain)}) == len(other) + 1


def test_defaults_of_later_settings_are_not_written() -> None:
    for name in ModelSeat.optional:
        default = ModelSeat.model_fields[name].default
        seat = ModelSeat.model_validate(FULL | {name: default})
        assert player_digest(seat) == RECORDED[2][1]
        assert name not in seat.model_dump(mode="json")
        changed = ModelSeat.model_validate(FULL | {name: CHANGED[name]})
        assert ModelSeat.model_validate(changed.model_dump(mode="json")) == changed
        assert (
            RosterEntry.model_validate(changed.model_dump(mode="json", exclude_none=True)).form
            == changed
        )


def test_invalid_settings_raise_error() -> None:
    unknown = 'should be a sentence or a predefined name, not "selfsh"'
    cases: list[tuple[dict[str, Any], str]] = [
        ({"history": "some"}, '"some" is not a history; write all, summary or {last: N}'),
        ({"history": {"last": -1}}, '{"last": -1} is not a history'),
        ({"history": {"last": True}}, '{"last": true} is not a history'),
        ({"history": None}, "null is not a history"),
        ({"refine": {"candidates": 1}}, "greater than or equal to 2"),
        ({"refine": {"candidate": 3}}, 'unknown key "candidate" (did you mean "candidates"?)'),
        ({"past_answers": "raw"}, "'canonical' or 'verbatim'"),
        ({"reask": "never"}, "'reason', 'quoted' or 'afresh'"),
        ({"refusals": "never"}, "'again' or 'final'"),
        ({"tries": 21}, "less than or equal to 20"),
        ({"persona": "selfsh"}, unknown),
        ({"chain_of_thought": "selfsh"}, unknown),
    ]
    for settings, message in cases:
        with pytest.raises(ValidationError) as caught:
            ModelSeat.model_validate({"model": "vllm/x"} | settings)
        assert message in str(caught.value)


def test_settings_reach_the_player() -> None:
    seat = ModelSeat.model_validate(FULL | CHANGED | {"tries": 7, "style": "plain"})
    player = seat.player(get_game("bargaining").rules())
    for name, value in (player.prompt._asdict() | dict(player.settings)).items():
        assert value == getattr(seat, name), name
    assert (player.model, player.tries, player.answers) == ("ollama/llama3", 7, "text")
    assert player.style.name == "plain"


def test_schema_answers_require_a_json_style() -> None:
    game = get_game("deal_or_no_deal").rules()
    tagged = ModelSeat(model="openai/gpt-4o", answers="schema", style="tagged")
    with pytest.raises(ValueError, match='answers: "schema" requests JSON, but answers in'):
        tagged.seat(game, "player_1")
    assert tagged.model_copy(update={"answers": "text"}).seat(game, "player_1").style == "tagged"


def test_unsupported_setting_is_rejected() -> None:
    with pytest.raises(ValidationError, match="openai/o3 does not support temperature: remove it"):
        RosterEntry.model_validate({"model": "openai/o3", "temperature": 1})
    assert ModelSeat(model="openai/o3", temperature=1).temperature == 1  # allowed in records


def test_structured_answers_with_chain_of_thought_require_reasoning() -> None:
    for answers in ("schema", "tool", "auto"):
        settings = {"model": "vllm/x", "chain_of_thought": "split", "answers": answers}
        with pytest.raises(ValidationError, match=f'answers: "{answers}" leaves no room for a'):
            RosterEntry.model_validate(settings)
        assert ModelSeat.model_validate(settings).route == answers  # allowed in records
        assert RosterEntry.model_validate(
            settings | {"model": "openai/o3", "reasoning": "high"}
        ).form


def test_docs_list_every_setting() -> None:
    folder = Path(__file__).parents[2] / "docs" / "models"
    guides = [folder / "prompts.md", folder / "language-models.md"]
    lines = [line for page in guides for line in page.read_text(encoding="utf-8").splitlines()]
    rows = [line for line in lines if line[:3] == "| `"]
    named = {name for row in rows for name in row.split("|")[1].replace("`", "").split(", ")}
    named = {name.strip() for name in named}
    assert {name for name in ModelSeat.model_fields if name != "words"} <= named
