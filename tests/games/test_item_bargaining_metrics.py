"""Item bargaining: metrics, maxima and the paper's published values."""

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from cheaptalk.games.extras import Deferred
from cheaptalk.games.item_bargaining import metrics
from cheaptalk.games.item_bargaining.maxima import Pools, maxima, ratio_of_means, sample
from cheaptalk.games.item_bargaining.rules import PRESETS, ItemBargaining, Pool, rest, worth
from cheaptalk.rules import Chance, CheaptalkError, Result
from tests.games.tables import metric, table_after

POOL = Pool(
    quantities=(7, 4, 1), values=((10, 20, 30), (5, 50, 5)), outside=(90, 60)
)  # worth 180 and 240 in total
ACCEPT: dict[str, Any] = {"action": "ACCEPT"}
WALK: dict[str, Any] = {"action": "WALK"}
GAME = ItemBargaining(discount=0.9)


def offer(*units: int) -> dict[str, Any]:
    return {"action": "COUNTEROFFER", "offer": units}


def result_of(*moves: dict[str, Any], instance: Pool = POOL, game: ItemBargaining = GAME) -> Result:
    table = table_after(game, *moves, instance=instance)
    if not table.over:
        (ask,) = table.pending.values()
        table.forfeit(ask.actor)
    return table.result()


AGREED = result_of(offer(1, 0, 0), offer(1, 0, 0), offer(1, 4, 0), ACCEPT)
"""In round 2 player 2 gets (1, 4, 0), worth 205, and player 1 (6, 0, 1), worth 90."""


def test_welfare_of_agreement() -> None:
    cases = [
        ("utilitarian_welfare", 0.9 * 295),
        ("utilitarian_welfare_undiscounted", 295),
        ("nash_welfare", 0.9 * math.sqrt(90 * 205)),
        ("nash_welfare_undiscounted", math.sqrt(90 * 205)),
        ("nash_welfare_plus", 0.0),
        ("nash_welfare_plus_discounted", 0.0),
        ("agreement", 1.0),
        ("rounds_played", 2.0),
        ("invalid_walk", 0.0),
        # the best sum is 300, from (7, 0, 1) and (0, 4, 0); both outside options add up to 150
        ("utilitarian_of_maximum", 0.9 * 295 / 300),
        ("nash_of_maximum", 0.9 * math.sqrt(90 * 205) / math.sqrt(100 * 200)),
    ]
    for name, value in cases:
        assert metric(name, AGREED) == pytest.approx(value)


def test_welfare_in_other_cases() -> None:
    """Player 1 gets (7, 0, 1), worth 100, in round 2, and player 2 gets 200; outside: 70 and 60.

    In ``walked``, the outside options are the maximum. In ``even``, two items are of equal worth to
    both players: both lack half, or one lacks everything.
    """
    moves = [offer(1, 0, 0), offer(1, 0, 0), offer(0, 4, 0), ACCEPT]
    agreed = result_of(*moves, instance=POOL.model_copy(update={"outside": (70, 60)}))
    walked = result_of(WALK, instance=POOL.model_copy(update={"outside": (180, 240)}))
    instance = Pool(quantities=(1, 1), values=((4, 4), (4, 4)), outside=(1, 1))
    game = ItemBargaining(quantities=(1, 1))
    even = result_of(WALK, instance=instance, game=game)
    apart = result_of(
        WALK, instance=instance.model_copy(update={"values": ((4, 1), (1, 4))}), game=game
    )
    cases: list[tuple[str, Result, bool, float | None]] = [
        ("nash_welfare_plus", agreed, False, math.sqrt((90 - 70) * (180 - 60))),
        ("nash_welfare_plus", agreed, True, 0.9 * math.sqrt(30 * 140)),
        ("nash_welfare_plus_discounted", agreed, False, 0.9 * math.sqrt(30 * 140)),
        ("nash_welfare_plus_undiscounted", agreed, False, math.sqrt(30 * 140)),
        ("utilitarian_of_maximum", walked, False, 1),
        ("utilitarian_of_maximum", walked, True, 420 / 300),
        ("utilitarian_of_allocated", walked, False, 420 / 300),
        ("nash_of_maximum", walked, False, 1),
        ("nash_of_allocated", walked, False, math.sqrt(180 * 240 / 100 / 200)),
        ("nash_plus_of_maximum", walked, False, None),
        ("opposition", walked, False, 0),
        ("opposition", even, False, math.sqrt(0.5)),
        ("opposition", apart, False, math.sqrt(0.08)),
    ]
    for name, result, as_published, value in cases:
        assert metric(name, result, as_published) == pytest.approx(value), name


