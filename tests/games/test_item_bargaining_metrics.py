"""Item bargaining: metrics, maxima and what the paper prints of them."""

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from cheaptalk.games.extras import Deferred
from cheaptalk.games.item_bargaining import SPEC
from cheaptalk.games.item_bargaining.events import Pool
from cheaptalk.games.item_bargaining.maxima import Maxima, Pools, maxima, ratio_of_means, sample
from cheaptalk.games.item_bargaining.metrics import (
    best_of,
    envy_free_up_to_one,
    stated_holdings,
    turns,
)
from cheaptalk.games.item_bargaining.pools import rest, worth
from cheaptalk.games.item_bargaining.rules import PRESETS, ItemBargaining
from cheaptalk.games.item_bargaining.theory import walked
from cheaptalk.rules import Chance, CheaptalkError, Result, play
from tests.games.extremes import EXTREMES, extreme_payoffs
from tests.games.tables import table_after

POOL = Pool(
    quantities=(7, 4, 1), values=((10, 20, 30), (5, 50, 5)), outside=(90, 60)
)  # worth 180 and 240 in all
ACCEPT: dict[str, Any] = {"action": "ACCEPT"}
WALK: dict[str, Any] = {"action": "WALK"}
GAME = ItemBargaining(discount=0.9)


def offer(*units: int) -> dict[str, Any]:
    return {"action": "COUNTEROFFER", "offer": units}


def played(*moves: dict[str, Any], instance: Pool = POOL, game: ItemBargaining = GAME) -> Result:
    table = table_after(game, *moves, instance=instance)
    if not table.over:
        (ask,) = table.pending.values()
        table.forfeit(ask.actor)
    return Result(table.game, table.instance, table.outcome, lambda: table.given)


def of(name: str, result: Result, as_published: bool = False) -> float | None:
    return SPEC.metrics[name].variant(as_published)(result)


# Welfare.


AGREED = played(offer(1, 0, 0), offer(1, 0, 0), offer(1, 4, 0), ACCEPT)
"""In round 2 player 2 gets (1, 4, 0), worth 205, and player 1 (6, 0, 1), worth 90."""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("utilitarian_welfare", 0.9 * 295),
        ("utilitarian_welfare_undiscounted", 295),
        ("nash_welfare", 0.9 * math.sqrt(90 * 205)),
        ("nash_welfare_undiscounted", math.sqrt(90 * 205)),
        ("nash_welfare_plus", 0.0),
        ("nash_welfare_plus_discounted", 0.0),
        ("agreement", 1.0),
        ("rounds", 2.0),
        ("invalid_walk", 0.0),
    ],
)
def test_welfare_of_an_agreement(name: str, value: float) -> None:
    assert of(name, AGREED) == pytest.approx(value)


def test_advantages_are_over_the_outside_option_in_three_readings() -> None:
    """Player 1 gets (7, 0, 1), worth 100, in round 2; player 2 gets 200. Outside: 70 and 60."""
    instance = POOL.model_copy(update={"outside": (70, 60)})
    result = played(offer(1, 0, 0), offer(1, 0, 0), offer(0, 4, 0), ACCEPT, instance=instance)
    assert of("nash_welfare_plus", result) == pytest.approx(math.sqrt((90 - 70) * (180 - 60)))
    assert of("nash_welfare_plus_discounted", result) == pytest.approx(0.9 * math.sqrt(30 * 140))
    assert of("nash_welfare_plus_undiscounted", result) == pytest.approx(math.sqrt(30 * 140))
    assert of("nash_welfare_plus", result, True) == pytest.approx(0.9 * math.sqrt(30 * 140))


def test_walking_away_has_no_advantage_and_no_envy() -> None:
    """Figure 1 and table 5, row of walk: NW+ 0.00, and EF1 not defined."""
    result = played(WALK)
    assert of("nash_welfare_plus", result) == 0
    assert of("ef1", result) is None
    assert of("utilitarian_welfare", result) == 150
    assert of("agreement", result) == 0


