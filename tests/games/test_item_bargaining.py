"""The rules of item bargaining, and their words."""

import json
import math
import re
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from cheaptalk.games.item_bargaining import SPEC
from cheaptalk.games.item_bargaining.events import (
    THOUGHTS,
    Agreed,
    Move,
    NotAgreed,
    OfferMade,
    Opening,
    Pool,
    Settlement,
)
from cheaptalk.games.item_bargaining.pools import (
    MAX_COUNT,
    MAX_DIVISIONS,
    Drawn,
    no_pool,
    poisson,
    worth,
)
from cheaptalk.games.item_bargaining.rules import PRESETS, ItemBargaining
from cheaptalk.rules import Ask, Chance, IllegalAction, Table
from cheaptalk.styles import IllegalMove, style
from tests.games.tables import events, reads, table_after, versions

POOL = Pool(
    quantities=(7, 4, 1), values=((10, 20, 30), (5, 50, 5)), outside=(100, 60)
)  # worth 180 and 240 in all
ACCEPT = {"action": "ACCEPT"}
WALK = {"action": "WALK"}


def offer(*units: int) -> dict[str, Any]:
    return {"action": "COUNTEROFFER", "offer": units}


def after(*moves: dict[str, Any], instance: Pool = POOL, **parameters: Any) -> Table:
    return table_after(ItemBargaining(**parameters), *moves, instance=instance)


def end(table: Table) -> Settlement:
    assert isinstance(table.outcome, Settlement)
    return table.outcome


def payoffs(table: Table) -> dict[str, float]:
    return table.game.payoffs(table.outcome)


# Play.


def test_player_1_opens_and_the_two_take_turns_within_a_round() -> None:
    table = after()
    assert table.request("player_1").event == Opening(1, 3)
    table = after(offer(1, 0, 0))
    assert table.request("player_2").event == OfferMade(
        1, 3, "player_1", (1, 0, 0), (6, 4, 1), False
    )
    table = after(offer(1, 0, 0), offer(0, 2, 1))
    assert table.request("player_1").event == OfferMade(
        2, 3, "player_2", (0, 2, 1), (7, 2, 0), False
    )


def test_an_accepted_offer_gives_its_bundle_to_who_accepts_and_the_rest_to_who_made_it() -> None:
    table = after(offer(0, 4, 0), ACCEPT)
    bundles = ((7, 0, 1), (0, 4, 0))
    assert end(table) == Settlement(
        ended="accept", round=1, by="player_2", bundles=bundles, worth=(100, 200)
    )
    assert payoffs(table) == {"player_1": 100, "player_2": 200}
    other = after(offer(1, 0, 0), offer(7, 0, 1), ACCEPT)
    assert end(other).bundles == bundles
    assert (end(other).round, end(other).by) == (2, "player_1")
    assert payoffs(other) == pytest.approx({"player_1": 98, "player_2": 196})


def test_walking_away_pays_the_outside_options_discounted() -> None:
    table = after(WALK)
    assert end(table) == Settlement(ended="walk", round=1, by="player_1", worth=(100, 60))
    assert payoffs(table) == {"player_1": 100, "player_2": 60}
    late = after(offer(1, 0, 0), offer(1, 0, 0), offer(1, 0, 0), WALK, discount=0.9)
    assert (end(late).round, end(late).by) == (2, "player_2")
    assert payoffs(late) == pytest.approx({"player_1": 90, "player_2": 54})


def test_one_more_offer_as_the_last_answer_of_the_last_round_is_too_late() -> None:
    table = after(*[offer(1, 0, 0)] * 6, discount=0.98)
    assert end(table) == Settlement(ended="rounds", round=3, by="player_2", worth=(100, 60))
    assert payoffs(table) == pytest.approx({"player_1": 96.04, "player_2": 57.624})


def test_only_the_last_answer_is_said_to_be_the_last() -> None:
    table = after(*[offer(1, 0, 0)] * 3, rounds=2)
    assert table.request("player_2").event == OfferMade(
        2, 2, "player_1", (1, 0, 0), (6, 4, 1), True
    )
    heard = [one for one in events(table, "player_1") if isinstance(one, OfferMade)]
    assert [one.last for one in heard] == [False]


def test_a_instance_and_an_outside_option_of_round_3_as_in_section_6_4() -> None:
    """Section 6.4: 495 in round 3 at 0.98 is 475.40; the outside option of 201 is 193.04 there."""
    game = ItemBargaining(discount=0.98)
    ended = Settlement(ended="accept", round=3, by="player_1", worth=(495, 201))
    assert game.payoffs(ended) == pytest.approx({"player_1": 475.40, "player_2": 193.04}, abs=0.005)


