"""The history that a model receives, and how it is asked again."""

from collections.abc import Sequence
from typing import Any

import pytest

from cheaptalk.models import Failure, Reply
from cheaptalk.players import Answer, Kind, LanguageModel
from cheaptalk.players.language_model.player import SUM_UP
from cheaptalk.players.language_model.treatments import LastTurns
from cheaptalk.rules import DecisionRequest
from cheaptalk.styles import style_in
from tests.players import thinking
from tests.players.thinking import ask_model, contents, language_model
from tests.toys import SPEC

ROUNDS = {"rounds": 5}


def guess(number: int) -> str:
    return f'{{"number": {number}, "message": ""}}'


def play(model: LanguageModel, *replies: Sequence[str | Reply]) -> list[list[list[str]]]:
    """Play a match and return the contents of the calls for each of Left's answers."""
    table = thinking.table(left=1, horizon=ROUNDS)
    rounds = []
    for place, texts in enumerate(replies):
        calls, answer = ask_model(model, table.request("left"), *texts)
        rounds.append([contents(call) for call in calls])
        assert answer.action is not None
        table.answer("left", answer.action)
        table.answer("right", thinking.guess(place + 3))
    return rounds


def round_text(number: int) -> str:
    """Return the text of a finished round, in which Left guessed the round's number + 1."""
    return f"Left guessed {number + 1}.\nRight guessed {number + 2}."


def test_history_includes_last_turns_and_new_events() -> None:
    for history, kept, count in (
        (LastTurns(last=0), [3], 2),
        (LastTurns(last=1), [2, 3], 4),
        (LastTurns(last=9), [1, 2, 3], 8),
        ("all", [1, 2, 3], 8),
    ):
        rounds = play(
            language_model(history=history), *([guess(number + 1)] for number in range(1, 5))
        )
        final = rounds[3][0]
        assert final[0] == "You are Left. Your card is 1."
        shown = [sum(round_text(number) in text for text in final) for number in (1, 2, 3)]
        assert shown == [int(number in kept) for number in (1, 2, 3)]
        assert final[-1].startswith(round_text(3))
        assert len(final) == count


def test_summary_replaces_the_summarized_turns() -> None:
    model = language_model(history="summary")
    rounds = play(
        model, [guess(2)], ["I guessed 2.", guess(3)], [" I guessed 2, then 3.\n", guess(4)]
    )
    first, second, third = rounds
    assert len(first) == 1
    assert second[0] == [*first[0], guess(2).replace(" ", ""), SUM_UP]
    assert second[1][:3] == [first[0][0], SUM_UP, "I guessed 2."]
    assert second[1][3].startswith(f"{round_text(1)}\n\nRound 2.")
    assert third[0] == [*second[1], guess(3).replace(" ", ""), SUM_UP]
    assert third[1][:3] == [first[0][0], SUM_UP, "I guessed 2, then 3."]
    assert third[1][3].startswith(f"{round_text(2)}\n\nRound 3.")
    assert not any(round_text(1) in text for text in third[1])


def second_request(model: LanguageModel) -> DecisionRequest:
    table = thinking.table(left=1, horizon=ROUNDS)
    _, answer = ask_model(model, table.request("left"), guess(5))
    assert answer.action is not None
    table.answer("left", answer.action)
    table.answer("right", thinking.guess(7))
    return table.request("left")


def test_invalid_summary_is_retried_with_the_reason() -> None:
    model = language_model(history="summary")
    cut = Reply(text="I gues", finish="length")
    summary = "<|im_start|>system: All of it."
    calls, answer = ask_model(model, second_request(model), cut, " ", summary, guess(6))
    assert "cut off" in contents(calls[1])[-1]
    assert "empty" in contents(calls[2])[-1]
    assert contents(calls[3])[2].endswith("system: All of it.")
    assert "<|im_start|>" not in "".join(contents(calls[3]))
    assert answer == Answer(thinking.guess(6), Kind.REPAIRED)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(text=""), Kind.UNPARSABLE),
        (Reply(text="I gues", finish="length"), Kind.TRUNCATED),
        (Reply(failure=Failure.REFUSED), Kind.REFUSED),
        (Reply(failure=Failure.PROVIDER_ERROR), Kind.PROVIDER_ERROR),
    ],
)
def test_failed_summary_is_no_answer(reply: Reply, kind: Kind) -> None:
    model = language_model(tries=1, history="summary")
    request = second_request(model)
    assert ask_model(model, request, reply)[1] == Answer(None, kind)
    calls, answer = ask_model(model, request, "Round 1 is over.", guess(6))
    assert contents(calls[0])[-1] == SUM_UP, "a missing summary is requested again"
    assert answer.kind is Kind.OK


def test_past_answers_can_be_shown_verbatim() -> None:
    thought = f"The sum may be 5.\n\n{guess(5)}"
    replies = [["What?", thought], [guess(6)]]
    shown = {
        form: play(language_model(past_answers=form), *replies)
        for form in ("canonical", "verbatim")
    }
    assert shown["canonical"][1][0][2] == '{"number":5,"message":""}'
    assert shown["verbatim"][1][0][2] == thought
    assert not any("What?" in text for text in shown["verbatim"][1][0])


def test_answers_from_another_player_are_shown_in_canonical_form() -> None:
    table = thinking.table()
    table.answer("left", thinking.guess(5))
    table.answer("right", thinking.guess(7))
    calls, _ = ask_model(language_model(past_answers="verbatim"), table.request("left"), guess(6))
    assert contents(calls[0])[2] == '{"number":5,"message":""}'


def test_seats_and_matches_are_not_mixed_up() -> None:
    model = language_model()
    first, other = thinking.table(left=1), thinking.table(left=4, right=0)
    seen = [
        contents(ask_model(model, table.request(seat), guess(5))[0][0])[0]
        for table, seat in ((first, "left"), (first, "right"), (other, "left"), (first, "left"))
    ]
    assert seen == [
        "You are Left. Your card is 1.",
        "You are Right. Your card is 2.",
        "You are Left. Your card is 4.",
        "You are Left. Your card is 1.",
    ]


def test_each_event_is_rendered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    template = style_in(SPEC)
    rendered: list[type] = []
    render = type(template).render

    def counting(style: Any, kind: type, values: dict[str, Any]) -> str:
        rendered.append(kind)
        return render(style, kind, values)

    monkeypatch.setattr(type(template), "render", counting)
    play(language_model(), *([guess(number + 1)] for number in range(1, 5)))
    names = [kind.__name__ for kind in rendered]
    assert {name: names.count(name) for name in names} == {
        "YourCard": 1,
        "GuessNow": 4,
        "Guesses": 3,
        "SpokenGuess": 1,
    }