def test_shares_of_the_maximum() -> None:
    """The best sum gives (7, 0, 1) and (0, 4, 0): 300, more than both outside options, 150."""
    assert of("utilitarian_of_maximum", AGREED) == pytest.approx(0.9 * 295 / 300)
    assert of("nash_of_maximum", AGREED) == pytest.approx(
        0.9 * math.sqrt(90 * 205) / math.sqrt(100 * 200)
    )


def test_outside_options_can_be_the_maximum() -> None:
    instance = POOL.model_copy(update={"outside": (180, 240)})
    result = played(WALK, instance=instance)
    assert of("utilitarian_of_maximum", result) == 1
    assert of("utilitarian_of_allocated", result) == pytest.approx(420 / 300)
    assert of("utilitarian_of_maximum", result, True) == pytest.approx(420 / 300)
    assert of("nash_of_maximum", result) == 1
    assert of("nash_of_allocated", result) == pytest.approx(math.sqrt(180 * 240 / 100 / 200))
    assert of("nash_plus_of_maximum", result) is None
    assert of("opposition", result) == 0


def test_opposition_is_the_distance_from_giving_both_all() -> None:
    """One item each of two kinds, worth as much to both: both lack half, or one lacks all."""
    instance = Pool(quantities=(1, 1), values=((4, 4), (4, 4)), outside=(1, 1))
    game = ItemBargaining(quantities=(1, 1))
    assert of("opposition", played(WALK, instance=instance, game=game)) == pytest.approx(
        math.sqrt(0.5)
    )
    apart = instance.model_copy(update={"values": ((4, 1), (1, 4))})
    assert of("opposition", played(WALK, instance=apart, game=game)) == pytest.approx(
        math.sqrt(0.08)
    )


def test_without_numpy_maxima_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    best_of.cache_clear()
    monkeypatch.setattr("cheaptalk.games.item_bargaining.maxima.np", Deferred("absent_numpy"))
    with pytest.raises(CheaptalkError, match=r'pip install "cheaptalk\[analysis\]"'):
        of("opposition", replace(AGREED))
    assert of("utilitarian_welfare", AGREED) is not None


# Envy.


@pytest.mark.parametrize(
    ("own", "other", "values", "fair"),
    [
        ((7, 0, 1), (0, 4, 0), (10, 20, 30), True),  # 100 against 80
        ((0, 4, 0), (7, 0, 1), (5, 50, 5), True),  # 200 against 40
        ((0, 0, 1), (7, 4, 0), (5, 50, 5), False),  # 5 against 235: short by 230, more than 50
        ((1, 0, 0), (0, 0, 1), (1, 1, 9), True),  # short by 8, at most 9
        ((1, 0, 0), (1, 0, 1), (8, 1, 9), True),  # short by 9, at most 9
        ((0, 0, 0), (2, 0, 0), (5, 1, 1), False),  # short by 10, more than 5
        ((0, 0, 0), (0, 0, 0), (5, 1, 1), True),
    ],
)
def test_envy_freeness_up_to_one_item(
    own: tuple[int, ...], other: tuple[int, ...], values: tuple[int, ...], fair: bool
) -> None:
    assert envy_free_up_to_one(own, other, values) is fair


def test_an_agreement_must_be_fair_to_both() -> None:
    """The worked example of section 3.4's condition."""
    assert of("ef1", played(offer(0, 4, 0), ACCEPT)) == 1
    assert of("ef1", played(offer(0, 0, 1), ACCEPT)) == 0


# Conduct. The examples are those of appendix B: two kinds worth 4 and 2.


LINE = Pool(quantities=(3, 3), values=((9, 1), (4, 2)), outside=(3, 10))
TWO = ItemBargaining(quantities=(3, 3), discount=0.9)


