"""Item bargaining: rules and prompts."""

import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from cheaptalk.games.item_bargaining import rules
from cheaptalk.rules import Chance, IllegalAction, Table
from cheaptalk.styles import style
from tests.games.tables import table_after

POOL = rules.Pool(
    quantities=(7, 4, 1), values=((10, 20, 30), (5, 50, 5)), outside=(100, 60)
)  # worth 180 and 240 in total
ACCEPT = {"action": "ACCEPT"}
WALK = {"action": "WALK"}


def offer(*units: int) -> dict[str, Any]:
    return {"action": "COUNTEROFFER", "offer": units}


def replay(*moves: dict[str, Any], instance: rules.Pool = POOL, **parameters: Any) -> Table:
    return table_after(rules.ItemBargaining(**parameters), *moves, instance=instance)


def settlement(table: Table) -> rules.Settlement:
    assert isinstance(table.outcome, rules.Settlement)
    return table.outcome


def payoffs(table: Table) -> dict[str, float]:
    return table.game.payoffs(table.outcome)


# Play.


def test_players_take_turns_within_round() -> None:
    table = replay()
    assert table.request("player_1").event == rules.Opening(1, 3)
    table = replay(offer(1, 0, 0))
    assert table.request("player_2").event == rules.OfferMade(
        1, 3, "player_1", (1, 0, 0), (6, 4, 1), False
    )
    table = replay(offer(1, 0, 0), offer(0, 2, 1))
    assert table.request("player_1").event == rules.OfferMade(
        2, 3, "player_2", (0, 2, 1), (7, 2, 0), False
    )


def test_accepted_offer_divides_items() -> None:
    table = replay(offer(0, 4, 0), ACCEPT)
    bundles = ((7, 0, 1), (0, 4, 0))
    assert settlement(table) == rules.Settlement(
        ended="accept", round=1, by="player_2", bundles=bundles, worth=(100, 200)
    )
    assert payoffs(table) == {"player_1": 100, "player_2": 200}
    other = replay(offer(1, 0, 0), offer(7, 0, 1), ACCEPT)
    assert settlement(other).bundles == bundles
    assert (settlement(other).round, settlement(other).by) == (2, "player_1")
    assert payoffs(other) == pytest.approx({"player_1": 98, "player_2": 196})


def test_walking_away_pays_discounted_outside_options() -> None:
    table = replay(WALK)
    assert settlement(table) == rules.Settlement(
        ended="walk", round=1, by="player_1", worth=(100, 60)
    )
    assert payoffs(table) == {"player_1": 100, "player_2": 60}
    late = replay(offer(1, 0, 0), offer(1, 0, 0), offer(1, 0, 0), WALK, discount=0.9)
    assert (settlement(late).round, settlement(late).by) == (2, "player_2")
    assert payoffs(late) == pytest.approx({"player_1": 90, "player_2": 54})


def test_counteroffer_as_last_answer_ends_negotiation() -> None:
    table = replay(*[offer(1, 0, 0)] * 6, discount=0.98)
    assert settlement(table) == rules.Settlement(
        ended="rounds", round=3, by="player_2", worth=(100, 60)
    )
    assert payoffs(table) == pytest.approx({"player_1": 96.04, "player_2": 57.624})


def test_section_6_4_discounted_payoffs_of_round_3() -> None:
    """Section 6.4: 495 in round 3 at 0.98 is 475.40; the outside option of 201 is 193.04 there."""
    game = rules.ItemBargaining(discount=0.98)
    ended = rules.Settlement(ended="accept", round=3, by="player_1", worth=(495, 201))
    assert game.payoffs(ended) == pytest.approx({"player_1": 475.40, "player_2": 193.04}, abs=0.005)


def test_invalid_answer_counts_as_walking_away() -> None:
    cases: list[list[Any]] = [[], [offer(1, 0, 0)]]
    for moves in cases:
        table = replay(*moves)
        (ask,) = table.pending.values()
        table.forfeit(ask.actor)
        assert not table.forfeited
        assert settlement(table) == rules.Settlement(
            ended="invalid", round=1, by=ask.actor, worth=(100, 60)
        )
        assert table.given[-1].action is None


# Moves.


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
        with pytest.raises(IllegalAction, match=reason):
            table.answer(ask.actor, rules.Move.model_validate(wrong))


# Parameters.


def test_invalid_parameters_are_rejected() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"quantities": (1,)}, "there must be at least two items"),
        ({"quantities": ()}, "there must be at least two items"),
        ({"quantities": (99, 99, 99, 99)}, "divided in more than 1,000,000 ways"),
        ({"quantities": {"kinds": 10, "mean": 4}}, "divided in more than 1,000,000 ways"),
    ]
    for wrong, reason in cases:
        with pytest.raises(ValidationError, match=reason):
            rules.ItemBargaining.model_validate(wrong)
    with pytest.raises(ValidationError, match="one value of each player for each kind"):
        rules.Pool.model_validate(POOL.model_dump() | {"values": ((1, 2, 3), (1, 2))})


def test_defaults_are_bg5() -> None:
    assert rules.ItemBargaining() == rules.ItemBargaining.model_validate(rules.PRESETS["BG5"])


def test_presets_match_appendix_a() -> None:
    """Table 1 of the paper: class, discount and rounds of the six games."""
    games = {
        name: rules.ItemBargaining.model_validate(preset) for name, preset in rules.PRESETS.items()
    }
    large = rules.Drawn(kinds=5, mean=4, zeros="kept")
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


# Instances.


def hands(count: int = 400, **parameters: Any) -> list[tuple[int, int]]:
    """Return pairs of a player's outside option and the total worth of all items to it."""
    game = rules.ItemBargaining(**parameters)
    instances = [game.draw_instance(Chance(str(number))) for number in range(count)]
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
            size for n in range(1_000) for size in game.draw_instance(Chance(str(n))).quantities
        ]
        assert min(sizes) == least
        assert sum(sizes) / len(sizes) == pytest.approx(mean, abs=5 * 2 / math.sqrt(5_000))


@given(st.floats(0.5, 20), st.floats(0, 1, exclude_max=True))
def test_poisson_inverts_distribution_function(mean: float, place: float) -> None:
    def below(count: int) -> float:
        return sum(math.exp(-mean) * mean**k / math.factorial(k) for k in range(count))

    count = rules.poisson(mean, place)
    assert count == rules.MAX_COUNT or below(count) - 1e-12 <= place <= below(count + 1) + 1e-12


# Prompts.


@given(st.integers(0, 500))
def test_circle_5_bundle_is_always_feasible(seed: int) -> None:
    game = rules.ItemBargaining.model_validate(rules.PRESETS["BGL"])
    table = Table(game, game.draw_instance(Chance(str(seed))), "1")
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
    with pytest.raises(IllegalAction, match="the offer must have 3 numbers"):
        replay(offer())
