"""Behaviour shared by games with simultaneous decisions in repeated rounds."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from cheaptalk.games.divide_the_dollar import SPEC as DOLLAR
from cheaptalk.games.divide_the_dollar.events import Briefing, RoundResult, Turn
from cheaptalk.games.divide_the_dollar.rules import Bids, DivideTheDollar
from cheaptalk.games.el_farol_bar import SPEC as BAR
from cheaptalk.games.guess_the_average import SPEC as GUESS
from cheaptalk.games.public_goods import SPEC as GOODS
from cheaptalk.games.rounds import Over
from cheaptalk.rules import GameSpec, IllegalAction, Instance, Table, play
from cheaptalk.styles import style_in
from tests.games.tables import events, play_out, result_of, styles, table_of

SPECS = [GUESS, BAR, DOLLAR, GOODS]
each_spec = pytest.mark.parametrize("game_spec", SPECS, ids=lambda game_spec: game_spec.name)


def test_players_are_numbered_and_share_role() -> None:
    game = DivideTheDollar(players=3)
    assert game.seats == {"player_1": "player", "player_2": "player", "player_3": "player"}
    assert [seat.name for seat in game.actors] == list(game.seats)
    assert game.called("player_2") == "Player 2"


@each_spec
def test_defaults_are_ten_players_and_twenty_rounds(game_spec: GameSpec) -> None:
    game: Any = game_spec.rules()
    outcome = play_out(game, game_spec.strategies["random"])
    assert [len(row) for row in outcome.choices] == [10] * 20
    assert [len(row) for row in outcome.gains] == [10] * 20


@each_spec
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"players": 1}, "greater than or equal to 2"),
        ({"players": 0}, "greater than or equal to 2"),
        ({"players": -3}, "greater than or equal to 2"),
        ({"players": 1_001}, "less than or equal to 1000"),
        ({"players": 2.5}, "valid integer"),
        ({"players": True}, "true is not a number"),
        ({"players": "ten"}, "valid integer"),
        ({"rounds": 0}, "greater than or equal to 1"),
        ({"rounds": 10_001}, "less than or equal to 10000"),
        ({"player": 3}, 'did you mean "players"?'),
    ],
)
def test_invalid_tables_are_rejected(
    game_spec: GameSpec, parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValidationError, match=message.replace("?", r"\?")):
        game_spec.rules.model_validate(parameters)


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


def test_forfeit_ends_match() -> None:
    table = Table(DivideTheDollar(players=3), Instance(), "seed")
    table.forfeit("player_2")
    for seat in ("player_1", "player_3"):
        table.answer(seat, table.pending[seat].action.model_validate({"bid_amount": 5}))
    assert table.over
    assert table.outcome is None
    assert table.forfeited == {"player_2"}


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


@each_spec
@pytest.mark.parametrize("rounds", [1, 3])
def test_last_event_states_payoff(game_spec: GameSpec, rounds: int) -> None:
    game: Any = game_spec.rules.model_validate({"players": 3, "rounds": rounds})
    table = play(game, Instance(), "seed", {"player": game_spec.strategies["random"]})
    last_events = {seat: events(table, seat)[-1] for seat in game.seats}
    payoffs = game.payoffs(table.outcome)
    assert last_events == {seat: Over(rounds, payoff) for seat, payoff in payoffs.items()}


@pytest.mark.parametrize("game_spec", [DOLLAR, GOODS], ids=lambda game_spec: game_spec.name)
def test_texts_allow_negative_numbers_only_without_limits(game_spec: GameSpec) -> None:
    for limits in (True, False):
        game: Any = game_spec.rules.model_validate({"players": 3, "limits": limits})
        table = Table(game, Instance(), "seed")
        (briefing,) = events(table, "player_1")
        for name in styles(game_spec):
            style = style_in(game_spec, name)
            for text in (style.tell(briefing, game, "player_1"),
                         style.ask(table.pending["player_1"], game)):  # fmt: skip
                assert ("even below 0" in text or "even one below 0" in text) != limits


@each_spec
def test_single_round_briefing_uses_singular(game_spec: GameSpec) -> None:
    game: Any = game_spec.rules.model_validate({"players": 2, "rounds": 1})
    (briefing,) = events(Table(game, Instance(), "seed"), "player_1")
    for name in styles(game_spec):
        text = style_in(game_spec, name).tell(briefing, game, "player_1")
        for many in (
            "1 rounds",
            "each of 1",
            "very round",
            "ach round",
            "er round",
            "very evening",
        ):
            assert many not in text


@each_spec
def test_a_thousand_players_can_play(game_spec: GameSpec) -> None:
    game: Any = game_spec.rules.model_validate({"players": 1_000, "rounds": 2})
    outcome = play_out(game, game_spec.strategies["equilibrium"])
    assert len(outcome.choices[1]) == 1_000
    assert list(game.payoffs(outcome)) == list(game.seats)


@each_spec
def test_fixed_player_can_play_with_other_strategies(game_spec: GameSpec) -> None:
    game: Any = game_spec.rules.model_validate({"players": 3, "rounds": 4})
    pair = {"el_farol_bar": ("go", "stay")}.get(game_spec.name, (3, 4))
    fixed = game_spec.strategies["fixed"].with_settings(choices=pair)
    outcome = play_out(
        game, fixed, game_spec.strategies["random"], game_spec.strategies["equilibrium"]
    )
    assert tuple(row[0] for row in outcome.choices) == pair * 2


@each_spec
@pytest.mark.parametrize("choices", [[], ["maybe"], [1.5], [True], "1"])
def test_invalid_fixed_choices_are_rejected(game_spec: GameSpec, choices: object) -> None:
    with pytest.raises(ValidationError):
        game_spec.strategies["fixed"].with_settings(choices=choices)


@each_spec
def test_random_play_differs_between_players_and_rounds(game_spec: GameSpec) -> None:
    game: Any = game_spec.rules.model_validate({"players": 8, "rounds": 8})
    outcome = play_out(game, game_spec.strategies["random"])
    assert len(set(outcome.choices)) > 1
    assert len(set(zip(*outcome.choices, strict=True))) > 1
