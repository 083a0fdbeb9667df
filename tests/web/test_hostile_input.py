"""Hostile input to the rooms: a page explains each error, and nothing is lost."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cheaptalk.rules.registry import GAMES
from cheaptalk.web import demo
from cheaptalk.web.posted import Limit
from cheaptalk.web.rooms.forms import fields
from cheaptalk.web.rooms.room_manager import RoomManager
from cheaptalk.web.rooms.rooms import Stage
from tests.web.asker import NASTY, WILD, DirectClient, encode_form
from tests.web.test_rooms import bargaining
from tests.web.walker import LINKS, QUESTION, Rooms, Walker, visited


class Hall(DirectClient):
    def __init__(self, runner: asyncio.Runner, rooms: Rooms) -> None:
        super().__init__(runner, rooms.client)
        self.rooms = rooms

    @property
    def room_manager(self) -> RoomManager:
        return self.rooms.room_manager

    def player_at(self, game: str) -> Walker:
        """Return a player with an open request at a table of a game."""
        while True:
            walker = self.run(self.rooms.sit(game))
            if self.has_turn(walker):
                return walker

    def has_turn(self, walker: Walker) -> bool:
        """Wait for a player's next request or the end; return whether there is a request."""
        return ">Your turn<" in self.run(walker.until(">Your turn<", ">The game is over<"))


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hall]:
    """Rooms of all games, without rate limits."""
    with pytest.MonkeyPatch.context() as patch, asyncio.Runner() as runner:
        patch.setattr(Limit, "allows", lambda limit, client: True)
        opened = visited(demo(), tmp_path_factory.mktemp("hall") / "s.sqlite")
        rooms = runner.run(opened.__aenter__())
        yield Hall(runner, rooms)
        runner.run(opened.__aexit__(None, None, None))


MORE = st.one_of(st.just(""), st.just(""), st.sampled_from([".", ".x", ".1", ".player_1", "[]"]))
FIELDS = st.lists(st.tuples(st.integers(0, 23), MORE, WILD), max_size=4)
"""Fields by number (below 20: those of the form), suffixes of their names, and values."""
FIELD_NAMES = st.one_of(
    st.sampled_from(["question", "me", "offer", "seat", "message", "a.b", ".", "x.1"]),
    st.text(max_size=8),
)


@pytest.mark.parametrize("game", sorted(GAMES))
def test_arbitrary_answers_break_no_game(hall: Hall, game: str) -> None:
    walkers = [hall.player_at(game)]

    @settings(max_examples=50)
    @given(drawn=FIELDS, with_key=st.booleans())
    def fill_in(drawn: list[tuple[int, str, bytes]], with_key: bool) -> None:
        walker = walkers[-1]
        question = walker.question
        names = [field.name for field in fields(question.call.form)]
        pairs = [
            (names[number % len(names)] * (number < 20) + more, value)
            for number, more, value in drawn
        ]
        kept = [("question", question.key.encode())] if with_key else []
        hall.request("POST", f"{walker.path}/answer", encode_form([*kept, *pairs]))
        assert walker.room.stage is not Stage.BROKEN
        page = hall.request("GET", walker.path)
        assert page.status == 200
        if ">Your turn<" not in page.text and not hall.has_turn(walker):
            walkers.append(hall.player_at(game))

    fill_in()


@given(data=st.data())
def test_arbitrary_addresses_cause_no_server_error(hall: Hall, data: st.DataObject) -> None:
    code = next(iter(hall.room_manager.rooms), "ABCDEF")
    token = LINKS.token(next(iter(hall.room_manager.visitors), "nobody"))
    wild = st.one_of(
        st.text(max_size=20),
        st.sampled_from([*NASTY, code, token, "p", "..", "rooms.css", "%00"]),
    )
    stems = ["/", "/games/", "/open", "/join/", "/p/", f"/p/{token}/", "/static/", "/nowhere/"]
    path = data.draw(st.sampled_from(stems)) + "/".join(data.draw(st.lists(wild, max_size=2)))
    query = data.draw(st.sampled_from(["", "?me=", "?after=", "?after=x&after=²&%ff="]))
    method = data.draw(st.sampled_from(["GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS"]))
    pairs = data.draw(st.lists(st.tuples(FIELD_NAMES, WILD), max_size=3))
    hall.request(method, path + query, encode_form(pairs))


def test_arbitrary_bodies_cause_no_server_error(hall: Hall) -> None:
    walker = hall.player_at("guess_the_average")
    answer = f"{walker.path}/answer"

    @given(body=st.binary(max_size=200), content_type=st.text(max_size=30))
    def send(body: bytes, content_type: str) -> None:
        hall.request("POST", answer, body)
        hall.request("POST", answer, body, content_type=content_type)
        assert walker.question

    send()


