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
    calls, _ = think(model(), played.request("left"), '{"number": 6, "message": ""}')
    happened = 'Left guessed 5.\nRight guessed 7 and said "Say \\"please\\".".'
    assert [call.messages for call in calls if isinstance(call, ModelCall)] == [
        messages(
            *OPENING,
            ("assistant", '{"number":5,"message":""}'),
            ("user", f"{happened}\n\nRound 2. What is your guess?\n\n{HOW}"),
        )
    ]


def test_persona_precedes_briefing_and_advice_follows_request() -> None:
    played = table()
    played.answer("right", SpokenGuess(number=7, message=""))
    played.answer("left", SpokenGuess(number=5, message=""))
    prompt = Prompt("selfish", "Take a walk first.")
    calls, _ = think(model(1, prompt), played.request("left"), '{"number": 6, "message": ""}')
    assert isinstance(calls[0], ModelCall)
    system, past, _, question = (message.content for message in calls[0].messages)
    assert system == f"{PERSONAS['selfish']}\n\nYou are Left. Your card is 3."
    assert past == OPENING[1][1]
    assert question.endswith(f"{HOW}\n\nTake a walk first.")


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
    replies = ("Let me think.", '{"number": 1, "message": ""}', '{"number": 9, "message": "So."}')
    calls, answer = think(model(), table().request("left"), *replies)
    sent = [call.messages for call in calls if isinstance(call, ModelCall)]
    illegal = "the sum is no less than your card"
    request = OPENING[-1][1]
    why = "no answer could be read from the reply: it contains no JSON object"
    first = (
        ("assistant", "Let me think."),
        ("user", f"That answer does not count: {why}.\n\nPlease answer again.\n\n{request}"),
    )
    second = (
        ("assistant", '{"number": 1, "message": ""}'),
        (
            "user",
            f"That answer does not count: {illegal}.\n\nPlease answer again.\n\n{request}",
        ),
    )
    assert sent == [
        messages(*OPENING),
        messages(*OPENING, *first),
        messages(*OPENING, *first, *second),
    ]
    assert answer == Answer(SpokenGuess(number=9, message="So."), Kind.REPAIRED)


def test_last_fault_counts_after_all_tries() -> None:
    cases = [
        (["what?", "what?"], Kind.UNPARSABLE),
        (['{"number": 5, "message": "a"} {"number": 6, "message": "b"}'] * 2, Kind.UNPARSABLE),
        (['{"number": 99, "message": "a"}'] * 2, Kind.UNPARSABLE),
        (["what?", '{"number": 0, "message": ""}'], Kind.ILLEGAL),
        (['{"number": 0, "message": ""}', "what?"], Kind.UNPARSABLE),
    ]
    for replies, kind in cases:
        calls, answer = think(model(tries=2), table().request("left"), *replies)
        assert answer == Answer(None, kind)
        assert len(calls) == 2


def test_failed_call_is_not_retried_by_the_player() -> None:
    cases: list[tuple[Failure | None, Kind]] = [
        (Failure.TIMED_OUT, Kind.TIMED_OUT),
        (Failure.PROVIDER_ERROR, Kind.PROVIDER_ERROR),
        (None, Kind.PROVIDER_ERROR),
    ]
    for failure, kind in cases:
        _, answer = think(model(), table().request("left"), "what?", Reply(failure=failure))
        assert answer == Answer(None, kind)
