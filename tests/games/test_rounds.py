"""Behaviour shared by games with simultaneous decisions in repeated rounds."""

from collections.abc import Sequence
from typing import Any

import pytest

from cheaptalk.games.diners_dilemma import SPEC as DINERS
from cheaptalk.games.divide_the_dollar import SPEC as DOLLAR
from cheaptalk.games.el_farol_bar import SPEC as BAR
from cheaptalk.games.guess_the_average import SPEC as GUESS
from cheaptalk.games.public_goods import SPEC as GOODS
from cheaptalk.games.rounds import UNLIMITED, Over
from cheaptalk.rules import GameSpec, IllegalAction, Instance, WrongValue, play
from tests.games.tables import events, metric, play_out, result_of, score_of, table_of

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


def dishes(costly: int, players: int = 10) -> list[str]:
    return ["costly" if player < costly else "cheap" for player in range(players)]


def going(count: int, players: int = 10) -> list[str]:
    return ["go" if player < count else "stay" for player in range(players)]


SCORES: list[Any] = [
    *((DINERS, {}, [dishes(costly)], 10 * costly) for costly in (0, 4, 10)),
    (DINERS, {}, [dishes(4), dishes(0)], 20),
    *((DOLLAR, {}, [[bid] * 10], score) for bid, score in ((10, 100), (0, 0), (20, 0), (5, 50))),
    *((DOLLAR, {}, [[bid] * 10], score) for bid, score in ((12, 80), (100, 0))),
    (DOLLAR, {}, [[91] + [1] * 9], 100),
    (DOLLAR, {}, [[8] * 10, [12] * 10], 80),
    (DOLLAR, {"golds": 400}, [[20] * 10, [30] * 10], 62.5),
    *((BAR, {}, [going(n)], score) for n, score in ((10, 100 / 3), (6, 100), (0, 0), (3, 50))),
    # appendix E, and table 8: an exactly full bar scores 100
    *(
        (BAR, {"capacity": capacity}, [going(count)], score)
        for capacity, count, score in (
            (0, 10, 0),
            (1, 0, 0),
            (0.2, 10, 0),
            (0.2, 4, 75),
            (0.8, 0, 0),
        )
    ),
    *((BAR, {"capacity": n / 10}, [going(n)] * 2, 100) for n in (0, 2, 4, 6, 8, 10)),
    *((GUESS, {}, [[number] * 10], 100 - number) for number in (0, 1, 33, 50, 100)),
    *(
        (GUESS, {"ratio": ratio}, [(20, 40), (25, 35)], score)
        for ratio, score in (("0", 70), ("5/6", 70), ("1", 60), ("7/6", 30), ("2", 30))
    ),
    (GUESS, {"minimum": 50, "maximum": 150, "ratio": "1/2"}, [(70, 70, 70)], 80),
    (GUESS, {"minimum": 50, "maximum": 150, "ratio": "3/2"}, [(70, 70, 70)], 20),
    *((GOODS, {}, [[tokens] * 10], 100 - 5 * tokens) for tokens in (0, 5, 20)),
    *(
        (GOODS, {"factor": factor}, [(0, 10, 10, 0), (0, 0, 0, 20)], score)
        for factor, score in ((0, 75), (0.5, 75), (4, 75), (4.01, 25), (8, 25))
    ),
]
"""Games, parameters, rounds, and their scores S1 to S5 of GAMA-Bench (appendix E)."""
PUBLISHED_SCORES: list[tuple[GameSpec, dict[str, Any], Sequence[int], float]] = [
    (GUESS, {"minimum": 50, "maximum": 150, "ratio": "1/2"}, (70, 70, 70), 130),
    (GUESS, {"minimum": 50, "maximum": 150, "ratio": "3/2"}, (70, 70, 70), 20),
    (GOODS, {"factor": 4}, (0, 10, 10, 0), 75),
    (GOODS, {"factor": 8}, (0, 10, 10, 0), 75),
]
"""Scores in the published code, which adds the minimum, and never rewards contributions."""


