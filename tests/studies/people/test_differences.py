"""Differences between versions of a study: which changes are corrections."""

from collections.abc import Callable
from typing import Any

import pytest

from cheaptalk.records.people.corrections import TextChange
from cheaptalk.studies import parse_study
from cheaptalk.studies.people.differences import Differences, differences
from tests.web.participants.comers import people_study

SURVEY = {
    "survey": {
        "text": "Some questions.",
        "items": [
            {"name": "sex", "ask": "Sex?", "choices": ["Female", {"en": "Male", "de": "Mann"}]},
            {"name": "media", "ask": "Media?", "checkboxes": {"tv": "Telly", "web": "Web"}},
            {"name": "sum", "ask": "1 + 1?", "number": [0, 9], "correct": 2, "feedback": "No."},
        ],
    }
}
PATH = [
    {"consent": {"text": "We play.", "statements": ["I am 18"]}},
    {"instructions": {"pages": ["One.", "Two."], "code_word": "sdkot"}},
    {"games": {"before": [{"instructions": {"name": "again", "pages": ["Before."]}}]}},
    SURVEY,
    {"page": "<p>Bye.</p>"},
    {"debrief": {"en": "Thanks.", "de": "Danke."}},
]
Change = Callable[[dict[str, Any]], object]


def found(change: Change) -> Differences:
    """Return the differences after a change of the written study."""
    old = people_study(path=PATH)
    written = old.written()
    change(written)
    return differences(old, parse_study(written, "here"))


def step(written: dict[str, Any], number: int) -> dict[str, Any]:
    (settings,) = written["people"]["path"][number].values()
    assert isinstance(settings, dict)
    return settings


def test_equal_studies_have_no_differences() -> None:
    assert not found(lambda written: written.update(name=written["name"])).any


def test_texts_are_found_wherever_participants_read_them() -> None:
    def change(written: dict[str, Any]) -> None:
        people = written["people"]
        people |= {"title": "Our study", "contact": "lab@example.org"}
        step(written, 0)["statements"] = ["I am at least 18"]
        step(written, 2)["before"][0]["instructions"]["pages"] = ["Before!"]
        items = step(written, 3)["items"]
        items[0]["ask"] = "Gender?"
        items[0]["choices"][1]["de"] = "Männlich"
        items[1]["checkboxes"]["tv"] = "Television"
        items[2] |= {"feedback": "Wrong."}
        people["path"][4]["page"]["template"] = "<p>Goodbye.</p>"
        step(written, 5)["text"]["de"] = "Vielen Dank."

    texts = found(change).texts
    assert [(text.text, text.language, text.after) for text in texts] == [
        ("people.title", "", "Our study"),
        ("people.path.0.consent.statements.0", "", "I am at least 18"),
        ("people.path.2.games.before.again.instructions.pages.0", "", "Before!"),
        ("people.path.3.survey.items.sex.ask", "", "Gender?"),
        ("people.path.3.survey.items.sex.choices.options.1", "de", "Männlich"),
        ("people.path.3.survey.items.media.checkboxes.rows.tv", "", "Television"),
        ("people.path.3.survey.items.sum.feedback", "", "Wrong."),
        ("people.path.4.page.template", "", "<p>Goodbye.</p>"),
        ("people.path.5.debrief.text", "de", "Vielen Dank."),
        ("people.contact", "", "lab@example.org"),
    ]
    assert not found(change).rule


def test_added_translation_is_a_correction() -> None:
    def change(written: dict[str, Any]) -> None:
        step(written, 0)["text"] = {"en": "We play.", "de": "Wir spielen."}

    assert found(change).texts == [
        TextChange("people.path.0.consent.text", "de", None, "Wir spielen.")
    ]


def test_settings_can_be_adjusted() -> None:
    def change(written: dict[str, Any]) -> None:
        written["people"]["recruitment"] |= {"places": 9, "one_browser": True}
        written["people"]["keep_days"] = 30
        written["description"] = "New."

    changed = found(change)
    assert (changed.texts, changed.rule) == ([], "")
    assert changed.settings == [
        "description",
        "people.recruitment.places",
        "people.recruitment.one_browser",
        "people.keep_days",
    ]


def _set(number: int, **settings: Any) -> Change:
    return lambda written: step(written, number).update(settings)


RULES: dict[str, tuple[Change, str]] = {
    "instances": (lambda written: written.update(instances=11), "instances: 10 was changed to 11"),
    "pay": (lambda written: written["people"]["pay"].update(base=2), "people.pay.base: 1"),
    "fewer pages": (_set(1, pages=["One."]), "pages: it has 1 entries instead of 2"),
    "code word": (_set(1, code_word="other"), 'code_word: "sdkot" was changed to "other"'),
    "condition": (_set(5, when={"sex": "Male"}), "when: nothing was changed to sex"),
    "recorded text": (
        lambda written: step(written, 3)["items"][0]["choices"].__setitem__(0, "Woman"),
        '"Female" was changed to "Woman", but it is recorded as an answer',
    ),
    "name of an item": (
        lambda written: step(written, 3)["items"][0].update(name="gender"),
        'name: "sex" was changed to "gender"',
    ),
    "solution": (
        lambda written: step(written, 3)["items"][2].update(correct=["3"]),
        'correct.0: "2" was changed to "3"',
    ),
    "bounds": (
        lambda written: step(written, 3)["items"][2]["number"].update(max=8),
        "max: 9 was changed to 8",
    ),
    "kind of answer": (
        lambda written: step(written, 3)["items"][2].update(number=None, slider={"max": 9}),
        "number was changed to slider",
    ),
    "pagination": (
        lambda written: step(written, 3)["items"][2].update(ask="{sex}, 1 + 1?"),
        "the questions are divided differently into pages",
    ),
    "kind of step": (
        lambda written: written["people"]["path"].__setitem__(5, "first_name"),
        "debrief was changed to first_name",
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_rules_cannot_change(name: str) -> None:
    change, sentence = RULES[name]
    rule = found(change).rule
    assert sentence in rule
    assert rule.endswith("restore it, or use another study name")
