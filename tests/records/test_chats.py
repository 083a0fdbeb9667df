"""Chats of records: what a language model in a seat is sent, and what it answered."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.records import Store, read_chats
from cheaptalk.records.exports import codebook
from cheaptalk.records.exports.exporter import export


def test_chats_are_what_models_were_sent_with_the_answers_that_counted(tmp_path: Path) -> None:
    talking: dict[str, Any] = {
        "name": "talking", "instances": 2, "pairing": "all",
        "games": [{"game": name} for name in ("deal_or_no_deal", "persuasion")],
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
        told = {(one["match_id"], one["actor"]): one for one in map(json.loads, lines)}
        assert {key for one in told.values() for key in one} == codebook.CHAT.keys()
        records = list(store.records("talking", bodies=True))
    assert {one.game for one in records} == {one["game"] for one in told.values()}
    assert len(told) == sum(len(one.at) for one in records)
    for record in records:
        payoffs, compared = record.payoffs or {}, Counter[str]()
        for answer in record.answers:
            chat = told[record.id, answer.actor]
            place = record.seat_of(answer.actor)
            assert (chat["seat"], chat["payoff"]) == (place, payoffs[place])
            roles = [one["role"] for one in chat["messages"]]
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
            assert len(told[record.id, seat]["messages"]) == 1 + 2 * times


def test_chats_are_read_as_they_were_written(tmp_path: Path) -> None:
    said = [{"role": "user", "content": "a\u2028b\x85c\nd"}, {"role": "assistant", "content": ""}]
    file = tmp_path / "c.jsonl"
    file.write_text(json.dumps({"messages": said, "more": 1}, ensure_ascii=False) + "\n\n")
    assert read_chats(file) == [said]
    file.write_text('{"messages": []}\n{"text": "no chat"}\n')
    with pytest.raises(ct.CheaptalkError, match=r"line 2 of .*c\.jsonl is not a chat"):
        read_chats(file)


def test_what_no_model_said_stands_in_the_style_that_is_asked_for(tmp_path: Path) -> None:
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
        first = next(one["content"] for one in chat["messages"] if one["role"] == "assistant")
        assert first.startswith("[message]") == (chat["player"] == "fair")