def test_appendix_e_scores() -> None:
    for game_spec, parameters, rows, score in SCORES:
        assert score_of(game_spec, *rows, **parameters) == pytest.approx(score), parameters
    for game_spec, parameters, row, score in PUBLISHED_SCORES:
        game: Any = game_spec.rules.model_validate({"players": len(row), "rounds": 1, **parameters})
        assert metric("score", result_of(game, row), as_published=True) == pytest.approx(score)


def test_table_8_equilibrium_players_score_100() -> None:
    cases: list[tuple[GameSpec, str, Sequence[object]]] = [
        (DOLLAR, "golds", (50, 100, 200, 400, 800)),
        (GUESS, "ratio", ("0", "1/3", "2/3", "5/6", "1", "7/6", "4/3", "2")),
        (GOODS, "factor", (0, 0.5, 1, 2, 4, 10.5)),
    ]
    for game_spec, parameter, values in cases:
        for value in values:
            game: Any = game_spec.rules.model_validate({"rounds": 3, parameter: value})
            outcome = play_out(game, "equilibrium")
            score = score_of(game_spec, *outcome.choices, **{parameter: value})
            assert score == pytest.approx(100)


def test_other_metrics() -> None:
    cases: list[tuple[GameSpec, list[Sequence[object]], dict[str, float]]] = [
        (
            DINERS,
            [dishes(1, 4), dishes(3, 4)],
            {"cheap_share": 0.5, "last_round_cheap_share": 0.25, "gain": 2.5, "efficiency": 0.5},
        ),
        (
            DOLLAR,
            [(50, 30, 10), (50, 50, 50)],
            {"agreement": 0.5, "total_bid_share": 1.2, "efficiency": 0.45},
        ),
        (
            BAR,
            [going(5, 5), going(1, 5)],
            {"attendance": 0.6, "crowding": 0.5, "gain": (0 + 30 / 5) / 2},
        ),
        (GUESS, [(10, 20, 60), (0, 0, 30)], {"first_round": 30, "mean_number": 20}),
        (
            GOODS,
            [(20, 20, 20, 20), (0, 0, 0, 20)],
            {"contribution": 0.625, "last_round_contribution": 0.25},
        ),
    ]
    for game_spec, rows, expected in cases:
        game: Any = game_spec.rules.model_validate({"players": len(rows[0]), "rounds": 2})
        result = result_of(game, *rows)
        values = {name: metric(name, result) for name in expected}
        assert values == pytest.approx(expected)


def test_last_event_states_payoff() -> None:
    for game_spec in SPECS:
        game: Any = game_spec.rules.model_validate({"players": 3, "rounds": 3})
        table = play(game, Instance(), "seed", {"player": game_spec.strategies["random"]})
        last_events = {seat: events(table, seat)[-1] for seat in game.seats}
        payoffs = game.payoffs(table.outcome)
        assert last_events == {seat: Over(3, payoff) for seat, payoff in payoffs.items()}


def test_a_thousand_players_can_play() -> None:
    for game_spec in SPECS[:2]:
        game: Any = game_spec.rules.model_validate({"players": 1_000, "rounds": 1})
        outcome = play_out(game, "equilibrium")
        assert len(outcome.choices[0]) == 1_000
        assert list(game.payoffs(outcome)) == list(game.seats)


def test_fixed_player_can_play_with_other_strategies() -> None:
    for game_spec in SPECS:
        game: Any = game_spec.rules.model_validate({"players": 3, "rounds": 4})
        pair = CHOICES.get(game_spec.name, (3, 4))
        fixed = game_spec.strategies["fixed"].with_settings(choices=pair)
        outcome = play_out(game, fixed, "random", "equilibrium")
        assert tuple(row[0] for row in outcome.choices) == pair * 2


def test_invalid_fixed_choices_are_rejected() -> None:
    for game_spec in SPECS:
        for choices in ([], ["maybe"], [1.5], [True], "1"):
            with pytest.raises(WrongValue):
                game_spec.strategies["fixed"].with_settings(choices=choices)