def conduct(name: str, *moves: dict[str, Any], instance: Pool = LINE) -> float | None:
    return of(name, played(*moves, instance=instance, game=TWO))


def test_m1_asks_for_less_than_was_offered() -> None:
    """Offered (3, 0), worth 12, player 2 asks to keep (2, 0), worth 8."""
    moves = [offer(3, 0), offer(1, 3)]
    assert conduct("asked_less", *moves) == 1
    assert conduct("asked_less", offer(3, 0), offer(0, 3)) == 0  # just as much
    assert conduct("asked_less", offer(1, 0)) == 0  # an opening turns nothing down


def test_m2_asks_for_less_than_the_outside_option() -> None:
    """To keep (1, 1), worth 6, is less than 10."""
    moves = [offer(3, 0), offer(2, 2)]
    assert conduct("asked_too_little", *moves) == 1
    even = LINE.model_copy(update={"outside": (3, 6)})
    assert conduct("asked_too_little", *moves, instance=even) == 0


@pytest.mark.parametrize("units", [(0, 0), (3, 3)])
def test_m3_offers_nothing_or_everything(units: tuple[int, int]) -> None:
    assert conduct("offered_extreme", offer(1, 1), offer(*units)) == 1


def test_m4_accepts_less_than_the_outside_option() -> None:
    """(1, 0), worth 4, is less than 8."""
    eight = LINE.model_copy(update={"outside": (3, 8)})
    assert conduct("accepted_too_little", offer(1, 0), ACCEPT, instance=eight) == 1
    four = LINE.model_copy(update={"outside": (3, 4)})
    assert conduct("accepted_too_little", offer(1, 0), ACCEPT, instance=four) == 0


def test_m5_walks_away_from_more_than_the_outside_option() -> None:
    """(2, 1), worth 10, is more than 9."""
    nine = LINE.model_copy(update={"outside": (3, 9)})
    assert conduct("walked_from_more", offer(2, 1), WALK, instance=nine) == 1
    assert conduct("walked_from_more", offer(2, 1), WALK) == 0
    assert conduct("walked_from_more", WALK) == 0


def test_mistakes_of_both_are_counted_together_and_apart() -> None:
    """Player 1 offers everything (M3, M2); player 2 walks away from it (M5)."""
    moves = [offer(3, 3), WALK]
    assert conduct("mistakes", *moves) == 3
    assert conduct("own_mistakes_player_1", *moves) == 2
    assert conduct("own_mistakes_player_2", *moves) == 1


def test_an_invalid_answer_is_no_mistake_and_ends_the_match() -> None:
    result = played(offer(3, 2), instance=LINE, game=TWO)
    assert of("invalid_walk", result) == 1
    assert of("walked_from_more", result) == 0
    assert [turn.move for turn in turns(result)][-1] is None


def test_bad_acceptances_by_turn_and_by_match() -> None:
    """Player 2 turns (1, 0) down and then accepts (2, 0), worth 8 of 10: one turn of two."""
    moves = [offer(1, 0), offer(0, 3), offer(2, 0), ACCEPT]
    assert conduct("bad_acceptance_by_turn_player_2", *moves) == 0.5
    assert conduct("bad_acceptance_player_2", *moves) == 1
    assert conduct("bad_acceptance_by_turn_player_1", *moves) == 0
    assert conduct("bad_acceptance_player_1", *moves) == 0
    assert conduct("bad_acceptance_by_turn_player_1", offer(1, 0), WALK) is None


def test_soft_against_tough_accepts_below_its_outside_option_as_in_table_12() -> None:
    """Appendix I, table 12: soft 100 % of turns and games, tough 0 %."""
    low = LINE.model_copy(update={"outside": (3, 18)})
    moves = [offer(0, 1), ACCEPT]
    assert conduct("bad_acceptance_by_turn_player_2", *moves, instance=low) == 1
    assert conduct("bad_acceptance_player_1", *moves, instance=low) == 0


