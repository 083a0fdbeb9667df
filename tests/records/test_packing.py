"""Packed data round-trips, whatever characters it contains."""

import json
import math

from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.records import pack, text_of, unpack

PLAIN = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False)
DATA = st.recursive(
    PLAIN | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=15,
)


@given(st.dictionaries(st.text(), DATA))
def test_packed_data_round_trips(data: dict[str, object]) -> None:
    assert unpack(pack(data)) == data


def test_lone_surrogates_are_escaped_and_kept() -> None:
    data = {"message": "broken \ud83d character"}
    assert json.loads(text_of(data)) == data
    text_of(data).encode()


def test_text_is_compact_and_readable() -> None:
    assert text_of({"a": [1, 2.5, "é"], "b": None}) == '{"a":[1,2.5,"é"],"b":null}'
    assert math.isinf(json.loads(text_of({"x": math.inf}))["x"])
