"""Talkers: the same moves in every manner, with other words around them."""

from collections.abc import Mapping
from typing import Any, get_args

import pytest

import cheaptalk as ct
from cheaptalk.games.deal_or_no_deal.talk import speaks_of_items
from cheaptalk.games.manners import Manner, Topics, manners

MANNERS = get_args(Manner)
GAMES: dict[str, tuple[dict[str, Any], str, str]] = {
    "bargaining": ({"money": 100, "discounts": (0.9, 0.8)}, "alice", "boulware"),
    "negotiation": ({"messages": True}, "alice", "linear"),
    "persuasion": ({"signal": "text", "horizon": 8}, "alice", "bayesian"),
    "deal_or_no_deal": ({}, "player_1", "random"),
}
"""A game with messages, who talks there, and whom it meets."""


def moves(game: str, seed: str, **settings: str) -> tuple[list[Any], list[str]]:
    """What is done in a match in which somebody talks, and what is said there by the talker."""
    parameters, talker, other = GAMES[game]
    game_spec = ct.get_game(game)
    rules = game_spec.rules.model_validate(parameters)
    players = {
        place: game_spec.strategies["talker"].with_settings(**settings)
        if place == talker else game_spec.strategies[other].with_settings()
        for place in rules.seats
    }  # fmt: skip
    table = ct.play(rules, rules.draw_instance(ct.Chance(seed)), seed, players)
    given = [(one.actor, dict(one.action or {})) for one in table.given]
    words = [fields.pop("message", None) or "" for seat, fields in given if seat == talker]
    for _, fields in given:
        fields.pop("message", None)
    return given, words


@pytest.mark.parametrize("game", GAMES)
def test_manners_change_words_and_nothing_else(game: str) -> None:
    for seed in map(str, range(8)):
        silent, plain = moves(game, seed, manner="silent")
        said = {manner: moves(game, seed, manner=manner) for manner in MANNERS}
        assert all(done == silent for done, _ in said.values())
        for manner in set(MANNERS) - {"silent"}:
            first = said[manner][1][0]
            assert first.startswith(plain[0])
            assert len(first) > len(plain[0]) + 20
        assert len({words[0] for _, words in said.values()}) == len(MANNERS)


def test_no_wording_can_be_read_as_part_of_an_offer() -> None:
    """A talker reads its own offers, so that "we have lost everything" changed its next move."""
    topics = dict.fromkeys(Topics._fields, "this")
    wordings = [text.format_map(topics) for one in manners().values() for text in one.wordings]
    assert [text for text in wordings if speaks_of_items(text)] == []


TACTICS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "bargaining": {"offers": ("linear", "subgame_perfect", "fixed_demand")},
    "negotiation": {"offers": ("boulware", "fixed_price", "prior_optimal")},
    "persuasion": {"sells": ("honest", "always_recommend", "kamenica_gentzkow")},
    "deal_or_no_deal": {"offers": ("greedy", "fair", "conceding")},
}


@pytest.mark.parametrize("game", GAMES)
def test_a_talker_does_what_the_strategy_does_whose_offers_it_makes(game: str) -> None:
    parameters, talker, other = GAMES[game]
    game_spec = ct.get_game(game)
    rules = game_spec.rules.model_validate(parameters)
    for setting, names in TACTICS[game].items():
        for name in names:
            players = dict.fromkeys(rules.seats, game_spec.strategies[other].with_settings())
            players[talker] = game_spec.strategies[name].with_settings()
            table = ct.play(rules, rules.draw_instance(ct.Chance("4")), "4", players)
            bare = [dict(one.action or {}) for one in table.given]
            done = [fields for _, fields in moves(game, "4", manner="anchor", **{setting: name})[0]]
            assert done == [{k: v for k, v in one.items() if k != "message"} for one in bare]


def test_a_false_claim_is_false() -> None:
    """Of values that a check of the game can hold against the truth."""
    game_spec = ct.get_game("deal_or_no_deal")
    rules = game_spec.rules()
    players = {
        "player_1": game_spec.strategies["talker"].with_settings(
            manner="false_claim", offers="greedy"
        ),
        "player_2": game_spec.strategies["greedy"].with_settings(),
    }
    result = ct.play(rules, rules.draw_instance(ct.Chance("9")), "9", players).result()
    facts = game_spec.checks["hallucination"](result)
    assert "false value" in {kind for (_, seat), kind in facts.items() if seat == "player_1"}
    assert "false value" not in {kind for (_, seat), kind in facts.items() if seat == "player_2"}