def test_maxima_without_numpy_print_install_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics.best_of.cache_clear()
    monkeypatch.setattr("cheaptalk.games.item_bargaining.maxima.np", Deferred("absent_numpy"))
    with pytest.raises(CheaptalkError, match=r'pip install "cheaptalk\[analysis\]"'):
        metric("opposition", replace(AGREED))
    assert metric("utilitarian_welfare", AGREED) is not None


def test_envy_freeness_up_to_one_item() -> None:
    cases = [
        ((7, 0, 1), (0, 4, 0), (10, 20, 30), True),  # 100 against 80
        ((0, 4, 0), (7, 0, 1), (5, 50, 5), True),  # 200 against 40
        ((0, 0, 1), (7, 4, 0), (5, 50, 5), False),  # 5 against 235: short by 230, more than 50
        ((1, 0, 0), (0, 0, 1), (1, 1, 9), True),  # short by 8, at most 9
        ((1, 0, 0), (1, 0, 1), (8, 1, 9), True),  # short by 9, at most 9
        ((0, 0, 0), (2, 0, 0), (5, 1, 1), False),  # short by 10, more than 5
        ((0, 0, 0), (0, 0, 0), (5, 1, 1), True),
    ]
    for kept, other, values, fair in cases:
        assert metrics.envy_free_up_to_one(kept, other, values) is fair


def test_ef1_requires_fairness_to_both_players() -> None:
    """The worked example of section 3.4's condition."""
    assert metric("ef1", result_of(offer(0, 4, 0), ACCEPT)) == 1
    assert metric("ef1", result_of(offer(0, 0, 1), ACCEPT)) == 0
    assert metric("ef1", result_of(WALK)) is None  # table 5, row of walk
    assert metric("nash_welfare_plus", result_of(WALK)) == 0


# Conduct, with the examples of appendix B: two kinds worth 4 and 2.


LINE = Pool(quantities=(3, 3), values=((9, 1), (4, 2)), outside=(3, 10))
TWO_KINDS = ItemBargaining(quantities=(3, 3), discount=0.9)


def with_outside(second: int) -> Pool:
    """Return the pool with another outside option of player 2."""
    return LINE.model_copy(update={"outside": (3, second)})


def conduct(name: str, *moves: dict[str, Any], instance: Pool = LINE) -> float | None:
    return metric(name, result_of(*moves, instance=instance, game=TWO_KINDS))


def test_mistakes_of_appendix_b() -> None:
    cases: list[tuple[str, list[dict[str, Any]], Pool, int]] = [
        ("asked_less", [offer(3, 0), offer(1, 3)], LINE, 1),  # offered 12, it asks to keep 8
        ("asked_less", [offer(3, 0), offer(0, 3)], LINE, 0),  # just as much
        ("asked_less", [offer(1, 0)], LINE, 0),  # an opening rejects nothing
        ("asked_too_little", [offer(3, 0), offer(2, 2)], LINE, 1),  # 6 is below 10
        ("asked_too_little", [offer(3, 0), offer(2, 2)], with_outside(6), 0),
        ("offered_extreme", [offer(1, 1), offer(0, 0)], LINE, 1),
        ("offered_extreme", [offer(1, 1), offer(3, 3)], LINE, 1),
        ("accepted_too_little", [offer(1, 0), ACCEPT], with_outside(8), 1),  # 4 is less than 8
        ("accepted_too_little", [offer(1, 0), ACCEPT], with_outside(4), 0),
        ("walked_from_more", [offer(2, 1), WALK], with_outside(9), 1),  # 10 is more than 9
        ("walked_from_more", [offer(2, 1), WALK], LINE, 0),
        ("walked_from_more", [WALK], LINE, 0),
        # player 1 offers everything (M3, M2); player 2 walks away from it (M5)
        ("mistakes", [offer(3, 3), WALK], LINE, 3),
        ("own_mistakes_player_1", [offer(3, 3), WALK], LINE, 2),
        ("own_mistakes_player_2", [offer(3, 3), WALK], LINE, 1),
    ]
    for name, moves, instance, count in cases:
        assert conduct(name, *moves, instance=instance) == count


