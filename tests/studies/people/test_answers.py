"""Kinds of answers: what they accept, record and grade."""

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from cheaptalk.rules.errors import first_problem
from cheaptalk.studies.people.answers import KINDS, Invalid
from cheaptalk.studies.people.items import Item
from cheaptalk.studies.people.steps import read_step, write_step

ROWS = {"a": "First", "b": "Second", "c": "Third"}
SETTINGS: dict[str, Any] = {
    "text": {"min_length": 2, "max_length": 5, "pattern": "[a-z]+"},
    "choices": ["yes", {"en": "no", "de": "nein"}],
    "checkboxes": {"rows": ROWS, "min": 1, "max": 2},
    "scale": {"low": 0, "high": 3},
    "grid": {"rows": ROWS, "scale": {"labels": ["never", "often"]}},
    "number": {"min": -1, "max": 9.5, "decimals": 1},
    "slider": {"min": 0, "max": 10, "step": 0.5},
    "ranking": ROWS,
    "allocation": {"rows": ROWS, "total": 10},
    "date": {"min": "2000-01-01", "max": "2000-12-31"},
}
"""Settings of each kind of answer."""


def item(kind: str, settings: Any = None, **others: Any) -> Item:
    answer = SETTINGS[kind] if settings is None else settings
    return Item.model_validate({"name": "q", "ask": "?", kind: answer} | others)


def fields(answer: str | Mapping[str, str]) -> dict[str, str]:
    if isinstance(answer, str):
        return {"q": answer}
    return {f"q.{row}": text for row, text in answer.items()}


ACCEPTED: list[tuple[str, str | dict[str, str], dict[str, Any]]] = [
    ("text", " abc ", {"q": "abc"}),
    ("choices", "no", {"q": "no"}),
    ("checkboxes", {"a": "1", "c": "1"}, {"q.a": 1, "q.b": 0, "q.c": 1}),
    ("scale", "0", {"q": 0}),
    ("grid", {"a": "1", "b": "2", "c": "1"}, {"q.a": 1, "q.b": 2, "q.c": 1}),
    ("number", "9.5", {"q": 9.5}),
    ("slider", "2.5", {"q": 2.5}),
    ("ranking", {"a": "2", "b": "1", "c": "3"}, {"q.a": 2, "q.b": 1, "q.c": 3}),
    ("allocation", {"a": "7", "b": "3"}, {"q.a": 7.0, "q.b": 3.0, "q.c": 0.0}),
    ("date", "2000-02-29", {"q": "2000-02-29"}),
]
REJECTED: list[tuple[str, str | dict[str, str], str]] = [
    ("text", "a", "too short"),
    ("text", "abcdef", "too long"),
    ("text", "ab1", "required form"),
    ("choices", "nein", "one of the options"),
    ("checkboxes", {}, "more options"),
    ("checkboxes", {"a": "1", "b": "1", "c": "1"}, "fewer options"),
    ("checkboxes", {"a": "2"}, "one of the options"),
    ("scale", "4", "one of the options"),
    ("scale", "1.0", "one of the options"),
    ("grid", {"a": "1", "b": "2"}, "every part"),
    ("grid", {"a": "1", "b": "3", "c": "1"}, "one of the options"),
    ("number", "9.6", "allowed range"),
    ("number", "0.25", "fewer decimal places"),
    ("number", "1e3", "allowed range"),
    ("number", "nan", "allowed range"),
    ("slider", "10.5", "allowed range"),
    ("slider", "0.3", "numbers on the slider"),
    ("ranking", {"a": "1", "b": "1", "c": "2"}, "different position"),
    ("ranking", {"a": "1", "b": "2"}, "every part"),
    ("ranking", {"a": "1", "b": "2", "c": "4"}, "one of the options"),
    ("allocation", {"a": "7", "b": "2"}, "add up"),
    ("allocation", {"a": "11", "b": "-1"}, "allowed range"),
    ("allocation", {"a": "9.5", "b": "0.5"}, "fewer decimal places"),
    ("date", "2001-01-01", "allowed range"),
    ("date", "2000-02-30", "a date"),
    ("date", "20000229", "a date"),
]


def test_every_kind_is_covered() -> None:
    assert {kind for kind, *_ in ACCEPTED} == {kind for kind, *_ in REJECTED} == KINDS.keys()


@pytest.mark.parametrize(("kind", "answer", "recorded"), ACCEPTED)
def test_answers_are_recorded_by_row(kind: str, answer: Any, recorded: dict[str, Any]) -> None:
    assert item(kind).read(fields(answer)) == recorded


@pytest.mark.parametrize(("kind", "answer", "problem"), REJECTED)
def test_inadmissible_answers_are_rejected(kind: str, answer: Any, problem: str) -> None:
    with pytest.raises(Invalid, match=problem):
        item(kind).read(fields(answer))


