"""Item bargaining: rules, scripted strategies and best responses."""

import math
import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from pydantic import ValidationError

import cheaptalk as ct
from cheaptalk.games.item_bargaining import SPEC, best_response, rules, strategies
from cheaptalk.rules import Decide
from cheaptalk.styles import style
from tests.games.tables import table_after

POOL = rules.Pool(
    quantities=(7, 4, 1), values=((10, 20, 30), (5, 50, 5)), outside=(100, 60)
)  # worth 180 and 240 in total
ACCEPT = {"action": "ACCEPT"}
WALK = {"action": "WALK"}


def offer(*units: int) -> dict[str, Any]:
    return {"action": "COUNTEROFFER", "offer": units}


def replay(*moves: dict[str, Any], instance: rules.Pool = POOL, **parameters: Any) -> ct.Table:
    return table_after(rules.ItemBargaining(**parameters), *moves, instance=instance)


def test_players_take_turns_within_round() -> None:
    assert replay().request("player_1").event == rules.Opening(1, 3)
    event = replay(offer(1, 0, 0)).request("player_2").event
    assert event == rules.OfferMade(1, 3, "player_1", (1, 0, 0), (6, 4, 1), False)
    event = replay(offer(1, 0, 0), offer(0, 2, 1)).request("player_1").event
    assert event == rules.OfferMade(2, 3, "player_2", (0, 2, 1), (7, 2, 0), False)


def test_matches_end_by_acceptance_walking_away_or_the_last_round() -> None:
    single_book = offer(1, 0, 0)
    bundles = ((7, 0, 1), (0, 4, 0))
    outside = (100, 60)
    cases: list[tuple[list[Any], dict[str, Any], tuple[float, float]]] = [
        (
            [offer(0, 4, 0), ACCEPT],
            {"ended": "accept", "round": 1, "by": "player_2", "worth": (100, 200)},
            (100, 200),
        ),
        (
            [single_book, offer(7, 0, 1), ACCEPT],
            {"ended": "accept", "round": 2, "by": "player_1", "worth": (100, 200)},
            (98, 196),
        ),
        ([WALK], {"ended": "walk", "round": 1, "by": "player_1", "worth": outside}, outside),
        (
            [single_book, single_book, single_book, WALK],
            {"ended": "walk", "round": 2, "by": "player_2", "worth": outside},
            (98, 58.8),
        ),
        (
            [single_book] * 6,
            {"ended": "rounds", "round": 3, "by": "player_2", "worth": outside},
            (96.04, 57.624),
        ),
    ]
    for moves, fields, paid in cases:
        table = replay(*moves, discount=0.98)
        divided = {"bundles": bundles} if fields["ended"] == "accept" else {}
        assert table.outcome == rules.Settlement(**fields, **divided)
        assert tuple(table.game.payoffs(table.outcome).values()) == pytest.approx(paid)


def test_section_6_4_discounted_payoffs_of_round_3() -> None:
    """Section 6.4: 495 in round 3 at 0.98 is 475.40; the outside option of 201 is 193.04 there."""
    game = rules.ItemBargaining(discount=0.98)
    ended = rules.Settlement(ended="accept", round=3, by="player_1", worth=(495, 201))
    assert game.payoffs(ended) == pytest.approx({"player_1": 475.40, "player_2": 193.04}, abs=0.005)


def test_invalid_answer_counts_as_walking_away() -> None:
    for table, seat in ((replay(), "player_1"), (replay(offer(1, 0, 0)), "player_2")):
        table.forfeit(seat)
        assert not table.forfeited
        ended = rules.Settlement(ended="invalid", round=1, by=seat, worth=(100, 60))
        assert table.outcome == ended


