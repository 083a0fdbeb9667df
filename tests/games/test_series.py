"""Series: values by round in matches with given moves."""

from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.games.battle_royale.rules import Battle, Fired
from cheaptalk.games.chip_trading.metrics import surplus_ratio
from cheaptalk.games.item_bargaining.rules import Pool
from cheaptalk.games.pirate_game.rules import Ballot, Voyage
from cheaptalk.games.sealed_bid_auction.rules import Valuations
from cheaptalk.games.trust_game.rules import Exchange, Exchanges
from cheaptalk.games.ultimatum_game.rules import Division
from cheaptalk.rules import Chance, Instance, Outcome, Result
from tests.games.tables import metric, result_of, table_after
from tests.games.test_chip_trading_metrics import GAME, ROWS, worths

Points = dict[tuple[int, str | None], float | None]


def series(result: Result, name: str, *, as_published: bool = False) -> Points:
    """Return a series of a result by round and seat."""
    points = ct.get_game(result.game.name).series[name].variant(as_published)(result)
    return {(number, seat): value for number, seat, value in points}


def rules_of(name: str, **parameters: Any) -> Any:
    """Return a game with these parameters."""
    return ct.get_game(name).rules.model_validate(parameters)


def result_from(name: str, outcome: Outcome, **parameters: Any) -> Result:
    """Return the result of a match without private values that had this outcome."""
    return Result.of(rules_of(name, **parameters), Instance(), outcome)


def test_every_game_has_series() -> None:
    assert {name for name, game_spec in ct.rules.games().items() if not game_spec.series} == set()


def test_offers_are_shares_of_money_scale_or_total_worth() -> None:
    table = table_after(
        rules_of("bargaining", money=100, messages=False),
        {"alice_gain": 90, "bob_gain": 10},
        {"decision": "reject"},
        {"alice_gain": 40, "bob_gain": 60},
        {"decision": "accept"},
    )
    assert series(table.result(), "demand") == {(1, "alice"): 0.9, (2, "bob"): 0.6}
    assert series(table.result(), "share_alice") == {(1, "alice"): 0.9, (2, "bob"): 0.4}
    table = table_after(
        rules_of("negotiation", scale=100, messages=False),
        {"price": 150},
        {"decision": "reject"},
        {"price": 90},
        {"decision": "accept"},
    )
    assert series(table.result(), "offered_price_factor") == {(1, "alice"): 1.5, (2, "bob"): 0.9}
    table = table_after(
        rules_of("item_bargaining", quantities=(2, 1)),
        *({"action": "COUNTEROFFER", "offer": bundle} for bundle in ([1, 0], [0, 1], [2, 0])),
        {"action": "ACCEPT"},
        instance=Pool(quantities=(2, 1), values=((10, 20), (30, 40)), outside=(1, 1)),
    )
    first, second, third = (1, "player_1"), (1, "player_2"), (2, "player_1")
    assert series(table.result(), "demand") == {first: 30 / 40, second: 60 / 100, third: 20 / 40}
    assert series(table.result(), "offered") == {first: 30 / 100, second: 20 / 40, third: 60 / 100}


def test_persuasion_series() -> None:
    rules = rules_of("persuasion", horizon=2, signal="binary")
    instance = rules.instance_type.model_validate({"qualities": [True, False]})
    moves = ["yes", "yes", "yes", "no"]
    table = table_after(rules, *({"decision": move} for move in moves), instance=instance)
    assert series(table.result(), "high") == {(1, None): 1, (2, None): 0}
    assert series(table.result(), "recommended") == {(1, "alice"): 1, (2, "alice"): 1}
    assert series(table.result(), "bought") == {(1, "bob"): 1, (2, "bob"): 0}
    text = table_after(rules_of("persuasion", horizon=1), {"message": "Buy!"}, {"decision": "no"})
    assert series(text.result(), "recommended") == {}


def test_words_and_inconsistencies_by_turn() -> None:
    table = table_after(
        rules_of("deal_or_no_deal"),
        {"message": "I want all 99 books."},
        {"message": "no"},
        {"books": 0, "hats": 0, "balls": 0},
        {"books": 0, "hats": 0, "balls": 0},
    )
    first, second = table.game.seats
    word_counts = series(table.result(), "words")
    assert word_counts == {(1, first): 5, (2, second): 1, (3, first): None, (4, second): None}
    assert series(table.result(), "inconsistent")[1, first] == 1
    assert series(table.result(), "inconsistent")[2, second] == 0
    share = metric("inconsistency", table.result())
    assert share == sum(series(table.result(), "inconsistent").values()) / 4  # type: ignore[arg-type]


def test_simultaneous_rounds_have_joint_and_individual_rows() -> None:
    cases: list[tuple[str, list[tuple[object, ...]], str, list[float]]] = [
        ("guess_the_average", [(10, 100)], "number", [55, 10, 100]),
        ("guess_the_average", [(10, 80)], "distance", [20, 20, 50]),
        ("guess_the_average", [(10, 100)], "won", [0.5, 1, 0]),
        ("el_farol_bar", [("go", "stay")], "attendance", [0.5, 1, 0]),
        ("el_farol_bar", [("go", "stay")], "gain", [7.5, 10, 5]),
        ("divide_the_dollar", [(50, 60)], "bid_share", [1.1, 0.5, 0.6]),
        ("divide_the_dollar", [(50, 40)], "received_share", [0.9, 0.5, 0.4]),
        ("public_goods", [(20, 5)], "contribution", [0.625, 1, 0.25]),
        ("public_goods", [(20, 5)], "gain", [32.5, 25, 40]),
        ("diners_dilemma", [("cheap", "costly")], "cheap_share", [0.5, 1, 0]),
        ("diners_dilemma", [("cheap", "costly")], "gain", [2.5, 0, 5]),
    ]
    for name, rows, which, expected in cases:
        rules = rules_of(name, players=2, rounds=2)
        points = series(result_of(rules, *rows * 2), which)
        seats = [None, "player_1", "player_2"]
        assert list(points) == [(number, seat) for number in (1, 2) for seat in seats]
        assert list(points.values()) == pytest.approx(expected * 2)