def test_what_is_given_is_counted_in_the_giver_s_values() -> None:
    moves = [offer(0, 1), offer(1, 0), offer(1, 2), offer(1, 1), ACCEPT]
    assert conduct("utility_given_player_1", *moves) == (1 + 11) / 2
    assert conduct("utility_given_player_2", *moves) == (4 + 6) / 2
    assert conduct("concession_player_1", *moves) == 10
    assert conduct("concession_player_2", *moves) == 2
    assert conduct("concession_player_1", offer(0, 1), WALK) is None
    assert conduct("utility_given_player_2", offer(0, 1), WALK) is None


# What players say they hold.


def accepting(reasoning: str) -> list[dict[str, Any]]:
    return [offer(0, 1), ACCEPT | {"reasoning": reasoning}]


@pytest.mark.parametrize(
    ("reasoning", "value"),
    [
        ("Offer from Player 1: [0, 1]\nMy resulting holdings: [3, 2]\nThat is 16.", 1),
        ("My resulting holdings: [0, 1], worth 2.", 0),
        ("If I counter I would keep [3, 0]. Now I get [0, 1].", 0),
        ("I'd receive [3, 3].", 1),
        ("I would get all of it.", None),
        ("", None),
        ("holdings: [1, 2, 3]", None),
    ],
)
def test_holdings_that_are_not_the_true_ones(reasoning: str, value: float | None) -> None:
    assert conduct("false_holdings_stated_player_2", *accepting(reasoning)) == value
    assert conduct("false_holdings_stated_player_1", *accepting(reasoning)) is None


def test_holdings_are_judged_only_where_an_offer_is_accepted() -> None:
    moves = [offer(0, 1), offer(1, 1) | {"reasoning": "My holdings: [3, 3]"}]
    assert conduct("false_holdings_stated_player_2", *moves) is None


def test_the_hallucination_of_section_6_4() -> None:
    """Section 6.4: offered [0, 0, 1, 0, 0], it believes to hold [6, 5, 1, 4, 1] and accepts."""
    said = "Offer from Player 1: [0, 0, 1, 0, 0]\nMy resulting holdings: [6, 5, 1, 4, 1]\n"
    assert stated_holdings(said, 5) == [(6, 5, 1, 4, 1)]


def test_turns_tell_what_each_player_saw() -> None:
    first, second = turns(played(offer(1, 0), instance=LINE, game=TWO))
    assert (first.player, first.offered, first.kept, first.table) == (0, None, 2 * 9 + 3, None)
    assert (second.player, second.offered, second.table, second.action) == (1, (1, 0), 4, None)


SIZES = {"BGS": 100_000, "BGL": 15_000}


@pytest.fixture(scope="module", params=SIZES)
def pools(request: pytest.FixtureRequest) -> tuple[str, Pools, Maxima]:
    name: str = request.param
    game = ItemBargaining.model_validate(PRESETS[name])
    drawn = sample(game, SIZES[name], np.random.default_rng(1))
    return name, drawn, maxima(drawn)


MEANS = {
    "BGS": {
        "utilitarian_allocated": (806.08, 0.19), "utilitarian": (844.49, 0.22),
        "nash_allocated": (356.79, 0.10), "nash": (379.10, 0.12), "nash_plus": (80.7, 0.1),
        "acceptable": (0.616, 0.001),
    },
    "BGL": {
        "utilitarian_allocated": (1341.6, 1.0), "utilitarian": (1399.5, 1.1),
        "nash_allocated": (634.2, 0.5), "nash": (663.7, 0.5), "nash_plus": (155.6, 0.5),
        "acceptable": (0.675, 0.002),
    },
}  # fmt: skip
"""The mean maxima that normalise welfare, with standard errors, from a million pools of BGS and
150,000 of BGL."""


