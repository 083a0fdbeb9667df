"""The mock server plays every prompt style, answer format and treatment of every game."""

from collections.abc import Iterator
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.mock_models import answer
from cheaptalk.models import ModelCall
from cheaptalk.records import Store
from cheaptalk.rules import get_game
from cheaptalk.rules.game_spec import LANGUAGES
from tests.fakes import Canned, study
from tests.mock_models.test_mock_models import GAMES, collect_kinds

SIZE = {"rounds": 2, "players": 3, "horizon": 4}
"""Parameters that shorten games."""
MODELS = {
    "schema": "openai/gpt-4o@{}/v1",
    "tool": "anthropic/claude-sonnet-4-5@{}/v1",
    "text": "gemini/gemini-2.5-flash@{}/v1",
}
"""A model of another API for each answer format."""
TREATMENTS: list[dict[str, Any]] = [
    {"persona": "selfish", "chain_of_thought": "first", "reask": "quoted"},
    {"refine": {"candidates": 2}},
    {"refine": {"candidates": 2, "apart": True}},
    {"history": "summary"},
    {"history": {"last": 1}, "past_answers": "verbatim"},
]


@pytest.fixture(scope="module")
def root() -> Iterator[str]:
    with ct.mock_server() as url:
        yield url.removesuffix("/v1")


def players(game: str, root: str) -> Iterator[dict[str, Any]]:
    """Yield a model for each style with each answer format, and for each treatment."""
    for style, file in get_game(game).styles.items():
        yield {"model": f"agent/any@{root}/act", "style": style}
        for answers in MODELS if file.codec == "json" else ["text"]:
            yield {"model": MODELS[answers].format(root), "answers": answers, "style": style}
    for treatment in TREATMENTS:
        yield {"model": MODELS["text"].format(root), "answers": "text", **treatment}


def play(game: str, store: Store, players: list[dict[str, Any]], **options: Any) -> None:
    """Play one match of each player against itself; all first answers must be legal."""
    fixed = {name: SIZE[name] for name in SIZE.keys() & get_game(game).rules.model_fields.keys()}
    named = {f"player {number}": player for number, player in enumerate(players)}
    games = [{"game": game, "fixed": fixed}]
    ct.run(study(name=game, games=games, players=named, pairing="self"), store, **options)
    assert collect_kinds(store, game) == {("finished", "ok")}


@pytest.mark.parametrize("game", GAMES)
def test_mock_server_plays_every_style_format_and_treatment(
    game: str, store: Store, root: str
) -> None:
    play(game, store, [*players(game, root)])


@pytest.mark.parametrize("game", GAMES)
def test_prompts_for_models_suffice_without_schema(game: str, store: Store) -> None:
    def reply(call: ModelCall, _: str) -> str:
        return answer([message.model_dump() for message in call.messages])

    styles = [style for style in get_game(game).styles if style not in LANGUAGES]
    models = [{"model": "vllm/tiny", "style": style} for style in styles]
    play(game, store, models, models=Canned(reply))
