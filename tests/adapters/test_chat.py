"""Games as environments: a seat is asked as models are in studies, and its payoff is the reward."""

from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.adapters import chat_environment
from cheaptalk.models import Failure, Reply
from cheaptalk.players import Kind

INSTANCE: dict[str, Any] = {"style": "tagged", "tries": 2}


def test_a_match_is_a_chat_and_its_payoff_the_reward() -> None:
    table = chat_environment(
        "deal_or_no_deal", {"objective": "coop"}, "player_2", "fair", **INSTANCE
    )
    asked = table.reset("first")
    assert [one.role for one in asked.messages] == ["system", "user"]
    assert "You are Player 2" in asked.messages[0].content
    assert 'Player 1 says: "I take' in asked.messages[-1].content
    assert asked == table.reset("first")
    assert asked != table.reset("second")
    taken = table.step("[message] Instance. I take 0 books, 0 hats and 0 balls.")
    assert (taken.kind, taken.reward, taken.over) == (Kind.OK, 0, False)
    assert taken.messages[2].role == "assistant"
    ended = table.step("[propose] (0 books, 0 hats, 0 balls)")
    assert ended.over
    assert not ended.messages


def test_an_answer_that_does_not_count_is_asked_for_again_with_the_reason() -> None:
    table = chat_environment("deal_or_no_deal", other="fair", **INSTANCE)
    table.reset("first")
    again = table.step("no tag")
    assert again.kind is None
    assert "must begin with [message] or [propose]" in again.messages[-1].content
    assert table.step("[message] Hello.").kind is Kind.REPAIRED
    table.step("no tag")
    ended = table.step("no tag")
    assert (ended.kind, ended.over, ended.reward) == (Kind.UNPARSABLE, True, 0)
    with pytest.raises(ct.CheaptalkError, match="start a match with reset"):
        table.step("[message] Hello?")


def test_who_never_answers_forfeits_the_match() -> None:
    table = chat_environment("bargaining", other="equal_split", tries=2)
    table.reset("first")
    assert not table.step("no offer").over
    ended = table.step("no offer")
    assert (ended.kind, ended.over, ended.reward) == (Kind.UNPARSABLE, True, 0)
    assert table.table.forfeited == {"alice"}
    assert table.table.outcome is None


def test_a_reply_that_is_cut_off_or_none_is_counted_as_what_it_is() -> None:
    table = chat_environment("bargaining", other="equal_split", tries=1)
    table.reset("first")
    assert table.step(Reply(text='{"alice_gain": 5', finish="length")).kind is Kind.TRUNCATED
    table.reset("first")
    assert table.step(Reply(failure=Failure.FILTERED)).kind is Kind.FILTERED


def test_an_agreement_pays_what_the_rules_say() -> None:
    table = chat_environment("bargaining", {"money": 100, "messages": False}, "bob", "equal_split")
    table.reset("first")
    assert table.step('{"decision": "accept"}').reward == 50


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"seat": "player_3"}, 'deal_or_no_deal has no seat "player_3"'),
        ({"other": "fairr"}, 'unknown strategy "fairr" .did you mean "fair".'),
        ({"other": "openai/gpt-4o"}, "the other seats of deal_or_no_deal must be scripted"),
        ({"parameters": {"turns": -1}}, "turns"),
        ({"style": "tagd"}, "tagd"),
    ],
)
def test_what_cannot_be_played_is_said_in_a_sentence(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ct.CheaptalkError, match=said):
        chat_environment("deal_or_no_deal", **wrong)