def test_illegal_moves_are_rejected() -> None:
    cases: list[tuple[list[Any], dict[str, Any], str]] = [
        ([], ACCEPT, "there is no offer yet that could be accepted"),
        ([], offer(1, 0), "the offer must have 3 numbers, one for each kind of items"),
        ([offer(1, 0, 0)], offer(1, 0, 0, 0), "the offer must have 3 numbers"),
        ([], offer(7, 5, 1), "you offer 5 of kind 2, and there are only 4"),
        ([], offer(7, 4, 5), "you offer 5 of kind 3, and there is only 1"),
    ]
    for moves, wrong, reason in cases:
        table = replay(*moves)
        (ask,) = table.pending.values()
        with pytest.raises(ct.rules.IllegalAction, match=reason):
            table.answer(ask.actor, rules.Move.model_validate(wrong))


def test_values_must_be_complete() -> None:
    with pytest.raises(ValidationError, match="one value of each player for each kind"):
        rules.Pool.model_validate(POOL.model_dump() | {"values": ((1, 2, 3), (1, 2))})


def test_presets_match_appendix_a() -> None:
    """Table 1 of the paper: class, discount and rounds of the six games."""
    games = {
        name: rules.ItemBargaining.model_validate(preset) for name, preset in rules.PRESETS.items()
    }
    large = rules.Drawn(kinds=5, mean=4, zeros="kept")
    assert games["BG5"] == rules.ItemBargaining()
    assert {key: (game.quantities, game.discount, game.rounds) for key, game in games.items()} == {
        "BG1": (large, 0.9, 3),
        "BG2": (large, 0.98, 3),
        "BG3": (large, 0.98, 5),
        "BG4": ((7, 4, 1), 0.9, 3),
        "BG5": ((7, 4, 1), 0.98, 3),
        "BG6": ((7, 4, 1), 0.98, 5),
        "BGS": ((7, 4, 1), 0.98, 3),
        "BGL": (large, 0.98, 3),
    }


def hands(count: int = 400, **parameters: Any) -> list[tuple[int, int]]:
    """Return pairs of a player's outside option and the total worth of all items to it."""
    game = rules.ItemBargaining(**parameters)
    instances = [game.draw_instance(ct.Chance(str(number))) for number in range(count)]
    return [
        (outside, rules.worth(instance.quantities, values))
        for instance in instances
        for outside, values in zip(instance.outside, instance.values, strict=True)
    ]


def test_outside_options_have_configured_range() -> None:
    cases: list[tuple[dict[str, Any], int, int]] = [
        ({}, 1, 0),
        ({"below_total": True}, 1, -1),
        ({"least_outside": 0}, 0, 0),
        ({"least_outside": 0, "below_total": True}, 0, -1),
    ]
    for parameters, low, high in cases:
        pairs = hands(quantities=(1, 1), highest_value=2, **parameters)
        for total in (2, 3, 4):
            options = {outside for outside, everything in pairs if everything == total}
            assert options == set(range(low, total + high + 1))


def test_quantities_are_poisson_with_configured_zeros() -> None:
    cases = [("kept", 4.0, 0), ("redrawn", 4 / (1 - math.exp(-4)), 1), ("plus_one", 5.0, 1)]
    for zeros, mean, least in cases:
        game = rules.ItemBargaining.model_validate(
            {"quantities": {"kinds": 5, "mean": 4, "zeros": zeros}}
        )
        sizes = [
            size for n in range(1_000) for size in game.draw_instance(ct.Chance(str(n))).quantities
        ]
        assert min(sizes) == least
        assert sum(sizes) / len(sizes) == pytest.approx(mean, abs=5 * 2 / math.sqrt(5_000))


@given(st.floats(0.5, 20), st.floats(0, 1, exclude_max=True))
def test_poisson_inverts_distribution_function(mean: float, place: float) -> None:
    def below(count: int) -> float:
        return sum(math.exp(-mean) * mean**k / math.factorial(k) for k in range(count))

    count = rules.poisson(mean, place)
    assert count == rules.MAX_COUNT or below(count) - 1e-12 <= place <= below(count + 1) + 1e-12