def test_auction_series() -> None:
    rules = rules_of("sealed_bid_auction", players=3, rounds=1)
    instance = Valuations(valuations=((100, 0, 40),))
    auction = result_of(rules, (50, 0, 40), instance=instance)
    assert list(series(auction, "valuation").values()) == [100, 100, 0, 40]
    assert list(series(auction, "bid").values()) == [50, 50, 0, 40]
    assert list(series(auction, "bid_share").values()) == [0.75, 0.5, None, 1]
    assert list(series(auction, "gain").values()) == [50, 50, 0, 0]
    nobody = Valuations(valuations=((0, 0, 0),))
    nothing = result_of(rules, (0, 0, 0), instance=nobody)
    assert series(nothing, "bid_share")[1, None] is None
    assert metric("bid_share", nothing) is None


def test_battle_series_by_shot() -> None:
    shots = (
        Fired(shooter="player_1", target="player_3", hit=True),
        Fired(shooter="player_2", target=None, hit=False),
        Fired(shooter="player_1", target="player_2", hit=False),
    )
    battle = result_from(
        "battle_royale",
        Battle(shots=shots, living=("player_1", "player_2")),
        hit_rates=(0.3, 0.5, 0.8),
    )
    rounds = [(1, "player_1"), (2, "player_2"), (3, "player_1")]
    assert series(battle, "target") == dict(zip(rounds, (3, None, 2), strict=True))
    assert series(battle, "hit") == dict(zip(rounds, (1, None, 0), strict=True))
    assert series(battle, "strongest") == dict(zip(rounds, (1, 0, 1), strict=True))
    assert series(battle, "survivors") == {(1, None): 2, (2, None): 2, (3, None): 2}


def test_pirate_series_by_ballot() -> None:
    voyage = Voyage(
        ballots=(
            Ballot(plan=(98, 1, 1), votes=(True, False, False), passed=False),
            Ballot(plan=(100, 0), votes=(True, False), passed=True),
        )
    )
    pirates = result_from("pirate_game", voyage, players=3)
    assert series(pirates, "coins") == {
        (1, "player_1"): 98,
        (1, "player_2"): 1,
        (1, "player_3"): 1,
        (2, "player_2"): 100,
        (2, "player_3"): 0,
    }
    assert series(pirates, "approval")[1, None] == pytest.approx(1 / 3)
    assert series(pirates, "approval")[2, "player_3"] == 0
    assert series(pirates, "plan_distance") == {(1, None): 2, (2, None): 0}
    accuracy = series(pirates, "vote_accuracy")
    assert accuracy == {
        (1, None): 0.5,
        (1, "player_2"): 1,
        (1, "player_3"): 0,
        (2, None): 1,
        (2, "player_3"): 1,
    }
    published = series(pirates, "vote_accuracy", as_published=True)
    assert published[1, None] == 0
    assert published[2, "player_3"] == 1


def test_chip_series_by_turn() -> None:
    rules = rules_of("chip_trading")
    instance = rules.draw_instance(Chance("x")).model_copy(update={"values": worths(*ROWS)})
    trading = Result.of(rules, instance, GAME)
    gains = series(trading, "cumulative_gain")
    assert gains[1, None] == gains[2, None] == pytest.approx(6.3)
    assert gains[1, "player_1"] == pytest.approx(3.1)
    last = len(GAME.turns)
    assert [gains[last, seat] for seat in worths(*ROWS)] == pytest.approx(
        [cents / 100 for cents in GAME.gains().values()]
    )
    assert series(trading, "surplus_ratio")[last, None] == surplus_ratio(trading)
    assert series(trading, "accepted")[2, "player_2"] == 0
    assert series(trading, "proposal_ratio")[1, "player_1"] == 5 / 4
    assert series(trading, "proposal_surplus")[1, "player_1"] == pytest.approx(3.1)


def test_shares_in_one_shot_games_belong_to_the_deciding_seats() -> None:
    trust = rules_of("trust_game", both_roles=True)
    exchanges = (Exchange(sent=5, returned=6), Exchange(sent=2, returned=0))
    result = Result.of(trust, Instance(), Exchanges(exchanges=exchanges))
    assert series(result, "trust") == {(1, "investor"): 0.5, (1, "trustee"): 0.2}
    assert series(result, "trustworthiness") == {(1, "trustee"): 0.4, (1, "investor"): 0}
    division = Division(offer=30, minimum_offer=40, accepted=False)
    divided = result_from("ultimatum_game", division)
    assert series(divided, "offer_share") == {(1, "proposer"): 0.3}
    assert series(divided, "minimum_share") == {(1, "responder"): 0.4}
