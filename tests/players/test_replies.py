"""Invalid replies: how they are classified, and the feedback to their author."""

from typing import Any

from cheaptalk.models import Failure, ModelCall, Reply, Usage
from cheaptalk.players import Answer, Kind
from cheaptalk.players.language_model.replies import ECHO, echoed, fault
from cheaptalk.rules import MESSAGE_LIMIT
from cheaptalk.styles import IllegalMove, Unparsable
from tests.players import thinking
from tests.players.thinking import guess, language_model, table

LEGAL = '{"number": 5, "message": "Hi."}'


def ask(*replies: Reply | str, tries: int = 2, **prompt: Any) -> tuple[list[ModelCall], Answer]:
    return thinking.ask_model(language_model(tries, **prompt), table().request("left"), *replies)


def cut_off(text: str, tokens: int = 0) -> Reply:
    return Reply(text=text, finish="length", usage=Usage(output_tokens=tokens))


def test_cut_off_reply_is_retried_and_counts_as_truncated() -> None:
    feedback = "Your last answer does not count: the reply was cut off after 1,234 tokens; "
    for text in ("", '{"number": 5, "mess', f"{LEGAL} Or rather", "<think>"):
        calls, answer = ask(cut_off(text, 1234), cut_off(text))
        assert answer == Answer(None, Kind.TRUNCATED)
        assert calls[1].messages[-1].content.startswith(feedback)
    assert ask(cut_off(""), "I think")[1].kind is Kind.UNPARSABLE, "the last fault counts"
    assert ask(cut_off('{"number": 0, "message": ""}'), tries=1)[1].kind is Kind.ILLEGAL
    assert ask(cut_off("I think"), LEGAL)[1].kind is Kind.REPAIRED


def test_long_reply_without_an_answer_is_truncated_only_if_reasoning_was_requested() -> None:
    talk = cut_off("I think that the market is", 1024)
    calls, answer = ask(talk, talk)
    assert answer.kind is Kind.UNPARSABLE
    assert "no JSON object; it was cut off after 1,024 tokens" in calls[1].messages[-1].content
    assert ask(talk, talk, chain_of_thought="zero-shot")[1].kind is Kind.TRUNCATED


def test_cut_off_reply_with_a_complete_answer_counts() -> None:
    _, answer = ask(cut_off(f"```json\n{LEGAL}\n```\n\n\n"))
    assert answer == Answer(guess(5, "Hi."), Kind.OK)


def test_refused_or_filtered_call_is_repeated_unchanged() -> None:
    for failure, kind in ((Failure.REFUSED, Kind.REFUSED), (Failure.FILTERED, Kind.FILTERED)):
        declined = Reply(failure=failure)
        calls, answer = ask(declined, declined, LEGAL, tries=3)
        assert answer == Answer(guess(5, "Hi."), Kind.REPAIRED)
        assert calls == [calls[0]] * 3
        assert ask("Hm.", declined)[1] == Answer(None, kind)
        assert ask(declined, "Hm.")[1] == Answer(None, Kind.UNPARSABLE)
        assert ask(declined, refusals="final")[1] == Answer(None, kind)


def test_empty_reply_is_quoted_as_empty() -> None:
    calls, answer = ask(" \n", "", reask="quoted")
    assert answer == Answer(None, Kind.UNPARSABLE)
    _, _, repeated, feedback = calls[1].messages
    assert (repeated.role, repeated.content) == ("assistant", "(an empty reply)")
    assert feedback.content.startswith("Your last answer does not count: the reply is empty.")


def test_long_reply_is_quoted_in_part() -> None:
    shown = echoed("a" * 1_000_000 + "z" * 1_000_000)
    assert len(shown) < ECHO + 10
    assert shown.startswith("aaa")
    assert shown.endswith("zzz")
    text = "x" * (MESSAGE_LIMIT + 200)
    assert echoed(text) == text


def test_faults_state_the_problem() -> None:
    reply = Reply(text="?")
    assert fault(Unparsable("no"), reply, reasons=False) == (Kind.UNPARSABLE, "no")
    assert fault(IllegalMove("too much"), reply, reasons=False) == (Kind.ILLEGAL, "too much")
    cut = cut_off("?")
    assert fault(IllegalMove("too much"), cut, reasons=False) == (Kind.ILLEGAL, "too much")
    reason = "the reply was cut off; answer more briefly"
    assert fault(Unparsable("no"), cut, reasons=False) == (Kind.TRUNCATED, reason)