@given(st.integers(0, 500))
def test_circle_5_bundle_is_always_feasible(seed: int) -> None:
    game = rules.ItemBargaining.model_validate(rules.PRESETS["BGL"])
    table = ct.Table(game, game.draw_instance(ct.Chance(str(seed))), "1")
    me: Any = table.heard["player_2"][0].event
    words = style("item_bargaining", "circle_5").tell(me, game, "player_2")
    (phrase,) = re.findall(r"keeping (.*?) and of", words)
    kept = tuple(int(units) for units in re.findall(r"(\d+) of kind", phrase))
    kept = kept or (0,) * len(me.quantities)
    assert rules.worth(kept, me.values) < me.outside
    assert all(units <= count for units, count in zip(kept, me.quantities, strict=True))


def test_empty_offer_field_is_ignored() -> None:
    for action in ("ACCEPT", "WALK"):
        for idle in ("[]", "null"):
            written = f'{{"action": "{action}", "offer": {idle}}}'
            assert rules.Move.model_validate_json(written).offer is None
        with pytest.raises(ValidationError, match="goes with COUNTEROFFER only"):
            rules.Move.model_validate({"action": action, "offer": [0, 0, 0]})
    with pytest.raises(ValidationError, match='a counteroffer needs an "offer"'):
        rules.Move.model_validate({"action": "COUNTEROFFER"})
    with pytest.raises(ct.rules.IllegalAction, match="the offer must have 3 numbers"):
        replay(offer())


S = SPEC.strategies


def new_request(*moves: dict[str, Any], **settings: Any) -> ct.DecisionRequest:
    table = replay(*moves, **settings)
    (ask,) = table.pending.values()
    return table.request(ask.actor)


def test_soft_opens_with_uniformly_drawn_bundle() -> None:
    game = rules.ItemBargaining(quantities=(2, 1))
    tables = [
        ct.Table(game, game.draw_instance(ct.Chance("1")), str(seed)) for seed in range(1_200)
    ]
    bundles = [S["soft"](table.request("player_1")) for table in tables]
    counts = {
        bundle: bundles.count(strategies.give(bundle)) for bundle in product(range(3), range(2))
    }
    assert sum(counts.values()) == 1_200
    assert all(140 < count < 260 for count in counts.values())


def test_tough_offers_one_least_valued_item() -> None:
    empty = POOL.model_copy(update={"quantities": (0, 4, 1), "values": ((1, 9, 9), (1, 9, 5))})
    other = POOL.model_copy(update={"values": ((9, 1, 9), (1, 9, 5))})
    assert S["tough"](new_request()) == strategies.give((1, 0, 0))
    assert S["tough"](new_request(*[offer(1, 0, 0)] * 5)) == strategies.give((1, 0, 0))
    for moves, expected in (([], (0, 1, 0)), ([offer(0, 1, 0)], (0, 0, 1))):
        request = new_request(*moves, instance=empty, quantities=(0, 4, 1))
        assert S["tough"](request) == strategies.give(expected)
    assert S["tough"](new_request(instance=other)) == strategies.give((0, 1, 0))
    assert S["tough"](new_request(instance=other), item="first") == strategies.give((1, 0, 0))


def test_targets_of_appendix_l() -> None:
    """The outside option is 200, the total 600; calculated by hand from the formulas."""
    cases = [
        (0.9, 3, [251.0, 208.11, 200]),
        (0.98, 3, [336, 327.5, 200]),
        (0.98, 5, [336, 335.47, 327.5, 292.97, 200]),
    ]
    for discount, rounds, expected in cases:
        shares = [strategies.aspired(discount, rounds, number) for number in range(1, rounds + 1)]
        targets = [200 + share * 0.85 * (600 - 200) for share in shares]
        assert targets == pytest.approx(expected, abs=0.005)


def test_aspiration_increases_with_discount() -> None:
    families: tuple[strategies.Family, ...] = ("polynomial", "exponential")
    for discount, first in ((0.92, 0.15), (0.93, 0.25), (0.96, 0.25), (0.97, 0.4)):
        for family in families:
            assert strategies.aspired(discount, 5, 1, family) == pytest.approx(first)
            assert strategies.aspired(discount, 5, 5, family) == 0
            assert strategies.aspired(discount, 1, 1, family) == 0


