"""Numbers by round: what series say of matches that are known move by move."""

from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.games.battle_royale.rules import Battle, Fired
from cheaptalk.games.chip_trading.metrics import surplus_ratio
from cheaptalk.games.item_bargaining.events import Pool
from cheaptalk.games.pirate_game.rules import Ballot, Voyage
from cheaptalk.games.sealed_bid_auction.rules import Valuations
from cheaptalk.rules import Chance, Instance, Outcome, Result, Table
from tests.games.tables import result_of, table_after, table_of
from tests.games.test_chip_trading_metrics import GAME, TWO, game, worths

Points = dict[tuple[int, str | None], float | None]


def series(result: Result, name: str, *, as_published: bool = False) -> Points:
    """A series of a result, by round and place."""
    found = ct.get_game(result.game.name).series[name].variant(as_published)(result)
    return {(number, place): value for number, place, value in found}


def result(table: Table) -> Result:
    """The result of a table that is over."""
    assert table.outcome is not None
    return Result(table.game, table.instance, table.outcome, lambda: table.given)


def rules_of(name: str, **parameters: Any) -> Any:
    """A game with these parameters."""
    return ct.get_game(name).rules.model_validate(parameters)


def ended(name: str, outcome: Outcome, **parameters: Any) -> Result:
    """A match of a game without hidden cards that ended like this."""
    return Result.of(rules_of(name, **parameters), Instance(), outcome)


def test_every_game_has_series() -> None:
    assert {name for name, game_spec in ct.rules.games().items() if not game_spec.series} == set()


def test_offers_of_items_are_shares_of_what_all_are_worth_to_each() -> None:
    instance = Pool(quantities=(2, 1), values=((10, 20), (30, 40)), outside=(1, 1))
    table = table_after(
        rules_of("item_bargaining", quantities=(2, 1)),
        {"action": "COUNTEROFFER", "offer": [1, 0]},
        {"action": "COUNTEROFFER", "offer": [0, 1]},
        {"action": "COUNTEROFFER", "offer": [2, 0]},
        {"action": "ACCEPT"},
        instance=instance,
    )
    one, two, three = (1, "player_1"), (1, "player_2"), (2, "player_1")
    assert series(result(table), "demand") == {one: 30 / 40, two: 60 / 100, three: 20 / 40}
    assert series(result(table), "offered") == {one: 30 / 100, two: 20 / 40, three: 60 / 100}


def test_a_match_without_offers_has_no_concessions() -> None:
    table = table_after(rules_of("item_bargaining"), {"action": "WALK"})
    assert series(result(table), "demand") == {}


def test_divisions_are_told_as_what_each_keeps_and_as_alice_s_share() -> None:
    said = {"message": ""}
    table = table_after(
        rules_of("bargaining", money=100),
        {"alice_gain": 90, "bob_gain": 10} | said,
        {"decision": "reject"},
        {"alice_gain": 40, "bob_gain": 60} | said,
        {"decision": "accept"},
    )
    assert series(result(table), "demand") == {(1, "alice"): 0.9, (2, "bob"): 0.6}
    assert series(result(table), "alice_share") == {(1, "alice"): 0.9, (2, "bob"): 0.4}


def test_prices_are_multiples_of_the_scale() -> None:
    table = table_after(
        rules_of("negotiation", scale=100, messages=False),
        {"price": 150}, {"decision": "reject"}, {"price": 90}, {"decision": "accept"},
    )  # fmt: skip
    assert series(result(table), "offered_price") == {(1, "alice"): 1.5, (2, "bob"): 0.9}


def test_persuasion_is_quality_recommendation_and_purchase() -> None:
    rules = rules_of("persuasion", horizon=2, signal="binary")
    instance = rules.instance_type.model_validate({"qualities": [True, False]})
    moves = ["yes", "yes", "yes", "no"]
    table = table_after(rules, *({"decision": move} for move in moves), instance=instance)
    assert series(result(table), "high") == {(1, None): 1, (2, None): 0}
    assert series(result(table), "recommended") == {(1, "alice"): 1, (2, "alice"): 1}
    assert series(result(table), "bought") == {(1, "bob"): 1, (2, "bob"): 0}
    text = table_after(rules_of("persuasion", horizon=1), {"message": "Buy!"}, {"decision": "no"})
    assert series(result(text), "recommended") == {}


def test_words_and_faults_are_told_turn_by_turn() -> None:
    table = table_after(
        rules_of("deal_or_no_deal"),
        {"message": "I want all 99 books."},
        {"message": "no"},
        {"books": 0, "hats": 0, "balls": 0},
        {"books": 0, "hats": 0, "balls": 0},
    )
    first, second = table.game.seats
    said = series(result(table), "words")
    assert said == {(1, first): 5, (2, second): 1, (3, first): None, (4, second): None}
    assert series(result(table), "inconsistent")[1, first] == 1
    assert series(result(table), "inconsistent")[2, second] == 0
    share = ct.get_game("deal_or_no_deal").metrics["inconsistency"].of(result(table))
    assert share == sum(series(result(table), "inconsistent").values()) / 4  # type: ignore[arg-type]


def test_numbers_have_their_mean_and_the_winner_s_distance() -> None:
    rules = rules_of("guess_the_average", players=3, rounds=1, ratio="1/2")
    ended = result_of(rules, (30, 40, 50))
    assert series(ended, "number") == {
        (1, None): 40, (1, "player_1"): 30, (1, "player_2"): 40, (1, "player_3"): 50,
    }  # fmt: skip
    distances = series(ended, "distance")
    assert list(distances.values()) == [10, 10, 20, 30]
    assert series(ended, "won")[1, "player_1"] == 1