def test_mean_maxima(pools: tuple[str, Pools, Maxima]) -> None:
    """Section 5's normalisers; the ones behind the BGS tables are 805.9, 378.7 and 81.7."""
    name, drawn, best = pools
    for metric, (mean, error) in MEANS[name].items():
        found = getattr(best, metric)
        spread = found.std() / math.sqrt(len(drawn))
        assert found.mean() == pytest.approx(mean, abs=4 * math.hypot(spread, error)), metric


def test_walk_row(pools: tuple[str, Pools, Maxima]) -> None:
    """Figure 1 and tables 4 and 5, rows of walk: UW 75.03 and NW 67.97 in BGS, UW 72.08 in BGL.

    For BGS the utilitarian maximum is over allocations alone, the Nash one includes the outside
    options. The NW of 72.01 that is printed for BGL fits no reading that was tried.
    """
    name, drawn, best = pools
    welfare = drawn.outside.sum(axis=1)
    nash = np.sqrt(drawn.outside.prod(axis=1))
    if name == "BGS":
        shown = 100 * ratio_of_means(welfare, best.utilitarian_allocated)
        assert shown == pytest.approx(75.3, abs=0.4)
        assert shown == pytest.approx(75.03, abs=0.4)
        assert 100 * ratio_of_means(nash, best.nash) == pytest.approx(68.2, abs=0.4)
        assert 100 * ratio_of_means(nash, best.nash) == pytest.approx(67.97, abs=0.4)
    else:
        assert 100 * ratio_of_means(welfare, best.utilitarian) == pytest.approx(72.1, abs=0.3)
        assert 100 * ratio_of_means(nash, best.nash) == pytest.approx(66.2, abs=0.4)


def test_walk_row_with_the_range_of_outside_options_that_fits_best() -> None:
    """Tables 4 and 5: 75.03 and 67.97 where outside options run from 0 to below the total."""
    game = ItemBargaining(least_outside=0, below_total=True)
    drawn = sample(game, SIZES["BGS"], np.random.default_rng(2))
    best = maxima(drawn)
    welfare, nash = drawn.outside.sum(axis=1), np.sqrt(drawn.outside.prod(axis=1))
    assert 100 * ratio_of_means(welfare, best.utilitarian_allocated) == pytest.approx(
        75.05, abs=0.4
    )
    assert 100 * ratio_of_means(nash, best.nash) == pytest.approx(67.88, abs=0.4)


PAYOFFS = {
    (0.98, 3): [[303, 49.995, 303.5], [574.693, 291.481, 303.5], [303.5, 303.5, 303.5]],
    (0.9, 3): [[303, 47.975, 303.5], [551.473, 245.835, 303.5], [303.5, 303.5, 303.5]],
    (0.98, 5): [[303, 49.995, 303.5], [574.693, 279.939, 303.5], [303.5, 303.5, 303.5]],
}
"""Mean payoffs of soft, tough and walk (rows) against each other in BG4 to BG6, by discount and
rounds."""


@pytest.mark.parametrize(("discount", "rounds"), PAYOFFS)
def test_extreme_payoffs_in_closed_form(discount: float, rounds: int) -> None:
    found = extreme_payoffs(ItemBargaining(discount=discount, rounds=rounds))
    for row, one in enumerate(EXTREMES):
        for column, other in enumerate(EXTREMES):
            expected = PAYOFFS[discount, rounds][row][column]
            assert found[one, other] == pytest.approx(expected, abs=0.006)


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("one", EXTREMES)
@pytest.mark.parametrize("other", EXTREMES)
def test_extreme_payoffs_by_play(one: str, other: str, rounds: int) -> None:
    game = ItemBargaining(discount=0.98, rounds=rounds)
    gains = []
    for number in range(250):
        instance = game.draw_instance(Chance(f"{one}/{number}"))
        for place in ("player_1", "player_2"):
            players = {"player": SPEC.strategies[other], place: SPEC.strategies[one]}
            table = play(game, instance, str(number), players)
            gains.append(table.game.payoffs(table.outcome)[place])
    error = float(np.std(gains)) / math.sqrt(
        250
    )  # the two matches on one instance are not independent
    assert np.mean(gains) == pytest.approx(extreme_payoffs(game)[one, other], abs=4 * error)


