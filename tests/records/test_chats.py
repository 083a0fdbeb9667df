"""Chat exports: the messages sent to a model in a seat, and its answers."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.records import Store, read_chats
from cheaptalk.records.exports.columns import shared_columns
from cheaptalk.studies.exports.exporter import export


def test_chats_contain_prompts_and_final_answers(tmp_path: Path) -> None:
    talking: dict[str, Any] = {
        "name": "talking", "instances": 1, "pairing": "all",
        "games": [{"game": "deal_or_no_deal"}, {"game": "persuasion", "fixed": {"horizon": 5}}],
        "players": {
            "model": {"model": "script/legal", "persona": "selfish"},
            "forgetful": {"model": "script/legal", "history": {"last": 1}},
            "luck": "random",
        },
    }  # fmt: skip
    with Store.open(tmp_path / "s.sqlite", create=True) as store:
        ct.run(ct.studies.parse_study(talking, "test"), store)
        assert export(store, "talking", tmp_path / "out", "chats").rows.keys() == {"chats"}
        lines = (tmp_path / "out" / "chats.jsonl").read_text(encoding="utf-8").splitlines()
        chats = {(chat["match_id"], chat["actor"]): chat for chat in map(json.loads, lines)}
        declared = {column.name for column in shared_columns("chats", "json")}
        assert {key for chat in chats.values() for key in chat} == declared
        records = list(store.records("talking", bodies=True))
    assert {record.game for record in records} == {chat["game"] for chat in chats.values()}
    assert len(chats) == sum(len(record.at) for record in records)
    for record in records:
        payoffs, compared = record.payoffs or {}, Counter[str]()
        for answer in record.answers:
            chat = chats[record.id, answer.actor]
            place = record.seat_of(answer.actor)
            assert (chat["seat"], chat["payoff"]) == (place, payoffs[place])
            roles = [message["role"] for message in chat["messages"]]
            assert roles == ["system", *["user", "assistant"] * (len(roles) // 2)]
            for call in answer.calls[:1]:
                compared[answer.actor] += 1
                sent = call["call"]["messages"]
                at = 2 * compared[answer.actor]
                assert sent[0] == chat["messages"][0]
                assert sent[-1] == chat["messages"][at - 1]
                if record.label(place) == "model":
                    assert sent == chat["messages"][:at]
        for seat, times in compared.items():
            assert len(chats[record.id, seat]["messages"]) == 1 + 2 * times


def test_read_chats_round_trips(tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "a\u2028b\x85c\nd"}, {"role": "assistant", "content": ""}]
    file = tmp_path / "c.jsonl"
    file.write_text(json.dumps({"messages": chat, "more": 1}, ensure_ascii=False) + "\n\n")
    assert read_chats(file) == [chat]
    file.write_text('{"messages": []}\n{"text": "no chat"}\n')
    with pytest.raises(ct.CheaptalkError, match=r"line 2 of .*c\.jsonl is not a chat"):
        read_chats(file)


def test_scripted_answers_use_the_requested_style(tmp_path: Path) -> None:
    spec: dict[str, Any] = {
        "name": "talking", "instances": 2, "games": [{"game": "deal_or_no_deal"}],
        "players": {"model": {"model": "script/legal"}, "fair": "fair"},
        "pairing": [["model", "fair"]],
    }  # fmt: skip
    with Store.open(tmp_path / "s.sqlite", create=True) as store:
        ct.run(ct.studies.parse_study(spec, "test"), store)
        export(store, "talking", tmp_path / "out", "chats", style="tagged")
        with pytest.raises(ct.CheaptalkError, match="taged"):
            export(store, "talking", tmp_path / "wrong", "chats", style="taged")
    assert not (tmp_path / "wrong").exists()
    for line in (tmp_path / "out" / "chats.jsonl").read_text(encoding="utf-8").splitlines():
        chat = json.loads(line)
        replies = (reply for reply in chat["messages"] if reply["role"] == "assistant")
        assert next(replies)["content"].startswith("[message]") == (chat["player"] == "fair")