def test_exponential_schedule() -> None:
    """s * (e ** ((1 - 1/2) ** p) - 1) / (e - 1), halfway: p is 4, 0.725 and 0.125."""
    shares = [strategies.aspired(discount, 3, 2, "exponential") for discount in (0.9, 0.95, 0.98)]
    powers = [(0.15, 0.5**4), (0.25, 0.5**0.725), (0.4, 0.5**0.125)]
    assert shares == pytest.approx([s * math.expm1(power) / math.expm1(1) for s, power in powers])


def bundles(quantities: rules.Bundle) -> list[rules.Bundle]:
    return list(product(*(range(count + 1) for count in quantities)))


pools = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 9)), min_size=1, max_size=4)


@given(pools, st.floats(0, 1.1), st.randoms(use_true_random=False))
@example([(2, 1), (2, 9)], 0.97, None)  # only the kinds that the reference has can be given up
def test_search_finds_nearest_and_closest_bundle(
    kinds: list[tuple[int, int]], share: float, chance: Any
) -> None:
    quantities, values = (tuple(column) for column in zip(*kinds, strict=True))
    assume(sum(quantities) >= 2)
    target = share * rules.worth(quantities, values)
    legal = [bundle for bundle in bundles(quantities) if bundle != quantities]
    enough = [bundle for bundle in legal if rules.worth(bundle, values) >= target]
    reference = quantities if chance is None else chance.choice(bundles(quantities))

    def order(bundle: rules.Bundle) -> tuple[int, int]:
        moved = sum(abs(units - other) for units, other in zip(bundle, reference, strict=True))
        return moved, rules.worth(bundle, values)

    near, close = (
        strategies.nearest(quantities, values, reference, target),
        strategies.closest(quantities, values, target),
    )
    if not enough:
        assert near is close is None
        return
    assert near in enough
    assert close in enough
    assert order(near) == min(map(order, enough))
    assert rules.worth(close, values) == min(rules.worth(bundle, values) for bundle in enough)


def test_aspire_accepts_and_demands_its_target() -> None:
    """Player 1 leads by a round: in round 1 of BG5 its target is that of round 2, here
    100 + 0.4 * 0.85 * 80 * (1 - 0.5 ** 4) - 0.05 = 125.45, and (6, 2, 1) is rules.worth 130 to it.
    Player 2's target in round 1 is 60 + 0.34 * 180 = 121.2, less the slack of 0.05 points or
    5 %; in round 3 it is its outside option of 60."""
    late = [offer(1, 0, 0)] * 4
    poor = POOL.model_copy(update={"outside": (180, 240)})
    cases: list[tuple[ct.DecisionRequest, dict[str, Any], rules.Move | None]] = [
        (new_request(), {}, strategies.give((1, 2, 0))),
        (new_request(offer(4, 2, 0)), {}, None),  # rules.worth 120
        (new_request(offer(4, 2, 1)), {}, strategies.ACCEPT),  # 125
        (new_request(*late, offer(1, 1, 0)), {}, None),  # 55
        (new_request(*late, offer(2, 1, 0)), {}, strategies.ACCEPT),  # 60
        # offered (2, 1, 1) of (7, 4, 1), the rival would keep (5, 3, 0), which is rules.worth 175
        (new_request(offer(2, 1, 1)), {}, strategies.give((2, 1, 1))),
        (new_request(offer(2, 1, 1)), {"mirror": "offer"}, strategies.give((5, 1, 0))),
        (new_request(offer(4, 2, 0)), {"slack_in": "share"}, strategies.ACCEPT),
        (new_request(offer(3, 2, 0)), {"slack_in": "share"}, None),  # 115
        (new_request(*late, offer(0, 1, 1)), {"slack": 0.2, "slack_in": "share"}, None),  # 55
        (new_request(offer(2, 1, 0)), {"ceiling": 0}, strategies.ACCEPT),
        (new_request(instance=poor), {}, strategies.WALK),
        (new_request(offer(7, 4, 0), instance=poor), {}, strategies.WALK),
        (new_request(offer(7, 4, 1), instance=poor), {}, strategies.ACCEPT),
    ]
    for request, settings, expected in cases:
        action = S["aspire"](request, **settings)
        assert action == expected if expected else action != strategies.ACCEPT


