"""Conditions on earlier answers: which pages a participant reads, and what they can know."""

from typing import Any

import pytest
from pydantic import ValidationError

from cheaptalk.records.people.queries import step_kind
from cheaptalk.rules.errors import first_problem
from cheaptalk.studies.people.path import Journey, Page, Response
from cheaptalk.studies.people.protocol import Protocol

STUDENT = {"name": "student", "ask": "Student?", "choices": ["yes", "no"]}
AGE = {"name": "age", "ask": "Age?", "number": [0, 120], "optional": True}
SUBJECT = {"name": "subject", "ask": "Subject?", "when": {"student": "yes"}}


def protocol(*path: Any) -> Protocol:
    return Protocol.model_validate({"path": [*path, "games"]})


def respond(journey: Journey, **answer: Any) -> None:
    stop = journey.stop
    journey.take(Response(stop.name, stop.visit, stop.game, answer))


def shown(journey: Journey) -> list[str]:
    """Return the names of the questions on the current page; empty if it has none."""
    return [item.name for item in journey.stop.items] if isinstance(journey.stop, Page) else []


def test_items_that_depend_on_the_same_step_follow_on_a_page_of_their_own() -> None:
    survey = {"survey": [STUDENT, AGE, SUBJECT, {"name": "end", "ask": "End?"}]}
    for student, second in (("yes", ["subject", "end"]), ("no", ["end"])):
        journey = Journey(protocol(survey))
        assert shown(journey) == ["student", "age"]
        respond(journey, student=student, age=30.0)
        assert shown(journey) == second


def test_page_without_applicable_items_is_skipped() -> None:
    journey = Journey(protocol({"survey": [STUDENT, SUBJECT]}, {"debrief": "Bye"}))
    respond(journey, student="no")
    assert journey.stop.name == "debrief"


@pytest.mark.parametrize(
    ("when", "ages"),
    [
        ({"min": 18, "max": 65}, [18, 18.5, 65]),
        ({"above": 18, "below": 65}, [18.5]),
        ([17, 65], [17, 65]),
        ({"none_of": [17, 65]}, [18, 18.5, 66]),
        (17, [17]),
    ],
)
def test_conditions_compare_numbers(when: Any, ages: list[float]) -> None:
    path = {"survey": [AGE]}, {"debrief": {"text": "Bye", "when": {"age": when}}}
    for age in (17, 18, 18.5, 65, 66, None):
        journey = Journey(protocol(*path))
        respond(journey, age=age)
        assert (journey.stop.name == "debrief") is (age in ages), age


def test_answers_are_known_after_a_restart() -> None:
    steps = protocol({"survey": [STUDENT, SUBJECT]}, {"debrief": "Bye"})
    journey = Journey(steps)
    respond(journey, student="yes")
    assert (shown(Journey(steps, journey.responses)), journey.values["student"]) == (
        ["subject"],
        "yes",
    )


def test_question_that_is_not_asked_again_loses_its_answer() -> None:
    game = {
        "games": {"max": 2, "after": [{"survey": {"items": [STUDENT, SUBJECT], "once": False}}]}
    }
    journey = Journey(Protocol.model_validate({"path": [game]}))
    for student in ("yes", "no"):
        respond(journey, treatment="t")
        respond(journey, state="finished", payoff=5, cents=0)
        assert (journey.values["payoff"], journey.values["treatment"]) == (5, "t")
        respond(journey, student=student)
        if student == "yes":
            respond(journey, subject="physics")
    assert journey.values["subject"] is None


def test_conditions_can_refer_to_the_latest_game() -> None:
    texts = [
        {"debrief": {"name": "rich", "text": "You won {payoff}.", "when": {"payoff": {"min": 5}}}},
        {"debrief": {"name": "other", "text": "You met B.", "when": {"treatment": "b"}}},
        {"debrief": "Bye"},
    ]
    protocol = Protocol.model_validate({"path": ["games", *texts]})
    for treatment, payoff, step in (("a", 5, "rich"), ("b", 4, "other"), ("a", 4, "debrief")):
        journey = Journey(protocol)
        respond(journey, treatment=treatment)
        respond(journey, state="finished", payoff=payoff, cents=0)
        assert journey.stop.name == step


