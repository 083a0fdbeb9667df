"""Scripted strategies of item bargaining."""

from collections.abc import Iterator
from itertools import product
from math import e
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from cheaptalk.games.item_bargaining import SPEC
from cheaptalk.games.item_bargaining.best_response import (
    Hand,
    Responder,
    candidate_hands,
    offers_seen,
    rival_hands,
)
from cheaptalk.games.item_bargaining.rules import Bundle, ItemBargaining, Move, Pool, worth
from cheaptalk.games.item_bargaining.strategies import ACCEPT, WALK, aspired, closest, give, nearest
from cheaptalk.rules import Chance, Decide, DecisionRequest, Moment, Table, play
from tests.games.tables import table_after

POOL = Pool(
    quantities=(7, 4, 1), values=((10, 20, 30), (5, 50, 5)), outside=(100, 60)
)  # worth 180 and 240 in total
S = SPEC.strategies


def offer(*units: int) -> dict[str, Any]:
    return {"action": "COUNTEROFFER", "offer": units}


def new_request(
    *moves: dict[str, Any], instance: Pool = POOL, **parameters: Any
) -> DecisionRequest:
    table = table_after(ItemBargaining(**parameters), *moves, instance=instance)
    (ask,) = table.pending.values()
    return table.request(ask.actor)


# Extreme strategies.


def test_soft_opens_with_uniformly_drawn_bundle() -> None:
    game = ItemBargaining(quantities=(2, 1))
    tables = [Table(game, game.draw_instance(Chance("1")), str(seed)) for seed in range(1_200)]
    bundles = [S["soft"](table.request("player_1")) for table in tables]
    counts = {bundle: bundles.count(give(bundle)) for bundle in product(range(3), range(2))}
    assert sum(counts.values()) == 1_200
    assert all(140 < count < 260 for count in counts.values())


def test_tough_offers_one_least_valued_item() -> None:
    empty = POOL.model_copy(update={"quantities": (0, 4, 1), "values": ((1, 9, 9), (1, 9, 5))})
    other = POOL.model_copy(update={"values": ((9, 1, 9), (1, 9, 5))})
    assert S["tough"](new_request()) == give((1, 0, 0))
    assert S["tough"](new_request(*[offer(1, 0, 0)] * 5)) == give((1, 0, 0))
    for moves, expected in (([], (0, 1, 0)), ([offer(0, 1, 0)], (0, 0, 1))):
        request = new_request(*moves, instance=empty, quantities=(0, 4, 1))
        assert S["tough"](request) == give(expected)
    assert S["tough"](new_request(instance=other)) == give((0, 1, 0))
    assert S["tough"](new_request(instance=other), item="first") == give((1, 0, 0))


# Aspiration (appendix L).


def test_targets_of_appendix_l() -> None:
    """The outside option is 200, the total 600; calculated by hand from the formulas."""
    cases = [
        (0.9, 3, [251.0, 208.11, 200]),
        (0.98, 3, [336, 327.5, 200]),
        (0.98, 5, [336, 335.47, 327.5, 292.97, 200]),
    ]
    for discount, rounds, expected in cases:
        shares = [aspired(discount, rounds, number) for number in range(1, rounds + 1)]
        targets = [200 + share * 0.85 * (600 - 200) for share in shares]
        assert targets == pytest.approx(expected, abs=0.005)


def test_aspiration_increases_with_discount() -> None:
    for discount, first in ((0.92, 0.15), (0.93, 0.25), (0.96, 0.25), (0.97, 0.4)):
        cases: list[Any] = ["polynomial", "exponential"]
        for family in cases:
            assert aspired(discount, 5, 1, family) == pytest.approx(first)
            assert aspired(discount, 5, 5, family) == 0
            assert aspired(discount, 1, 1, family) == 0


