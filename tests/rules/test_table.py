"""A table: what is asked, what is heard, and what an answer or a failure does."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, model_validator

from cheaptalk.rules import (
    Action,
    Ask,
    Chance,
    DecisionRequest,
    Forfeited,
    Given,
    IllegalAction,
    Moment,
    Play,
    Result,
    RulesError,
    Step,
    Table,
    Tell,
    play,
)
from cheaptalk.rules import table as table_module
from cheaptalk.rules.actions import listed
from tests.toys import (
    Cards,
    Guess,
    Guesses,
    Guessing,
    GuessNow,
    Reveal,
    Score,
    SpokenGuess,
    YourCard,
)

INSTANCE = Cards(left=1, right=2)


def table(**parameters: Any) -> Table:
    return Table(Guessing.model_validate({"talk": False, **parameters}), INSTANCE, "seed")


def scripted(*steps: Step) -> Table:
    """A table whose rules take these steps and end."""

    class Scripted(Guessing):
        def play(self, instance: Cards, chance: Chance) -> Play[Any]:
            yield from steps
            return Score(left=0, right=0)

    return Table(Scripted(), INSTANCE, "seed")


def test_each_seat_hears_its_own_news_and_is_asked_its_own_question() -> None:
    here = table()
    assert list(here.pending) == ["left", "right"]
    asked = here.request("left")
    assert asked.actor == "left"
    assert asked.event == GuessNow(1)
    assert asked.briefing == YourCard(1, 2)
    assert list(asked.heard) == [Moment(YourCard(1, 2))]
    assert asked.ask.action is Guess
    assert here.heard["right"] == [Moment(YourCard(2, 2))]


def test_a_whole_match() -> None:
    here = table()
    for number in (3, 5):
        here.answer("right", Guess(number=number))
        here.answer("left", Guess(number=3))
    assert here.over
    assert here.outcome == Score(left=2, right=1)
    assert not here.forfeited
    assert here.requests == 2
    assert here.given[0] == Given(0, "right", Guess(number=3))
    assert here.heard["left"] == [
        Moment(YourCard(1, 2)),
        Moment(GuessNow(1), Guess(number=3)),
        Moment(Guesses(1, (("left", 3, ""), ("right", 3, "")))),
        Moment(GuessNow(2), Guess(number=3)),
        Moment(Guesses(2, (("left", 3, ""), ("right", 5, "")))),
        Moment(Reveal(3)),
    ]


def test_an_answer_is_shown_to_nobody_before_the_last_of_them() -> None:
    here = table()
    before = here.request("right"), list(here.heard["right"])
    here.answer("left", Guess(number=3))
    assert here.requests == 0
    assert (here.request("right"), here.heard["right"]) == before
    assert list(here.pending) == ["right"]


def test_a_loop_over_what_is_open_answers_each_question_once() -> None:
    here = table()
    while here.pending:
        for seat in here.pending:
            here.answer(seat, Guess(number=3))
    assert [(one.request, one.actor) for one in here.given] == [
        (0, "left"), (0, "right"), (1, "left"), (1, "right"),
    ]  # fmt: skip


def test_answers_reach_the_rules_in_the_order_asked() -> None:
    orders = []
    for seats in (("left", "right"), ("right", "left")):
        here = table()
        for seat in seats:
            here.answer(seat, Guess(number=4))
        orders.append(here.heard["left"][-1].event)
    assert orders[0] == orders[1]


def test_an_answer_to_a_single_question_comes_alone_and_to_a_tuple_by_seat() -> None:
    received: list[Any] = []

    class Noting(Guessing):
        def play(self, instance: Cards, chance: Chance) -> Play[Any]:
            received.append((yield Ask("left", Guess, GuessNow(1))))
            received.append((yield (Ask("left", Guess, GuessNow(2)),)))
            return Score(left=0, right=0)

    here = Table(Noting(), INSTANCE, "seed")
    here.answer("left", Guess(number=1))
    here.answer("left", Guess(number=2))
    assert received == [Guess(number=1), {"left": Guess(number=2)}]


@pytest.mark.parametrize(
    ("action", "why"),
    [
        (Guess(number=0), "the sum is no less than your card"),
        (SpokenGuess(number=3, message=""), "expected a Guess, not a SpokenGuess"),
        ("three", "expected a Guess, not a str"),
        (None, "expected a Guess, not a NoneType"),
    ],
)
def test_an_illegal_action_is_refused_and_changes_nothing(action: object, why: str) -> None:
    here = table()
    with pytest.raises(IllegalAction, match=f"^{why}$"):
        here.answer("left", action)
    assert here.given == []
    assert list(here.pending) == ["left", "right"]
    here.answer("left", Guess(number=1))
    assert len(here.given) == 1


def test_only_an_open_question_can_be_answered() -> None:
    here = table()
    here.answer("left", Guess(number=3))
    with pytest.raises(ValueError, match='"left" has no open request'):
        here.answer("left", Guess(number=3))
    with pytest.raises(ValueError, match='"left" has no open request'):
        here.forfeit("left")
    with pytest.raises(ValueError, match='"middle" has no open request'):
        here.forfeit("middle")
    assert here.given == [Given(0, "left", Guess(number=3))]


def test_a_forfeit_ends_the_match_where_the_rules_say_nothing_else() -> None:
    here = table()
    here.forfeit("left")
    assert not here.over
    here.answer("right", Guess(number=3))
    assert here.over
    assert here.outcome is None
    assert here.forfeited == {"left"}
    assert here.given == [Given(0, "left", None), Given(0, "right", Guess(number=3))]
    assert here.heard["left"][-1] == Moment(GuessNow(1), None)


def test_rules_that_know_what_a_forfeit_means_play_on() -> None:
    here = table(lenient=True)
    here.forfeit("left")
    here.answer("right", Guess(number=3))
    assert here.heard["left"][-1] == Moment(Guesses(1, (("right", 3, ""),)))
    for seat in ("left", "right"):
        here.forfeit(seat)
    assert here.over
    assert here.outcome == Score(left=0, right=1)
    assert not here.forfeited


def test_a_forfeit_names_the_seats_and_keeps_the_other_answers() -> None:
    failure = Forfeited(frozenset({"b", "a"}), {"c": Guess(number=1)})
    assert str(failure) == "no valid answer from a, b"
    assert failure.answers == {"c": Guess(number=1)}
    assert Forfeited(frozenset({"a"})).answers == {}


def test_news_can_be_for_one_or_for_several() -> None:
    here = scripted(Tell("left", Reveal(1)), Tell(("left", "right"), Reveal(2)))
    assert here.heard == {
        "left": [Moment(Reveal(1)), Moment(Reveal(2))],
        "right": [Moment(Reveal(2))],
    }
    assert here.over
    assert here.outcome == Score(left=0, right=0)


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (
            (Ask("left", Guess, GuessNow(1)), Ask("left", Guess, GuessNow(2))),
            "two simultaneous requests to one actor",
        ),
        ((), "an empty tuple"),
        (GuessNow(1), r"yields GuessNow\(round=1\); yield ct.Tell\(actor, event\), ct.Ask"),
        ((Tell("left", Reveal(1)), Tell("right", Reveal(1))), "or a tuple of asks"),
        (Ask("middle", Guess, GuessNow(1)), r'asks "middle" \(GuessNow\).*actors are left, right'),
        (Tell("middle", Reveal(1)), r'tells "middle" \(Reveal\), which is not an actor'),
        (Tell(("left", "middle"), Reveal(1)), r'tells "middle" \(Reveal\), which is not an actor'),
    ],
)
def test_rules_that_yield_what_is_no_step_are_at_fault(step: Step, why: str) -> None:
    with pytest.raises(RulesError, match=rf"^guessing: play\(\) of \w+: .*{why}"):
        scripted(step)


def endless(step: Step) -> Iterator[Step]:
    """Rules that take one step over and over."""
    while True:
        yield step


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        (lambda: Score(left=0, right=0), r"play\(\) returns .*; it must yield"),
        (lambda: (yield from ()), "the game returns null, but outcome_type is Score; return an"),
        (lambda: endless(Tell("left", Reveal(1))), "yields 100,001 events without a request"),
        (lambda: endless(Ask("left", Guess, GuessNow(1))), "makes more than 3 requests; end it"),
    ],
)
def test_rules_that_do_not_come_to_an_outcome_are_at_fault(
    rules: Any, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_module, "MAX_REQUESTS", 3)

    class Odd(Guessing):
        def play(self, instance: Cards, chance: Chance) -> Play[Any]:
            played: Play[Any] = rules()
            return played

    with pytest.raises(RulesError, match=why):
        play(Odd(), Cards(left=0, right=0), "seed", {"left": guess, "right": guess})


def guess(asked: DecisionRequest) -> Action:
    return Guess(number=9)


def test_a_seat_has_luck_of_its_own() -> None:
    here = table()
    left, right = (here.request(seat).chance("guess", 0).uniform() for seat in ("left", "right"))
    assert left != right != here.chance("guess", 0).uniform()
    assert table().request("left").chance("guess", 0).uniform() == left


def test_a_question_without_objection_takes_what_its_schema_takes() -> None:
    ask = Ask("left", Guess, GuessNow(1))
    assert ask.refuse(Guess(number=16)) is None
    assert ask.refuse(Action()) == "expected a Guess, not a Action"


def test_rules_may_change_course_after_a_forfeit() -> None:
    class Second(Guessing):
        def play(self, instance: Cards, chance: Chance) -> Play[Any]:
            try:
                yield Ask("left", Guess, GuessNow(1))
            except Forfeited:
                yield Tell("right", Reveal(0))
                answer: Guess = yield Ask("right", Guess, GuessNow(2))
            return Score(left=0, right=answer.number)

    here = Table(Second(), INSTANCE, "seed")
    here.forfeit("left")
    assert here.heard["right"] == [Moment(Reveal(0))]
    here.answer("right", Guess(number=9))
    assert here.outcome == Score(left=0, right=9)


def test_a_clone_has_lived_through_the_same_and_goes_its_own_way() -> None:
    here = table(horizon=3, lenient=True)
    here.answer("left", Guess(number=1))
    here.forfeit("right")
    here.answer("right", Guess(number=2))
    other = here.clone()
    assert (other.heard, other.given, other.requests) == (here.heard, here.given, here.requests)
    assert list(other.pending) == ["left"]
    assert other.request("left").chance("x").uniform() == here.request("left").chance("x").uniform()
    other.answer("left", Guess(number=4))
    assert other.requests == here.requests + 1
    assert list(here.pending) == ["left"]
    here.answer("left", Guess(number=5))
    assert here.given[-1] != other.given[-1]


def test_a_clone_may_stand_where_an_earlier_question_was_asked() -> None:
    here = table(horizon=3, lenient=True)
    for number in (2, 3):
        here.answer("left", Guess(number=number))
        here.answer("right", Guess(number=number))
    back = here.clone(1)
    assert back.given == here.given[:2]
    assert back.request("right").event == GuessNow(2)
    assert here.clone(0).given == []
    for beyond in (-1, here.requests + 1):
        with pytest.raises(
            ValueError, match=f"there was no request {beyond}; requests are numbered 0 to "
        ):
            here.clone(beyond)


def test_legal_answers_are_listed_where_they_can_be() -> None:
    assert table().legal("left") == [Guess(number=number) for number in range(1, 17)]
    assert table(talk=True).legal("left") is None
    here = table()
    here.answer("left", Guess(number=1))
    with pytest.raises(ValueError, match='"left" has no open request'):
        here.legal("left")


class Choice(Action):
    """Few values of every kind."""

    sure: bool
    colour: Literal["red", "blue"] | None
    number: Annotated[int, Field(ge=-1, le=1)]

    @model_validator(mode="after")
    def _blue_is_sure(self) -> "Choice":
        if self.colour == "blue" and not self.sure:
            raise ValueError("blue is sure")
        return self


class Pair(Action):
    """Too many to list."""

    one: Annotated[int, Field(ge=0, le=999)]
    other: Annotated[int, Field(ge=0, le=999)]


@pytest.mark.parametrize(("kind", "count"), [(Choice, 3 * 3 + 2 * 3), (Pair, None)])
def test_what_a_type_allows_is_listed(kind: type[Action], count: int | None) -> None:
    found = listed(kind)
    assert (found and len(set(found))) == count


def test_a_result_is_there_when_there_is_an_outcome() -> None:
    here = scripted()
    assert here.result() == Result(here.game, INSTANCE, Score(left=0, right=0))
    with pytest.raises(ValueError, match="the match has no outcome: asks left, right"):
        table().result()
    assert [*here.result().given()] == here.given
    failed = table()
    failed.forfeit("left")
    failed.answer("right", Guess(number=3))
    with pytest.raises(ValueError, match="no outcome: forfeited by left"):
        failed.result()


def test_who_is_not_asked_has_no_question() -> None:
    with pytest.raises(ValueError, match='"left" has no open request'):
        scripted().request("left")
