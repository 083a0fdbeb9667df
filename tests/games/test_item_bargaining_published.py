"""Numbers of the paper on item bargaining that can be recomputed, by table."""

import math
from itertools import product

import numpy as np
import pytest

from cheaptalk.games.item_bargaining import BOX
from cheaptalk.games.item_bargaining.maxima import Maxima, Pools, maxima, ratio_of_means, sample
from cheaptalk.games.item_bargaining.pools import rest, worth
from cheaptalk.games.item_bargaining.rules import PRESETS, ItemBargaining
from cheaptalk.games.item_bargaining.theory import EXTREMES, extreme_payoffs, walked
from cheaptalk.rules import Chance, play

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
    for measure, (mean, error) in MEANS[name].items():
        found = getattr(best, measure)
        spread = found.std() / math.sqrt(len(drawn))
        assert found.mean() == pytest.approx(mean, abs=4 * math.hypot(spread, error)), measure


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
        deal = game.deal(Chance(f"{one}/{number}"))
        for place in ("player_1", "player_2"):
            players = {"player": BOX.strategies[other], place: BOX.strategies[one]}
            table = play(game, deal, str(number), players)
            gains.append(table.game.payoffs(table.outcome)[place])
    error = float(np.std(gains)) / math.sqrt(250)  # the two matches on one deal are not independent
    assert np.mean(gains) == pytest.approx(extreme_payoffs(game)[one, other], abs=4 * error)


def test_the_closed_form_is_for_given_quantities() -> None:
    with pytest.raises(ValueError, match="not for drawn ones"):
        extreme_payoffs(ItemBargaining.model_validate(PRESETS["BGL"]))


def test_kinds_without_items_are_no_kinds_in_the_closed_form() -> None:
    with_none = extreme_payoffs(ItemBargaining(quantities=(7, 0, 4, 1)))
    assert with_none == pytest.approx(extreme_payoffs(ItemBargaining()))


@pytest.mark.parametrize("place", ["player_1", "player_2"])
@pytest.mark.parametrize("rival", ["aspire", "tough", "random"])
def test_a_match_with_walk_is_known_without_playing_it(place: str, rival: str) -> None:
    game = ItemBargaining(rounds=2)
    deal = game.deal(Chance("1"))
    walker = BOX.strategies["walk"]
    seed = next(
        str(number) for number in range(100)  # a random rival may walk away or accept itself
        if play(game, deal, str(number), {"player": BOX.strategies[rival], place: walker}).requests
        == (2 if place == "player_2" else 1)
    )  # fmt: skip
    table = play(game, deal, seed, {"player": BOX.strategies[rival], place: walker})
    assert table.outcome == walked(deal, place)


def test_maxima_are_those_of_every_allocation() -> None:
    """Against a plain search, pool by pool."""
    game = ItemBargaining.model_validate({"quantities": {"kinds": 3, "mean": 2}})
    deals = [game.deal(Chance(str(number))) for number in range(60)]
    best = maxima(Pools.of(deals))
    for number, deal in enumerate(deals):
        shares = product(*(range(count + 1) for count in deal.quantities))
        pairs = [
            (worth(one, deal.values[0]), worth(rest(deal.quantities, one), deal.values[1]))
            for one in shares
        ]
        totals = [max(pair[player] for pair in pairs) for player in (0, 1)]
        (one, other), ends = deal.outside, [*pairs, deal.outside]
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
def test_samples_are_drawn_as_the_game_deals(zeros: str) -> None:
    game = ItemBargaining.model_validate(
        {"quantities": {"kinds": 2, "mean": 1, "zeros": zeros}, "highest_value": 5,
         "least_outside": 0, "below_total": True}
    )  # fmt: skip
    drawn = sample(game, 4_000, np.random.default_rng(1))
    dealt = Pools.of([game.deal(Chance(str(number))) for number in range(4_000)])
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
