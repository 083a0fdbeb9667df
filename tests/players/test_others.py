"""Scripted strategies, people and recorded moves as players."""

import json

import pytest

from cheaptalk.models import Failure, Reply
from cheaptalk.players import Answer, Kind, Person, PersonCall, Recorded, Scripted, new_observations
from cheaptalk.rules import Action, DecisionRequest, Given, StrategyError
from cheaptalk.styles import style_in
from tests.players.thinking import guess, table, think
from tests.toys import SPEC, Guess, Guessing, SpokenGuess


def test_strategy_answers_without_a_call() -> None:
    decide = SPEC.strategies["own_card"].with_settings(plus=4)
    assert think(Scripted(decide), table().request("left")) == (
        [],
        Answer(guess(7, "I think so."), Kind.OK),
    )


def test_illegal_strategy_answer_raises_error() -> None:
    def cheat(request: DecisionRequest) -> Action:
        return guess(0)

    with pytest.raises(
        StrategyError, match='"left" answered illegally in request 0, by cheat: the'
    ):
        think(Scripted(cheat), table().request("left"))


def person() -> Person:
    return Person(Guessing(), style_in(SPEC))


def test_person_call_contains_texts_and_form() -> None:
    calls, answer = think(
        person(), table().request("left"), json.dumps({"number": 5, "message": ""})
    )
    assert calls == [
        PersonCall(
            seat="left",
            news=("You are Left. Your card is 3.",),
            question="Round 1. What is your guess?",
            how='Answer with {"number": <whole number>, "message": "<text>"}; '
            "the other reads your message after the round.",
            form=SpokenGuess.model_json_schema(),
        )
    ]
    assert answer == Answer(guess(5), Kind.OK)


def test_person_is_asked_again_without_limit() -> None:
    wrong = ['{"number": 0, "message": ""}'] * 5
    replies = (*wrong, "eh", '{"number": 6, "message": ""}')
    calls, answer = think(person(), table().request("left"), *replies)
    problems = [call.problem for call in calls if isinstance(call, PersonCall)]
    reason = "the sum is no less than your card"
    unread = "no answer could be read from the reply: it contains no JSON object"
    assert problems == [None, *[reason] * 5, unread]
    assert answer == Answer(guess(6), Kind.REPAIRED)


def test_substitute_answers_after_a_timeout() -> None:
    late = Reply(failure=Failure.TIMED_OUT)
    assert think(person(), table().request("left"), late)[1] == Answer(None, Kind.TIMED_OUT)
    substitute = Scripted(SPEC.strategies["own_card"].with_settings(plus=4))
    away = Person(Guessing(), style_in(SPEC), 30, substitute)
    calls, answer = think(away, table().request("left"), late)
    assert answer == Answer(guess(7, "I think so."), Kind.STOOD_IN)
    assert isinstance(calls[0], PersonCall)
    assert calls[0].deadline == 30
    _, answer = think(away, table().request("left"), '{"number": 5, "message": ""}')
    assert answer == Answer(guess(5), Kind.OK)


def test_person_receives_events_since_their_last_answer() -> None:
    played = table()
    assert len(new_observations(played.request("left"))) == 1
    played.answer("left", guess(5))
    played.answer("right", guess(7, "Seven!"))
    calls, _ = think(person(), played.request("left"), '{"number": 5, "message": ""}')
    assert isinstance(calls[0], PersonCall)
    assert calls[0].news == ('Left guessed 5.\nRight guessed 7 and said "Seven!".',)


def test_recorded_player_repeats_its_moves_in_order() -> None:
    given = [
        Given(0, "right", guess(2)),
        Given(0, "left", None),  # a forfeit
        Given(1, "left", guess(6, "second")),
    ]
    player, request = Recorded(given), table().request("left")
    forfeit = Answer(None, Kind.ILLEGAL)
    answers = [think(player, request)[1] for _ in range(3)]
    assert answers == [forfeit, Answer(guess(6, "second"), Kind.OK), forfeit]
    assert think(Recorded(given[1:]), table().request("right")) == ([], forfeit)


def test_invalid_recorded_move_is_not_adjusted() -> None:
    for move in (guess(1), Guess(number=9)):
        player = Recorded([Given(0, "left", move)])
        assert think(player, table().request("left")) == ([], Answer(None, Kind.ILLEGAL))
