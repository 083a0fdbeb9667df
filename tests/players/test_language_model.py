"""A model plays as a conversation, and its replies are parsed strictly."""

from cheaptalk.models import AnswerForm, ChatMessage, Failure, ModelCall, ModelSettings, Reply
from cheaptalk.players import Answer, Kind, LanguageModel
from cheaptalk.players.language_model.treatments import PERSONAS, PLAIN, Prompt
from cheaptalk.rules import Table
from cheaptalk.styles import style_in
from tests.players.thinking import think
from tests.toys import SPEC, Cards, Guessing, SpokenGuess

GAME = Guessing()
SETTINGS = ModelSettings(temperature=0.5)
HOW = (
    'Answer with {"number": <whole number>, "message": "<text>"}; '
    "the other reads your message after the round."
)


def model(tries: int = 3, prompt: Prompt = PLAIN) -> LanguageModel:
    return LanguageModel(GAME, style_in(SPEC), "vllm/tiny", SETTINGS, prompt, tries)


def table() -> Table:
    return Table(GAME, Cards(left=3, right=2), "seed")


def messages(*pairs: tuple[str, str]) -> tuple[ChatMessage, ...]:
    return tuple(
        ChatMessage.model_validate({"role": role, "content": text}) for role, text in pairs
    )


OPENING = (
    ("system", "You are Left. Your card is 3."),
    ("user", f"Round 1. What is your guess?\n\n{HOW}"),
)


def test_first_call_contains_briefing_and_request() -> None:
    calls, answer = think(model(), table().request("left"), '{"number": 5, "message": "Hi."}')
    form = AnswerForm(name="SpokenGuess", json_schema=SpokenGuess.model_json_schema())
    assert calls == [
        ModelCall(
            model="vllm/tiny",
            messages=messages(*OPENING),
            settings=SETTINGS,
            form=form,
            game=GAME.name,
            seat="left",
        )
    ]
    assert answer == Answer(SpokenGuess(number=5, message="Hi."), Kind.OK)


def test_later_calls_include_events_between_answers() -> None:
    played = table()
    played.answer("right", SpokenGuess(number=7, message='Say "please".'))
    played.answer("left", SpokenGuess(number=5, message=""))
    happened = 'Left guessed 5.\nRight guessed 7 and said "Say \\"please\\".".'
    later = (
        ("assistant", '{"number":5,"message":""}'),
        ("user", f"{happened}\n\nRound 2. What is your guess?\n\n{HOW}"),
    )
    for prompt, persona, advice in (
        (PLAIN, "", ""),
        (Prompt("selfish", "Walk first."), f"{PERSONAS['selfish']}\n\n", "\n\nWalk first."),
    ):
        answer = '{"number": 6, "message": ""}'
        calls, _ = think(model(prompt=prompt), played.request("left"), answer)
        expected = messages(
            ("system", persona + OPENING[0][1]),
            OPENING[1],
            later[0],
            ("user", later[1][1] + advice),
        )
        assert [call.messages for call in calls if isinstance(call, ModelCall)] == [expected]


def test_forfeited_request_appears_without_an_answer() -> None:
    game = Guessing(lenient=True)
    played = Table(game, Cards(left=3, right=2), "seed")
    played.forfeit("left")
    played.answer("right", SpokenGuess(number=7, message=""))
    player = LanguageModel(game, style_in(SPEC), "vllm/tiny", SETTINGS)
    calls, _ = think(player, played.request("left"), '{"number": 6, "message": ""}')
    question = "Round 1. What is your guess?\n\nRight guessed 7.\n\nRound 2. What is your guess?"
    assert [call.messages for call in calls if isinstance(call, ModelCall)] == [
        messages(OPENING[0], ("user", f"{question}\n\n{HOW}"))
    ]


def test_invalid_answer_is_retried_with_the_reason() -> None:
    illegal = '{"number": 1, "message": ""}'
    replies = ("Let me think.", illegal, '{"number": 9, "message": "So."}')
    why = "no answer could be read from the reply: it contains no JSON object"
    reasons = (why, "the sum is no less than your card")
    retries = [
        (
            ("assistant", reply),
            ("user", f"That answer does not count: {reason}.\n\nPlease answer again.\n\n{request}"),
        )
        for reply, reason, request in zip(replies, reasons, [OPENING[-1][1]] * 2, strict=False)
    ]
    for prompt, sent in (
        (PLAIN, [OPENING, (*OPENING, *retries[0]), (*OPENING, *retries[0], *retries[1])]),
        (Prompt(reask="afresh"), [OPENING] * 3),
    ):
        calls, answer = think(model(prompt=prompt), table().request("left"), *replies)
        chats = [call.messages for call in calls if isinstance(call, ModelCall)]
        assert chats == [messages(*pairs) for pairs in sent]
        assert answer == Answer(SpokenGuess(number=9, message="So."), Kind.REPAIRED)


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
        calls, answer = think(model(tries=2), table().request("left"), *replies)
        assert answer == Answer(None, kind)
        assert len(calls) == len(replies)
