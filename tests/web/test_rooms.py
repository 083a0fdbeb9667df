"""Tables in the browser: every game through its pages, without losing anything."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cheaptalk.players import Kind
from cheaptalk.records import Status, Store
from cheaptalk.records.people.participants import keep_room
from cheaptalk.rules import CheaptalkError
from cheaptalk.studies import StudyError, parse_study
from cheaptalk.studies.study import Study
from cheaptalk.web import demo, load_link_key, open_room_manager
from cheaptalk.web.posted import Limit
from cheaptalk.web.rooms.links import BadLink, ExpiredLink, Links
from cheaptalk.web.rooms.rooms import LOBBY_TIMEOUT, Stage
from tests.fakes import Canned, broken, legal
from tests.web.walker import EARNED, QUESTION, Rooms, Walker, visited


def bargaining(**person: Any) -> Study:
    """Return a study of bargaining over four rounds with a person in one or both seats."""
    players = {"you": {"person": "browser"} | person, "bot": {"strategy": "random"}}
    game = {"game": "bargaining", "fixed": {"horizon": 4, "messages": True}}
    pairing = [["you", "bot"], ["you", "you"]]
    return parse_study(
        {"name": "people", "games": [game], "players": players, "pairing": pairing}, "here"
    )


async def test_waiting_player_can_leave_after_the_timeout(rooms: Rooms) -> None:
    walker = await rooms.sit("chip_trading", 3)
    assert "You can stop waiting" not in await walker.page()
    walker.room.since -= LOBBY_TIMEOUT
    assert "You can stop waiting" in await walker.page()
    await rooms.join(walker.room.code)
    assert (await walker.post({}, "leave")).status_code == 303
    assert "Choose a game" in await walker.page()


async def test_players_join_a_table_by_its_code(rooms: Rooms) -> None:
    first = await rooms.sit("chip_trading", 3)
    code = first.room.code
    assert f">{code}</b>" in await first.page()
    second = await rooms.join(code)
    assert "waiting for other players" in await second.page()
    third = await rooms.join(code.lower())
    late = await rooms.client.post(f"/join/{code}")
    assert late.status_code == 409
    pages = await asyncio.gather(*(item.play() for item in (first, second, third)))
    assert all(EARNED.search(page) for page in pages)
    again = await rooms.sit("chip_trading", me=first.token)
    assert again.visitor is first.visitor
    assert again.room.instance != third.room.instance


async def test_restart_keeps_seats_and_answers(tmp_path: Path) -> None:
    where, study = tmp_path / "s.sqlite", bargaining()
    async with visited(study, where) as rooms:
        walker = await rooms.sit("bargaining")
        await walker.until(">Your turn<")
        offer = {"alice_gain": "9999", "bob_gain": "1", "message": "Mine <b>& yours"}
        sent = await walker.post({"question": walker.question.key} | offer)
        assert sent.status_code == 303
        await walker.until("was rejected", ">The game is over<")
        waiting = await rooms.sit("bargaining", 2)
        code = waiting.room.code
    async with visited(study, where) as rooms:
        walker = Walker(rooms, walker.path)
        page = await walker.until(">Your turn<", ">The game is over<")
        assert "9,999" in page
        assert "Mine &lt;b&gt;&amp; yours" in page
        assert code in await Walker(rooms, waiting.path).page()
        await walker.play()
        id_ = walker.room.match.id
    async with visited(study, where) as rooms:
        assert "The game is over" in await Walker(rooms, walker.path).page()
    with Store.open(where) as store:
        answers = [answer for answer in store.find(id_).answers if answer.actor == "alice"]
    assert answers[0].action is not None
    assert answers[0].action["message"] == "Mine <b>& yours"
    with closing(sqlite3.connect(where)) as connection, connection:
        connection.execute("delete from members")
        connection.execute("delete from matches")
    async with visited(study, where) as rooms:
        assert "cannot continue" in await Walker(rooms, walker.path).page()


async def test_page_of_an_earlier_match_cannot_answer_in_the_next(rooms: Rooms) -> None:
    walker = await rooms.sit("battle_royale")
    earlier = await walker.key()
    await walker.play()
    again = await rooms.sit("battle_royale", me=walker.token)
    key = await again.key()
    await again.post({"question": earlier, "action": "miss"})
    assert {*QUESTION.findall(await again.page())} == {key}


async def test_restart_restores_requests_rooms_and_ended_matches(tmp_path: Path) -> None:
    async with visited(demo(), tmp_path / "s.sqlite") as rooms:
        guesser = await rooms.sit("guess_the_average")
        await guesser.until(">Your turn<")
        for _ in range(2):
            await guesser.post({"question": guesser.question.key, "chosen_number": "1000"})
        key = await guesser.key("Your answer is not valid")

        ended = await rooms.sit("battle_royale")
        await ended.play()
        before = ended.room
        await ended.end()
        again = await rooms.sit(before.table_template, me=ended.token)
        host = rooms.room_manager.host
        await host.dispatcher.ledger.write(keep_room(host.rows.id, before.code, before.to_record()))
        code = again.room.code

        killed = await rooms.sit("bargaining")
        await killed.play()
        await killed.end()
        kept = killed.room.to_record() | {"stage": Stage.PLAYING.value}
        await host.dispatcher.ledger.write(keep_room(host.rows.id, killed.room.code, kept))
        id_ = killed.room.match.id
    with Store.open(tmp_path / "s.sqlite") as store:
        record = store.find(id_).as_json()

    async with visited(demo(), tmp_path / "s.sqlite") as rooms:
        guesser = Walker(rooms, guesser.path)
        await guesser.post({"question": key, "chosen_number": "7"})
        assert chosen_numbers(guesser) == [7]
        assert Walker(rooms, again.path).room.code == code
        await Walker(rooms, killed.path).until(">The game is over<")
    with Store.open(tmp_path / "s.sqlite") as store:
        assert store.find(id_).as_json() == record


async def test_finished_match_is_unloaded_and_shown_again(rooms: Rooms) -> None:
    walker = await rooms.sit("pirate_game")
    end = EARNED.findall(await walker.play())
    await walker.end()
    rooms.room_manager.tidy()
    assert walker.room.table is None
    assert EARNED.findall(await walker.page()) == end != []


async def test_repeated_and_stale_answers_do_not_count(rooms: Rooms) -> None:
    walker = await rooms.sit("guess_the_average")
    fields = {"question": await walker.key(), "chosen_number": "7"}
    await asyncio.gather(*(walker.post(fields) for _ in range(5)))
    await walker.post(fields)
    assert chosen_numbers(walker) == [7]


def chosen_numbers(walker: Walker) -> list[object]:
    actions = [answer.action for answer in walker.table.given if answer.actor == "player_1"]
    return [action and action.model_dump()["chosen_number"] for action in actions]


async def test_invalid_answer_is_requested_again_with_the_input(rooms: Rooms) -> None:
    walker = await rooms.sit("guess_the_average")
    await walker.until(">Your turn<")
    for wrong in ("1000", "seven", "", "<script>", "\x00\u202e"):
        await walker.post({"question": walker.question.key, "chosen_number": wrong})
        page = await walker.until("Your answer is not valid")
        assert "<script>" not in page
    await walker.post({"question": walker.question.key, "chosen_number": "1000"})
    assert 'value="1000"' in await walker.page()


async def test_absent_player_is_replaced_until_they_return(tmp_path: Path) -> None:
    study = bargaining(deadline=0.2, away={"strategy": "random"})

    async with visited(study, tmp_path / "s.sqlite") as rooms:
        walker = await rooms.sit("bargaining")
        page = await walker.until("You were away", "The game is over")
        if "You were away" in page:
            await walker.post({}, "back")
        await walker.until("The game is over")
        id_ = walker.room.match.id
    with Store.open(tmp_path / "s.sqlite") as store:
        record = store.find(id_)
    assert record.kinds["alice"][Kind.STOOD_IN] >= 1
    assert record.status is Status.FINISHED


async def test_invalid_and_unknown_answers_do_not_extend_the_deadline(tmp_path: Path) -> None:
    async with visited(bargaining(deadline=60), tmp_path / "s.sqlite") as rooms:
        walker = await rooms.sit("bargaining")
        await walker.until(">Your turn<")
        due, key = walker.question.due, walker.question.key
        assert due is not None
        forged = await asyncio.wait_for(walker.post({"question": f"9{key}"}), timeout=5)
        assert forged.status_code == 303
        assert walker.question.key == key
        await walker.post({"question": key, "alice_gain": "abc", "bob_gain": "1"})
        await walker.until("“Player 1” must be a number")
        assert walker.question.due == due


async def test_players_are_notified_when_a_bot_replaces_a_player(rooms: Rooms) -> None:
    first = await rooms.sit("", 2)
    second = await rooms.join(first.room.code)
    assert "taken over for" not in await first.until(">Your turn<")
    assert (
        "If you leave, a computer player will take over for you, and you cannot return."
        in await second.page()
    )
    await second.post({}, "leave")
    assert "A computer player has taken over for Player 2." in await first.page()
    assert "A computer player has taken over for you." in await second.page()


async def test_leaving_without_a_replacement_forfeits(tmp_path: Path) -> None:
    async with visited(bargaining(), tmp_path / "s.sqlite") as rooms:
        walker = await rooms.sit("bargaining")
        await walker.until(">Your turn<")
        await walker.post({}, "leave")
        page = await walker.until("The game is over")
        assert "because Player 1 did not give a valid answer" in page
        id_ = walker.room.match.id
    with Store.open(tmp_path / "s.sqlite") as store:
        assert store.find(id_).status is Status.FORFEITED


async def test_model_failure_is_shown_recorded_and_retried(tmp_path: Path) -> None:
    down = [True]
    models = Canned(
        lambda call, _: broken("no room at key-123", retry=False) if down else legal(call)
    )
    written = {
        "name": "people",
        "games": [{"game": "bargaining", "fixed": {"horizon": 4}}],
        "players": {"you": {"person": "browser"}, "tiny": {"model": "vllm/tiny"}},
        "pairing": [["you", "tiny"]],
    }

    async with visited(parse_study(written, "here"), tmp_path / "s.sqlite", models) as rooms:
        walker = await rooms.sit("bargaining")
        await walker.answer(await walker.until(">Your turn<"))
        page = await walker.until("cannot continue")
        assert "Player 2 cannot answer because of a technical error." in page
        assert "key-123" not in page
        match = walker.room.match.id
        record = rooms.room_manager.store.find(match)
        assert record.status is Status.FAILED
        assert 'call for "bob" in request' in (record.reason or "")
        assert "no room at key-123" in (record.reason or "")
        await walker.post({}, "again")
        assert "cannot continue" in await walker.until("cannot continue")
        down.clear()
        await walker.post({}, "again")
        await walker.play()
    with Store.open(tmp_path / "s.sqlite") as store:
        record = store.find(match)
    assert record.status is Status.FINISHED
    assert record.answers[0].actor == "alice"
    assert record.replay().over


def test_links_are_valid_only_for_their_owner(tmp_path: Path) -> None:
    links = Links(b"key")
    token = links.token("ann")
    assert links.visitor(token) == "ann"
    for bad in ("", "x", token[:-1], token.replace("ann", "bob"), Links(b"other").token("ann")):
        with pytest.raises(BadLink):
            links.visitor(bad)
    with pytest.raises(ExpiredLink):
        Links(b"key", lifetime=-1).visitor(token)
    store = str(tmp_path / "s.sqlite")
    key = load_link_key(store)
    assert load_link_key(store) == key != load_link_key(str(tmp_path / "other"))
    assert Path(f"{store}.key").stat().st_mode & 0o077 == 0
    Path(f"{store}.key").write_bytes(b"")
    with pytest.raises(CheaptalkError, match="not a link-signing key"):
        load_link_key(store)


@pytest.mark.parametrize(
    ("players", "sentence"),
    [
        ({"a": {"strategy": "random"}}, "people has no player in the browser"),
        ({"a": {"person": "terminal"}}, "players.a: people cannot play in the terminal"),
        (
            {"a": {"person": "browser"}, "b": {"model": "openai/gpt-4o"}},
            "players.b: .*OPENAI_API_KEY",
        ),
    ],
)
async def test_unservable_study_is_rejected_before_it_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, players: dict[str, Any], sentence: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    written = {"name": "people", "games": [{"game": "bargaining"}], "players": players}

    opening = open_room_manager(parse_study(written, "here"), tmp_path / "s.sqlite")
    with pytest.raises(StudyError, match=sentence):
        await opening.__aenter__()
    assert list(tmp_path.iterdir()) == []


async def test_absent_player_returns_to_a_lobby_with_a_free_seat(rooms: Rooms) -> None:
    first = await rooms.sit("chip_trading", 3)
    code, asleep = first.room.code, first.visitor
    asleep.seen = 0.0
    await rooms.client.get(f"/join/{code}")
    assert asleep not in first.room.visitors.values()
    assert "waiting for other players" in await first.page()
    assert asleep in first.room.visitors.values()
    asleep.seen = 0.0
    for _ in range(3):
        await rooms.join(code)
    late = await rooms.client.get(first.path)
    assert (late.status_code, "while you were away" in late.text) == (409, True)
    assert "Choose a game" in await first.page()


async def test_frequent_posts_are_rate_limited(
    rooms: Rooms, monkeypatch: pytest.MonkeyPatch
) -> None:
    walker = await rooms.sit("bargaining")
    monkeypatch.setattr(Limit, "allows", lambda limit, sender: False)
    assert (await walker.post({})).status_code == 429
