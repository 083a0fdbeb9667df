"""Behaviour shared by games with simultaneous decisions in repeated rounds."""

from typing import Any

import pytest
from pydantic import ValidationError

from cheaptalk.games.diners_dilemma import SPEC as DINERS
from cheaptalk.games.divide_the_dollar import SPEC as DOLLAR
from cheaptalk.games.el_farol_bar import SPEC as BAR
from cheaptalk.games.guess_the_average import SPEC as GUESS
from cheaptalk.games.public_goods import SPEC as GOODS
from cheaptalk.games.rounds import UNLIMITED, Over
from cheaptalk.rules import GameSpec, IllegalAction, Instance, play
from tests.games.tables import events, play_out, result_of, table_of

SPECS = [GUESS, BAR, DOLLAR, GOODS, DINERS]
CHOICES: dict[str, Any] = {"el_farol_bar": ("go", "stay"), "diners_dilemma": ("costly", "cheap")}


def test_numbers_out_of_range_are_rejected() -> None:
    cases: list[tuple[GameSpec, dict[str, Any], int, str]] = [
        (GUESS, {}, -1, '"chosen_number" must be from 0 to 100, not -1'),
        (GUESS, {}, 101, '"chosen_number" must be from 0 to 100, not 101'),
        (DOLLAR, {}, -1, '"bid_amount" must be from 0 to 100, not -1'),
        (DOLLAR, {}, 101, '"bid_amount" must be from 0 to 100, not 101'),
        (DOLLAR, {"limits": False}, UNLIMITED + 1, "must be 1000000000 or less, not 1000000001"),
        (GOODS, {}, -1, '"tokens_contributed" must be from 0 to 20, not -1'),
        (GOODS, {}, 21, '"tokens_contributed" must be from 0 to 20, not 21'),
    ]
    for game_spec, parameters, number, reason in cases:
        game: Any = game_spec.rules.model_validate({"players": 3, "rounds": 1, **parameters})
        with pytest.raises(IllegalAction, match=reason):
            table_of(game, (number, 0, 0))


def test_disabled_limits_allow_numbers_like_published_code() -> None:
    for number in (-5, 187, UNLIMITED, -UNLIMITED):
        bids: Any = DOLLAR.rules.model_validate({"players": 3, "rounds": 1, "limits": False})
        pot: Any = GOODS.rules.model_validate({"players": 4, "rounds": 1, "limits": False})
        divided, shared = result_of(bids, (number, 10, 20)), result_of(pot, (number, 10, 10, 0))
        assert divided.outcome.gains == ((number, 10, 20) if number + 30 <= 100 else (0, 0, 0),)
        assert shared.outcome.gains[0][3] == pytest.approx(20 + 2 * (number + 20) / 4)
        for result in (divided, shared):
            result.game.seat_payoffs(result.outcome)  # raises an error for payoffs out of bounds


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
        game: Any = game_spec.rules.model_validate({"players": 1_000, "rounds": 1})
        outcome = play_out(game, game_spec.strategies["equilibrium"])
        assert len(outcome.choices[0]) == 1_000
        assert list(game.payoffs(outcome)) == list(game.seats)


def test_fixed_player_can_play_with_other_strategies() -> None:
    for game_spec in SPECS:
        game: Any = game_spec.rules.model_validate({"players": 3, "rounds": 4})
        pair = CHOICES.get(game_spec.name, (3, 4))
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