SMALL: dict[str, Any] = {"quantities": (2, 1), "highest_value": 3, "rounds": 2, "discount": 0.9}
GAME = rules.ItemBargaining(**SMALL)


def hands_of(seat: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield all possible hands of a player in the small game."""
    for values in product(range(1, 4), repeat=2):
        for outside in range(1, rules.worth((2, 1), values) + 1):
            yield values, outside


def mean_payoff(me: Decide, rival: Decide, seat: int, hand: tuple[tuple[int, ...], int]) -> float:
    """Return the exact mean payoff of a seat with this hand over all hands of its rival."""
    total = 0.0
    for values, outside in hands_of(1 - seat):
        both = [hand, (values, outside)] if seat == 0 else [(values, outside), hand]
        instance = rules.Pool(
            quantities=(2, 1), values=(both[0][0], both[1][0]), outside=(both[0][1], both[1][1])
        )
        players = {f"player_{seat + 1}": me, f"player_{2 - seat}": rival}
        table = ct.play(GAME, instance, "1", players)
        chance = 1 / 9 / rules.worth((2, 1), values)
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
                    instance = rules.Pool(
                        quantities=(2, 1), values=(hand[0], (1, 1)), outside=(hand[1], 1)
                    )
                    me = ct.Table(GAME, instance, "1").request("player_1").briefing
                    responder = best_response.Responder(
                        me, S[rival], best_response.possible_hands(me, me.quantities)
                    )
                    plan = responder.plan(1, None, responder.consistent([]))
                    assert best == pytest.approx(plan.value)
                others: list[Decide] = [
                    S[name] for name in ("aspire", "tough", "soft", "walk", "random")
                ]
                others.append(S["aspire"].with_settings(mirror="offer"))
                for other in others:
                    assert best >= mean_payoff(other, S[rival], seat, hand) - 1e-9


def test_best_response_to_soft_asks_for_everything_or_takes_better_final_option() -> None:
    for request, move in (
        (new_request(), strategies.give((0, 0, 0))),
        (new_request(offer(3, 3, 1)), strategies.give((0, 0, 0))),
        (new_request(offer(0, 2, 0), rounds=1), strategies.ACCEPT),
        (new_request(offer(0, 1, 0), rounds=1), strategies.WALK),
    ):
        assert S["best_response"](request, rival="soft") == move


def test_offers_of_rival_reveal_its_hand() -> None:
    request = new_request(offer(1, 0, 0), offer(0, 1, 0), offer(2, 0, 1), instance=POOL)
    seen = list(best_response.offers_seen([*request.heard, ct.rules.Moment(request.event)]))
    assert seen == [(1, None, (1, 0, 0)), (2, (0, 1, 0), (2, 0, 1))]
    me = request.briefing
    responder = best_response.Responder(
        me,
        S["tough"],
        [best_response.Hand((1, 2, 3), 1, 0.5), best_response.Hand((3, 2, 1), 1, 0.5)],
    )
    assert responder.consistent([(1, None, (1, 0, 0))]) == (0,)
    assert responder.consistent([(1, None, (0, 1, 0))]) == (0, 1)  # tough never offers that


def test_hands_are_enumerated_only_in_small_pools() -> None:
    table = ct.Table(GAME, GAME.draw_instance(ct.Chance("1")), "1")
    me = table.request("player_1").briefing
    all_hands = list(best_response.possible_hands(me, me.quantities))
    assert list(best_response.candidate_hands(me, 5, ct.Chance("1")("hands"))) == all_hands
    assert sum(hand.weight for hand in all_hands) == pytest.approx(1)
    assert {(hand.values, hand.outside) for hand in all_hands} == set(hands_of(1))
    large = new_request().briefing
    sampled = list(best_response.candidate_hands(large, 5, ct.Chance("1")("hands")))
    assert len(sampled) == 5
    assert all(1 <= hand.outside <= rules.worth((7, 4, 1), hand.values) for hand in sampled)