def test_errors_are_explained_and_the_question_stays_open(hall: Hall) -> None:
    walker, other = hall.player_at("guess_the_average"), hall.player_at("bargaining")
    key = f"question={walker.question.key}"
    page = hall.request("GET", walker.path).text
    answer = f"{walker.path}/answer"
    for request, status, message in (
        (("POST", answer, b"message=" + b"x" * 2_000_000), 413, "too long"),
        (("POST", answer, key.encode() + b"&chosen_number=%ff\xff"), 400, "could not be processed"),
        (("POST", answer, key.encode() + b"&a=1&a=2"), 400, "could not be processed"),
        (("POST", answer, b"&".join([b"a=b"] * 1_000)), 400, "could not be processed"),
        (("GET", "/p/" + "x" * 100_000), 403, "not valid"),
        (("GET", "/join/" + "x" * 100_000), 404, "no game with this code"),
        (("GET", walker.path[:-1]), 403, "not valid"),
        (("GET", f"{walker.path}/events?after=x"), 400, "not valid"),
        (("PUT", walker.path), 405, "does not exist"),
        (("GET", "/nowhere"), 404, "does not exist"),
        (("GET", "/games/chess"), 404, "does not exist"),
        (("POST", "/open", b"offer=no"), 404, "does not exist"),
        (("POST", f"{walker.path}/dance"), 404, "does not exist"),
        (("POST", f"{walker.path}/fill"), 409, "already started"),
    ):
        response = hall.request(*request)
        assert (response.status, message in response.text) == (status, True), response
        assert "default-src 'none'" in response.headers["content-security-policy"]
    forged = hall.request("POST", f"{walker.path}/leave", sec_fetch_site="cross-site")
    assert (forged.status, "another website" in forged.text) == (403, True)
    for kind in ("application/json", "multipart/form-data; boundary=x", "text/plain"):
        response = hall.request(
            "POST", answer, f"{key}&chosen_number=3".encode(), content_type=kind
        )
        assert (response.status, "not sent correctly" in response.text) == (415, True)
    assert QUESTION.findall(hall.request("GET", walker.path).text) == QUESTION.findall(page) != []
    others = hall.request("POST", f"{other.path}/answer", f"{key}&chosen_number=3".encode())
    assert others.status == 303
    assert f"question={walker.question.key}" == key


def test_invalid_event_ids_start_the_stream_anew(hall: Hall) -> None:
    walker = hall.player_at("guess_the_average")
    for last in ("²", "-1", "9" * 5_000, "x", "\x00", ""):
        response = hall.request("GET", f"{walker.path}/events", last_event_id=last)
        assert (response.status, response.text[:5]) == (200, "retry")


def test_replaced_player_cannot_act_and_can_choose_another_game(hall: Hall) -> None:
    async def replaced() -> Walker:
        first = await hall.rooms.sit("", 3)
        code, first.visitor.seen = first.room.code, 0.0
        for _ in range(3):
            await hall.rooms.join(code)
        return first

    for deed, status in (("leave", 303), ("back", 409), ("answer", 409), ("fill", 409)):
        walker = hall.run(replaced())
        assert hall.request("POST", f"{walker.path}/{deed}").status == status
        assert "Choose a game" in hall.request("GET", walker.path).text


def test_seat_is_kept_until_another_is_available(hall: Hall) -> None:
    waiting, first = (hall.run(hall.rooms.sit(game, 2)) for game in ("bargaining", "negotiation"))
    second = hall.run(hall.rooms.join(first.room.code))
    offer = LINKS.table_template(waiting.room.table_template.name)
    lobby, me = waiting.room, {"me": waiting.token}
    for path, fields_, status in (
        (f"/join/{second.room.code}", me, 409),
        ("/open", me | {"offer": offer, "seat": "nowhere"}, 409),
        ("/open", me | {"offer": "none"}, 404),
        ("/join/NOCODE", me, 404),
    ):
        body = encode_form([(name, text.encode()) for name, text in fields_.items()])
        assert hall.request("POST", path, body).status == status
        assert waiting.room is lobby
        assert waiting.visitor in lobby.visitors.values()
    hall.run(hall.rooms.sit("negotiation", 2, **me))
    assert lobby.stage is Stage.OVER


async def test_answer_after_the_deadline_changes_nothing(tmp_path: Path) -> None:
    study = bargaining(deadline=0.3, away={"strategy": "random"})
    async with visited(study, tmp_path / "s.sqlite") as rooms:
        walker = await rooms.sit("bargaining")
        key = await walker.key()
        await walker.until("You were away", "The game is over")
        late = await walker.post({"question": key, "message": "too late to say"})
        assert late.status_code == 303
        assert "too late" not in str(walker.table.given)


def test_expired_link_is_reported(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"/p/{LINKS.token('visitor')}"
    monkeypatch.setattr(LINKS, "lifetime", -1)
    for method, deed in (("GET", ""), ("POST", "/answer"), ("GET", "/events")):
        response = hall.request(method, path + deed, b"a=b")
        assert (response.status, "has expired" in response.text) == (410, True)
