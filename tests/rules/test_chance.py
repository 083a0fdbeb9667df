"""Streams of chance: reproducible for ever, independent of one another, fair."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.rules import Chance, Stream


def stream() -> Stream:
    return Chance("pinned")("deal", 1, "alice")


def test_the_streams_never_change() -> None:
    """Recorded studies depend on these numbers: they may not change in any later version."""
    draws = stream()
    assert [draws.uniform() for _ in range(3)] == [
        0.23666836342236675,
        0.12728313382651835,
        0.4190070109615608,
    ]
    draws = stream()
    assert [draws.integer(1, 6) for _ in range(12)] == [2, 1, 3, 3, 5, 3, 5, 4, 3, 1, 3, 1]
    draws = stream()
    assert "".join(draws.pick("abc") for _ in range(8)) == "aabbcbcb"
    assert stream().shuffled("abcdef") == ["e", "c", "d", "f", "a", "b"]
    draws = stream()
    assert [draws.happens(0.5) for _ in range(5)] == [True, True, True, True, False]
    apart = Chance("pinned").apart("player", "bob")("move", 0)
    assert apart.uniform(-1, 1) == 0.5446059016208025


def test_a_stream_depends_on_its_purpose_and_place_alone() -> None:
    chance = Chance("seed")
    for _ in range(100):
        chance("hit", 1, "alice").uniform()
    longer = chance("hit", 1, "bob")
    longer.uniform()
    assert chance("hit", 2, "bob").uniform() == Chance("seed")("hit", 2, "bob").uniform()


@pytest.mark.parametrize(
    "other",
    [
        Chance("seed")("hit", 2),
        Chance("seed")("miss", 1),
        Chance("seed")("hit", 1, 1),
        Chance("seed")("hit"),
        Chance("other")("hit", 1),
        Chance("seed").apart("player", "alice")("hit", 1),
    ],
)
def test_other_keys_give_other_draws(other: Stream) -> None:
    assert Chance("seed")("hit", 1).uniform() != other.uniform()


def test_a_seed_makes_the_same_streams_again() -> None:
    apart = Chance("seed").apart("player", "bob", 2).apart("mood")
    again = Chance(apart.seed)
    assert again.seed == apart.seed != Chance("seed").seed == "seed"
    assert again("move", 1).uniform() == apart("move", 1).uniform()


def test_neighbouring_places_do_not_run_together() -> None:
    chance = Chance("seed")
    assert chance("a", 11).uniform() != chance("a", 1, 1).uniform()
    assert chance("a", "b").uniform() != chance("ab").uniform()


def test_the_global_generator_is_neither_read_nor_moved() -> None:
    random.seed(0)
    before = random.getstate()
    first = stream().shuffled(range(50))
    assert random.getstate() == before
    random.seed(1)
    assert stream().shuffled(range(50)) == first


@given(st.text(), st.integers(-50, 50), st.integers(0, 50))
def test_whole_numbers_lie_within_their_ends(seed: str, low: int, width: int) -> None:
    assert low <= Chance(seed)("n").integer(low, low + width) <= low + width


def test_whole_numbers_of_no_range_are_refused() -> None:
    with pytest.raises(ValueError, match="no integer lies between 2 and 1"):
        stream().integer(2, 1)


@given(st.text(), st.lists(st.integers()))
def test_shuffling_keeps_the_items_and_leaves_the_list(seed: str, items: list[int]) -> None:
    kept = list(items)
    assert Counter(Chance(seed)("deck").shuffled(items)) == Counter(kept)
    assert items == kept


def test_draws_are_evenly_spread() -> None:
    """Six hundred throws of a die over as many streams: chi-squared below its 99.9 % point."""
    throws = Counter(Chance("die")("throw", n).integer(1, 6) for n in range(600))
    assert set(throws) == set(range(1, 7))
    assert sum((count - 100) ** 2 / 100 for count in throws.values()) < 20.5


def test_all_orders_are_equally_likely() -> None:
    orders = Counter("".join(Chance("deck")("order", n).shuffled("abc")) for n in range(1_200))
    assert len(orders) == 6
    assert sum((count - 200) ** 2 / 200 for count in orders.values()) < 20.5


def test_certainties() -> None:
    assert not any(Chance("c")("never", n).happens(0) for n in range(100))
    assert all(Chance("c")("always", n).happens(1) for n in range(100))