@pytest.mark.parametrize("moves", [[], [offer(1, 0, 0)]])
def test_an_invalid_answer_is_walking_away_and_said_to_be_invalid(moves: list[Any]) -> None:
    table = after(*moves)
    (ask,) = table.pending.values()
    table.forfeit(ask.actor)
    assert not table.forfeited
    assert end(table) == Settlement(ended="invalid", round=1, by=ask.actor, worth=(100, 60))
    assert table.given[-1].action is None


def test_a_model_is_asked_once() -> None:
    assert ItemBargaining.tries == 1


def test_at_the_end_each_hears_its_own_payoff_only() -> None:
    table = after(offer(0, 4, 0), ACCEPT)
    assert events(table, "player_1")[-1] == Agreed(1, "player_2", (7, 0, 1), 100)
    assert events(table, "player_2")[-1] == Agreed(1, "player_2", (0, 4, 0), 200)
    table = after(offer(0, 4, 0), WALK)
    assert events(table, "player_1")[-1] == NotAgreed(1, "player_2", "walk", 100)
    assert events(table, "player_2")[-1] == NotAgreed(1, "player_2", "walk", 60)


# Moves.


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"action": "COUNTEROFFER"}, 'a counteroffer needs an "offer"'),
        ({"action": "WALK", "offer": [1, 1, 1]}, "goes with COUNTEROFFER only, not with WALK"),
        ({"action": "ACCEPT", "offer": [1, 1, 1]}, "goes with COUNTEROFFER only"),
        (offer(1, -1, 0), "greater than or equal to 0"),
        ({"action": "COUNTEROFFER", "offer": [1, 1.5, 0]}, "integer"),
        ({"action": "COUNTEROFFER", "offer": [1, True, 0]}, "integer"),
        ({"action": "COUNTEROFFER", "offer": [1, "one", 0]}, "integer"),
        ({"action": "accept"}, "'ACCEPT', 'WALK' or 'COUNTEROFFER'"),
        ({"action": "WALK", "reasoning": "x" * (THOUGHTS + 1)}, "at most 20000 characters"),
    ],
)
def test_moves_must_fit_together(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(reason)):
        Move.model_validate(fields)


def test_whole_numbers_may_be_written_as_text() -> None:
    assert Move.model_validate(offer(1) | {"offer": ["1", " 2 "]}).offer == (1, 2)


@pytest.mark.parametrize(
    ("moves", "wrong", "reason"),
    [
        ([], ACCEPT, "there is no offer yet that could be accepted"),
        ([], offer(1, 0), "the offer must have 3 numbers, one for each kind of items"),
        ([offer(1, 0, 0)], offer(1, 0, 0, 0), "the offer must have 3 numbers"),
        ([], offer(7, 5, 1), "you offer 5 of kind 2, and there are only 4"),
        ([], offer(7, 4, 5), "you offer 5 of kind 3, and there is only 1"),
    ],
)
def test_illegal_moves_are_refused(moves: list[Any], wrong: dict[str, Any], reason: str) -> None:
    table = after(*moves)
    (ask,) = table.pending.values()
    with pytest.raises(IllegalAction, match=reason):
        table.answer(ask.actor, Move.model_validate(wrong))


@pytest.mark.parametrize("units", [(0, 0, 0), (7, 4, 1)])
def test_nothing_and_everything_may_be_offered(units: tuple[int, ...]) -> None:
    assert after(offer(*units)).request("player_2").event.offer == units