def test_exponential_schedule() -> None:
    """s * (e ** ((1 - 1/2) ** p) - 1) / (e - 1), halfway: p is 4, 0.725 and 0.125."""
    shares = [aspired(discount, 3, 2, "exponential") for discount in (0.9, 0.95, 0.98)]
    powers = [(0.15, 0.5**4), (0.25, 0.5**0.725), (0.4, 0.5**0.125)]
    assert shares == pytest.approx([s * (e**power - 1) / (e - 1) for s, power in powers])


def bundles(quantities: Bundle) -> list[Bundle]:
    return list(product(*(range(count + 1) for count in quantities)))


pools = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 9)), min_size=1, max_size=4)


@given(pools, st.floats(0, 1.1), st.randoms(use_true_random=False))
@example([(2, 1), (2, 9)], 0.97, None)  # only the kinds that the reference has can be given up
def test_search_finds_nearest_and_closest_bundle(
    kinds: list[tuple[int, int]], share: float, chance: Any
) -> None:
    quantities, values = (tuple(column) for column in zip(*kinds, strict=True))
    assume(sum(quantities) >= 2)
    target = share * worth(quantities, values)
    legal = [bundle for bundle in bundles(quantities) if bundle != quantities]
    enough = [bundle for bundle in legal if worth(bundle, values) >= target]
    reference = quantities if chance is None else chance.choice(bundles(quantities))

    def order(bundle: Bundle) -> tuple[int, int]:
        moved = sum(abs(units - other) for units, other in zip(bundle, reference, strict=True))
        return moved, worth(bundle, values)

    near, close = (
        nearest(quantities, values, reference, target),
        closest(quantities, values, target),
    )
    if not enough:
        assert near is close is None
        return
    assert near in enough
    assert close in enough
    assert order(near) == min(map(order, enough))
    assert worth(close, values) == min(worth(bundle, values) for bundle in enough)


def test_aspire_accepts_and_demands_its_target() -> None:
    """Player 1 leads by a round: in round 1 of BG5 its target is that of round 2, here
    100 + 0.4 * 0.85 * 80 * (1 - 0.5 ** 4) - 0.05 = 125.45, and (6, 2, 1) is worth 130 to it.
    Player 2's target in round 1 is 60 + 0.34 * 180 = 121.2, less the slack of 0.05 points or
    5 %; in round 3 it is its outside option of 60."""
    late = [offer(1, 0, 0)] * 4
    poor = POOL.model_copy(update={"outside": (180, 240)})
    cases: list[tuple[DecisionRequest, dict[str, Any], Move | None]] = [
        (new_request(), {}, give((1, 2, 0))),
        (new_request(offer(4, 2, 0)), {}, None),  # worth 120
        (new_request(offer(4, 2, 1)), {}, ACCEPT),  # 125
        (new_request(*late, offer(1, 1, 0)), {}, None),  # 55
        (new_request(*late, offer(2, 1, 0)), {}, ACCEPT),  # 60
        # offered (2, 1, 1) of (7, 4, 1), the rival would keep (5, 3, 0), which is worth 175
        (new_request(offer(2, 1, 1)), {}, give((2, 1, 1))),
        (new_request(offer(2, 1, 1)), {"mirror": "offer"}, give((5, 1, 0))),
        (new_request(offer(4, 2, 0)), {"slack_in": "share"}, ACCEPT),
        (new_request(offer(3, 2, 0)), {"slack_in": "share"}, None),  # 115
        (new_request(*late, offer(0, 1, 1)), {"slack": 0.2, "slack_in": "share"}, None),  # 55
        (new_request(offer(2, 1, 0)), {"ceiling": 0}, ACCEPT),
        (new_request(instance=poor), {}, WALK),
        (new_request(offer(7, 4, 0), instance=poor), {}, WALK),
        (new_request(offer(7, 4, 1), instance=poor), {}, ACCEPT),
    ]
    for request, settings, expected in cases:
        action = S["aspire"](request, **settings)
        assert action == expected if expected else action != ACCEPT


# Best response.


SMALL: dict[str, Any] = {"quantities": (2, 1), "highest_value": 3, "rounds": 2, "discount": 0.9}
GAME = ItemBargaining(**SMALL)


