"""Chip trading: what can be computed beforehand, the metrics, and regret."""

from itertools import combinations_with_replacement, permutations
from statistics import fmean, stdev
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cheaptalk.games.chip_trading import SPEC, metrics
from cheaptalk.games.chip_trading.events import Exchange, Proposal, Trading
from cheaptalk.games.chip_trading.metrics import (
    Proposed,
    expected_rational_trades,
    proposed,
    surplus_bound,
    surplus_by_turn,
)
from cheaptalk.games.chip_trading.regret import (
    Decision,
    Regret,
    counterfactual_stocks,
    decisions,
    stocks_held,
)
from cheaptalk.games.chip_trading.rules import ChipTrading
from cheaptalk.rules import Chance, Result, play

COLOURS = ("green", "red", "blue", "purple")
PLAYERS = ("player_1", "player_2", "player_3")


def worths(*rows: tuple[int, ...]) -> dict[str, dict[str, int]]:
    """What chips are worth: green ones 50 cents, the others as given, a row a player."""
    return {
        player: dict(zip(COLOURS, (50, *row), strict=False))
        for player, row in zip(PLAYERS, rows, strict=False)
    }


def turn(words: str) -> Exchange:
    """A turn: "1: 9 blue for 9 red, 3" where player 3 trades; "..., 2 3" where 2 does and 3 would
    have."""
    who, _, rest = words.partition(": ")
    offer, _, willing = rest.partition(", ")
    give_amount, give, _, want_amount, want = offer.split()
    players = tuple(f"player_{number}" for number in willing.split())
    return Exchange(
        proposer=f"player_{who}",
        proposal=Proposal(
            give=give, give_amount=int(give_amount), want=want, want_amount=int(want_amount)
        ),
        willing=players,
        partner=players[0] if players else None,
    )


def game(rows: tuple[tuple[int, ...], ...], *turns: str) -> Trading:
    return Trading(worths=worths(*rows), turns=tuple(map(turn, turns)))


def result(outcome: Trading) -> Result:
    return Result(ChipTrading(players=len(outcome.worths)), None, outcome)


def played(name: str, seed: str, **parameters: Any) -> Trading:
    rules = ChipTrading(**parameters)
    table = play(rules, rules.draw_instance(Chance(seed)), seed, {"player": SPEC.strategies[name]})
    assert isinstance(table.outcome, Trading)
    return table.outcome


# Beforehand.


@pytest.mark.parametrize(("colours", "expected"), [(2, 37.1), (3, 120.7), (4, 250.7)])
def test_appendix_a1_of_strategic_tradeoffs_myopically_rational_trades(
    colours: int, expected: float
) -> None:
    found = expected_rational_trades(ChipTrading(colours=COLOURS[:colours]))
    assert round(found, 1) == expected


def test_rational_trades_among_two_can_be_counted_by_hand() -> None:
    rules = ChipTrading(players=2, colours=("green", "red"), values=(20, 80), chips=1)
    assert expected_rational_trades(rules) == 2 * 0.5 * 0.5


def test_section_4_of_strategic_tradeoffs_mean_bound_of_two_colours() -> None:
    """The expectation over all values, against the mean of a sample, 6.53 (0.07)."""
    total = 0.0
    for values in combinations_with_replacement(range(10, 101, 10), 3):
        bound = surplus_bound(worths(*((value,) for value in values)), 10)
        total += bound * len(set(permutations(values)))
    assert abs(total / 1_000 - 6.53) < 3 * 0.07


@pytest.mark.parametrize(("colours", "expected"), [(3, 13.88), (4, 21.57)])
def test_section_4_of_strategic_tradeoffs_mean_bound(colours: int, expected: float) -> None:
    rules = ChipTrading(colours=COLOURS[:colours])
    bounds = []
    for number in range(150):
        values = rules.draw_instance(Chance(f"{number}")).values
        bounds.append(surplus_bound(worths(*(tuple(one.values()) for one in values.values())), 10))
    assert abs(fmean(bounds) - expected) < 3 * stdev(bounds) / len(bounds) ** 0.5


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (((50,), (50,), (50,)), 0.0),
        (((30, 70), (30, 70), (30, 70)), 0.0),
        (((50,), (100,)), 10 * 0.50),
        (((10,), (100,)), 10 * 0.40 + 10 * 0.50),
        (((10,), (100,), (50,)), 10 * 0.90 + 8 * 0.50),  # green chips pay for 18 red ones only
    ],
)
def test_bounds_that_can_be_worked_out(rows: tuple[tuple[int, ...], ...], expected: float) -> None:
    assert surplus_bound(worths(*rows), 10) == pytest.approx(expected)


