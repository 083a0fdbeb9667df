"""Bots in the browser: they read any page, and play every game by its instructions."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal

import cheaptalk as ct
from cheaptalk.players import Kind
from cheaptalk.records import MatchRecord, Status, Store
from cheaptalk.rules import Chance, CheaptalkError, games
from cheaptalk.web import Crowd, Tally
from cheaptalk.web.bots.guesses import guess
from cheaptalk.web.bots.pages import Page
from tests.conftest import Command
from tests.web.served import served
from tests.web.test_rooms import bargaining


async def hurry(_seconds: float) -> None:
    await asyncio.sleep(0.001)


def seats(records: Iterable[MatchRecord]) -> Iterator[tuple[MatchRecord, str]]:
    """Yield the matches and seats that bots played."""
    for record in records:
        yield from ((record, seat) for seat in record.seats if record.label(seat) == "you")


async def run_crowd(folder: Path, **crowd: Any) -> Tally:
    folder.mkdir(exist_ok=True)
    async with served(folder, study=bargaining()) as rooms:
        return await Crowd(rooms.url, rest=hurry, **crowd).play()


async def test_bots_complete_every_game(tmp_path: Path) -> None:
    async with served(tmp_path) as rooms:
        crowds = [Crowd(rooms.url, games=[game], rest=hurry) for game in games()]
        played = await asyncio.gather(*(crowd.play() for crowd in crowds))
    tallies = dict(zip(games(), played, strict=True))
    assert len(tallies) == 17
    for game, tally in tallies.items():
        assert (tally.matches, tally.errors) == (1, {}), game
    with Store.open(tmp_path / "s.sqlite") as store:
        records = list(store.records("demo", bodies=True))
    assert {record.game for record in records} == set(tallies)
    assert {record.status for record in records} == {Status.FINISHED}
    kinds = sum((Counter(record.kinds[place]) for record, place in seats(records)), Counter[str]())
    assert kinds.keys() <= {Kind.OK, Kind.REPAIRED}
    assert kinds.total() == sum(tally.moves for tally in tallies.values())


async def test_same_seed_sends_the_same_answers(tmp_path: Path) -> None:
    async def sent(name: str, seed: int) -> list[dict[str, str]]:
        tally = await run_crowd(tmp_path / name, seed=seed)
        return [item.fields | {"question": ""} for item in tally.sent]

    first = await sent("a", 3)
    assert first
    assert first == await sent("b", 3)
    assert first != await sent("c", 4)


async def test_bots_join_one_another_by_invitation(tmp_path: Path) -> None:
    others: list[asyncio.Task[Tally]] = []
    arrivals = Tally()

    async def rest(_seconds: float) -> None:
        if host.invitations and not others:
            visitors = Crowd(host.invitations[0], people=2, rest=hurry, tally=arrivals)
            others.append(asyncio.create_task(visitors.play()))
            while arrivals.pages < 4:
                await asyncio.sleep(0)
        await hurry(0)

    async with served(tmp_path) as rooms:
        host = Crowd(f"{rooms.url}/games/chip_trading", seed=1, rest=rest)
        tallies = [await host.play(), *await asyncio.gather(*others)]
    assert [tally.matches for tally in tallies] == [1, 2]
    with Store.open(tmp_path / "s.sqlite") as store:
        assert len(list(seats(store.records("demo")))) == 3


@pytest.mark.parametrize("url", ["foo", "http://127.0.0.1:9", f"http://{'x' * 5000}"])
async def test_bots_without_a_server_fail_at_once(url: str) -> None:
    with pytest.raises(CheaptalkError, match="no server answers at"):
        await Crowd(url, rest=hurry).play()


async def test_bots_fail_at_once_for_an_unknown_game(tmp_path: Path) -> None:
    tally = await run_crowd(tmp_path, games=["no_such_game"])
    [error] = tally.errors
    assert error.startswith("no game to play at http://127.0.0.1")


async def test_bot_continues_after_a_server_outage(tmp_path: Path) -> None:
    online = asyncio.Event()
    online.set()

    async def rest(_seconds: float) -> None:
        await asyncio.sleep(0.001)
        await online.wait()

    async with served(tmp_path) as rooms:
        crowd = Crowd(rooms.url, think=1, matches=3, rest=rest, games=["public_goods"])
        playing = asyncio.create_task(crowd.play())
        while len(crowd.tally.sent) < 3:
            await asyncio.sleep(0)
        online.clear()
    online.set()
    while not crowd.tally.lost:
        await asyncio.sleep(0)
    online.clear()
    async with served(tmp_path, port=rooms.client.base_url.port or 0):
        online.set()
        tally = await playing
    assert (tally.matches, tally.errors) == (3, {})
    assert tally.lost >= 1
    with Store.open(tmp_path / "s.sqlite") as store:
        records = list(store.records("demo"))
    assert len(records) == 3
    assert len({item.link for item in tally.sent}) == 1


PAGE = """
<h1>Rules</h1><p>Not from 5 to 6.</p><h1>Your turn</h1><p>Choose a number from 7 to 9.</p>
<form action="/p/x/answer"><input type="hidden" name="question" value="k">
<input name="chosen" inputmode="numeric" required>
<input type="number" name="own" min="3" max="4" required>
<select name="way" required><option value=""></option><option value="up">Up</option></select>
<textarea name="words" maxlength="5" required>be</textarea>
<button name="go" value="yes">Yes</button>
</form>"""


def test_form_is_filled_in_within_the_limits_of_its_page() -> None:
    page = Page(PAGE)
    form = page.form("answer")
    assert form is not None
    for number in range(20):
        filled = guess(page, form, [], Chance("test")("guess", number))
        assert filled["question"] == "k"
        assert filled["go"] == "yes"
        assert 7 <= int(filled["chosen"]) <= 9
        assert 3 <= int(filled["own"]) <= 4
        assert filled["way"] == "up"
        assert 0 < len(filled["words"]) <= 5


def test_guesses_use_earlier_error_messages() -> None:
    page = Page('<form action="answer"><input inputmode="decimal" name="a" required>'
                '<input name="b" inputmode="decimal" required></form>')  # fmt: skip
    form = page.forms[0]
    for number in range(20):
        filled = guess(
            page, form, ["must add up to 100, not 7", "say it"], Chance("test")("guess", number)
        )
        assert int(filled["a"]) + int(filled["b"]) == 100


def test_command_prints_the_tally(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cheaptalk: Command
) -> None:
    monkeypatch.setattr(ct.web, "Crowd", partial(Crowd, rest=hurry))
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(served(tmp_path)) as rooms,
    ):
        bots = partial(cheaptalk, "study", "bots", "--bots", "1")
        good = bots("--think-time", "0", "--json", f"{rooms.url}/games/bargaining")
        bad = bots(f"{rooms.url}/p/forged")
    tally = json.loads(good.out)
    assert (tally["matches"], tally["lost"], tally["errors"]) == (1, 0, {})
    assert tally["moves"] > 0
    assert (bad.status, "not valid" in bad.out) == (1, True)
    assert 0 < tally["within_50"] <= tally["within_95"] <= tally["within_100"]
