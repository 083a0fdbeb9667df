"""Divide the dollar: the rules, what players read, the score, theory and the scripted players."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from cheaptalk.games.divide_the_dollar import SPEC
from cheaptalk.games.divide_the_dollar.rules import DivideTheDollar
from cheaptalk.games.divide_the_dollar.strategies import best_bid, equilibrium_bid
from cheaptalk.games.rounds import UNLIMITED, RoundsPlayed
from cheaptalk.rules import IllegalAction
from cheaptalk.styles import style_in
from tests.games.tables import events, played, reads, result_of, scored, table_of, versions

bids = st.lists(st.integers(0, 100), min_size=2, max_size=8)


def game(**parameters: Any) -> DivideTheDollar:
    return DivideTheDollar.model_validate({"players": 3, "rounds": 1, **parameters})


def match(*names: str, **parameters: Any) -> RoundsPlayed[Any]:
    made = DivideTheDollar.model_validate({"rounds": 4, **parameters})
    return played(made, *(SPEC.strategies[name] for name in names))


# Rules.


@given(bids, st.integers(1, 300))
def test_all_receive_their_bids_or_nobody_anything(row: list[int], golds: int) -> None:
    made = game(players=len(row), golds=golds, limits=False)
    received = list(result_of(made, row).outcome.gains[0])
    assert received == (row if sum(row) <= golds else [0] * len(row))


def test_a_sum_of_exactly_the_gold_fits() -> None:
    assert result_of(game(), (50, 30, 20)).outcome.gains == ((50.0, 30.0, 20.0),)
    assert result_of(game(), (50, 30, 21)).outcome.gains == ((0.0, 0.0, 0.0),)


@pytest.mark.parametrize("bid", [-1, 101])
def test_a_bid_that_cannot_be_met_is_refused(bid: int) -> None:
    with pytest.raises(IllegalAction, match=f"must be from 0 to 100, not {bid}"):
        table_of(game(), (bid, 0, 0))


@pytest.mark.parametrize("bid", [-5, 187, UNLIMITED, -UNLIMITED])
def test_without_limits_bids_are_taken_as_the_published_code_takes_them(bid: int) -> None:
    made = game(limits=False)
    result = result_of(made, (bid, 10, 20))
    received = (bid, 10, 20) if bid + 30 <= 100 else (0, 0, 0)
    assert result.outcome.gains == (received,)
    low, high = made.payoff_bounds()["player"]
    assert all(low <= payoff <= high for payoff in made.payoffs(result.outcome).values())


def test_even_without_limits_a_bid_has_a_size() -> None:
    with pytest.raises(IllegalAction, match="must be 1000000000 or less, not 1000000001"):
        table_of(game(limits=False), (UNLIMITED + 1, 0, 0))


def test_bounds_are_reached() -> None:
    assert game(rounds=3).payoff_bounds() == {"player": (0.0, 300.0)}
    assert result_of(game(), (100, 0, 0)).outcome.gains[0][0] == 100
    without = game(limits=False)
    assert without.payoff_bounds()["player"] == (-UNLIMITED, UNLIMITED)


@pytest.mark.parametrize(
    ("parameters", "saying"),
    [
        ({"golds": 0}, "greater than or equal to 1"),
        ({"golds": -100}, "greater than or equal to 1"),
        ({"golds": 99.5}, "valid integer"),
        ({"golds": True}, "true is not a number"),
        ({"golds": "100"}, "valid integer"),
        ({"gold": 100}, 'did you mean "golds"'),
    ],
)
def test_impossible_parameters_are_refused(parameters: dict[str, Any], saying: str) -> None:
    with pytest.raises(ValidationError, match=saying):
        game(**parameters)


@pytest.mark.parametrize("bid", [True, 1.5, "ten", "1.5", None, "$10"])
def test_what_is_no_whole_number_is_refused(bid: object) -> None:
    with pytest.raises(ValidationError):
        table_of(game(), (bid, 0, 0))


# Words.


def test_the_words_of_a_report() -> None:
    assert reads(table_of(game(), (50, 30, 21)), "player_2").endswith(
        "Results of round 1:\nYour bid: 30\nSum of all bids: 101\nThe sum exceeds 100.\n"
        "You received 0 golds.\n\nThe game is over. In all you received 0 golds."
    )
    assert reads(table_of(game(), (50, 30, 20)), "player_2").endswith(
        "The sum does not exceed 100.\nYou received 30 golds.\n\n"
        "The game is over. In all you received 30 golds."
    )


@pytest.mark.parametrize("style", versions(SPEC))
def test_every_version_tells_the_same_facts(style: str) -> None:
    made = game(players=3, rounds=13, golds=444)
    words = style_in(SPEC, style)
    for row, received in (((111, 222, 77), "222"), ((111, 222, 177), "0")):
        table = table_of(made, row)
        texts = words.story(table.heard["player_2"], made, "player_2")
        briefing, turn, result = texts
        assert all(fact in briefing for fact in ("13", "444", "Player 2"))
        assert "444" in turn
        assert all(fact in result for fact in ("222", str(sum(row)), "444"))
        assert result.rstrip(".").replace(" golds", "").endswith(received)


def test_nobody_is_told_a_single_bid_of_another() -> None:
    told = [events(table_of(game(), row), "player_1") for row in ((10, 37, 43), (10, 41, 39))]
    assert told[0] == told[1]


# Score.


@pytest.mark.parametrize(
    ("row", "score"),
    [
        ([10] * 10, 100),
        ([0] * 10, 0),
        ([20] * 10, 0),
        ([91] + [1] * 9, 100),
        ([5] * 10, 50),
        ([12] * 10, 80),
        ([100] * 10, 0),
    ],
)
def test_fixed_bids_score(row: list[int], score: float) -> None:
    assert scored(SPEC, *[row] * 20) == pytest.approx(score)


def test_misses_in_both_directions_count() -> None:
    assert scored(SPEC, [8] * 10, [12] * 10) == pytest.approx(80)
    assert scored(SPEC, [20] * 10, [30] * 10, golds=400) == pytest.approx(62.5)


@given(st.lists(st.lists(st.integers(0, 100), min_size=3, max_size=3), min_size=1, max_size=4))
def test_scores_lie_in_their_range(rows: list[list[int]]) -> None:
    assert 0 <= scored(SPEC, *rows) <= 100


def test_agreement_demand_and_efficiency() -> None:
    result = result_of(game(rounds=2), (50, 30, 10), (50, 50, 50))
    measured = {name: metric.of(result) for name, metric in SPEC.metrics.items()}
    assert measured == {
        "score": pytest.approx(70),
        "agreement": 0.5,
        "demand": pytest.approx(1.2),
        "efficiency": pytest.approx(0.45),
    }


# Theory.


def regrets(golds: int, bids: Sequence[int]) -> list[int]:
    """What each player could have got more by another bid from 0 to the gold."""
    total = sum(bids)
    return [best_bid(golds, total - bid) - (bid if total <= golds else 0) for bid in bids]


@given(st.integers(1, 500), st.integers(2, 12))
def test_equal_shares_are_an_equilibrium(golds: int, players: int) -> None:
    shares = [equilibrium_bid(golds, players, number) for number in range(1, players + 1)]
    assert sum(shares) == golds
    assert max(shares) - min(shares) <= 1
    assert regrets(golds, shares) == [0] * players


@given(st.integers(1, 60), st.lists(st.integers(0, 60), min_size=2, max_size=5))
def test_regrets_are_those_of_trying_everything(golds: int, row: list[int]) -> None:
    made = game(players=len(row), golds=golds, limits=False)

    def receives(player: int, bid: int) -> float:
        tried = [*row[:player], bid, *row[player + 1 :]]
        return made.gains(1, tried, made.instance_type())[player]

    found = [
        max(receives(player, bid) for bid in range(golds + 1)) - receives(player, own)
        for player, own in enumerate(row)
    ]
    assert regrets(golds, row) == found
    for player, own in enumerate(row):
        best = best_bid(golds, sum(row) - own)
        assert receives(player, best) == max(receives(player, bid) for bid in range(golds + 1))


# Players.


def test_equilibrium_players_divide_everything() -> None:
    assert match("equilibrium", players=3).choices == ((34, 33, 33),) * 4
    assert match("equilibrium").choices == ((10,) * 10,) * 4


@pytest.mark.parametrize("golds", [50, 100, 200, 400, 800])
def test_table_8_equilibrium_players_score_100(golds: int) -> None:
    rows = match("equilibrium", golds=golds).choices
    assert scored(SPEC, *rows, golds=golds) == pytest.approx(100)


def test_best_responders_give_way_to_one_who_takes_nearly_all() -> None:
    greedy = SPEC.strategies["fixed"].with_settings(choices=(91,))
    others = [SPEC.strategies["best_response"]]
    made = game(players=2, rounds=3)
    assert played(made, greedy, *others).choices == ((91, 50), (91, 9), (91, 9))


def test_best_responders_among_themselves_never_fit_again_after_one_was_greedy() -> None:
    once = SPEC.strategies["fixed"].with_settings(choices=(100, 0, 0, 0))
    made = game(players=3, rounds=4)
    rows = played(made, once, SPEC.strategies["best_response"], SPEC.strategies["best_response"])
    assert [sum(row) for row in rows.choices] == [166, 0, 200, 0]


def test_proportional_bidders_fit_at_once() -> None:
    once = SPEC.strategies["fixed"].with_settings(choices=(100, 60))
    made = game(players=3, rounds=2)
    rows = played(made, once, SPEC.strategies["proportional"], SPEC.strategies["proportional"])
    assert rows.choices == ((100, 33, 33), (60, 19, 19))
    assert rows.gains[1] == (60.0, 19.0, 19.0)


def test_random_bids_cover_the_range() -> None:
    rows = match("random", players=50, rounds=20, golds=3).choices
    assert {bid for row in rows for bid in row} == {0, 1, 2, 3}
