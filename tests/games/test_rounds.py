"""What games share in which all players decide at once, round after round."""

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
from tests.games.tables import events, played, result_of, table_of, versions

SPECS = [GUESS, BAR, DOLLAR, GOODS]
ids = pytest.mark.parametrize("game_spec", SPECS, ids=lambda game_spec: game_spec.name)


def test_players_are_numbered_and_of_one_role() -> None:
    game = DivideTheDollar(players=3)
    assert game.seats == {"player_1": "player", "player_2": "player", "player_3": "player"}
    assert [seat.name for seat in game.actors] == list(game.seats)
    assert game.called("player_2") == "Player 2"


@ids
def test_by_default_ten_players_play_twenty_rounds(game_spec: GameSpec) -> None:
    game: Any = game_spec.rules()
    outcome = played(game, game_spec.strategies["random"])
    assert [len(row) for row in outcome.choices] == [10] * 20
    assert [len(row) for row in outcome.gains] == [10] * 20


@ids
@pytest.mark.parametrize(
    ("parameters", "saying"),
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
def test_impossible_tables_are_refused(
    game_spec: GameSpec, parameters: dict[str, Any], saying: str
) -> None:
    with pytest.raises(ValidationError, match=saying.replace("?", r"\?")):
        game_spec.rules.model_validate(parameters)


def test_all_are_told_then_asked_at_once_then_told_again() -> None:
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


def test_a_choice_of_one_is_not_seen_by_those_who_are_still_to_answer() -> None:
    table = Table(DivideTheDollar(players=3), Instance(), "seed")
    before = table.request("player_3")
    table.answer("player_1", table.pending["player_1"].action.model_validate({"bid_amount": 9}))
    assert table.request("player_3") == before
    assert events(table, "player_2") == [Briefing(3, 20, 100, True)]


def test_the_order_of_answers_is_not_the_order_of_players() -> None:
    table = Table(DivideTheDollar(players=3, rounds=1), Instance(), "seed")
    for seat, bid in (("player_3", 3), ("player_1", 1), ("player_2", 2)):
        table.answer(seat, table.pending[seat].action.model_validate({"bid_amount": bid}))
    assert table.outcome == Bids(choices=((1, 2, 3),), gains=((1.0, 2.0, 3.0),))


def test_who_does_not_answer_ends_the_match_as_forfeited() -> None:
    table = Table(DivideTheDollar(players=3), Instance(), "seed")
    table.forfeit("player_2")
    for seat in ("player_1", "player_3"):
        table.answer(seat, table.pending[seat].action.model_validate({"bid_amount": 5}))
    assert table.over
    assert table.outcome is None
    assert table.forfeited == {"player_2"}


def test_a_refused_choice_leaves_everything_as_it_was() -> None:
    table = Table(DivideTheDollar(players=2), Instance(), "seed")
    bid = table.pending["player_1"].action.model_validate({"bid_amount": 101})
    with pytest.raises(IllegalAction, match='"bid_amount" must be from 0 to 100, not 101'):
        table.answer("player_1", bid)
    assert list(table.pending) == ["player_1", "player_2"]
    assert table.requests == 0


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=5))
def test_payoffs_are_the_sums_of_the_gains(rows: list[tuple[int, int]]) -> None:
    game = DivideTheDollar(players=2, rounds=len(rows))
    fitting = [row for row in rows if sum(row) <= 100]
    assert game.payoffs(result_of(game, *rows).outcome) == {
        "player_1": sum(row[0] for row in fitting),
        "player_2": sum(row[1] for row in fitting),
    }


@ids
@pytest.mark.parametrize("rounds", [1, 3])
def test_the_last_thing_told_is_one_s_payoff(game_spec: GameSpec, rounds: int) -> None:
    game: Any = game_spec.rules.model_validate({"players": 3, "rounds": rounds})
    table = play(game, Instance(), "seed", {"player": game_spec.strategies["random"]})
    told = {seat: events(table, seat)[-1] for seat in game.seats}
    payoffs = game.payoffs(table.outcome)
    assert told == {seat: Over(rounds, payoff) for seat, payoff in payoffs.items()}


@pytest.mark.parametrize("game_spec", [DOLLAR, GOODS], ids=lambda game_spec: game_spec.name)
def test_what_is_not_refused_is_not_forbidden_in_words(game_spec: GameSpec) -> None:
    for limits in (True, False):
        game: Any = game_spec.rules.model_validate({"players": 3, "limits": limits})
        table = Table(game, Instance(), "seed")
        (briefing,) = events(table, "player_1")
        for style in versions(game_spec):
            words = style_in(game_spec, style)
            for text in (words.tell(briefing, game, "player_1"),
                         words.ask(table.pending["player_1"], game)):  # fmt: skip
                assert ("even below 0" in text or "even one below 0" in text) != limits


@ids
def test_a_single_round_is_not_one_of_many(game_spec: GameSpec) -> None:
    game: Any = game_spec.rules.model_validate({"players": 2, "rounds": 1})
    (briefing,) = events(Table(game, Instance(), "seed"), "player_1")
    for style in versions(game_spec):
        text = style_in(game_spec, style).tell(briefing, game, "player_1")
        for many in (
            "1 rounds",
            "each of 1",
            "very round",
            "ach round",
            "er round",
            "very evening",
        ):
            assert many not in text


@ids
def test_a_thousand_players_can_play(game_spec: GameSpec) -> None:
    game: Any = game_spec.rules.model_validate({"players": 1_000, "rounds": 2})
    outcome = played(game, game_spec.strategies["equilibrium"])
    assert len(outcome.choices[1]) == 1_000
    assert list(game.payoffs(outcome)) == list(game.seats)


@ids
def test_fixed_players_sit_with_any_others(game_spec: GameSpec) -> None:
    game: Any = game_spec.rules.model_validate({"players": 3, "rounds": 4})
    pair = {"el_farol_bar": ("go", "stay")}.get(game_spec.name, (3, 4))
    fixed = game_spec.strategies["fixed"].with_settings(choices=pair)
    outcome = played(
        game, fixed, game_spec.strategies["random"], game_spec.strategies["equilibrium"]
    )
    assert tuple(row[0] for row in outcome.choices) == pair * 2


@ids
@pytest.mark.parametrize("choices", [[], ["maybe"], [1.5], [True], "1"])
def test_fixed_choices_must_be_choices(game_spec: GameSpec, choices: object) -> None:
    with pytest.raises(ValidationError):
        game_spec.strategies["fixed"].with_settings(choices=choices)


@ids
def test_random_play_differs_between_players_and_rounds(game_spec: GameSpec) -> None:
    game: Any = game_spec.rules.model_validate({"players": 8, "rounds": 8})
    outcome = played(game, game_spec.strategies["random"])
    assert len(set(outcome.choices)) > 1
    assert len(set(zip(*outcome.choices, strict=True))) > 1
