"""Texts and data that PostgreSQL would not hold come back as they were."""

import json
import math

from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.records.store.held_text import restored, storable, storable_text, stored_data

TEXT = st.text(st.characters(codec=None) | st.sampled_from("\x00\ue000\ud800=0ae"))
DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
)


def is_held(text: str) -> bool:
    """Whether PostgreSQL takes a text: it is UTF-8, and no character of it is zero."""
    text.encode()
    return "\x00" not in text


@given(TEXT)
def test_a_text_comes_back(text: str) -> None:
    assert is_held(storable(text))
    assert restored(storable(text)) == text


@given(DATA)
def test_data_come_back_and_are_json_of_such_texts_alone(data: object) -> None:
    text = storable_text(data)
    assert is_held(text)
    assert "\\u0000" not in text.replace("\\\\", "")
    json.loads(text, parse_constant=lambda word: 1 / 0)
    assert stored_data(text) == data


def test_no_number_comes_back_as_none() -> None:
    assert math.isnan(stored_data(storable_text({"a": [math.nan]}))["a"][0])
