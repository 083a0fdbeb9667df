"""Chip trading: values computed before play, metrics and regret."""

from statistics import fmean, stdev

import pytest

from cheaptalk.games.chip_trading import metrics
from cheaptalk.games.chip_trading.regret import (
    Decision,
    Regret,
    counterfactual_stocks,
    decisions,
    stocks_held,
)
from cheaptalk.games.chip_trading.rules import ChipTrading, Exchange, Proposal, Trading
from cheaptalk.rules import Chance, Result
from tests.games.test_chip_trading import COLOURS, ORDER, play_games


def worths(*rows: tuple[int, ...]) -> dict[str, dict[str, int]]:
    """Return the worth of chips by player: green 50 cents, the other colours from its row."""
    return {
        player: dict(zip(COLOURS, (50, *row), strict=False))
        for player, row in zip(ORDER, rows, strict=False)
    }


def parse_turn(words: str) -> Exchange:
    """Parse a turn such as "1: 9 blue for 9 red, 3", in which player 3 trades; with "..., 2 3"
    player 2 trades and player 3 would have."""
    proposer, _, rest = words.partition(": ")
    offer, _, willing = rest.partition(", ")
    give_amount, give, _, want_amount, want = offer.split()
    players = tuple(f"player_{number}" for number in willing.split())
    return Exchange(
        proposer=f"player_{proposer}",
        proposal=Proposal(
            give=give, give_amount=int(give_amount), want=want, want_amount=int(want_amount)
        ),
        willing=players,
        partner=players[0] if players else None,
    )


def game(rows: tuple[tuple[int, ...], ...], *turns: str) -> Trading:
    return Trading(worths=worths(*rows), turns=tuple(map(parse_turn, turns)))


def result(outcome: Trading) -> Result:
    return Result(ChipTrading(players=len(outcome.worths)), None, outcome)


def test_appendix_a1_of_strategic_tradeoffs_myopically_rational_trades() -> None:
    for colours, expected in ((2, 37.1), (3, 120.7), (4, 250.7)):
        trades = metrics.expected_rational_trades(ChipTrading(colours=COLOURS[:colours]))
        assert round(trades, 1) == expected


def test_section_4_of_strategic_tradeoffs_mean_bound() -> None:
    for colours, expected in ((2, 6.53), (3, 13.88), (4, 21.57)):
        rules = ChipTrading(colours=COLOURS[:colours])
        bounds = []
        for number in range(60):
            values = rules.draw_instance(Chance(f"{number}")).values
            bounds.append(
                metrics.surplus_bound(worths(*(tuple(row.values()) for row in values.values())), 10)
            )
        assert abs(fmean(bounds) - expected) < 3 * stdev(bounds) / len(bounds) ** 0.5


def test_surplus_bound_of_simple_cases() -> None:
    cases = [
        (((50,), (50,), (50,)), 0.0),
        (((30, 70), (30, 70), (30, 70)), 0.0),
        (((50,), (100,)), 10 * 0.50),
        (((10,), (100,)), 10 * 0.40 + 10 * 0.50),
        (((10,), (100,), (50,)), 10 * 0.90 + 8 * 0.50),  # green chips pay for 18 red ones only
    ]
    for rows, expected in cases:
        assert metrics.surplus_bound(worths(*rows), 10) == pytest.approx(expected)


ROWS = ((10, 90), (80, 20), (50, 60))
GAME = game(
    ROWS,
    "1: 5 red for 4 blue, 2",
    "2: 2 green for 1 red",
    "3: 4 blue for 2 green, 1 2",
    "2: 1 green for 1 red",
)


def test_surplus_accumulates_over_turns() -> None:
    first = (4 * 90 - 5 * 10) + (5 * 80 - 4 * 20)
    second = (2 * 50 - 4 * 60) + (4 * 90 - 2 * 50)
    assert metrics.surplus_by_turn(GAME) == [first / 100] * 2 + [(first + second) / 100] * 2
    match = result(GAME)
    bound = metrics.surplus_bound(GAME.worths, 10)
    assert metrics.surplus(match) == sum(GAME.gains().values()) / 100
    assert metrics.bound(match) == bound
    assert metrics.surplus_ratio(match) == metrics.surplus(match) / bound
    assert metrics.first_round_ratio(match) == metrics.surplus_by_turn(GAME)[2] / bound


