"""Edits of YAML text: exact data, and no change outside the edited value."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.rules.errors import Location
from cheaptalk.studies.presets import preset_names, preset_text
from cheaptalk.web.console.designs.yaml_edits import (
    data_at,
    inserted,
    moved,
    reordered,
    with_data,
    with_value,
    without,
)
from cheaptalk.web.console.designs.yaml_tree import tree_of
from cheaptalk.yaml_files import parse_yaml

AWKWARD = """\
# A study with all notations.
base: &base {a: 1, 'b': "two"} # shared
copy: *base
merged:
  <<: *base
  c: 3
list:
- plain   # first
# above the second
- 'quoted'

- "double"
- - nested
  - 2
- |
  literal

  text
- >-
  folded text
  in two lines
-
flow: [
  {k: v}, # inside
  [1, 2],
]
empty:
yes: 1
last: !!str 5
"""
TEXTS = {
    **{name: preset_text(name) for name in preset_names()},
    "awkward": AWKWARD,
}
VALUES: list[Any] = [
    "words", "a: b # c", "yes", "First.\n\n- one\n- two\n", " indented\ntext", "", "ends\n\n",
    "a long text of many words " * 6, "It's \"quoted\"", 7, 0.5, True, None, [], {}, ["a", 1],
    {"name": "age", "ask": "How old?\n\nIn years", "number": {"min": 18}},
    [{"survey": {"items": [{"name": "x", "ask": "?"}]}}, "games"],
]  # fmt: skip


def locations(data: Any, location: Location = ()) -> Iterator[Location]:
    if location:
        yield location
    listed = enumerate(data) if isinstance(data, list) else ()
    for key, value in data.items() if isinstance(data, dict) else listed:
        yield from locations(value, (*location, key))


def replaced(data: Any, location: Location, value: Any) -> Any:
    if not location:
        return value
    key, rest = location[0], location[1:]
    if isinstance(data, list):
        return [replaced(m, rest, value) if at == key else m for at, m in enumerate(data)]
    return {name: replaced(m, rest, value) if name == key else m for name, m in data.items()}


@st.composite
def places(draw: st.DrawFn) -> tuple[str, Any, Location]:
    text = TEXTS[draw(st.sampled_from(sorted(TEXTS)))]
    data = parse_yaml(text)
    return text, data, draw(st.sampled_from([*locations(data)]))


@given(places(), st.sampled_from(VALUES))
def test_new_value_changes_only_its_own_lines(place: tuple[str, Any, Location], value: Any) -> None:
    text, data, location = place
    after = with_value(text, location, value)
    assert repr(parse_yaml(after)) == repr(replaced(data, location, value))
    tree = tree_of(text)
    node, parent = tree.find(location), tree.find(location[:-1])
    if node is not None and parent is not None and text is not AWKWARD:
        start = parent.value_start(node)
        assert after[:start] == text[:start]
        assert after.endswith(text[node.end :])


@given(places())
def test_same_value_changes_no_byte(place: tuple[str, Any, Location]) -> None:
    text, data, location = place
    assert with_value(text, location, data_at(data, location)) == text
    assert with_data(text, data) == text


@given(places())
def test_removal_keeps_all_other_lines(place: tuple[str, Any, Location]) -> None:
    text, data, location = place
    after = without(text, location)
    parent, key = location[:-1], location[-1]
    inner = data_at(data, parent)
    rest: Any = (
        [member for at, member in enumerate(inner) if at != key]
        if isinstance(inner, list)
        else {name: member for name, member in inner.items() if name != key}
    )
    assert repr(parse_yaml(after)) == repr(replaced(data, parent, rest))
    if text is not AWKWARD and rest and not tree_of(text).find(parent).flow:  # type: ignore[union-attr]
        kept = [line for line in after.splitlines() if line not in text.splitlines()]
        assert len(kept) <= 1, "at most the line of a dash changes"


@given(places(), st.data())
def test_lists_are_reordered_with_the_comments_of_their_items(
    place: tuple[str, Any, Location], choose: st.DataObject
) -> None:
    text, data, _ = place
    lists = [at for at in locations(data) if isinstance(data_at(data, at), list)]
    location = choose.draw(st.sampled_from([at for at in lists if data_at(data, at)] or [()]))
    items = data_at(data, location)
    if not location:
        return
    order = choose.draw(st.permutations(range(len(items))))
    after = reordered(text, location, order)
    assert parse_yaml(after) == replaced(data, location, [items[at] for at in order])
    if "&" not in text:  # otherwise, aliases may be written out
        assert sorted(filter(str.isalnum, after)) == sorted(filter(str.isalnum, text))
    twice = reordered(text, location, [*range(len(items)), 0])
    assert data_at(parse_yaml(twice), location) == [*items, items[0]]


@given(places(), st.data(), st.sampled_from(VALUES))
def test_items_are_inserted_into_lists(
    place: tuple[str, Any, Location], choose: st.DataObject, value: Any
) -> None:
    text, data, _ = place
    location = choose.draw(
        st.sampled_from([at for at in locations(data) if isinstance(data_at(data, at), list)])
    )
    items = data_at(data, location)
    index = choose.draw(st.integers(0, len(items)))
    after = inserted(text, (*location, index), value)
    expected = [*items[:index], value, *items[index:]]
    assert repr(parse_yaml(after)) == repr(replaced(data, location, expected))


PATH = """\
people:
  path:
    - consent: Hello # short
    # The games.
    - games:
        max: 2
        after:
          - survey: # items
              items:
                - {name: a, ask: "?"}
          - quiz: {}
    - debrief: |-
        First.

        Second.
"""


def test_step_moves_into_another_list_with_its_comments() -> None:
    outside = moved(PATH, ("people", "path", 1, "games", "after", 0), ("people", "path", 1))
    assert outside == PATH.replace(
        """\
          - survey: # items
              items:
                - {name: a, ask: "?"}
""",
        "",
    ).replace(
        "    # The games.\n",
        """\
    - survey: # items
        items:
          - {name: a, ask: "?"}
    # The games.
""",
    )
    back = moved(outside, ("people", "path", 1), ("people", "path", 1, "games", "after", 0))
    assert back == PATH


def test_new_data_change_only_what_differs() -> None:
    data = parse_yaml(PATH)
    data["people"]["path"][0]["consent"] = "Good day"
    data["people"]["path"].insert(2, "quiz")
    data["people"]["pay"] = {"base": 2}
    assert (
        with_data(PATH, data)
        == PATH.replace("Hello", "Good day").replace("    - debrief", "    - quiz\n    - debrief")
        + "  pay: {base: 2}\n"
    )


@pytest.mark.parametrize("location", [("base",), ("base", "a"), ("copy", "a"), ("merged", "a")])
def test_value_with_anchor_changes_without_its_aliases(location: Location) -> None:
    after = with_value(AWKWARD, location, 9)
    assert parse_yaml(after) == replaced(parse_yaml(AWKWARD), location, 9)
    assert "# above the second" in after