def test_conditions_refer_to_the_game_around_it_and_to_all_games_later() -> None:
    after = {"survey": {"items": [AGE], "once": False, "when": {"treatment": "b"}}}
    bye = [
        {"debrief": {"name": name, "text": "Bye", "when": {"treatment": {key: name}}}}
        for name, key in (("a", "any_of"), ("b", "any_of"), ("c", "any_of"))
    ]
    last = {"debrief": {"text": "Bye", "when": {"treatment": {"none_of": ["a", "x"]}}}}
    path = [{"games": {"max": 2, "after": [after]}}, *bye, last]
    journey = Journey(Protocol.model_validate({"path": path}))
    steps = []
    for treatment in ("b", "a"):
        respond(journey, treatment=treatment)
        respond(journey, state="finished", payoff=1, cents=0)
        steps.append(journey.stop.name)
        if treatment == "b":
            respond(journey, age=30)
    assert steps == ["survey", "a"]
    respond(journey)
    assert journey.stop.name == "b"
    respond(journey)
    assert journey.stop.name == "end"


def test_comprehension_grades_only_items_that_apply() -> None:
    items = [
        {"name": "one", "ask": "1?", "correct": "1"},
        {"name": "two", "ask": "2?", "correct": "2", "when": {"student": "yes"}},
    ]
    journey = Journey(protocol({"survey": [STUDENT]}, {"comprehension": items}, {"debrief": "Bye"}))
    respond(journey, student="no")
    assert shown(journey) == ["one"]
    respond(journey, one="1")
    assert journey.stop.name == "debrief"


def survey(**item: Any) -> list[Any]:
    return [{"survey": [STUDENT, {"name": "a", "ask": "?"} | item]}]


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        (survey(when={"studnt": "yes"}), 'when: unknown answer "studnt" (did you mean "student"?)'),
        (survey(when={"student": "maybe"}), 'when: "maybe" is not a possible answer to student'),
        (survey(when={"student": {"min": 3}}), "student is not a number"),
        (survey(when={"a": "x"}), "when: unknown answer"),
        (survey(ask="{old}"), "the placeholder {old} is unknown"),
        (survey(ask="{payoff}"), "the placeholder {payoff} is not known at this step"),
        (survey(name="payoff"), "is the name of a placeholder"),
        ([{"debrief": "{student}"}, *survey()], "the placeholder {student} is unknown"),
        ([{"debrief": {"en": "Hi", "de": "{alter}"}}], "the placeholder {alter} is unknown"),
        (
            [{"comprehension": [STUDENT | {"correct": "yes"}, SUBJECT]}],
            "can't depend on another one of the same page",
        ),
    ],
)
def test_references_to_unknown_answers_are_rejected(path: list[Any], problem: str) -> None:
    with pytest.raises(ValidationError) as raised:
        protocol(*path)
    message = first_problem(raised.value)
    assert message.startswith("path.0: ")
    assert problem in message


def test_games_do_not_depend_on_answers() -> None:
    with pytest.raises(ValidationError, match="games can't depend on answers"):
        Protocol.model_validate({"path": [*survey(), {"games": {"when": {"student": "yes"}}}]})


def test_steps_without_a_name_are_numbered_by_kind() -> None:
    """Explicit names stay, and the stored protocol keeps all names."""
    survey, quiz = {"survey": [AGE]}, {"survey": {"name": "survey_2", "items": [STUDENT]}}
    games = {"games": {"before": [survey], "after": [{"survey": [AGE]}, {"quiz": {}}]}}
    made = Protocol.model_validate({"path": [quiz, survey, games, "payment", {"debrief": "Bye"}]})
    names = ["survey_2", "survey", "survey_3", "games", "survey_4", "quiz", "payment", "debrief"]
    assert [step.called for step in made.steps] == names
    stored = made.model_dump(mode="json", exclude_defaults=True)
    assert [step.called for step in Protocol.model_validate(stored).steps] == names
    assert step_kind("survey_4") == "survey"
    with pytest.raises(ValidationError, match="two steps have the name"):
        Protocol.model_validate({"path": [quiz, quiz, "games"]})
