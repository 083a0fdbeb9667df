"""Whatever is sent to the rooms, a page says what was wrong with it, and nothing is lost."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.rules.registry import GAMES
from cheaptalk.web import demo
from cheaptalk.web.rooms.forms import fields
from cheaptalk.web.rooms.limits import Limit
from cheaptalk.web.rooms.room_manager import RoomManager
from cheaptalk.web.rooms.rooms import Stage
from tests.web.asker import NASTY, WILD, Asker, encoded
from tests.web.test_rooms import bargaining
from tests.web.walker import LINKS, QUESTION, Rooms, Walker, visited


class Hall(Asker):
    """Rooms that stay open from one example to the next."""

    def __init__(self, runner: asyncio.Runner, rooms: Rooms) -> None:
        super().__init__(runner, rooms.client)
        self.rooms = rooms

    @property
    def room_manager(self) -> RoomManager:
        return self.rooms.room_manager

    def at(self, game: str) -> Walker:
        """Somebody who is asked something at a table of a game."""
        table_templates = self.room_manager.table_templates.values()
        table_template = next(
            template
            for template in table_templates
            if template.game.name == game and len(template.human_seats) == 1
        )
        while True:
            walker = self.run(self.rooms.sit(table_template))
            if ">Your turn<" in self.run(walker.until(">Your turn<", ">The game is over<")):
                return walker


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hall]:
    """Rooms of all games, which nobody asks too often."""
    with pytest.MonkeyPatch.context() as patch, asyncio.Runner() as runner:
        patch.setattr(Limit, "allows", lambda limit, who: True)
        opened = visited(demo(), tmp_path_factory.mktemp("hall") / "s.sqlite")
        rooms = runner.run(opened.__aenter__())
        yield Hall(runner, rooms)
        runner.run(opened.__aexit__(None, None, None))


MORE = st.one_of(st.just(""), st.just(""), st.sampled_from([".", ".x", ".1", ".player_1", "[]"]))
FIELDS = st.lists(st.tuples(st.integers(0, 23), MORE, WILD), max_size=4)
"""Fields by number, those of the form below 20; more of their names; and what stands in them."""
FIELD_NAMES = st.one_of(
    st.sampled_from(["question", "me", "offer", "seat", "message", "a.b", ".", "x.1"]),
    st.text(max_size=8),
)


@pytest.mark.parametrize("game", sorted(GAMES))
def test_no_form_of_a_game_fails_whatever_it_holds(hall: Hall, game: str) -> None:
    walkers = [hall.at(game)]

    @given(drawn=FIELDS, asked=st.booleans())
    def fill_in(drawn: list[tuple[int, str, bytes]], asked: bool) -> None:
        walker = walkers[-1]
        if ">Your turn<" not in hall.run(walker.until(">Your turn<", ">The game is over<")):
            walkers.append(walker := hall.at(game))
        question = walker.question
        own = [field.name for field in fields(question.call.form)]
        pairs = [
            (own[number % len(own)] * (number < 20) + more, value) for number, more, value in drawn
        ]
        kept = [("question", question.key.encode())] if asked else []
        hall.ask("POST", f"{walker.path}/answer", encoded([*kept, *pairs]))
        assert walker.room.stage is not Stage.BROKEN
        page = hall.ask("GET", walker.path)
        assert page.status == 200

    fill_in()
    assert hall.ask("GET", walkers[-1].path).status == 200


@given(data=st.data())
def test_no_address_fails(hall: Hall, data: st.DataObject) -> None:
    code = next(iter(hall.room_manager.rooms), "ABCDEF")
    token = LINKS.token(next(iter(hall.room_manager.visitors), "nobody"))
    wild = st.one_of(
        st.text(max_size=20), st.sampled_from([*NASTY, code, token, "p", "..", "rooms.css", "%00"]),
    )  # fmt: skip
    stems = ["/", "/games/", "/open", "/join/", "/p/", f"/p/{token}/", "/static/", "/nowhere/"]
    path = data.draw(st.sampled_from(stems)) + "/".join(data.draw(st.lists(wild, max_size=2)))
    query = data.draw(st.sampled_from(["", "?me=", "?after=", "?after=x&after=²&%ff="]))
    method = data.draw(st.sampled_from(["GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS"]))
    pairs = data.draw(st.lists(st.tuples(FIELD_NAMES, WILD), max_size=3))
    hall.ask(method, path + query, encoded(pairs))


@given(body=st.binary(max_size=200), content_type=st.text(max_size=30))
def test_no_body_fails(hall: Hall, body: bytes, content_type: str) -> None:
    walker = hall.at("guess_the_average")
    hall.ask("POST", f"{walker.path}/answer", body)
    hall.ask("POST", f"{walker.path}/answer", body, content_type=content_type)
    assert walker.question


def test_what_is_wrong_is_said_and_the_question_stays(hall: Hall) -> None:
    walker, other = hall.at("guess_the_average"), hall.at("bargaining")
    page = hall.ask("GET", walker.path).text
    shown = QUESTION.search(page)
    assert shown is not None
    key = f"question={shown[1]}"
    answer = f"{walker.path}/answer"
    for asked, status, said in (
        (("POST", answer, b"message=" + b"x" * 2_000_000), 413, "too long"),
        (("POST", answer, key.encode() + b"&chosen_number=%ff\xff"), 400, "could not be processed"),
        (("POST", answer, key.encode() + b"&a=1&a=2"), 400, "could not be processed"),
        (("POST", answer, b"&".join([b"a=b"] * 1_000)), 400, "could not be processed"),
        (("GET", "/p/" + "x" * 100_000), 403, "not valid"),
        (("GET", "/join/" + "x" * 100_000), 404, "no game with this code"),
        (("GET", walker.path[:-1]), 403, "not valid"),
        (("GET", f"{walker.path}/events?after=x"), 400, "not valid"),
        (("PUT", walker.path), 405, "does not exist"),
    ):  # fmt: skip
        found = hall.ask(*asked)
        assert (found.status, said in found.text) == (status, True), found
    for kind in ("application/json", "multipart/form-data; boundary=x", "text/plain"):
        found = hall.ask("POST", answer, f"{key}&chosen_number=3".encode(), content_type=kind)
        assert (found.status, "not sent correctly" in found.text) == (415, True)
    assert hall.ask("GET", walker.path).text.count(shown[1]) == page.count(shown[1]) > 0
    others = hall.ask("POST", f"{other.path}/answer", f"{key}&chosen_number=3".encode())
    assert others.status == 303
    assert walker.question.key == shown[1]


def test_a_page_that_lost_count_of_events_hears_of_all(hall: Hall) -> None:
    walker = hall.at("guess_the_average")
    for last in ("²", "-1", "9" * 5_000, "x", "\x00", ""):
        heard = hall.ask("GET", f"{walker.path}/events", last_event_id=last)
        assert (heard.status, heard.text[:5]) == (200, "retry")


def test_who_lost_their_place_can_do_nothing_and_goes_on(hall: Hall) -> None:
    async def replaced() -> Walker:
        table_templates = hall.room_manager.table_templates.values()
        first = await hall.rooms.sit(
            next(template for template in table_templates if len(template.human_seats) == 3)
        )
        code, first.visitor.seen = first.room.code, 0.0
        for _ in range(3):
            await hall.rooms.join(code)
        return first

    for deed, status in (("leave", 303), ("back", 409), ("answer", 409), ("fill", 409)):
        walker = hall.run(replaced())
        assert hall.ask("POST", f"{walker.path}/{deed}").status == status
        assert "Choose a game" in hall.ask("GET", walker.path).text


def test_a_place_is_kept_until_there_is_another(hall: Hall) -> None:
    table_templates = [
        template
        for template in hall.room_manager.table_templates.values()
        if len(template.human_seats) == 2
    ]
    waiting, first = (
        hall.run(hall.rooms.sit(table_template)) for table_template in table_templates[:2]
    )
    second = hall.run(hall.rooms.join(first.room.code))
    lobby, me = waiting.room, {"me": waiting.path.rpartition("/")[2]}
    for asked, fields_, status in (
        (f"/join/{second.room.code}", me, 409),
        (
            "/open",
            me | {"offer": LINKS.table_template(table_templates[0].name), "seat": "nowhere"},
            409,
        ),
        ("/open", me | {"offer": "none"}, 404),
        ("/join/NOCODE", me, 404),
    ):
        body = encoded([(name, text.encode()) for name, text in fields_.items()])
        assert hall.ask("POST", asked, body).status == status
        assert waiting.room is lobby
        assert waiting.visitor in lobby.visitors.values()
    hall.run(hall.rooms.sit(table_templates[1], **me))
    assert lobby.stage is Stage.OVER


def test_an_answer_after_the_deadline_changes_nothing(tmp_path: Path) -> None:
    study = bargaining(deadline=0.3, away={"strategy": "random"})

    async def main() -> None:
        async with visited(study, tmp_path / "s.sqlite") as rooms:
            walker = await rooms.sit(next(iter(rooms.room_manager.table_templates.values())))
            shown = QUESTION.search(await walker.until(">Your turn<"))
            assert shown is not None
            await walker.until("You were away", "The game is over")
            late = await walker.post({"question": shown[1], "message": "too late to say"})
            assert late.status_code == 303
            table = walker.room.table
            assert table is not None
            assert "too late" not in str(table.given)

    asyncio.run(main())


def test_an_expired_link_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with visited(demo(), tmp_path / "s.sqlite") as rooms:
            token = LINKS.token("somebody")
            monkeypatch.setattr(LINKS, "lifetime", -1)
            for answer in (
                await rooms.client.get(f"/p/{token}"),
                await rooms.client.post(f"/p/{token}/answer", data={"a": "b"}),
                await rooms.client.get(f"/p/{token}/events"),
            ):
                assert (answer.status_code, "has expired" in answer.text) == (410, True)

    asyncio.run(main())
