"""Random streams are reproducible, independent and uniform."""

from collections import Counter

import pytest

from cheaptalk.rules import Chance, Stream


def stream() -> Stream:
    return Chance("pinned")("deal", 1, "alice")


def test_streams_are_pinned() -> None:
    """Recorded studies depend on these numbers, which must not change in later versions."""
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
    derived = Chance("pinned").apart("player", "bob")("move", 0)
    assert derived.uniform(-1, 1) == 0.5446059016208025


def test_stream_depends_only_on_its_key() -> None:
    chance = Chance("seed")
    for _ in range(100):
        chance("hit", 1, "alice").uniform()
    assert chance("hit", 2, "bob").uniform() == Chance("seed")("hit", 2, "bob").uniform()
    streams = [
        chance("hit", 1),
        chance("hit", 2),
        chance("miss", 1),
        chance("hit", 11),
        chance("hit", 1, 1),
        chance("hit"),
        chance("hit1"),
        Chance("other")("hit", 1),
        chance.apart("player", "alice")("hit", 1),
    ]
    assert len({stream.uniform() for stream in streams}) == len(streams)
    derived = chance.apart("player", "bob", 2).apart("mood")
    assert Chance(derived.seed)("move", 1).uniform() == derived("move", 1).uniform()


def test_shuffling_keeps_items_and_original_list() -> None:
    items = [3, 1, 3, 2]
    assert Counter(stream().shuffled(items)) == Counter(items)
    assert items == [3, 1, 3, 2]
    assert stream().shuffled([]) == []


def test_draws_are_uniform() -> None:
    """Chi-squared is below its 99.9 % quantile, for 600 throws of a die and 1,200 shuffles."""
    throws = Counter(Chance("die")("throw", n).integer(1, 6) for n in range(600))
    assert set(throws) == set(range(1, 7))
    orders = Counter("".join(Chance("deck")("order", n).shuffled("abc")) for n in range(1_200))
    assert len(orders) == 6
    for counts, expected in ((throws, 100), (orders, 200)):
        assert sum((count - expected) ** 2 / expected for count in counts.values()) < 20.5


def test_bounds_of_ranges_and_probabilities() -> None:
    assert stream().integer(-3, -3) == -3
    with pytest.raises(ValueError, match="no integer lies between 2 and 1"):
        stream().integer(2, 1)
    assert not any(Chance("c")("never", n).happens(0) for n in range(100))
    assert all(Chance("c")("always", n).happens(1) for n in range(100))
