"""Data round-trips through JSON, compression and PostgreSQL, whatever characters it contains."""

import json
import math

from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.records import pack, text_of, unpack
from cheaptalk.records.encoding import restored, storable, storable_text, stored_data


def test_lone_surrogates_are_escaped_and_kept() -> None:
    data = {"message": "broken \ud83d character"}
    assert json.loads(text_of(data)) == data
    text_of(data).encode()


def test_text_is_compact_and_readable() -> None:
    assert text_of({"a": [1, 2.5, "é"], "b": None}) == '{"a":[1,2.5,"é"],"b":null}'
    assert math.isinf(json.loads(text_of({"x": math.inf}))["x"])
    assert len(pack({"said": "again and again. " * 100})) < 100


TEXT = st.text(st.characters(codec=None) | st.sampled_from("\x00\ue000\ud800=0ae"))
STORABLE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=10,
)


def is_storable(text: str) -> bool:
    """Return whether PostgreSQL accepts a text: valid UTF-8 without null characters."""
    text.encode()
    return "\x00" not in text


@given(TEXT)
def test_text_round_trips(text: str) -> None:
    assert is_storable(storable(text))
    assert restored(storable(text)) == text


@given(STORABLE)
def test_data_round_trips_compressed_and_as_storable_json(data: object) -> None:
    text = storable_text(data)
    assert is_storable(text)
    assert "\\u0000" not in text.replace("\\\\", "")
    json.loads(text, parse_constant=lambda word: 1 / 0)
    assert stored_data(text) == data
    assert unpack(pack({"data": data})) == {"data": data}


def test_nan_round_trips() -> None:
    assert math.isnan(stored_data(storable_text({"a": [math.nan]}))["a"][0])