def test_kinds_without_items_are_no_kinds_in_the_closed_form() -> None:
    with_none = extreme_payoffs(ItemBargaining(quantities=(7, 0, 4, 1)))
    assert with_none == pytest.approx(extreme_payoffs(ItemBargaining()))


@pytest.mark.parametrize("place", ["player_1", "player_2"])
@pytest.mark.parametrize("rival", ["aspire", "tough", "random"])
def test_a_match_with_walk_is_known_without_playing_it(place: str, rival: str) -> None:
    game = ItemBargaining(rounds=2)
    instance = game.draw_instance(Chance("1"))
    walker = SPEC.strategies["walk"]
    seed = next(
        str(number) for number in range(100)  # a random rival may walk away or accept itself
        if play(game, instance, str(number), {"player": SPEC.strategies[rival],
        place: walker}).requests
        == (2 if place == "player_2" else 1)
    )  # fmt: skip
    table = play(game, instance, seed, {"player": SPEC.strategies[rival], place: walker})
    assert table.outcome == walked(instance, place)


def test_maxima_are_those_of_every_allocation() -> None:
    """Against a plain search, pool by pool."""
    game = ItemBargaining.model_validate({"quantities": {"kinds": 3, "mean": 2}})
    instances = [game.draw_instance(Chance(str(number))) for number in range(60)]
    best = maxima(Pools.of(instances))
    for number, instance in enumerate(instances):
        shares = product(*(range(count + 1) for count in instance.quantities))
        pairs = [
            (
                worth(one, instance.values[0]),
                worth(rest(instance.quantities, one), instance.values[1]),
            )
            for one in shares
        ]
        totals = [max(pair[player] for pair in pairs) for player in (0, 1)]
        (one, other), ends = instance.outside, [*pairs, instance.outside]
        assert best.utilitarian_allocated[number] == max(map(sum, pairs))
        assert best.utilitarian[number] == max(map(sum, ends))
        assert best.nash_allocated[number] == pytest.approx(
            max(math.sqrt(math.prod(pair)) for pair in pairs)
        )
        assert best.nash[number] == pytest.approx(max(math.sqrt(math.prod(end)) for end in ends))
        assert best.nash_plus[number] == pytest.approx(
            max(math.sqrt(max(0, first - one) * max(0, second - other)) for first, second in pairs)
        )
        assert best.acceptable[number] == any(
            first >= one and second >= other for first, second in pairs
        )
        distances = [math.dist((first / totals[0], second / totals[1]), (1, 1))
                     for first, second in ends]  # fmt: skip
        assert best.opposition[number] == pytest.approx(min(distances))


@pytest.mark.parametrize("zeros", ["kept", "redrawn", "plus_one"])
def test_samples_are_drawn_as_the_game_instances(zeros: str) -> None:
    game = ItemBargaining.model_validate(
        {"quantities": {"kinds": 2, "mean": 1, "zeros": zeros}, "highest_value": 5,
         "least_outside": 0, "below_total": True}
    )  # fmt: skip
    drawn = sample(game, 4_000, np.random.default_rng(1))
    dealt = Pools.of([game.draw_instance(Chance(str(number))) for number in range(4_000)])
    for some in (drawn, dealt):
        totals = np.einsum("npk,nk->np", some.values, some.quantities)
        assert (some.quantities.sum(axis=1) >= 2).all()
        assert (some.outside < totals).all()
        assert some.outside.min() == 0
        assert some.values.max() == 5
    for name in ("quantities", "values", "outside"):
        one, other = getattr(drawn, name), getattr(dealt, name)
        spread = one.std() / math.sqrt(one.size)
        assert one.mean() == pytest.approx(other.mean(), abs=6 * spread), name
