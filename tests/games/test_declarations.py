"""Declarations of games: schemas of actions, private information and bounds of total payoffs."""

import hashlib
import json
from itertools import product
from typing import Any

import pytest
from pydantic import ValidationError

import cheaptalk as ct
from cheaptalk.conformance import variants
from cheaptalk.conformance.matches import new_table, questions
from cheaptalk.games.battle_royale.rules import BattleRoyale
from cheaptalk.games.deal_or_no_deal.contexts import all_contexts
from cheaptalk.games.deal_or_no_deal.metrics import best_joint_score
from cheaptalk.games.deal_or_no_deal.rules import DealOrNoDeal
from cheaptalk.games.diners_dilemma.rules import DinersDilemma
from cheaptalk.games.divide_the_dollar.rules import DivideTheDollar
from cheaptalk.games.el_farol_bar.rules import ElFarolBar
from cheaptalk.games.guess_the_average.rules import GuessTheAverage
from cheaptalk.games.pirate_game.rules import PirateGame
from cheaptalk.games.public_goods.rules import PublicGoods
from cheaptalk.rules import Chance, games

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
    "public_goods_punishment": "34eab4b97f73",
    "sealed_bid_auction": "c3bddfef6d36",
    "trust_game": "270b91e13a51",
    "ultimatum_game": "554f2759ce60",
}