def test_ratios_are_undefined_without_possible_gains() -> None:
    match = result(
        game(
            ((50,), (50,), (50,)),
            "1: 1 red for 2 green",
            "2: 1 red for 1 green, 3",
            "3: 1 red for 2 green",
        )
    )
    assert metrics.bound(match) == 0
    assert metrics.surplus_ratio(match) is None
    assert metrics.first_round_ratio(match) is None
    none = result(game(ROWS, *["1: 5 red for 4 blue"] * 3))
    assert metrics.accepted_surplus(none) is metrics.accepted_ratio(none) is None
    every = result(game(ROWS, *["1: 1 red for 1 blue, 2"] * 3))
    assert metrics.rejected_surplus(every) is metrics.rejected_ratio(every) is None


def test_proposal_metrics_by_outcome() -> None:
    assert metrics.proposed(GAME) == [
        metrics.Proposed(3.10, 5 / 4, True),
        metrics.Proposed(-0.20, 2.0, False),
        metrics.Proposed(-1.40, 2.0, True),
        metrics.Proposed(0.30, 1.0, False),
    ]
    match = result(GAME)
    assert metrics.acceptance(match) == 0.5
    assert metrics.accepted_surplus(match) == pytest.approx(0.85)
    assert metrics.rejected_surplus(match) == pytest.approx(0.05)
    assert metrics.accepted_ratio(match) == 1.625
    assert metrics.rejected_ratio(match) == 1.5


FIGURE_4 = (
    ((20, 20), (50, 40), (10, 30)),
    "1: 9 blue for 9 red, 3",
    "2: 10 blue for 10 red",
)


def regrets_in(outcome: Trading, **option: bool) -> list[tuple[int, str, str]]:
    """Return the turn, the part with the player's number, and the regret of each decision."""
    sample = decisions(outcome, 10, **option)
    return [(choice.turn, f"{choice.part} {choice.player[-1]}", choice.regret) for choice in sample]


def test_figure_4_of_strategic_tradeoffs_forced_acceptor() -> None:
    """Nine blue for nine red chips gain player 3 $1.80 and leave it one red chip. Then another
    player offers ten for ten, which would have gained it $2.00."""
    outcome = game(*FIGURE_4)
    assert stocks_held(outcome, 10, "player_3")[1] == {"green": 10, "red": 1, "blue": 19}
    assert outcome.turns[1].proposal.mirrored.gain(outcome.worths["player_3"]) == 200
    forced = Decision(1, "player_3", "acceptor", 180, "forced", missed=2)
    assert forced in [*decisions(outcome, 10)]


def test_best_affordable_missed_offer_determines_regret() -> None:
    nine, two = "1: 9 blue for 9 red, 3", "1: 2 blue for 2 red, 3"
    forced = ("1: 6 blue for 6 red, 3", "2: 5 blue for 4 red, 1", "2: 10 blue for 5 red")
    blocked, free = "2: 10 blue for 10 red", "1: 7 blue for 1 red"
    cases: list[tuple[tuple[str, ...], Regret]] = [
        ((two, "2: 8 blue for 8 red, 3"), "no"),  # accepted
        ((two, "2: 8 blue for 8 red"), "unforced"),
        ((nine, "2: 9 blue for 9 red"), "no"),  # an equal gain
        ((nine, "2: 11 blue for 11 red"), "no"),  # unaffordable
        ((*forced, "1: 5 blue for 1 red"), "forced"),
        ((*forced, "1: 9 blue for 1 red"), "unforced"),
        ((nine, blocked), "forced"),
        ((nine, blocked, free), "unforced"),  # equal gains
        ((nine, free, blocked), "unforced"),
    ]
    for turns, regret in cases:
        assert (1, "acceptor 3", regret) in regrets_in(game(FIGURE_4[0], *turns))


def test_unchosen_acceptor_has_unforced_regret() -> None:
    outcome = game(FIGURE_4[0], "1: 9 blue for 9 red, 2 3", "2: 10 blue for 10 red")
    assert (1, "acceptor 3", "unforced") in regrets_in(outcome)
    assert stocks_held(outcome, 10, "player_3")[1]["red"] == 10


def test_counterfactual_skips_unaffordable_trades() -> None:
    outcome = game(
        FIGURE_4[0],
        "1: 5 blue for 9 red, 3",
        "3: 15 blue for 1 green, 1",
        "2: 1 green for 1 red",
    )
    assert stocks_held(outcome, 10, "player_3")[2] == {"green": 11, "red": 1, "blue": 0}
    without = stocks_held(outcome, 10, "player_3", changed=[0])[2]
    assert without == {"green": 10, "red": 10, "blue": 10}


