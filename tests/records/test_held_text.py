"""Texts and data that PostgreSQL can't store round-trip unchanged."""

import json
import math

from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.records.encoding import restored, storable, storable_text, stored_data

TEXT = st.text(st.characters(codec=None) | st.sampled_from("\x00\ue000\ud800=0ae"))
DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
)


def is_storable(text: str) -> bool:
    """Return whether PostgreSQL accepts a text: valid UTF-8 without null characters."""
    text.encode()
    return "\x00" not in text


@given(TEXT)
def test_text_round_trips(text: str) -> None:
    assert is_storable(storable(text))
    assert restored(storable(text)) == text


@given(DATA)
def test_data_round_trip_as_storable_json(data: object) -> None:
    text = storable_text(data)
    assert is_storable(text)
    assert "\\u0000" not in text.replace("\\\\", "")
    json.loads(text, parse_constant=lambda word: 1 / 0)
    assert stored_data(text) == data


def test_nan_round_trips() -> None:
    assert math.isnan(stored_data(storable_text({"a": [math.nan]}))["a"][0])
