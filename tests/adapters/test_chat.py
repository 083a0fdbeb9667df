"""Games as chat environments: prompts are those of studies, and the payoff is the reward."""

from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.adapters import chat_environment
from cheaptalk.models import Failure, Reply
from cheaptalk.players import Kind

TAGGED: dict[str, Any] = {"style": "tagged", "tries": 2}


def test_match_is_a_chat_with_payoff_as_reward() -> None:
    table = chat_environment("deal_or_no_deal", {"objective": "coop"}, "player_2", "fair", **TAGGED)
    opening = table.reset("first")
    assert [message.role for message in opening.messages] == ["system", "user"]
    assert "You are Player 2" in opening.messages[0].content
    assert 'Player 1 says: "I take' in opening.messages[-1].content
    assert opening == table.reset("first")
    assert opening != table.reset("second")
    step = table.step("[message] Instance. I take 0 books, 0 hats and 0 balls.")
    assert (step.kind, step.reward, step.over) == (Kind.OK, 0, False)
    assert step.messages[2].role == "assistant"
    ended = table.step("[propose] (0 books, 0 hats, 0 balls)")
    assert ended.over
    assert not ended.messages


def test_invalid_answer_is_retried_with_reason() -> None:
    table = chat_environment("deal_or_no_deal", other="fair", **TAGGED)
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


def test_replies_are_counted_and_paid_according_to_rules() -> None:
    table = chat_environment("bargaining", other="equal_split", tries=1)
    table.reset("first")
    assert table.step(Reply(text='{"alice_gain": 5', finish="length")).kind is Kind.TRUNCATED
    table.reset("first")
    ended = table.step(Reply(failure=Failure.FILTERED))
    assert (ended.kind, ended.over, ended.reward) == (Kind.FILTERED, True, 0)
    assert table.table.forfeited == {"alice"}
    assert table.table.outcome is None
    bob = chat_environment("bargaining", {"money": 100, "messages": False}, "bob", "equal_split")
    bob.reset("first")
    assert bob.step('{"decision": "accept"}').reward == 50


def test_invalid_settings_raise_error() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"seat": "player_3"}, 'deal_or_no_deal has no seat "player_3"'),
        ({"other": "fairr"}, 'unknown strategy "fairr" .did you mean "fair".'),
        ({"other": "openai/gpt-4o"}, "the other seats of deal_or_no_deal must be scripted"),
        ({"parameters": {"turns": -1}}, "turns"),
        ({"style": "tagd"}, "tagd"),
    ]
    for arguments, error in cases:
        with pytest.raises(ct.CheaptalkError, match=error):
            chat_environment("deal_or_no_deal", **arguments)