@settings(max_examples=25)
@given(st.tuples(*[st.integers(1, 10).map(lambda dime: 10 * dime)] * 3))
def test_players_of_the_same_values_have_nothing_to_gain(row: tuple[int, ...]) -> None:
    assert surplus_bound(worths(row, row, row), 10) == 0


values = st.integers(1, 10).map(lambda dime: 10 * dime)
three = st.tuples(*[st.tuples(values, values)] * 3)


@settings(max_examples=25)
@given(three, st.sampled_from(["bayesian", "greedy", "one_for_one", "zero_intelligence"]))
def test_no_game_among_the_rational_surpasses_the_bound(
    rows: tuple[tuple[int, ...], ...], name: str
) -> None:
    rules = ChipTrading()
    private = {
        player: {colour: one[colour] for colour in ("red", "blue")}
        for player, one in worths(*rows).items()
    }
    instance = rules.draw_instance(Chance("x")).model_copy(update={"values": private})
    outcome = play(rules, instance, "x", {"player": SPEC.strategies[name]}).outcome
    assert isinstance(outcome, Trading)
    assert surplus_by_turn(outcome)[-1] <= surplus_bound(outcome.worths, 10) + 1e-9


def test_the_order_of_colours_does_not_change_the_bound() -> None:
    rows = worths((10, 90), (80, 20), (50, 60))
    turned = {player: dict(reversed(one.items())) for player, one in rows.items()}
    mixed = rows | {"player_2": turned["player_2"]}
    assert surplus_bound(turned, 10) == pytest.approx(surplus_bound(rows, 10))
    assert surplus_bound(mixed, 10) == surplus_bound(rows, 10)


# Metrics.

TWO = ((10, 90), (80, 20), (50, 60))
GAME = game(
    TWO,
    "1: 5 red for 4 blue, 2",
    "2: 2 green for 1 red",
    "3: 4 blue for 2 green, 1 2",
    "2: 1 green for 1 red",
)


def test_surplus_adds_up_turn_by_turn() -> None:
    first = (4 * 90 - 5 * 10) + (5 * 80 - 4 * 20)
    second = (2 * 50 - 4 * 60) + (4 * 90 - 2 * 50)
    assert surplus_by_turn(GAME) == [
        first / 100, first / 100, (first + second) / 100, (first + second) / 100,
    ]  # fmt: skip
    assert metrics.surplus(result(GAME)) == sum(GAME.gains().values()) / 100


def test_surplus_over_its_bound_at_the_end_and_after_the_first_round() -> None:
    bound = surplus_bound(GAME.worths, 10)
    found = result(GAME)
    assert metrics.bound(found) == bound
    assert metrics.surplus_ratio(found) == metrics.surplus(found) / bound
    assert metrics.first_round_ratio(found) == surplus_by_turn(GAME)[2] / bound


def test_where_nothing_can_be_gained_there_is_no_ratio() -> None:
    found = result(game(((50,), (50,), (50,)), "1: 1 red for 2 green", "2: 1 red for 1 green, 3",
                        "3: 1 red for 2 green"))  # fmt: skip
    assert metrics.bound(found) == 0
    assert metrics.surplus_ratio(found) is None
    assert metrics.first_round_ratio(found) is None


def test_proposals_by_outcome() -> None:
    assert proposed(GAME) == [
        Proposed(3.10, 5 / 4, True),
        Proposed(-0.20, 2.0, False),
        Proposed(-1.40, 2.0, True),
        Proposed(0.30, 1.0, False),
    ]
    found = result(GAME)
    assert metrics.acceptance(found) == 0.5
    assert metrics.accepted_surplus(found) == pytest.approx(0.85)
    assert metrics.rejected_surplus(found) == pytest.approx(0.05)
    assert metrics.accepted_ratio(found) == 1.625
    assert metrics.rejected_ratio(found) == 1.5


def test_without_a_proposal_of_an_outcome_there_is_no_mean() -> None:
    none = result(game(TWO, "1: 5 red for 4 blue", "2: 1 red for 1 blue", "3: 1 red for 1 blue"))
    assert metrics.accepted_surplus(none) is metrics.accepted_ratio(none) is None
    every = result(game(TWO, *["1: 1 red for 1 blue, 2"] * 3))
    assert metrics.rejected_surplus(every) is metrics.rejected_ratio(every) is None