def hands_of(seat: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield all possible hands of a player in the small game."""
    for values in product(range(1, 4), repeat=2):
        for outside in range(1, worth((2, 1), values) + 1):
            yield values, outside


def mean_payoff(me: Decide, rival: Decide, seat: int, hand: tuple[tuple[int, ...], int]) -> float:
    """Return the exact mean payoff of a seat with this hand over all hands of its rival."""
    total = 0.0
    for values, outside in hands_of(1 - seat):
        both = [hand, (values, outside)] if seat == 0 else [(values, outside), hand]
        instance = Pool(
            quantities=(2, 1), values=(both[0][0], both[1][0]), outside=(both[0][1], both[1][1])
        )
        players = {f"player_{seat + 1}": me, f"player_{2 - seat}": rival}
        table = play(GAME, instance, "1", players)
        chance = 1 / 9 / worth((2, 1), values)
        total += chance * table.game.payoffs(table.outcome)[f"player_{seat + 1}"]
    return total


HANDS = [((1, 3), 2), ((3, 1), 6)]


def test_no_strategy_beats_best_response() -> None:
    for hand in HANDS:
        for rival in ("aspire", "tough", "walk"):
            for seat in (0, 1):
                respond = S["best_response"].with_settings(rival=rival)
                best = mean_payoff(respond, S[rival], seat, hand)
                if seat == 0:
                    instance = Pool(
                        quantities=(2, 1), values=(hand[0], (1, 1)), outside=(hand[1], 1)
                    )
                    me = Table(GAME, instance, "1").request("player_1").briefing
                    responder = Responder(me, S[rival], rival_hands(me))
                    plan = responder.plan(1, None, range(len(responder.hands)))
                    assert best == pytest.approx(plan.value)
                others: list[Decide] = [
                    S[name] for name in ("aspire", "tough", "soft", "walk", "random")
                ]
                others.append(S["aspire"].with_settings(mirror="offer"))
                for other in others:
                    assert best >= mean_payoff(other, S[rival], seat, hand) - 1e-9


def test_best_response_to_soft_asks_for_everything_or_takes_better_final_option() -> None:
    for request, move in (
        (new_request(), give((0, 0, 0))),
        (new_request(offer(3, 3, 1)), give((0, 0, 0))),
        (new_request(offer(0, 2, 0), rounds=1), ACCEPT),
        (new_request(offer(0, 1, 0), rounds=1), WALK),
    ):
        assert S["best_response"](request, rival="soft") == move


def test_offers_of_rival_reveal_its_hand() -> None:
    request = new_request(offer(1, 0, 0), offer(0, 1, 0), offer(2, 0, 1), instance=POOL)
    seen = list(offers_seen([*request.heard, Moment(request.event)]))
    assert seen == [(1, None, (1, 0, 0)), (2, (0, 1, 0), (2, 0, 1))]
    me = request.briefing
    responder = Responder(me, S["tough"], [Hand((1, 2, 3), 1, 0.5), Hand((3, 2, 1), 1, 0.5)])
    assert responder.consistent([(1, None, (1, 0, 0))]) == [0]
    assert responder.consistent([(1, None, (0, 1, 0))]) == [0, 1]  # tough never offers that


def test_hands_are_enumerated_only_in_small_pools() -> None:
    table = Table(GAME, GAME.draw_instance(Chance("1")), "1")
    me = table.request("player_1").briefing
    all_hands = list(rival_hands(me))
    assert list(candidate_hands(me, 5, Chance("1")("hands"))) == all_hands
    assert sum(hand.weight for hand in all_hands) == pytest.approx(1)
    assert {(hand.values, hand.outside) for hand in all_hands} == set(hands_of(1))
    large = new_request().briefing
    sampled = list(candidate_hands(large, 5, Chance("1")("hands")))
    assert len(sampled) == 5
    assert all(1 <= hand.outside <= worth((7, 4, 1), hand.values) for hand in sampled)