def test_metrics_by_player() -> None:
    """In ``low``, player 2 rejects (1, 0), then accepts (2, 0), worth 8 against 10."""
    low = [offer(1, 0), offer(0, 3), offer(2, 0), ACCEPT]
    long = [offer(0, 1), offer(1, 0), offer(1, 2), offer(1, 1), ACCEPT]
    cases: list[tuple[str, list[dict[str, Any]], float | None]] = [
        ("bad_acceptance_by_turn_player_2", low, 0.5),
        ("bad_acceptance_player_2", low, 1),
        ("bad_acceptance_by_turn_player_1", low, 0),
        ("bad_acceptance_player_1", low, 0),
        ("bad_acceptance_by_turn_player_1", [offer(1, 0), WALK], None),
        ("utility_given_player_1", long, (1 + 11) / 2),
        ("utility_given_player_2", long, (4 + 6) / 2),
        ("concession_player_1", long, 10),
        ("concession_player_2", long, 2),
        ("concession_player_1", [offer(0, 1), WALK], None),
        ("utility_given_player_2", [offer(0, 1), WALK], None),
    ]
    for name, moves, value in cases:
        assert conduct(name, *moves) == value
    # table 12: soft accepts all offers below its outside option
    soft = conduct("bad_acceptance_by_turn_player_2", *low[2:], instance=with_outside(18))
    assert soft == 1


def test_invalid_answer_is_not_a_mistake() -> None:
    result = result_of(offer(3, 2), instance=LINE, game=TWO_KINDS)
    assert metric("invalid_walk", result) == 1
    assert metric("walked_from_more", result) == 0
    assert [turn.move for turn in metrics.turns(result)][-1] is None


def test_false_stated_holdings() -> None:
    cases = [
        ("Offer from Player 1: [0, 1]\nMy resulting holdings: [3, 2]\nThat is 16.", 1),
        ("My resulting holdings: [0, 1], worth 2.", 0),
        ("If I counter I would keep [3, 0]. Now I get [0, 1].", 0),
        ("I'd receive [3, 3].", 1),
        ("I would get all of it.", None),
        ("", None),
        ("holdings: [1, 2, 3]", None),
    ]
    for reasoning, value in cases:
        moves = [offer(0, 1), ACCEPT | {"reasoning": reasoning}]
        assert conduct("false_holdings_stated_player_2", *moves) == value
        assert conduct("false_holdings_stated_player_1", *moves) is None
    # section 6.4: offered [0, 0, 1, 0, 0], the model claims to hold [6, 5, 1, 4, 1]
    reasoning = "Offer from Player 1: [0, 0, 1, 0, 0]\nMy resulting holdings: [6, 5, 1, 4, 1]\n"
    assert metrics.stated_holdings(reasoning, 5) == [(6, 5, 1, 4, 1)]
    moves = [offer(0, 1), offer(1, 1) | {"reasoning": "My holdings: [3, 3]"}]
    assert conduct("false_holdings_stated_player_2", *moves) is None


MEANS = {
    "utilitarian_allocated": (806.08, 1341.6),
    "utilitarian": (844.49, 1399.5),
    "nash_allocated": (356.79, 634.2),
    "nash": (379.10, 663.7),
    "nash_plus": (80.7, 155.6),
    "acceptable": (0.616, 0.675),
}
"""Mean maxima of a million pools of BGS and of 150,000 of BGL, which normalise welfare; those
behind the BGS tables are 805.9, 378.7 and 81.7."""


