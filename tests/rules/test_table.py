"""Tables: requests, events, answers and forfeits."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, model_validator

import cheaptalk as ct
from cheaptalk.rules import RulesError, Step
from cheaptalk.rules import table as table_module
from cheaptalk.rules.actions import listed
from tests import toys

INSTANCE = toys.Cards(left=1, right=2)


def make_table(**parameters: Any) -> ct.Table:
    return ct.Table(toys.Guessing.model_validate({"talk": False, **parameters}), INSTANCE, "seed")


def make_scripted_table(*steps: Step, received: list[Any] | None = None) -> ct.Table:
    """Return a table whose rules take these steps, note what they receive, and end."""

    class Scripted(toys.Guessing):
        def play(self, instance: toys.Cards, chance: ct.Chance) -> ct.Play[Any]:
            for step in steps:
                answers = yield step
                if received is not None:
                    received.append(answers)
            return toys.Score(left=0, right=0)

    return ct.Table(Scripted(), INSTANCE, "seed")


def test_rules_receive_answers_and_actors_receive_events() -> None:
    received: list[Any] = []
    ask, asks = (
        ct.Ask("left", toys.Guess, toys.GuessNow(1)),
        (ct.Ask("left", toys.Guess, toys.GuessNow(2)),),
    )
    tells = ct.Tell("left", toys.Reveal(1)), ct.Tell(("left", "right"), toys.Reveal(2))
    table = make_scripted_table(*tells, ask, asks, received=received)
    assert table.heard == {
        "left": [ct.rules.Moment(toys.Reveal(1)), ct.rules.Moment(toys.Reveal(2))],
        "right": [ct.rules.Moment(toys.Reveal(2))],
    }
    table.answer("left", toys.Guess(number=1))
    table.answer("left", toys.Guess(number=2))
    assert received[2:] == [toys.Guess(number=1), {"left": toys.Guess(number=2)}]
    assert (table.over, table.outcome) == (True, toys.Score(left=0, right=0))


def test_seats_have_their_own_chance_and_hidden_answers() -> None:
    table = make_table()
    left, right = (table.request(seat).chance("guess", 0).uniform() for seat in ("left", "right"))
    assert left != right != table.chance("guess", 0).uniform()
    assert make_table().request("left").chance("guess", 0).uniform() == left
    before = table.request("right"), list(table.heard["right"])
    table.answer("left", toys.Guess(number=3))
    assert table.requests == 0
    assert (table.request("right"), table.heard["right"]) == before
    assert list(table.pending) == ["right"]


def test_complete_match() -> None:
    table = make_table()
    request = table.request("left")
    assert (request.actor, request.event) == ("left", toys.GuessNow(1))
    assert request.briefing == toys.YourCard(1, 2)
    assert list(request.heard) == [ct.rules.Moment(toys.YourCard(1, 2))]
    assert request.ask.action is toys.Guess
    assert table.heard["right"] == [ct.rules.Moment(toys.YourCard(2, 2))]
    for number in (3, 5):
        for seat in table.pending:  # answers make a new mapping
            table.answer(seat, toys.Guess(number=number if seat == "right" else 3))
    assert (table.over, table.requests) == (True, 2)
    assert table.outcome == toys.Score(left=2, right=1)
    assert not table.forfeited
    assert table.given[1] == ct.rules.Given(0, "right", toys.Guess(number=3))
    assert table.heard["left"] == [
        ct.rules.Moment(toys.YourCard(1, 2)),
        ct.rules.Moment(toys.GuessNow(1), toys.Guess(number=3)),
        ct.rules.Moment(toys.Guesses(1, (("left", 3, ""), ("right", 3, "")))),
        ct.rules.Moment(toys.GuessNow(2), toys.Guess(number=3)),
        ct.rules.Moment(toys.Guesses(2, (("left", 3, ""), ("right", 5, "")))),
        ct.rules.Moment(toys.Reveal(3)),
    ]


def test_illegal_action_is_rejected_without_effect() -> None:
    cases: list[tuple[object, str]] = [
        (toys.Guess(number=0), "the sum is no less than your card"),
        (toys.SpokenGuess(number=3, message=""), "expected a Guess, not a SpokenGuess"),
        ("three", "expected a Guess, not a str"),
        (None, "expected a Guess, not a NoneType"),
    ]
    table = make_table()
    for action, error in cases:
        with pytest.raises(ct.rules.IllegalAction, match=f"^{error}$"):
            table.answer("left", action)
        assert table.given == []
        assert list(table.pending) == ["left", "right"]
    table.answer("left", toys.Guess(number=1))
    assert len(table.given) == 1


def test_only_open_requests_can_be_answered() -> None:
    table = make_table()
    table.answer("left", toys.Guess(number=3))
    uses: list[Any] = [table.forfeit, table.legal, table.request]
    for use in (*uses, lambda actor: table.answer(actor, toys.Guess(number=3))):
        for actor in ("left", "middle"):
            with pytest.raises(ValueError, match=f'"{actor}" has no open request'):
                use(actor)
    assert table.given == [ct.rules.Given(0, "left", toys.Guess(number=3))]


def test_forfeit_ends_match_by_default() -> None:
    table = make_table()
    table.forfeit("left")
    assert not table.over
    table.answer("right", toys.Guess(number=3))
    assert table.over
    assert table.outcome is None
    assert table.forfeited == {"left"}
    assert table.given == [
        ct.rules.Given(0, "left", None),
        ct.rules.Given(0, "right", toys.Guess(number=3)),
    ]
    assert table.heard["left"][-1] == ct.rules.Moment(toys.GuessNow(1), None)


def test_lenient_rules_continue_after_forfeit() -> None:
    table = make_table(lenient=True)
    table.forfeit("left")
    table.answer("right", toys.Guess(number=3))
    assert table.heard["left"][-1] == ct.rules.Moment(toys.Guesses(1, (("right", 3, ""),)))
    for seat in ("left", "right"):
        table.forfeit(seat)
    assert table.over
    assert table.outcome == toys.Score(left=0, right=1)
    assert not table.forfeited


def test_invalid_steps_raise_rules_error() -> None:
    cases: list[tuple[Any, str]] = [
        (
            (
                ct.Ask("left", toys.Guess, toys.GuessNow(1)),
                ct.Ask("left", toys.Guess, toys.GuessNow(2)),
            ),
            "two simultaneous requests to one actor",
        ),
        ((), "an empty tuple"),
        (toys.GuessNow(1), r"yields GuessNow\(round=1\); yield ct.Tell\(actor, event\), ct.Ask"),
        ((ct.Tell("left", toys.Reveal(1)), ct.Tell("right", toys.Reveal(1))), "or a tuple of asks"),
        (
            ct.Ask("middle", toys.Guess, toys.GuessNow(1)),
            r'asks "middle" \(GuessNow\).*actors are left, right',
        ),
        (ct.Tell("middle", toys.Reveal(1)), r'tells "middle" \(Reveal\), which is not an actor'),
        (
            ct.Tell(("left", "middle"), toys.Reveal(1)),
            r'tells "middle" \(Reveal\), which is not an actor',
        ),
    ]
    for step, error in cases:
        with pytest.raises(RulesError, match=rf"^guessing: play\(\) of \w+: .*{error}"):
            make_scripted_table(step)


def endless(step: Step) -> Iterator[Step]:
    """Repeat one step forever."""
    while True:
        yield step


@pytest.mark.parametrize(
    ("rules", "error"),
    [
        (lambda: toys.Score(left=0, right=0), r"play\(\) returns .*; it must yield"),
        (lambda: (yield from ()), "the game returns null, but outcome_type is Score; return an"),
        (
            lambda: endless(ct.Tell("left", toys.Reveal(1))),
            "yields 100,001 events without a request",
        ),
        (
            lambda: endless(ct.Ask("left", toys.Guess, toys.GuessNow(1))),
            "makes more than 3 requests; end it",
        ),
    ],
)
def test_rules_without_outcome_raise_error(
    rules: Any, error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_module, "MAX_REQUESTS", 3)

    class Faulty(toys.Guessing):
        def play(self, instance: toys.Cards, chance: ct.Chance) -> ct.Play[Any]:
            played: ct.Play[Any] = rules()
            return played

    with pytest.raises(RulesError, match=error):
        ct.play(Faulty(), toys.Cards(left=0, right=0), "seed", {"left": guess, "right": guess})


def guess(request: ct.DecisionRequest) -> ct.Action:
    return toys.Guess(number=9)


def test_clone_has_same_history_and_is_independent() -> None:
    table = make_table(horizon=3, lenient=True)
    table.answer("left", toys.Guess(number=1))
    table.forfeit("right")
    table.answer("right", toys.Guess(number=2))
    other = table.clone()
    assert (other.heard, other.given, other.requests) == (table.heard, table.given, table.requests)
    assert list(other.pending) == ["left"]
    assert (
        other.request("left").chance("x").uniform() == table.request("left").chance("x").uniform()
    )
    other.answer("left", toys.Guess(number=4))
    assert other.requests == table.requests + 1
    assert list(table.pending) == ["left"]
    table.answer("left", toys.Guess(number=5))
    assert table.given[-1] != other.given[-1]


class Choice(ct.Action):
    """Few values of every kind."""

    sure: bool
    colour: Literal["red", "blue"] | None
    number: Annotated[int, Field(ge=-1, le=1)]

    @model_validator(mode="after")
    def _blue_is_sure(self) -> "Choice":
        if self.colour == "blue" and not self.sure:
            raise ValueError("blue is sure")
        return self


class Pair(ct.Action):
    """Too many to list."""

    first: Annotated[int, Field(ge=0, le=999)]
    second: Annotated[int, Field(ge=0, le=999)]


def test_legal_actions_are_listed_if_finite() -> None:
    assert make_table().legal("left") == [toys.Guess(number=number) for number in range(1, 17)]
    assert make_table(talk=True).legal("left") is None
    for kind, count in ((Choice, 3 * 3 + 2 * 3), (Pair, None)):
        actions = listed(kind)
        assert (actions and len(set(actions))) == count


def test_result_requires_outcome() -> None:
    table = make_scripted_table()
    assert table.result() == ct.Result(table.game, INSTANCE, toys.Score(left=0, right=0))
    with pytest.raises(ValueError, match="the match has no outcome: asks left, right"):
        make_table().result()
    assert [*table.result().given()] == table.given
    failed = make_table()
    failed.forfeit("left")
    failed.answer("right", toys.Guess(number=3))
    with pytest.raises(ValueError, match="no outcome: forfeited by left"):
        failed.result()