# Regret.

FIGURE_4 = (
    ((20, 20), (50, 40), (10, 30)),
    "1: 9 blue for 9 red, 3",
    "2: 10 blue for 10 red",
)


def kinds(outcome: Trading, **option: bool) -> list[tuple[int, str, str]]:
    """Turn, part with the player's number, and regret."""
    found = decisions(outcome, 10, **option)
    return [(one.turn, f"{one.part} {one.player[-1]}", one.regret) for one in found]


def test_figure_4_of_strategic_tradeoffs_an_acceptor_is_forced() -> None:
    """Nine blue for nine red chips gain player 3 $1.80 and leave it one red chip; then somebody
    offers ten for ten, which would have gained $2.00."""
    outcome = game(*FIGURE_4)
    assert stocks_held(outcome, 10, "player_3")[1] == {"green": 10, "red": 1, "blue": 19}
    assert outcome.turns[1].proposal.mirrored.gain(outcome.worths["player_3"]) == 200
    assert Decision(1, "player_3", "acceptor", 180, "forced", missed=2) in list(
        decisions(outcome, 10)
    )


def test_a_better_offer_that_is_taken_is_none_to_regret() -> None:
    turns = "1: 2 blue for 2 red, 3", "2: 8 blue for 8 red, 3"
    assert (1, "acceptor 3", "no") in kinds(game(FIGURE_4[0], *turns))


def test_a_better_offer_that_could_be_paid_for_is_unforced_regret() -> None:
    turns = "1: 2 blue for 2 red, 3", "2: 8 blue for 8 red"
    found = kinds(game(FIGURE_4[0], *turns))
    assert (1, "acceptor 3", "unforced") in found
    assert (2, "decliner 3", "unforced") in found


def test_a_later_offer_that_is_no_better_is_none_to_regret() -> None:
    turns = "1: 9 blue for 9 red, 3", "2: 9 blue for 9 red"
    assert (1, "acceptor 3", "no") in kinds(game(FIGURE_4[0], *turns))


def test_an_offer_that_could_never_be_paid_for_is_none_to_regret() -> None:
    turns = "1: 9 blue for 9 red, 3", "2: 11 blue for 11 red"
    assert (1, "acceptor 3", "no") in kinds(game(FIGURE_4[0], *turns))


def test_of_several_missed_offers_the_best_counts() -> None:
    forced = "1: 6 blue for 6 red, 3", "2: 5 blue for 4 red, 1", "2: 10 blue for 5 red"
    values = FIGURE_4[0]
    better = game(values, *forced, "1: 5 blue for 1 red")
    assert (1, "acceptor 3", "forced") in kinds(better)
    best = game(values, *forced, "1: 9 blue for 1 red")
    assert (1, "acceptor 3", "unforced") in kinds(best)


def test_of_offers_as_good_as_each_other_one_that_could_be_taken_counts() -> None:
    values, accepted, blocked = FIGURE_4
    open_to_all = "1: 7 blue for 1 red"
    assert (1, "acceptor 3", "forced") in kinds(game(values, accepted, blocked))
    for later in ((blocked, open_to_all), (open_to_all, blocked)):
        assert (1, "acceptor 3", "unforced") in kinds(game(values, accepted, *later))


def test_one_not_chosen_is_an_acceptor_who_forced_nothing() -> None:
    outcome = game(FIGURE_4[0], "1: 9 blue for 9 red, 2 3", "2: 10 blue for 10 red")
    assert (1, "acceptor 3", "unforced") in kinds(outcome)
    assert stocks_held(outcome, 10, "player_3")[1]["red"] == 10


def test_the_counterfactual_leaves_out_trades_that_could_no_longer_be_paid_for() -> None:
    outcome = game(
        FIGURE_4[0],
        "1: 5 blue for 9 red, 3",
        "3: 15 blue for 1 green, 1",
        "2: 1 green for 1 red",
    )
    assert stocks_held(outcome, 10, "player_3")[2] == {"green": 11, "red": 1, "blue": 0}
    without = stocks_held(outcome, 10, "player_3", changed=[0])[2]
    assert without == {"green": 10, "red": 10, "blue": 10}