# Parameters.


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"quantities": (1,)}, "there must be at least two items"),
        ({"quantities": ()}, "there must be at least two items"),
        ({"quantities": (99, 99, 99, 99)}, "divided in more than 1,000,000 ways"),
        ({"quantities": (1, -1, 5)}, "greater than or equal to 0"),
        ({"quantities": (MAX_COUNT + 1, 1)}, "less than or equal to 99"),
        ({"quantities": (2.5, 1)}, "integer"),
        ({"quantities": (True, 5)}, "integer"),
        ({"quantities": {"kinds": 10, "mean": 4}}, "divided in more than 1,000,000 ways"),
        ({"quantities": {"kinds": 2, "mean": 0.1}}, "greater than or equal to 0.5"),
        ({"quantities": {"zeros": "never"}}, "'kept', 'redrawn' or 'plus_one'"),
        ({"discount": 0}, "greater than 0"),
        ({"discount": 1.01}, "less than or equal to 1"),
        ({"rounds": 0}, "greater than or equal to 1"),
        ({"rounds": 3.0}, "integer"),
        ({"rounds": True}, "true is not a number"),
        ({"highest_value": 0}, "greater than or equal to 1"),
        ({"least_outside": 2}, "0 or 1"),
    ],
)
def test_impossible_parameters_are_refused(wrong: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        ItemBargaining.model_validate(wrong)


def test_the_defaults_are_bg5() -> None:
    assert ItemBargaining() == ItemBargaining.model_validate(PRESETS["BG5"])


def test_presets_are_the_games_of_appendix_a() -> None:
    """Table 1 of the paper: class, discount and rounds of the six games."""
    games = {name: ItemBargaining.model_validate(one) for name, one in PRESETS.items()}
    large = Drawn(kinds=5, mean=4, zeros="kept")
    assert {name: (one.quantities, one.discount, one.rounds) for name, one in games.items()} == {
        "BG1": (large, 0.9, 3), "BG2": (large, 0.98, 3), "BG3": (large, 0.98, 5),
        "BG4": ((7, 4, 1), 0.9, 3), "BG5": ((7, 4, 1), 0.98, 3), "BG6": ((7, 4, 1), 0.98, 5),
        "BGS": ((7, 4, 1), 0.98, 3), "BGL": (large, 0.98, 3),
    }  # fmt: skip


# What nature instances.


def hands(count: int = 400, **parameters: Any) -> list[tuple[int, int]]:
    """The outside options of many deals with what all items are worth to the same player."""
    game = ItemBargaining(**parameters)
    instances = [game.draw_instance(Chance(str(number))) for number in range(count)]
    return [
        (outside, worth(instance.quantities, values))
        for instance in instances
        for outside, values in zip(instance.outside, instance.values, strict=True)
    ]


@pytest.mark.parametrize(
    ("parameters", "low", "high"),
    [
        ({}, 1, 0),
        ({"below_total": True}, 1, -1),
        ({"least_outside": 0}, 0, 0),
        ({"least_outside": 0, "below_total": True}, 0, -1),
    ],
)
def test_outside_options_have_the_range_that_is_asked_for(
    parameters: dict[str, Any], low: int, high: int
) -> None:
    found = hands(quantities=(1, 1), highest_value=2, **parameters)
    for total in (2, 3, 4):
        options = {outside for outside, everything in found if everything == total}
        assert options == set(range(low, total + high + 1))


def test_values_are_uniform_and_independent_of_the_other_s() -> None:
    game = ItemBargaining(highest_value=3)
    instances = [game.draw_instance(Chance(str(number))) for number in range(3_000)]
    counts = Counter((instance.values[0][1], instance.values[1][1]) for instance in instances)
    assert set(counts) == {(one, other) for one in (1, 2, 3) for other in (1, 2, 3)}
    assert all(abs(count - 333) < 5 * math.sqrt(333) for count in counts.values())


@pytest.mark.parametrize(
    ("zeros", "mean", "least"),
    [("kept", 4.0, 0), ("redrawn", 4 / (1 - math.exp(-4)), 1), ("plus_one", 5.0, 1)],
)
def test_quantities_are_poisson_with_the_zeros_asked_for(
    zeros: str, mean: float, least: int
) -> None:
    game = ItemBargaining.model_validate({"quantities": {"kinds": 5, "mean": 4, "zeros": zeros}})
    found = [one for n in range(1_000) for one in game.draw_instance(Chance(str(n))).quantities]
    assert min(found) == least
    assert sum(found) / len(found) == pytest.approx(mean, abs=5 * 2 / math.sqrt(5_000))


def test_a_pool_that_cannot_be_divided_is_drawn_again() -> None:
    game = ItemBargaining.model_validate({"quantities": {"kinds": 1, "mean": 0.5}})
    pools = [game.draw_instance(Chance(str(number))).quantities for number in range(300)]
    assert min(pools) == (2,)
    assert no_pool((0, 1)) == "there must be at least two items"


@given(st.floats(0.5, 20), st.floats(0, 1, exclude_max=True))
def test_poisson_numbers_invert_the_distribution(mean: float, place: float) -> None:
    def below(count: int) -> float:
        return sum(math.exp(-mean) * mean**k / math.factorial(k) for k in range(count))

    count = poisson(mean, place)
    assert count == MAX_COUNT or below(count) - 1e-12 <= place <= below(count + 1) + 1e-12


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"values": ((1, 2, 3), (1, 2))}, "one value of each player for each kind"),
        ({"values": ((1, 2, 3), (1, 2, 0))}, "greater than or equal to 1"),
        ({"outside": (1, -1)}, "greater than or equal to 0"),
    ],
)
def test_a_instance_must_fit_together(wrong: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        Pool.model_validate(POOL.model_dump() | wrong)


def test_both_players_values_and_outside_options_are_secrets() -> None:
    secrets = list(ItemBargaining().secrets(POOL))
    assert [secret.owners for secret in secrets] == [{"player_1"}] * 2 + [{"player_2"}] * 2
    changed = [secret.instance for secret in secrets]
    assert changed[0] == POOL.model_copy(update={"values": ((11, 21, 31), (5, 50, 5))})
    assert changed[3] == POOL.model_copy(update={"outside": (100, 59)})


def test_payoff_bounds_hold_what_the_largest_pool_is_worth() -> None:
    assert ItemBargaining().payoff_bounds() == {"player": (0, 1_200)}
    large = ItemBargaining.model_validate(PRESETS["BGL"])
    assert large.payoff_bounds() == {"player": (0, 5 * MAX_COUNT * 100)}
    assert MAX_DIVISIONS == (99 + 1) ** 3


# Words.


def briefing(circle: int = 0, seat: str = "player_1", **parameters: Any) -> str:
    table = after(**parameters)
    return style("item_bargaining", f"circle_{circle}").story(table.heard[seat], table.game, seat)[
        0
    ]


def test_the_briefing_says_what_the_seat_knows() -> None:
    words = briefing(discount=0.9, names={"player_2": "Bo"})
    assert "- kind 2: 4 items, worth 20 to you each" in words
    assert "- kind 3: 1 item, worth 30 to you\n" in words
    assert "Together they are worth 180 to you" in words
    assert "Yours is worth 100" in words
    assert "at 90% in round 2 and at 81% in round 3" in words
    assert "Player 1 acts first and then Bo" in words


def test_without_discount_nothing_is_said_of_it() -> None:
    assert "Time costs" not in briefing(discount=1)
    assert "Time costs" not in briefing(rounds=1)
    assert "There is only one round" in briefing(rounds=1)


def test_the_range_of_outside_options_is_told() -> None:
    assert "the whole numbers from 1 to 180, what all items are worth to you," in briefing()
    words = briefing(least_outside=0, below_total=True)
    assert "from 0 to 179, one less than what all items are worth to you," in words
    assert "drawn from 0 to one less than what all items are worth to Player 2" in words


def test_every_circle_holds_the_one_before() -> None:
    texts = [briefing(circle) for circle in range(len(versions(SPEC)))]
    for inner, outer in pairwise(texts):
        assert outer.startswith(inner)
        assert len(outer) > len(inner)


def test_circle_2_s_example_is_possible_and_right() -> None:
    """The paper's own example keeps 3 of each kind, which most pools do not have."""
    words = briefing(2, "player_2")
    assert "offered Player 1 half of each kind, rounded down, that is 3 of kind 1" in words
    assert "4 x 5 + 2 x 50 + 1 x 5 = 125, which is more than your outside option of 60." in words


@pytest.mark.parametrize(
    ("outside", "words"), [(124, "more than"), (125, "as much as"), (126, "less than")]
)
def test_circle_2_s_example_is_compared_with_the_outside_option(outside: int, words: str) -> None:
    instance = POOL.model_copy(update={"outside": (100, outside)})
    assert f"= 125, which is {words} your outside" in briefing(2, "player_2", instance=instance)


def test_circle_2_s_example_offers_something_where_no_kind_can_be_halved() -> None:
    instance = Pool(quantities=(0, 1, 1), values=((5, 6, 7), (5, 6, 7)), outside=(7, 7))
    words = briefing(2, instance=instance, quantities=(0, 1, 1))
    assert "a single item, that is 0 of kind 1, 1 of kind 2, 0 of kind 3, you would keep" in words
    assert "0 x 5 + 0 x 6 + 1 x 7 = 7, which is as much as your outside option" in words


def test_who_acts_second_is_told_that_its_offer_comes_a_round_later() -> None:
    later = "accepted only in the next round, when everything counts 98% of what it counts now"
    assert later in briefing(2, "player_2")
    assert later not in briefing(2, "player_1")
    for parameters in ({"discount": 1}, {"rounds": 1}):
        words = briefing(3, "player_2", **parameters)
        assert "next round" not in words
        assert "discount" not in words
        assert "wait for a later round" not in words


def test_circle_5_s_bundle_is_worth_less_than_the_outside_option() -> None:
    words = briefing(5)
    assert "keeping 7 of kind 1, 1 of kind 2, 0 of kind 3" in words
    assert (
        "worth 7 x 10 + 1 x 20 + 0 x 30 = 90, which is less than your outside option of 100"
        in words
    )
    nothing = POOL.model_copy(update={"outside": (0, 60)})
    assert "Suppose" not in briefing(5, instance=nothing, least_outside=0)
    little = POOL.model_copy(update={"outside": (3, 60)})
    assert "keeping nothing and of offering Player 2 everything" in briefing(5, instance=little)


@given(st.integers(0, 500))
def test_circle_5_s_bundle_is_always_possible_and_too_little(seed: int) -> None:
    game = ItemBargaining.model_validate(PRESETS["BGL"])
    table = Table(game, game.draw_instance(Chance(str(seed))), "1")
    me: Any = table.heard["player_2"][0].event
    words = style("item_bargaining", "circle_5").tell(me, game, "player_2")
    (found,) = re.findall(r"keeping (.*?) and of", words)
    kept = tuple(int(units) for units in re.findall(r"(\d+) of kind", found))
    kept = kept or (0,) * len(me.quantities)
    assert worth(kept, me.values) < me.outside
    assert all(units <= count for units, count in zip(kept, me.quantities, strict=True))


def test_each_hears_the_other_s_offers_and_how_it_ended_in_words() -> None:
    table = after(offer(0, 2, 1), offer(3, 0, 0), WALK)
    assert (
        "Round 1 of 3. Player 1 offers you 0 of kind 1, 2 of kind 2, 1 of kind 3. You would get "
        "[0, 2, 1] and Player 1 would keep [7, 2, 0]." in reads(table, "player_2")
    )
    assert "Player 1 has walked away in round 2." in reads(table, "player_2")
    assert "You have walked away in round 2." in reads(table, "player_1")
    late = after(*[offer(1, 0, 0)] * 2, rounds=1)
    assert "Player 2 has made a counteroffer when it was too late" in reads(late, "player_1")
    assert "This is the last answer of the negotiation." in reads(late, "player_2")


@pytest.mark.parametrize(("moves", "rounds"), [(0, 1), (2, 2), (4, 3)])
def test_who_makes_the_last_offer_is_warned(moves: int, rounds: int) -> None:
    warning = "Player 2 can only accept it or walk away"
    assert warning in reads(after(*[offer(1, 0, 0)] * moves, rounds=rounds), "player_1")
    assert warning not in reads(after(*[offer(1, 0, 0)] * moves, rounds=rounds + 1), "player_1")


def test_values_that_cannot_differ_are_no_secret() -> None:
    instance = Pool(quantities=(2, 1), values=((1, 1), (1, 1)), outside=(1, 1))
    words = briefing(instance=instance, quantities=(2, 1), highest_value=1)
    assert "To Player 2 every item is worth 1 as well." in words
    assert "drawn for each of you separately" not in words


@pytest.mark.parametrize("action", ["ACCEPT", "WALK"])
def test_an_unused_field_for_the_offer_is_no_offer(action: str) -> None:
    for idle in ("[]", "null"):
        written = f'{{"action": "{action}", "offer": {idle}}}'
        assert Move.model_validate_json(written).offer is None
    with pytest.raises(ValidationError, match="goes with COUNTEROFFER only"):
        Move.model_validate({"action": action, "offer": [0, 0, 0]})
    with pytest.raises(IllegalAction, match="the offer must have 3 numbers"):
        after(offer())


def test_reasoning_is_read_and_told_to_nobody() -> None:
    table = after(offer(1, 0, 0) | {"reasoning": "They must not know."}, ACCEPT)
    assert table.given[0].action == Move.model_validate(
        offer(1, 0, 0) | {"reasoning": "They must not know."}
    )
    assert "must not know" not in reads(table, "player_2")
    assert "must not know" not in repr(events(table, "player_2"))


def test_the_paper_s_replies_are_read() -> None:
    table = after(offer(1, 0, 0))
    ask: Ask = table.pending["player_2"]
    codec = style("item_bargaining").codec
    reply = 'Their offer is worth 5.\n{"action": "COUNTEROFFER", "offer": [3, 0, 1]}'
    assert codec.read(reply, ask) == Move(action="COUNTEROFFER", offer=(3, 0, 1))
    assert codec.read('{"action": "ACCEPT"}', ask) == Move(action="ACCEPT")
    with pytest.raises(IllegalMove, match="you offer 2 of kind 3, and there is only 1"):
        codec.read(json.dumps(offer(3, 0, 2)), ask)


def test_the_box_has_seven_circles() -> None:
    assert versions(SPEC) == [f"circle_{number}" for number in range(7)]