def test_walk_row_and_mean_maxima() -> None:
    """Figure 1 and tables 4 and 5, rows of walk: UW 75.03 and NW 67.97 in BGS, UW 72.08 in BGL.

    For BGS the utilitarian maximum is over allocations only, the Nash one includes the outside
    options, and options from 0 to below the total fit best. No tested variant reproduces the NW of
    72.01 that is printed for BGL.
    """
    best_fit = PRESETS["BGS"] | {"least_outside": 0, "below_total": True}
    cases = [
        (PRESETS["BGS"], 20_000, 75.03, 67.97),
        (PRESETS["BGL"], 5_000, 72.1, 66.2),
        (best_fit, 20_000, 75.03, 67.97),
    ]
    for number, (parameters, size, utilitarian, nash) in enumerate(cases):
        drawn = sample(ItemBargaining.model_validate(parameters), size, np.random.default_rng(1))
        best = maxima(drawn)
        highest = best.utilitarian if number == 1 else best.utilitarian_allocated
        welfare, nash_welfare = drawn.outside.sum(axis=1), np.sqrt(drawn.outside.prod(axis=1))
        assert 100 * ratio_of_means(welfare, highest) == pytest.approx(utilitarian, abs=0.4)
        assert 100 * ratio_of_means(nash_welfare, best.nash) == pytest.approx(nash, abs=0.4)
        for name, means in MEANS.items() if parameters is not best_fit else ():
            values = getattr(best, name)
            error = 4.5 * values.std() / math.sqrt(size)
            assert values.mean() == pytest.approx(means[number], abs=error), name


def test_maxima_match_enumeration() -> None:
    game = ItemBargaining.model_validate({"quantities": {"kinds": 3, "mean": 2}})
    instances = [game.draw_instance(Chance(str(number))) for number in range(60)]
    best = maxima(Pools.of(instances))
    for number, instance in enumerate(instances):
        shares = product(*(range(count + 1) for count in instance.quantities))
        first, second = instance.values
        pairs = [
            (worth(bundle, first), worth(rest(instance.quantities, bundle), second))
            for bundle in shares
        ]
        totals = [max(pair[player] for pair in pairs) for player in (0, 1)]
        (min_1, min_2), ends = instance.outside, [*pairs, instance.outside]
        assert best.utilitarian_allocated[number] == max(map(sum, pairs))
        assert best.utilitarian[number] == max(map(sum, ends))
        assert best.nash_allocated[number] == pytest.approx(
            max(math.sqrt(math.prod(pair)) for pair in pairs)
        )
        assert best.nash[number] == pytest.approx(max(math.sqrt(math.prod(end)) for end in ends))
        assert best.nash_plus[number] == pytest.approx(
            max(math.sqrt(max(0, x - min_1) * max(0, y - min_2)) for x, y in pairs)
        )
        assert best.acceptable[number] == any(
            gain_1 >= min_1 and gain_2 >= min_2 for gain_1, gain_2 in pairs
        )
        distances = [
            math.dist((gain_1 / totals[0], gain_2 / totals[1]), (1, 1)) for gain_1, gain_2 in ends
        ]
        assert best.opposition[number] == pytest.approx(min(distances))


def test_samples_match_drawn_instances() -> None:
    for zeros in ("kept", "redrawn", "plus_one"):
        game = ItemBargaining.model_validate(
            {
                "quantities": {"kinds": 2, "mean": 1, "zeros": zeros},
                "highest_value": 5,
                "least_outside": 0,
                "below_total": True,
            }
        )
        drawn = sample(game, 4_000, np.random.default_rng(1))
        dealt = Pools.of([game.draw_instance(Chance(str(number))) for number in range(4_000)])
        for batch in (drawn, dealt):
            totals = np.einsum("npk,nk->np", batch.values, batch.quantities)
            assert (batch.quantities.sum(axis=1) >= 2).all()
            assert (batch.outside < totals).all()
            assert batch.outside.min() == 0
            assert batch.values.max() == 5
        for name in ("quantities", "values", "outside"):
            first, second = getattr(drawn, name), getattr(dealt, name)
            spread = first.std() / math.sqrt(first.size)
            assert first.mean() == pytest.approx(second.mean(), abs=6 * spread), name
