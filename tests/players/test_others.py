"""Scripted strategies, people and recorded moves as players."""

import json

import pytest

from cheaptalk.models import Failure, Reply
from cheaptalk.players import Answer, Kind, Person, PersonCall, Recorded, Scripted, since_answer
from cheaptalk.rules import Action, DecisionRequest, Given, StrategyError, Table
from cheaptalk.styles import style_in
from tests.players.thinking import think
from tests.toys import SPEC, Cards, Guess, Guessing, SpokenGuess

GAME = Guessing()


def table() -> Table:
    return Table(GAME, Cards(left=3, right=2), "seed")


def guess(number: int, message: str = "") -> SpokenGuess:
    return SpokenGuess(number=number, message=message)


def test_a_strategy_answers_without_a_call() -> None:
    decide = SPEC.strategies["own_card"].with_settings(plus=4)
    assert think(Scripted(decide), table().request("left")) == (
        [],
        Answer(guess(7, "I think so."), Kind.OK),
    )


def test_a_strategy_that_answers_illegally_is_at_fault_itself() -> None:
    def cheat(asked: DecisionRequest) -> Action:
        return guess(0)

    with pytest.raises(
        StrategyError, match='"left" answered illegally in request 0, by cheat: the'
    ):
        think(Scripted(cheat), table().request("left"))


def person() -> Person:
    return Person(GAME, style_in(SPEC))


def test_a_person_reads_the_words_and_fills_in_the_form() -> None:
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


def test_a_person_is_asked_again_as_often_as_it_takes() -> None:
    wrong = ['{"number": 0, "message": ""}'] * 5
    calls, answer = think(
        person(), table().request("left"), *wrong, "eh", '{"number": 6, "message": ""}'
    )
    problems = [call.problem for call in calls if isinstance(call, PersonCall)]
    reason = "the sum is no less than your card"
    unread = "no answer could be read from the reply: it contains no JSON object"
    assert problems == [None, *[reason] * 5, unread]
    assert answer == Answer(guess(6), Kind.REPAIRED)


def test_a_person_who_gives_no_answer_forfeits() -> None:
    _, answer = think(person(), table().request("left"), Reply(failure=Failure.TIMED_OUT))
    assert answer == Answer(None, Kind.TIMED_OUT)


def test_who_stands_in_for_a_person_answers_where_no_answer_comes_in_time() -> None:
    substitute = Scripted(SPEC.strategies["own_card"].with_settings(plus=4))
    away = Person(GAME, style_in(SPEC), 30, substitute)
    calls, answer = think(away, table().request("left"), Reply(failure=Failure.TIMED_OUT))
    assert answer == Answer(guess(7, "I think so."), Kind.STOOD_IN)
    assert isinstance(calls[0], PersonCall)
    assert calls[0].deadline == 30
    _, answer = think(away, table().request("left"), '{"number": 5, "message": ""}')
    assert answer == Answer(guess(5), Kind.OK)


def test_a_person_hears_what_is_new_since_their_last_answer() -> None:
    played = table()
    assert len(since_answer(played.request("left"))) == 1
    played.answer("left", guess(5))
    played.answer("right", guess(7, "Seven!"))
    calls, _ = think(person(), played.request("left"), '{"number": 5, "message": ""}')
    assert isinstance(calls[0], PersonCall)
    assert calls[0].news == ('Left guessed 5.\nRight guessed 7 and said "Seven!".',)


def recorded() -> Recorded:
    given = [
        Given(0, "right", guess(2)),
        Given(0, "left", guess(5, "first")),
        Given(1, "left", guess(6, "second")),
    ]
    return Recorded(given)


def test_a_recorded_player_repeats_its_own_moves_in_order_and_then_makes_none_up() -> None:
    player, played = recorded(), table()
    answers = [think(player, played.request("left"))[1] for _ in range(3)]
    assert answers == [
        Answer(guess(5, "first"), Kind.OK),
        Answer(guess(6, "second"), Kind.OK),
        Answer(None, Kind.ILLEGAL),
    ]


def test_a_seat_that_is_not_in_the_record_makes_no_move() -> None:
    player = Recorded([Given(0, "left", guess(5))])
    assert think(player, table().request("right")) == ([], Answer(None, Kind.ILLEGAL))


def test_a_recorded_forfeit_is_repeated_and_the_moves_after_it_keep_their_places() -> None:
    player = Recorded([Given(0, "left", None), Given(1, "left", guess(6))])
    answers = [think(player, table().request("left"))[1] for _ in range(2)]
    assert answers == [Answer(None, Kind.ILLEGAL), Answer(guess(6), Kind.OK)]


@pytest.mark.parametrize("move", [guess(1), Guess(number=9)], ids=["illegal", "another type"])
def test_a_recorded_move_that_does_not_fit_is_not_bent(move: Action) -> None:
    player = Recorded([Given(0, "left", move)])
    assert think(player, table().request("left")) == ([], Answer(None, Kind.ILLEGAL))
