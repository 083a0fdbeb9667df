"""A model plays as a conversation, and its replies are parsed strictly."""

from typing import Any

from cheaptalk.models import AnswerForm, ChatMessage, Failure, ModelCall, ModelSettings, Reply
from cheaptalk.players import Answer, Kind
from cheaptalk.players.language_model.treatments import PERSONAS
from tests.players.thinking import ask_model, guess, language_model, table
from tests.toys import Guessing, SpokenGuess

HOW = (
    'Answer with {"number": <whole number>, "message": "<text>"}; '
    "the other reads your message after the round."
)


def messages(*pairs: tuple[str, str]) -> tuple[ChatMessage, ...]:
    return tuple(
        ChatMessage.model_validate({"role": role, "content": text}) for role, text in pairs
    )


OPENING = (
    ("system", "You are Left. Your card is 3."),
    ("user", f"Round 1. What is your guess?\n\n{HOW}"),
)


def test_first_call_contains_briefing_and_request() -> None:
    settings = ModelSettings(temperature=0.5)
    model, reply = language_model(settings=settings), '{"number": 5, "message": "Hi."}'
    calls, answer = ask_model(model, table().request("left"), reply)
    form = AnswerForm(name="SpokenGuess", json_schema=SpokenGuess.model_json_schema())
    assert calls == [
        ModelCall(
            model="vllm/tiny",
            messages=messages(*OPENING),
            settings=settings,
            form=form,
            game=Guessing.name,
            seat="left",
        )
    ]
    assert answer == Answer(guess(5, "Hi."), Kind.OK)


def test_later_calls_include_events_between_answers() -> None:
    played = table()
    played.answer("right", guess(7, 'Say "please".'))
    played.answer("left", guess(5))
    happened = 'Left guessed 5.\nRight guessed 7 and said "Say \\"please\\".".'
    later = (
        ("assistant", '{"number":5,"message":""}'),
        ("user", f"{happened}\n\nRound 2. What is your guess?\n\n{HOW}"),
    )
    treated: dict[str, Any] = {"persona": "selfish", "chain_of_thought": "Walk first."}
    for prompt, persona, advice in (
        ({}, "", ""),
        (treated, f"{PERSONAS['selfish']}\n\n", "\n\nWalk first."),
    ):
        answer = '{"number": 6, "message": ""}'
        calls, _ = ask_model(language_model(**prompt), played.request("left"), answer)
        expected = messages(
            ("system", persona + OPENING[0][1]),
            OPENING[1],
            later[0],
            ("user", later[1][1] + advice),
        )
        assert [call.messages for call in calls] == [expected]


def test_forfeited_request_appears_without_an_answer() -> None:
    played = table(lenient=True)
    played.forfeit("left")
    played.answer("right", guess(7))
    calls, _ = ask_model(language_model(), played.request("left"), '{"number": 6, "message": ""}')
    question = "Round 1. What is your guess?\n\nRight guessed 7.\n\nRound 2. What is your guess?"
    assert [call.messages for call in calls] == [
        messages(OPENING[0], ("user", f"{question}\n\n{HOW}"))
    ]


def test_invalid_answer_is_retried_with_the_reason() -> None:
    illegal = '{"number": 1, "message": ""}'
    replies = ("Let me think.", illegal, '{"number": 9, "message": "So."}')
    why = "no answer could be read from the reply: it contains no JSON object"
    reasons = (why, "the sum is no less than your card")
    (*briefing, (role, request)) = OPENING
    first, second = (
        (role, f"Your last answer does not count: {reason}. Please answer again.\n\n{request}")
        for reason in reasons
    )
    quoted = [OPENING, (*OPENING, ("assistant", replies[0]), first)]
    quoted.append((*quoted[-1], ("assistant", illegal), second))
    for reask, sent in (
        ("reason", [OPENING, (*briefing, first), (*briefing, second)]),
        ("quoted", quoted),
        ("afresh", [OPENING] * 3),
    ):
        calls, answer = ask_model(language_model(reask=reask), table().request("left"), *replies)
        chats = [call.messages for call in calls]
        assert chats == [messages(*pairs) for pairs in sent]
        assert answer == Answer(guess(9, "So."), Kind.REPAIRED)


def test_last_fault_counts_after_all_tries() -> None:
    illegal = '{"number": 0, "message": ""}'
    cases: list[tuple[list[str | Reply], Kind]] = [
        (['{"number": 5, "message": "a"} {"number": 6, "message": "b"}'] * 2, Kind.UNPARSABLE),
        (['{"number": 99, "message": "a"}'] * 2, Kind.UNPARSABLE),
        (["what?", illegal], Kind.ILLEGAL),
        ([illegal, "what?"], Kind.UNPARSABLE),
        (["what?", Reply(failure=Failure.TIMED_OUT)], Kind.TIMED_OUT),
        (["what?", Reply(failure=Failure.PROVIDER_ERROR)], Kind.PROVIDER_ERROR),
        ([Reply()], Kind.PROVIDER_ERROR),
    ]
    for replies, kind in cases:
        calls, answer = ask_model(language_model(tries=2), table().request("left"), *replies)
        assert answer == Answer(None, kind)
        assert len(calls) == len(replies)