@pytest.mark.parametrize(
    ("name", "rows", "which", "expected"),
    [
        ("el_farol_bar", [("go", "stay")], "attendance", [0.5, 1, 0]),
        ("el_farol_bar", [("go", "stay")], "gain", [7.5, 10, 5]),
        ("divide_the_dollar", [(50, 60)], "bid", [1.1, 0.5, 0.6]),
        ("divide_the_dollar", [(50, 40)], "received", [0.9, 0.5, 0.4]),
        ("public_goods", [(20, 5)], "contribution", [0.625, 1, 0.25]),
        ("public_goods", [(20, 5)], "gain", [32.5, 25, 40]),
        ("diners_dilemma", [("cheap", "costly")], "cheap", [0.5, 1, 0]),
        ("diners_dilemma", [("cheap", "costly")], "gain", [2.5, 0, 5]),
    ],
)
def test_rounds_of_all_at_once_have_a_row_for_all_and_for_each(
    name: str, rows: list[tuple[object, ...]], which: str, expected: list[float]
) -> None:
    rules = rules_of(name, players=2, rounds=2)
    found = series(result_of(rules, *rows * 2), which)
    places = [None, "player_1", "player_2"]
    assert list(found) == [(number, place) for number in (1, 2) for place in places]
    assert list(found.values()) == pytest.approx(expected * 2)


def test_bids_stand_beside_valuations() -> None:
    rules = rules_of("sealed_bid_auction", players=3, rounds=1)
    instance = Valuations(valuations=((100, 0, 40),))
    auction = result(table_of(rules, (50, 0, 40), instance=instance))
    assert list(series(auction, "valuation").values()) == [100, 100, 0, 40]
    assert list(series(auction, "bid").values()) == [50, 50, 0, 40]
    assert list(series(auction, "bid_share").values()) == [0.75, 0.5, None, 1]
    assert list(series(auction, "gain").values()) == [50, 50, 0, 0]
    nobody = Valuations(valuations=((0, 0, 0),))
    nothing = result(table_of(rules, (0, 0, 0), instance=nobody))
    assert series(nothing, "bid_share")[1, None] is None
    assert ct.get_game("sealed_bid_auction").metrics["bid_share"].of(nothing) is None


def test_a_battle_is_told_shot_by_shot() -> None:
    shots = (
        Fired(shooter="player_1", target="player_3", hit=True),
        Fired(shooter="player_2", target=None, hit=False),
        Fired(shooter="player_1", target="player_2", hit=False),
    )
    battle = ended(
        "battle_royale", Battle(shots=shots, living=("player_1", "player_2")),
        hit_rates=(0.3, 0.5, 0.8),
    )  # fmt: skip
    rounds = [(1, "player_1"), (2, "player_2"), (3, "player_1")]
    assert series(battle, "target") == dict(zip(rounds, (3, None, 2), strict=True))
    assert series(battle, "hit") == dict(zip(rounds, (1, None, 0), strict=True))
    assert series(battle, "strongest") == dict(zip(rounds, (1, 0, 1), strict=True))
    assert series(battle, "living") == {(1, None): 2, (2, None): 2, (3, None): 2}


def test_ballots_tell_plans_and_votes_of_those_aboard() -> None:
    voyage = Voyage(
        ballots=(
            Ballot(plan=(98, 1, 1), votes=(True, False, False), passed=False),
            Ballot(plan=(100, 0), votes=(True, False), passed=True),
        )
    )
    pirates = ended("pirate_game", voyage, players=3)
    assert series(pirates, "coins") == {
        (1, "player_1"): 98, (1, "player_2"): 1, (1, "player_3"): 1,
        (2, "player_2"): 100, (2, "player_3"): 0,
    }  # fmt: skip
    assert series(pirates, "accepted")[1, None] == pytest.approx(1 / 3)
    assert series(pirates, "accepted")[2, "player_3"] == 0
    assert series(pirates, "plan_distance") == {(1, None): 2, (2, None): 0}
    right = series(pirates, "vote_accuracy")
    assert right == {
        (1, None): 0.5, (1, "player_2"): 1, (1, "player_3"): 0, (2, None): 1, (2, "player_3"): 1,
    }  # fmt: skip
    published = series(pirates, "vote_accuracy", as_published=True)
    assert published[1, None] == 0
    assert published[2, "player_3"] == 1


def test_chips_are_told_turn_by_turn() -> None:
    rules = rules_of("chip_trading")
    instance = rules.draw_instance(Chance("x")).model_copy(update={"values": worths(*TWO)})
    trading = Result.of(rules, instance, GAME)
    gains = series(trading, "gain")
    assert gains[1, None] == gains[2, None] == pytest.approx(6.3)
    assert gains[1, "player_1"] == pytest.approx(3.1)
    last = len(GAME.turns)
    assert [gains[last, place] for place in worths(*TWO)] == pytest.approx(
        [cents / 100 for cents in GAME.gains().values()]
    )
    assert series(trading, "surplus_ratio")[last, None] == surplus_ratio(trading)
    assert series(trading, "accepted")[2, "player_2"] == 0
    assert series(trading, "proposal_ratio")[1, "player_1"] == 5 / 4
    assert series(trading, "proposal_surplus")[1, "player_1"] == pytest.approx(3.1)


def test_where_nothing_can_be_gained_there_is_no_share_of_it() -> None:
    same = game(((50, 50), (50, 50), (50, 50)), "1: 1 red for 1 blue")
    rules = rules_of("chip_trading")
    trading = Result.of(rules, rules.draw_instance(Chance("x")), same)
    assert set(series(trading, "surplus_ratio").values()) == {None}
