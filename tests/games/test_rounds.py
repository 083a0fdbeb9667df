"""Behaviour shared by games with simultaneous decisions in repeated rounds."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from cheaptalk.games.divide_the_dollar import SPEC as DOLLAR
from cheaptalk.games.divide_the_dollar.rules import (
    Bids,
    Briefing,
    DivideTheDollar,
    RoundResult,
    Turn,
)
from cheaptalk.games.el_farol_bar import SPEC as BAR
from cheaptalk.games.guess_the_average import SPEC as GUESS
from cheaptalk.games.public_goods import SPEC as GOODS
from cheaptalk.games.rounds import Over
from cheaptalk.rules import IllegalAction, Instance, Table, play
from tests.games.tables import events, play_out, result_of, table_of

SPECS = [GUESS, BAR, DOLLAR, GOODS]
each_spec = pytest.mark.parametrize("game_spec", SPECS, ids=lambda game_spec: game_spec.name)


def test_players_are_numbered_and_share_role() -> None:
    game = DivideTheDollar(players=3)
    assert game.seats == {"player_1": "player", "player_2": "player", "player_3": "player"}
    assert [seat.name for seat in game.actors] == list(game.seats)
    assert game.called("player_2") == "Player 2"


def test_defaults_are_ten_players_and_twenty_rounds() -> None:
    for game_spec in SPECS:
        game: Any = game_spec.rules()
        outcome = play_out(game, game_spec.strategies["random"])
        assert [len(row) for row in outcome.choices] == [10] * 20
        assert [len(row) for row in outcome.gains] == [10] * 20


def test_each_round_has_simultaneous_requests_and_results() -> None:
    game = DivideTheDollar(players=2, rounds=2)
    table = Table(game, Instance(), "seed")
    assert list(table.pending) == ["player_1", "player_2"]
    assert events(table, "player_1") == [Briefing(2, 2, 100, True)]
    table = table_of(game, (30, 40))
    assert events(table, "player_2") == [
        Briefing(2, 2, 100, True),
        Turn(1, 100, True),
        RoundResult(1, 40, 70, 100, 40),
    ]
    assert table.pending["player_2"].event == Turn(2, 100, True)
    table = table_of(game, (30, 40), (60, 50))
    assert table.outcome == Bids(choices=((30, 40), (60, 50)), gains=((30.0, 40.0), (0.0, 0.0)))
    assert events(table, "player_2")[-1] == Over(2, 40.0)


def test_pending_players_do_not_observe_choices() -> None:
    table = Table(DivideTheDollar(players=3), Instance(), "seed")
    before = table.request("player_3")
    table.answer("player_1", table.pending["player_1"].action.model_validate({"bid_amount": 9}))
    assert table.request("player_3") == before
    assert events(table, "player_2") == [Briefing(3, 20, 100, True)]


def test_choices_are_ordered_by_player() -> None:
    table = Table(DivideTheDollar(players=3, rounds=1), Instance(), "seed")
    for seat, bid in (("player_3", 3), ("player_1", 1), ("player_2", 2)):
        table.answer(seat, table.pending[seat].action.model_validate({"bid_amount": bid}))
    assert table.outcome == Bids(choices=((1, 2, 3),), gains=((1.0, 2.0, 3.0),))


def test_rejected_choice_changes_nothing() -> None:
    table = Table(DivideTheDollar(players=2), Instance(), "seed")
    bid = table.pending["player_1"].action.model_validate({"bid_amount": 101})
    with pytest.raises(IllegalAction, match='"bid_amount" must be from 0 to 100, not 101'):
        table.answer("player_1", bid)
    assert list(table.pending) == ["player_1", "player_2"]
    assert table.requests == 0


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=5))
def test_payoffs_are_sums_of_gains(rows: list[tuple[int, int]]) -> None:
    game = DivideTheDollar(players=2, rounds=len(rows))
    fitting = [row for row in rows if sum(row) <= 100]
    assert game.payoffs(result_of(game, *rows).outcome) == {
        "player_1": sum(row[0] for row in fitting),
        "player_2": sum(row[1] for row in fitting),
    }


def test_last_event_states_payoff() -> None:
    for game_spec in SPECS:
        for rounds in (1, 3):
            game: Any = game_spec.rules.model_validate({"players": 3, "rounds": rounds})
            table = play(game, Instance(), "seed", {"player": game_spec.strategies["random"]})
            last_events = {seat: events(table, seat)[-1] for seat in game.seats}
            payoffs = game.payoffs(table.outcome)
            assert last_events == {seat: Over(rounds, payoff) for seat, payoff in payoffs.items()}


def test_a_thousand_players_can_play() -> None:
    for game_spec in SPECS:
        game: Any = game_spec.rules.model_validate({"players": 1_000, "rounds": 2})
        outcome = play_out(game, game_spec.strategies["equilibrium"])
        assert len(outcome.choices[1]) == 1_000
        assert list(game.payoffs(outcome)) == list(game.seats)


def test_fixed_player_can_play_with_other_strategies() -> None:
    for game_spec in SPECS:
        game: Any = game_spec.rules.model_validate({"players": 3, "rounds": 4})
        pair = {"el_farol_bar": ("go", "stay")}.get(game_spec.name, (3, 4))
        fixed = game_spec.strategies["fixed"].with_settings(choices=pair)
        outcome = play_out(
            game, fixed, game_spec.strategies["random"], game_spec.strategies["equilibrium"]
        )
        assert tuple(row[0] for row in outcome.choices) == pair * 2


def test_invalid_fixed_choices_are_rejected() -> None:
    for game_spec in SPECS:
        cases: list[object] = [[], ["maybe"], [1.5], [True], "1"]
        for choices in cases:
            with pytest.raises(ValidationError):
                game_spec.strategies["fixed"].with_settings(choices=choices)


def test_random_play_differs_between_players_and_rounds() -> None:
    for game_spec in SPECS:
        game: Any = game_spec.rules.model_validate({"players": 8, "rounds": 8})
        outcome = play_out(game, game_spec.strategies["random"])
        assert len(set(outcome.choices)) > 1
        assert len(set(zip(*outcome.choices, strict=True))) > 1
