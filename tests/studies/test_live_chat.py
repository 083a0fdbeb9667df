"""Chat in matches with models: recorded, replayed and resumed."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.judges.items import items_of
from cheaptalk.models import ModelCall, Reply
from cheaptalk.records import Store, transcript
from cheaptalk.rules.registry import STRATEGIES
from cheaptalk.studies import Halted
from cheaptalk.studies.exports.exporter import export
from tests.fakes import Canned, study
from tests.participants import People

OFFER = {"alice_gain": 5000, "bob_gain": 5000}


def chat_study(chat: Any, pairing: Any = (("one", "two"),), **more: Any) -> ct.Study:
    players = {"one": {"model": "vllm/one"}, "two": {"model": "vllm/two"}, "fair": "equal_split"}
    game = {"game": "bargaining", "fixed": {"horizon": 2, "chat": chat, **more}}
    return study(games=[game], players=players, pairing=[list(pair) for pair in pairing])


def answering(call: ModelCall, number: str) -> Reply | str:
    """Say a line with every response, and reject all offers."""
    assert call.form is not None
    if call.form.name == "Chat":
        return json.dumps({"chat": f"{call.seat} speaks"})
    asks_decision = "decision" in call.form.json_schema["properties"]
    move = {"decision": "reject"} if asks_decision else OFFER | {"message": ""}
    return json.dumps(move | {"chat": f"{call.seat} moves"})


def the_record(store: Store) -> ct.MatchRecord:
    return next(iter(store.records("small", bodies=True)))


def spoken(record: ct.MatchRecord) -> list[str | None]:
    return [entry.text for entry in record.chat]


@pytest.mark.parametrize(
    ("when", "lines"),
    [
        ("before", ["alice speaks", "bob speaks", "alice speaks", "bob speaks"]),
        ("during", ["alice moves", "bob moves", "bob moves", "alice moves"]),
    ],
)
def test_two_models_chat(store: Store, when: str, lines: list[str]) -> None:
    models = Canned(answering)
    ct.run(chat_study({"when": when, "lines": 2}), store, models=models)
    record = the_record(store)
    assert spoken(record) == lines
    assert record.calls == len(models.calls) / len(list(store.records("small")))
    table = record.replay()
    assert table.chat is not None
    assert [line.text for line in table.chat.lines] == lines
    assert not ct.records.examine(store).damages
    texts = [line.text for line in transcript(record) if line.sender]
    assert texts.count('Alice writes in the chat: "' + lines[0] + '"') == 2 * lines.count(lines[0])


def test_prompts_contain_the_chat_in_order(store: Store) -> None:
    models = Canned(answering)
    ct.run(chat_study("during"), store, models=models)
    last = max(models.calls, key=lambda call: len(call.messages))
    assert "During the whole game, you can chat with" in last.messages[0].content
    words = "\n".join(message.content for message in last.messages)
    parts = ['You write in the chat: "alice moves"', 'Bob writes in the chat: "bob moves"']
    assert last.seat == "alice" or "alice moves" in words
    positions = [words.find(part) for part in parts] if last.seat == "alice" else [0, 1]
    assert -1 < positions[0] < positions[1]
    assert last.form is not None
    assert "chat" in last.form.json_schema["properties"]


@pytest.mark.parametrize("line", ["x" * 301, "", None, 5, ["a"]])
def test_a_bad_line_never_invalidates_the_move(store: Store, line: Any) -> None:
    def say(call: ModelCall, number: str) -> str:
        return json.dumps(json.loads(str(answering(call, number))) | {"chat": line})

    ct.run(chat_study("during"), store, models=Canned(say))
    record = the_record(store)
    assert (spoken(record), {*record.kinds["alice"]}) == ([], {"ok"})


def test_chat_changes_neither_moves_nor_payoffs(store: Store) -> None:
    ct.run(chat_study("during"), store, models=Canned(answering))
    chatted = the_record(store)
    silent = ct.Match(ct.games.Bargaining.model_validate({"horizon": 2}), seed="any")
    for answer in chatted.answers:
        silent.step(answer.action)
    assert silent.payoffs == chatted.payoffs


@pytest.mark.parametrize("when", ["before", "between", "during"])
@pytest.mark.parametrize("stop", [1, 3])
def test_interrupted_chat_resumes_without_repeated_calls(
    store: Store, tmp_path: Any, when: str, stop: int
) -> None:
    made = chat_study({"when": when, "lines": 2}).model_copy(update={"instances": 1})
    whole = Canned(answering)
    ct.run(made, tmp_path / "whole.sqlite", models=whole)

    def fail_later(call: ModelCall, number: str) -> Reply | str:
        if len(first.calls) > stop:
            raise Halted("killed")
        return answering(call, number)

    first, second = Canned(fail_later), Canned(answering)
    ct.run(made, store, models=first)
    ct.run(made, store, models=second)
    with Store.open(tmp_path / "whole.sqlite") as other:
        assert spoken(the_record(store)) == spoken(the_record(other))
        assert the_record(store).replay().given == the_record(other).replay().given
    assert len(second.calls) == len(whole.calls) - stop


class Talker:
    """A scripted player that chats."""

    def __call__(self, request: ct.DecisionRequest) -> Any:
        is_offer = "message" in request.ask.schema["properties"]
        return OFFER | {"message": ""} if is_offer else {"decision": "reject"}

    def talk(self, turn: ct.rules.ChatTurn) -> str | None:
        return f"script {len(turn.chat)}"


def test_scripts_chat_with_models(store: Store) -> None:
    made = chat_study("during", pairing=[("one", "script")])
    players = {**made.players, "script": ct.players.RosterEntry.model_validate(Talker)}
    try:
        ct.run(made.model_copy(update={"players": players}), store, models=Canned(answering))
    finally:
        for name in [name for name in STRATEGIES if name.endswith(".Talker")]:
            STRATEGIES.remove(name)
    assert spoken(the_record(store))[:2] in (
        ["alice moves", "script 1"],
        ["script 0", "bob moves"],
    )


def test_chat_is_exported(store: Store, tmp_path: Any) -> None:
    ct.run(chat_study("during"), store, models=Canned(answering))
    export(store, "small", tmp_path / "out")
    rows = (tmp_path / "out" / "chat.csv").read_text().splitlines()
    assert "alice moves" in rows[1]
    record = the_record(store)
    (frame,) = ct.read_matches(store, "small", moves=True).values()
    row = frame.row(0, named=True)
    moves = [entry for entry in record.chat if entry.actor == "alice"]
    assert row["messages_alice"] == len(moves)


@pytest.mark.parametrize("chat", ["before", None])
def test_wide_tables_count_chat_and_messages(store: Store, tmp_path: Path, chat: Any) -> None:
    ct.run(chat_study(chat), store, models=Canned(answering))
    record = the_record(store)
    play = {"game": record.game, "match_id": record.id, "state": "finished"}
    People(store, "small").come(
        "end", "complete", (), [{**play, "seat": "alice"}, {"game": "x", "state": "timed_out"}]
    )
    ct.export(store, "small", tmp_path / "out", "otree")
    written = (tmp_path / "out" / "all_apps_wide.csv").read_text(encoding="utf-8")
    (line,) = csv.DictReader(written.splitlines())
    own = [line.text or "" for line in record.chat if line.actor == "alice"]
    sent = [(answer.action or {}).get("message") or "" for answer in record.answers
            if answer.actor == "alice"]  # fmt: skip
    words = [len(text.split()) for text in (*own, *filter(None, sent))]
    expected: dict[str, int | None] = {"messages": len(words), "words": sum(words)}
    if chat:
        expected |= {"chat_messages": len(own), "chat_words": sum(len(t.split()) for t in own)}
    frame = ct.frames.read_wide(store, "small")
    book = {entry["column"] for entry in ct.frames.read_codebook(store, "small").to_dicts()}
    for name, count in expected.items():
        assert frame[f"game1_{name}"].to_list() == [count]
        assert frame[f"game2_{name}"].to_list() == [None]
        assert line[f"{record.game}.1.player.{name}"] == str(count)
        assert f"game1_{name}" in book
    assert ("game1_chat_messages" in frame.columns) == bool(chat)


def test_judges_read_the_chat(store: Store) -> None:
    ct.run(chat_study("before", messages=False), store, models=Canned(answering))
    rubric = ct.judges.Rubric(
        name="fair", question="Is it fair?", item="seat", categories={"yes": "It is.", "no": "No."}
    )
    items = items_of(the_record(store), rubric)
    assert [item.name for item in items] == ["alice", "bob"]
    assert "bob speaks" in items[0].seen