@pytest.mark.parametrize("game", games())
def test_action_schemas_match_recorded_calls(game: str) -> None:
    """A changed schema invalidates unfinished matches and cached responses."""
    schemas = [action.model_json_schema() for action in ct.get_game(game).rules.actions]
    text = json.dumps(schemas, sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest()[:12] == SCHEMAS[game]


@pytest.mark.parametrize("game", games())
def test_request_schemas_contain_all_moves_of_the_strategies(game: str) -> None:
    validate = pytest.importorskip("jsonschema").validate
    spec = ct.get_game(game)
    for rules in variants(spec).values():
        table = new_table(rules, "alternatives")
        for request, action in questions(spec, table):
            schema = request.ask.schema
            validate(action.model_dump(mode="json", exclude_none=True), schema)
            assert request.ask.alternatives() or _is_bounded(schema), schema


def _is_bounded(schema: dict[str, Any]) -> bool:
    """Return whether all fields are choices or messages."""
    return all("enum" in field or "maxLength" in field for field in schema["properties"].values())


SAME_QUANTITY = {
    "battle_royale": {"hit", "target"},
    "diners_dilemma": {"gain"},
    "el_farol_bar": {"gain"},
    "persuasion": {"bought", "high", "recommended"},
    "pirate_game": {"ballots"},
    "sealed_bid_auction": {"bid", "gain", "valuation"},
}
"""Metrics by game that are the same quantity in the same unit as a field with the same name."""


@pytest.mark.parametrize("game", games())
def test_names_of_metrics_differ_from_fields_with_another_meaning(game: str) -> None:
    spec = ct.get_game(game)
    rules = spec.rules
    models = (rules, *rules.actions, rules.outcome_type)
    fields = {name for model in models for name in model.model_fields}
    fields |= {name for event in rules.events for name in event.__annotations__}
    assert fields & {*spec.metrics, *spec.series} == SAME_QUANTITY.get(game, set())


OWNERS: dict[str, tuple[dict[str, Any], list[set[str]]]] = {
    "bargaining": ({"complete_information": False}, [{"alice"}, {"bob"}]),
    "negotiation": ({"complete_information": False}, [{"alice"}, {"bob"}]),
    "persuasion": (
        {"horizon": 1, "myopic": True, "seller_knows_values": False, "buyer_knows_prior": False},
        [{"alice"}, {"bob_1"}, {"alice"}],
    ),
    "chip_trading": ({"players": 2}, [{"player_1"}] * 2 + [{"player_2"}] * 2),
    "deal_or_no_deal": ({}, [{"player_1"}, {"player_2"}]),
    "item_bargaining": ({}, [{"player_1"}] * 2 + [{"player_2"}] * 2),
    "sealed_bid_auction": ({"players": 2}, [{"player_1"}, {"player_2"}]),
}
"""The owners of all private facts in games with these parameters."""


@pytest.mark.parametrize("game", games())
def test_private_facts_are_secrets_of_their_owners(game: str) -> None:
    """The conformance kit checks that other players do not observe the facts."""
    parameters, owners = OWNERS.get(game, ({}, []))
    rules = ct.get_game(game).rules.model_validate(parameters)
    secrets = rules.secrets(rules.draw_instance(Chance("any")))
    assert [secret.owners for secret in secrets] == owners


def test_bounds_of_rounds_match_enumeration() -> None:
    cases: list[tuple[Any, Any]] = [
        (DinersDilemma(players=3, rounds=1), ("cheap", "costly")),
        (
            DinersDilemma(players=2, rounds=1, cheap_price=19, costly_utility=99),
            ("cheap", "costly"),
        ),
        (ElFarolBar(players=4, rounds=1), ("go", "stay")),
        (ElFarolBar(players=4, rounds=1, capacity=1), ("go", "stay")),
        (DivideTheDollar(players=3, rounds=1, golds=3), range(4)),
        (GuessTheAverage(players=3, rounds=1, maximum=3), range(4)),
        (PublicGoods(players=3, rounds=1, tokens=3), range(4)),
        *(
            (PublicGoods(players=3, rounds=1, tokens=3, factor=factor), range(4))
            for factor in (0, 0.5, 1, 3, 6)
        ),
    ]
    for game, choices in cases:
        instance = game.draw_instance(Chance("any"))
        rows = [game.gains(1, row, instance) for row in product(choices, repeat=game.players)]
        gains, totals = [row[0] for row in rows], list(map(sum, rows))
        if getattr(game, "capacity", 0) < 1:  # a bar with room for all is never crowded
            assert game.payoff_bounds()["player"] == pytest.approx((min(gains), max(gains)))
        assert game.total_bounds()["player"] == pytest.approx((min(totals), max(totals)))
        longer = game.model_copy(update={"rounds": 5})
        # Guess the average pays the share of rounds won.
        rounds = 1 if game.name == "guess_the_average" else 5
        assert longer.total_bounds()["player"] == pytest.approx(
            (rounds * min(totals), rounds * max(totals))
        )


def test_total_bounds_of_single_prizes() -> None:
    assert BattleRoyale().total_bounds() == {"player": (0.0, 1.0)}
    assert PirateGame(gold=70).total_bounds() == {"player": (70.0, 70.0)}


def test_total_bounds_of_deal_or_no_deal_match_best_context() -> None:
    for objective in (0.0, 0.5, 1.0, -1.0):
        best = max(map(best_joint_score, all_contexts()))
        totals = DealOrNoDeal(objective=objective).total_bounds()["player"]
        assert totals == (0.0, (1 + objective) * best)


INVALID: dict[str, list[tuple[dict[str, Any], str]]] = {
    "battle_royale": [({"hit_rates": [0.5, 0.4]}, "must be in ascending order")],
    "chip_trading": [({"colours": ["green", "red", "RED"]}, "red occurs more than once")],
    "deal_or_no_deal": [
        ({"objective": "rival"}, "must be self, coop, comp or a number from -1 to 1"),
        ({"objective": True}, "true is not a number"),
        ({"contexts": [{"counts": [1, 1, 1], "values": [[1, 0, 9], [9, 1, 0]]}]}, "5 to 7"),
    ],
    "diners_dilemma": [
        ({"costly_price": 10}, "costly_price: must be above cheap_price"),
        ({"cheap_utility": 20}, "costly_utility: must be above cheap_utility"),
    ],
    "el_farol_bar": [
        ({"home": 10}, "home must be above crowded and below fun, not 10"),
        ({"home": 0}, "home must be above crowded and below fun, not 0"),
        ({"fun": -1}, "home must be above crowded and below fun"),
    ],
    "guess_the_average": [
        ({"ratio": True}, "not true or false"),
        ({"ratio": float("nan")}, "not a valid fraction"),
        ({"ratio": float("inf")}, "not a valid fraction"),
        ({"minimum": 100}, "maximum must be greater than the minimum"),
        ({"told": "equilibrium", "ratio": 1}, "requires a ratio other than 1"),
    ],
    "item_bargaining": [
        ({"quantities": (1,)}, "there must be at least two items"),
        ({"quantities": ()}, "there must be at least two items"),
        ({"quantities": (99, 99, 99, 99)}, "divided in more than 1,000,000 ways"),
        ({"quantities": {"kinds": 10, "mean": 4}}, "divided in more than 1,000,000 ways"),
    ],
    "negotiation": [
        ({"price_limit": 1.1}, "at least seller_factor and buyer_factor"),
        ({"names": {"bob": "John"}}, "outside option"),
    ],
    "sealed_bid_auction": [
        ({"low": 200}, "high: must be low plus a positive multiple of step"),
        ({"step": 7}, "high: must be low plus a positive multiple of step"),
        ({"players": 22}, "distinct: 22 players need as many valuations, but only 21"),
        ({"high": 1_000_000, "step": 10}, "at most 10,001"),
        ({"draws": "gama", "distinct": False}, "draws: "),
    ],
}


@pytest.mark.parametrize("game", INVALID)
def test_invalid_parameters_are_rejected(game: str) -> None:
    for parameters, reason in INVALID[game]:
        with pytest.raises(ValidationError, match=reason):
            ct.get_game(game).rules.model_validate(parameters)
