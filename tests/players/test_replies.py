"""Replies that are no answers: what they count as, and what their author is told."""

import pytest

from cheaptalk.models import Failure, ModelCall, ModelSettings, Reply, Usage
from cheaptalk.players import Answer, Kind, LanguageModel
from cheaptalk.players.language_model.replies import ECHO, echoed, fault
from cheaptalk.players.language_model.treatments import PLAIN, Prompt
from cheaptalk.rules import MESSAGE_LIMIT, Table
from cheaptalk.styles import IllegalMove, Unparsable, style_in
from tests.players.thinking import think
from tests.toys import SPEC, Cards, Guessing, SpokenGuess

GAME = Guessing()
LEGAL = '{"number": 5, "message": "Hi."}'


def answered(
    *replies: Reply | str, tries: int = 2, prompt: Prompt = PLAIN
) -> tuple[list[ModelCall], Answer]:
    player = LanguageModel(GAME, style_in(SPEC), "vllm/tiny", ModelSettings(), prompt, tries)
    asked = Table(GAME, Cards(left=3, right=2), "seed").request("left")
    calls, answer = think(player, asked, *replies)
    return [call for call in calls if isinstance(call, ModelCall)], answer


def cut(text: str, tokens: int = 0) -> Reply:
    return Reply(text=text, finish="length", usage=Usage(output_tokens=tokens))


@pytest.mark.parametrize(
    "text", ["", "I think", '{"number": 5, "mess', f"{LEGAL} Or rather", "<think>"]
)
def test_a_reply_that_was_cut_off_is_asked_again_with_the_length_and_counts_as_truncated(
    text: str,
) -> None:
    calls, answer = answered(cut(text, 1234), cut(text))
    assert answer == Answer(None, Kind.TRUNCATED)
    assert (
        calls[1]
        .messages[-1]
        .content.startswith(
            "That answer does not count: the reply was cut off after 1,234 tokens; answer more"
        )
    )


def test_a_reply_that_ends_with_its_answer_counts_though_it_was_cut_off() -> None:
    _, answer = answered(cut(f"```json\n{LEGAL}\n```\n\n\n"))
    assert answer == Answer(SpokenGuess(number=5, message="Hi."), Kind.OK)


def test_the_last_fault_counts() -> None:
    assert answered(cut("I think"), "I think")[1].kind is Kind.UNPARSABLE
    assert answered("I think", cut("I think"))[1].kind is Kind.TRUNCATED
    assert answered(cut('{"number": 0, "message": ""}'), tries=1)[1].kind is Kind.ILLEGAL
    assert answered(cut("I think"), LEGAL)[1].kind is Kind.REPAIRED


@pytest.mark.parametrize(
    ("failure", "kind"),
    [(Failure.REFUSED, Kind.REFUSED), (Failure.FILTERED, Kind.FILTERED)],
)
def test_who_refuses_or_is_filtered_is_asked_the_same_again(failure: Failure, kind: Kind) -> None:
    declined = Reply(failure=failure)
    calls, answer = answered(declined, declined, LEGAL, tries=3)
    assert answer == Answer(SpokenGuess(number=5, message="Hi."), Kind.REPAIRED)
    assert calls == [calls[0]] * 3
    assert answered("Hm.", declined)[1] == Answer(None, kind)
    assert answered(declined, "Hm.")[1] == Answer(None, Kind.UNPARSABLE)
    assert answered(declined, prompt=Prompt(refusals="final"))[1] == Answer(None, kind)


def test_a_refusal_in_words_is_asked_again() -> None:
    calls, answer = answered("I'm sorry, but I can't help with that.", LEGAL)
    assert (len(calls), answer.kind) == (2, Kind.REPAIRED)


def test_an_empty_reply_is_its_own_reason_and_is_repeated_in_words() -> None:
    calls, answer = answered(" \n", "")
    assert answer == Answer(None, Kind.UNPARSABLE)
    _, _, repeated, told = calls[1].messages
    assert (repeated.role, repeated.content) == ("assistant", "(an empty reply)")
    assert told.content.startswith("That answer does not count: the reply is empty.")


def test_an_endless_reply_is_repeated_in_part() -> None:
    shown = echoed("a" * 1_000_000 + "z" * 1_000_000)
    assert len(shown) < ECHO + 10
    assert shown.startswith("aaa")
    assert shown.endswith("zzz")
    whole = "x" * (MESSAGE_LIMIT + 200)
    assert echoed(whole) == whole


def test_faults_say_what_is_wrong() -> None:
    whole = Reply(text="?")
    assert fault(Unparsable("no"), whole) == (Kind.UNPARSABLE, "no")
    assert fault(IllegalMove("too much"), whole) == (Kind.ILLEGAL, "too much")
    assert fault(IllegalMove("too much"), cut("?")) == (Kind.ILLEGAL, "too much")
    assert fault(Unparsable("no"), cut("?"))[1] == "the reply was cut off; answer more briefly"