def test_figure_10_of_strategic_tradeoffs_counterfactual_worth() -> None:
    """Player 3 replaces the decision by the best missed offer, takes both, or reverses the
    decision; its later trades remain as far as it can pay for them."""
    cases = [
        (("1: 9 blue for 9 red, 3", "2: 10 blue for 10 red"), "acceptor", [0, 0, 200]),
        (("1: 2 blue for 2 red, 3", "2: 8 blue for 8 red"), "acceptor", [0, 40, 200]),
        (("1: 9 blue for 9 red, 3", "2: 9 blue for 9 red"), "acceptor", [0, 0, 0]),
        (("1: 8 blue for 8 red", "3: 7 red for 7 blue, 1"), "decliner", [0, 160, 160]),
    ]
    for turns, kind, worths_of_chips in cases:
        outcome = game(FIGURE_4[0], *turns)
        decision = next(
            case
            for case in decisions(outcome, 10)
            if case.player == "player_3" and case.part == kind
        )
        chip_worths = outcome.worths["player_3"]
        stocks = counterfactual_stocks(outcome, 10, decision)
        gained = [sum((stock[of] - 10) * chip_worths[of] for of in chip_worths) for stock in stocks]
        assert gained == worths_of_chips


def test_unforced_proposer_regret_is_optional() -> None:
    values = ((10, 30), (50, 40), (20, 20))
    forced = game(values, "1: 9 red for 9 blue, 3", "2: 10 blue for 10 red")
    assert (1, "proposer 1", "forced") in regrets_in(forced)
    missed = game(values, "1: 2 red for 2 blue, 3", "2: 8 blue for 8 red")
    assert (1, "proposer 1", "no") in regrets_in(missed)
    assert (1, "proposer 1", "unforced") in regrets_in(missed, unforced_proposals=True)


def test_decliner_regrets_unless_chips_find_equal_use() -> None:
    values = FIGURE_4[0]
    declined = "1: 8 blue for 8 red"
    gain = 8 * 30 - 8 * 10
    cases: dict[str, Regret] = {
        "3: 8 red for 8 blue, 1": "no",
        "3: 7 red for 7 blue, 1": "unforced",
        "3: 2 red for 8 blue, 1": "unforced",
        "3: 8 red for 8 blue": "unforced",
    }
    for later, regret in cases.items():
        sample = list(decisions(game(values, declined, later), 10))
        assert Decision(1, "player_3", "decliner", gain, regret) in sample


def test_figure_4_of_strategic_tradeoffs_unforced_decliner() -> None:
    """Two green for three blue chips would have gained player 2 ten cents, without loss of
    its gain in the next turn."""
    regrets = regrets_in(
        game(
            ((20, 20), (20, 30), (70, 50)),
            "1: 2 green for 3 blue",
            "2: 6 red for 8 green, 3",
            "3: 1 blue for 1 green",
        )
    )
    assert (1, "decliner 2", "unforced") in regrets
    assert (2, "proposer 2", "no") in regrets


def test_sample_excludes_gainless_and_unaffordable_decisions() -> None:
    values = ((50, 50), (50, 50), (10, 30))
    assert regrets_in(game(values, "1: 1 red for 1 blue")) == []
    assert regrets_in(game(values, "1: 1 red for 1 blue, 2 3")) == []
    assert regrets_in(game(values, "1: 9 red for 1 green, 2")) == [
        (1, "acceptor 2", "no"),
        (1, "decliner 3", "unforced"),
    ]
    assert regrets_in(game(values, "3: 9 red for 11 blue")) == []
    assert (1, "decliner 3", "unforced") not in regrets_in(game(values, "1: 20 blue for 11 red"))
    assert (1, "proposer 3", "no") not in regrets_in(game(FIGURE_4[0], "3: 5 red for 6 blue"))


def test_bayesian_players_have_no_unforced_regret() -> None:
    """They accept every gain (Strategic Tradeoffs, section 6.2.2)."""
    regrets = [
        (choice.part, choice.regret)
        for outcome in play_games(3, 30)
        for choice in decisions(outcome, 10, unforced_proposals=True)
    ]
    assert {part for part, _ in regrets} == {"proposer", "acceptor"}
    assert {regret for _, regret in regrets} == {"no", "forced"}