@pytest.mark.parametrize("kind", KINDS)
def test_missing_answers_are_rejected_unless_optional(kind: str) -> None:
    empty = {"q": "", "q.a": " "}
    assert item(kind).problem(empty) is not None
    if kind != "checkboxes":  # nothing ticked is an answer
        assert set(item(kind, optional=True).read(empty).values()) == {None}


def test_custom_message_replaces_the_standard_one_but_not_for_missing_answers() -> None:
    asked = item("number", message={"en": "From -1 to 9.5.", "de": "Von -1 bis 9,5."})
    assert asked.problem({"q": "99"}) == {"en": "From -1 to 9.5.", "de": "Von -1 bis 9,5."}
    assert asked.problem({"q": ""}) == "Please answer this question."


SOLUTIONS: list[tuple[str, Any, Any, Any]] = [
    ("text", ["abc", "abd"], "abd", "abe"),
    ("choices", "no", "no", "yes"),
    ("checkboxes", ["a", "b"], {"a": "1", "b": "1"}, {"a": "1"}),
    ("scale", 2, "2", "3"),
    ("grid", {"b": 2}, {"a": "1", "b": "2", "c": "1"}, {"a": "1", "b": "1", "c": "1"}),
    ("number", 2, "2.0", "2.1"),
    ("slider", 5, "5", "5.5"),
    ("ranking", ["b", "a", "c"], {"a": "2", "b": "1", "c": "3"}, {"a": "1", "b": "2", "c": "3"}),
    ("allocation", {"a": 5}, {"a": "5", "b": "5"}, {"b": "10"}),
    ("date", "2000-05-01", "2000-05-01", "2000-05-02"),
]


@pytest.mark.parametrize(("kind", "correct", "right", "wrong"), SOLUTIONS)
def test_answers_are_graded(kind: str, correct: Any, right: Any, wrong: Any) -> None:
    asked = item(kind, correct=correct)
    assert asked.is_right(asked.read(fields(right)))
    assert not asked.is_right(asked.read(fields(wrong)))


@pytest.mark.parametrize("kind", KINDS)
def test_items_survive_the_study_file(kind: str) -> None:
    step = read_step({"survey": {"items": [{"name": "q", "ask": "?", kind: SETTINGS[kind]}]}})
    assert read_step(write_step(step)) == step
    assert read_step({"survey": step.model_dump(mode="json")}) == step


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"sliderr": {}}, 'unknown key "sliderr" (did you mean "slider"?)'),
        ({"slider": {}, "scale": {}}, "q: slider and scale can't be combined; choose one"),
        ({"number": {"min": 5, "max": 2}}, "number: the minimum 5 must be below the maximum 2"),
        ({"scale": {"hihg": 4}}, 'scale: unknown key "hihg" (did you mean "high"?)'),
        ({"scale": {"high": 3, "labels": ["no", "yes"]}}, "scale: scale: 2 labels don't fit 3"),
        ({"text": {"pattern": "("}}, 'text.pattern: "(" is not a regular expression'),
        ({"ranking": ["Being fair", "b"]}, 'ranking.rows: "Being fair" is not a valid name'),
        ({"checkboxes": {"rows": ROWS, "max": 4}}, "checkboxes: min 0 and max 4 don't fit 3"),
        ({"allocation": {"rows": ROWS, "total": 0.5}}, "allocation: amounts with 0 decimal places"),
        ({"ranking": ["a", "b"], "correct": ["a"]}, 'q: correct: ["a"] is not a ranking'),
        ({"grid": {"rows": ROWS}, "correct": {"d": 1}}, 'q: correct: unknown row "d"'),
        ({"number": [0, 9], "correct": 10}, 'q: correct: "10" is not a possible answer'),
        ({"choices": ["a", "b"], "correct": {"x": 1}}, "is not the solution of a choices"),
    ],
)
def test_invalid_settings_are_explained(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError) as raised:
        Item.model_validate({"name": "q", "ask": "?"} | settings)
    assert problem in first_problem(raised.value)


def test_patterns_take_linear_time() -> None:
    asked = item("text", {"pattern": "(a+)+b"})
    assert asked.problem({"q": "a" * 5_000}) is not None  # hours with backtracking


def test_older_notation_of_items_is_read() -> None:
    older = {"name": "q", "ask": "?", "choices": None, "scale": None, "number": None, "lines": 3}
    assert Item.model_validate(older) == item("text", {"lines": 3})
    assert Item.model_validate(older | {"number": [0, 5], "lines": 1}) == item(
        "number", {"min": 0, "max": 5}
    )
