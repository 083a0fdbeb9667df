"""Behaviour shared by games with simultaneous decisions in repeated rounds."""

from typing import Any

import pytest
from pydantic import ValidationError

from cheaptalk.games.divide_the_dollar import SPEC as DOLLAR
from cheaptalk.games.el_farol_bar import SPEC as BAR
from cheaptalk.games.guess_the_average import SPEC as GUESS
from cheaptalk.games.public_goods import SPEC as GOODS
from cheaptalk.games.rounds import Over
from cheaptalk.rules import Instance, play
from tests.games.tables import events, play_out

SPECS = [GUESS, BAR, DOLLAR, GOODS]


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