@pytest.mark.parametrize(
    ("turns", "kind", "worths_of_chips"),
    [
        (("1: 9 blue for 9 red, 3", "2: 10 blue for 10 red"), "acceptor", [0, 0, 200]),
        (("1: 2 blue for 2 red, 3", "2: 8 blue for 8 red"), "acceptor", [0, 40, 200]),
        (("1: 9 blue for 9 red, 3", "2: 9 blue for 9 red"), "acceptor", [0, 0, 0]),
        (("1: 8 blue for 8 red", "3: 7 red for 7 blue, 1"), "decliner", [0, 160, 160]),
    ],
    ids=["forced", "unforced", "no", "declined"],
)
def test_figure_10_of_strategic_tradeoffs_what_chips_would_be_worth_otherwise(
    turns: tuple[str, str], kind: str, worths_of_chips: list[int]
) -> None:
    """Player 3 gives up the decision for the best offer it missed, takes that too, or turns the
    decision round; its own later trades stay as far as it can pay for them."""
    outcome = game(FIGURE_4[0], *turns)
    decision = next(
        one for one in decisions(outcome, 10) if one.player == "player_3" and one.part == kind
    )
    own = outcome.worths["player_3"]
    stocks = counterfactual_stocks(outcome, 10, decision)
    gained = [sum((stock[of] - 10) * own[of] for of in own) for stock in stocks]
    assert gained == worths_of_chips


def test_a_proposer_is_forced_and_by_the_footnote_never_unforced() -> None:
    values = ((10, 30), (50, 40), (20, 20))
    forced = game(values, "1: 9 red for 9 blue, 3", "2: 10 blue for 10 red")
    assert (1, "proposer 1", "forced") in kinds(forced)
    missed = game(values, "1: 2 red for 2 blue, 3", "2: 8 blue for 8 red")
    assert (1, "proposer 1", "no") in kinds(missed)
    assert (1, "proposer 1", "unforced") in kinds(missed, unforced_proposals=True)


def test_a_decliner_regrets_unless_the_chips_are_put_to_as_good_a_use() -> None:
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
        found = list(decisions(game(values, declined, later), 10))
        assert Decision(1, "player_3", "decliner", gain, regret) in found


def test_figure_4_of_strategic_tradeoffs_an_unforced_decline_and_a_proposal_of_no_regret() -> None:
    """Two green for three blue chips would have gained player 2 ten cents; what it gains in the
    next turn it would have gained as well."""
    found = kinds(game(((20, 20), (20, 30), (70, 50)), "1: 2 green for 3 blue",
                       "2: 6 red for 8 green, 3", "3: 1 blue for 1 green"))  # fmt: skip
    assert (1, "decliner 2", "unforced") in found
    assert (2, "proposer 2", "no") in found


def test_the_sample_leaves_out_what_gains_nothing_and_what_cannot_be_paid_for() -> None:
    values = ((50, 50), (50, 50), (10, 30))
    assert kinds(game(values, "1: 1 red for 1 blue")) == []
    assert kinds(game(values, "1: 1 red for 1 blue, 2 3")) == []
    assert kinds(game(values, "1: 9 red for 1 green, 2")) == [
        (1, "acceptor 2", "no"), (1, "decliner 3", "unforced"),
    ]  # fmt: skip
    assert kinds(game(values, "3: 9 red for 11 blue")) == []
    assert (1, "decliner 3", "unforced") not in kinds(game(values, "1: 20 blue for 11 red"))


def test_rejected_proposals_are_not_in_the_sample() -> None:
    found = kinds(game(FIGURE_4[0], "3: 5 red for 6 blue"))
    assert not any(part.startswith("proposer") for _, part, _ in found)


def test_bayesian_players_never_regret_unforced() -> None:
    """They accept whatever gains them something (Strategic Tradeoffs, section 6.2.2)."""
    found = [
        (one.part, one.regret)
        for number in range(30)
        for one in decisions(played("bayesian", f"{number}"), 10, unforced_proposals=True)
    ]
    assert {part for part, _ in found} == {"proposer", "acceptor"}
    assert {regret for _, regret in found} == {"no", "forced"}


def test_random_players_show_every_kind_of_regret_and_each_is_counted_once() -> None:
    counts = dict.fromkeys(metrics.KINDS, 0.0)
    sample = 0
    for number in range(30):
        outcome = played("random", f"{number}")
        sample += len(list(decisions(outcome, 10)))
        for part, regret in metrics.KINDS:
            counts[part, regret] += SPEC.metrics[f"{part}_{regret}_regret"].of(result(outcome)) or 0
    assert all(counts.values())
    assert sum(counts.values()) == sample
