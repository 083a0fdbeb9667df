"""Talkers: manners change the messages but not the moves."""

from collections.abc import Mapping
from typing import Any, get_args

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
"""Parameters, seat of the talker and strategy of its opponent for each game with messages."""


def moves(game: str, seed: str, strategy: str = "talker", **settings: str) -> Any:
    """Return all actions of a match without messages, and the messages of the talker's seat."""
    parameters, talker, other = GAMES[game]
    game_spec = ct.get_game(game)
    rules = game_spec.rules.model_validate(parameters)
    players = dict.fromkeys(rules.seats, game_spec.strategies[other].with_settings())
    players[talker] = game_spec.strategies[strategy].with_settings(**settings)
    table = ct.play(rules, rules.draw_instance(ct.Chance(seed)), seed, players)
    given = [(answer.actor, dict(answer.action or {})) for answer in table.given]
    words = [fields.pop("message", None) or "" for seat, fields in given if seat == talker]
    for _, fields in given:
        fields.pop("message", None)
    return given, words


def test_manners_change_only_messages() -> None:
    for game in GAMES:
        for seed in map(str, range(8)):
            silent, plain = moves(game, seed, manner="silent")
            matches = {manner: moves(game, seed, manner=manner) for manner in MANNERS}
            assert all(done == silent for done, _ in matches.values())
            for manner in set(MANNERS) - {"silent"}:
                first = matches[manner][1][0]
                assert first.startswith(plain[0])
                assert len(first) > len(plain[0]) + 20
            assert len({words[0] for _, words in matches.values()}) == len(MANNERS)


def test_wordings_cannot_be_mistaken_for_offers() -> None:
    """The talker parses its own offers: "we have lost everything" once changed its next move."""
    topics = dict.fromkeys(Topics._fields, "this")
    wordings = [text.format_map(topics) for tone in manners().values() for text in tone.wordings]
    assert [text for text in wordings if speaks_of_items(text)] == []


TACTICS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "bargaining": {"offers": ("linear", "subgame_perfect", "fixed_demand")},
    "negotiation": {"offers": ("boulware", "fixed_price", "prior_optimal")},
    "persuasion": {"sells": ("honest", "always_recommend", "kamenica_gentzkow")},
    "deal_or_no_deal": {"offers": ("greedy", "fair", "conceding")},
}


def test_talker_makes_moves_of_configured_strategy() -> None:
    for game, settings in TACTICS.items():
        for setting, names in settings.items():
            for name in names:
                done, _ = moves(game, "4", manner="anchor", **{setting: name})
                assert done == moves(game, "4", name)[0]


def test_hallucination_check_detects_false_claims() -> None:
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
