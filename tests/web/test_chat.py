"""Chat at tables in the browser, between people and with models."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

from cheaptalk.models import ModelCall, Reply
from cheaptalk.records import Store
from cheaptalk.studies import parse_study
from cheaptalk.studies.study import Study
from tests.fakes import Canned
from tests.web.walker import Rooms, Walker, visited

LINE = re.compile(r"<b>([^<]*)</b> <span>([^<]*)</span>")
OPEN, CLOSED = "Your message", "The chat is closed."


def chat_study(chat: Any, opponent: str = "you", **more: Any) -> Study:
    players = {"you": {"person": "browser"}, "model": {"model": "vllm/tiny"}, "bot": "random"}
    game = {"game": "bargaining", "fixed": {"horizon": 2, "chat": chat, **more}}
    pairing = [["you", opponent]]
    data = {"name": "people", "games": [game], "players": players, "pairing": pairing}
    return parse_study(data, "here")


async def two(rooms: Rooms) -> tuple[Walker, Walker]:
    first = await rooms.sit("bargaining", 2)
    return first, await rooms.join(first.room.code)


def lines(page: str) -> list[tuple[str, str]]:
    return LINE.findall(page)


def model(call: ModelCall, number: str) -> Reply | str:
    assert call.form is not None
    if call.form.name == "Chat":
        heard = call.messages[-1].content.count("writes in the chat")
        return json.dumps({"chat": f"I have read {heard}"})
    return json.dumps({"decision": "accept", "chat": "Agreed."})


async def test_people_chat_before_the_game_until_both_are_ready(tmp_path: Path) -> None:
    async with visited(chat_study({"when": "before", "lines": 2}), tmp_path / "s.sqlite") as rooms:
        first, second = await two(rooms)
        page = await first.until(OPEN)
        assert "Chat before you decide" in page
        assert "Before the first decision, you can chat with Player 2." in page
        sent = await first.post({"line": " Hello <b>you</b> "}, "say")
        assert sent.status_code == 303
        page = await second.until("Hello")
        assert lines(page) == [("Player 1", "Hello &lt;b&gt;you&lt;/b&gt;")]
        await second.post({"line": "Hi"}, "say")
        await first.post({"line": "Half each?"}, "say")
        page = await first.until("You have sent all your messages.")
        assert [name for name, _ in lines(page)] == ["You", "Player 2", "You"]
        await first.post({}, "ready")
        assert "You are ready. Waiting for the others" in await first.page()
        await second.post({}, "ready")
        page = await first.until(">Your turn<")
        assert CLOSED in page
        assert len(lines(page)) == 3
        await second.post({"line": "Too late"}, "say")
        assert len(lines(await first.page())) == 3
        await asyncio.gather(first.play(), second.play())
        await first.end()
        record = next(iter(rooms.room_manager.store.records("people", bodies=True)))
        assert [entry.text for entry in record.chat][1:] == ["Hi", "Half each?"]
        assert all(entry.at for entry in record.chat)
        first.room.table = None
        assert len(lines(await first.page())) == 3


async def test_a_chat_ends_when_its_time_is_up(tmp_path: Path) -> None:
    study = chat_study({"when": "before", "seconds": 0.05})
    async with visited(study, tmp_path / "s.sqlite") as rooms:
        first, _ = await two(rooms)
        assert CLOSED in await first.until(">Your turn<")


async def test_people_who_leave_are_not_waited_for(tmp_path: Path) -> None:
    async with visited(chat_study("before"), tmp_path / "s.sqlite") as rooms:
        first, second = await two(rooms)
        await first.until(OPEN)
        await second.post({}, "leave")
        await first.post({}, "ready")
        await first.until(">Your turn<")


async def test_a_line_that_is_not_sent_is_kept_in_the_form(tmp_path: Path) -> None:
    study = chat_study({"when": "during", "characters": 4})
    async with visited(study, tmp_path / "s.sqlite") as rooms:
        first, second = await two(rooms)
        await first.until(OPEN)
        await first.post({"line": "12345"}, "say")
        page = await first.page()
        assert "Your message was not sent" in page
        assert 'value="12345"' in page
        assert lines(await second.page()) == []


async def test_a_restart_keeps_lines_and_an_open_chat(tmp_path: Path) -> None:
    study, where = chat_study({"when": "between", "lines": 3}), tmp_path / "s.sqlite"
    async with visited(study, where) as rooms:
        first, second = await two(rooms)
        for walker in (first, second):
            await walker.until(OPEN)
            await walker.post({"line": "one"}, "say")
            await walker.post({}, "ready")
        await first.answer(await first.until(">Your turn<"))
        await second.until(">I'm ready<")
        await second.post({"line": "two"}, "say")
    async with visited(study, where) as rooms:
        first, second = Walker(rooms, first.path), Walker(rooms, second.path)
        page = await first.until(">I'm ready<")
        assert [text for _, text in lines(page)] == ["one", "one", "two"]
        await first.post({"line": "three"}, "say")
        assert lines(await second.until("three"))[-1] == ("Player 1", "three")
        for walker in (first, second):
            await walker.post({}, "ready")
        await second.until(">Your turn<")


async def test_a_model_chats_with_a_person(tmp_path: Path) -> None:
    models = Canned(model)
    async with visited(chat_study("before", "model"), tmp_path / "s.sqlite", models) as rooms:
        person = await rooms.sit("bargaining")
        await person.until("I have read 0")
        await person.post({"line": "Hello"}, "say")
        page = await person.until("I have read 1")
        assert [name for name, _ in lines(page)] == ["Player 2", "You", "Player 2"]
        await person.post({}, "ready")
        await person.answer(await person.until(">Your turn<"))
        await person.end()
    with Store.open(tmp_path / "s.sqlite") as store:
        record = next(iter(store.records("people", bodies=True)))
        assert record.calls == len(models.calls) == 3
        content = models.calls[-1].messages[-1].content
        positions = [content.find(text) for text in ("I have read 0", "Hello", "I have read 1")]
        assert -1 < positions[0] < positions[1] < positions[2]


async def test_a_model_answers_lines_during_the_game(tmp_path: Path) -> None:
    async with visited(
        chat_study("during", "model"), tmp_path / "s.sqlite", Canned(model)
    ) as rooms:
        person = await rooms.sit("bargaining")
        turn = await person.until(">Your turn<")
        await person.post({"line": "Hello"}, "say")
        await person.until("I have read 1")
        await person.answer(turn)
        await person.end()
        assert [name for name, _ in lines(await person.page())] == ["You", "Player 2", "Player 2"]


async def test_a_slow_model_never_blocks_people(tmp_path: Path) -> None:
    models = Canned(model, pause=0.3)
    async with visited(chat_study("before", "model"), tmp_path / "s.sqlite", models) as rooms:
        person = await rooms.sit("bargaining")
        await person.until(OPEN)
        await person.post({}, "ready")
        page = await person.until(">Your turn<")
        assert lines(page) == []
        await person.answer(page)
        await person.end()
        record = next(iter(rooms.room_manager.store.records("people", bodies=True)))
        assert [(entry.text, len(entry.calls)) for entry in record.chat] == [(None, 1)]


async def test_lines_of_other_groups_are_hidden(tmp_path: Path) -> None:
    fixed = {"players": 3, "rounds": 1, "chat": {"groups": [["player_1", "player_2"]]}}
    players = {"you": {"person": "browser"}}
    game = {"game": "public_goods", "fixed": fixed}
    data = {"name": "people", "games": [game], "players": players}
    async with visited(parse_study(data, "here"), tmp_path / "s.sqlite") as rooms:
        first = await rooms.sit("public_goods", 3)
        second, third = [await rooms.join(first.room.code) for _ in range(2)]
        await first.until(OPEN)
        await first.post({"line": "our secret"}, "say")
        await second.until("our secret")
        page = await third.page()
        assert "our secret" not in page
        assert 'data-part="chat"' not in page
