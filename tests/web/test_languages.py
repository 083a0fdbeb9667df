"""People read their own language: catalogues that are whole, and pages that follow them."""

import asyncio
import html
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from cheaptalk.web import demo
from cheaptalk.web.rooms.languages import languages
from tests.web import catalogues
from tests.web.walker import LINKS, Rooms, Walker, visited

GERMAN = {"Accept-Language": "de-AT,de;q=0.9,en;q=0.5"}
CATALOGUES: list[tuple[str, Callable[[], set[catalogues.Message]]]] = [
    ("rooms", catalogues.of_pages), ("games", catalogues.of_games),
]  # fmt: skip


@pytest.mark.parametrize(("name", "wanted"), CATALOGUES)
@pytest.mark.parametrize("language", [code for code in languages() if code != "en"])
def test_a_catalogue_has_every_text_and_no_other(
    language: str, name: str, wanted: Callable[[], set[catalogues.Message]]
) -> None:
    messages = {one.id: one for one in catalogues.catalogue(language, name) if one.id}
    assert set(messages) - wanted() == set(), "no page says these any more"
    assert wanted() - set(messages) == set(), "these are not translated"
    for one in messages.values():
        translations = [one.string] if isinstance(one.string, str) else one.string or [""]
        assert all(translations), f"{one.id} is not translated"
        assert not one.fuzzy
        assert not list(one.check(catalogues.catalogue(language, name)))


def test_pages_are_in_the_language_that_one_reads(tmp_path: Path) -> None:
    async def play(rooms: Rooms) -> None:
        client = rooms.client
        for headers, chosen, code, says in (
            ({}, "", "en", "Choose a game"),
            (GERMAN, "", "de", "Wählen Sie ein Spiel"),
            (GERMAN, "?lang=en", "en", "Choose a game"),
            ({}, "?lang=de", "de", "Wählen Sie ein Spiel"),
            ({}, "?lang=xx", "en", "Choose a game"),
        ):
            page = await client.get(f"/{chosen}", headers=headers)
            assert f'<html lang="{code}">' in page.text
            assert says in page.text
        page = await client.get("/?lang=de")
        game = re.search(r'href="(/games/chip_trading[^"]*)"', page.text)
        assert game is not None
        page = await client.get(game[1])
        assert "Chips tauschen" in page.text
        assert "Alle Spieler beginnen" in page.text
        action = re.search(r'action="(/open[^"]*)"', page.text)
        assert action is not None
        offer = next(
            one for one in rooms.house.offers.values()
            if one.game.name == "chip_trading" and len(one.people) == 3
        )  # fmt: skip
        opened = await client.post(action[1], data={"offer": LINKS.offer(offer.name)})
        walker = Walker(rooms, opened.headers["location"])
        assert "Warten auf andere" in await walker.page()
        assert "Spieler 1 (Sie)" in await walker.page()
        missing = await client.get("/join/NOCODE?lang=de")
        assert "Es gibt keinen Tisch" in missing.text
        late = await walker.post({}, "dance")
        assert "Hier ist nichts" in late.text

    asyncio.run(_visit(tmp_path, play))


def test_a_language_once_chosen_stays_even_when_the_server_was_stopped(tmp_path: Path) -> None:
    paths = []

    async def choose(rooms: Rooms) -> None:
        offer = next(one for one in rooms.house.offers.values() if len(one.people) == 3)
        walker = await rooms.sit(offer)
        assert "waiting for others" in await walker.page()
        chosen = await rooms.client.get(f"{walker.path}?lang=de")
        assert (chosen.status_code, chosen.headers["location"]) == (303, walker.path)
        assert "Warten auf andere" in await walker.page()
        paths.append(walker.path)

    async def come_back(rooms: Rooms) -> None:
        assert "Warten auf andere" in await Walker(rooms, paths[0]).page()

    asyncio.run(_visit(tmp_path, choose))
    asyncio.run(_visit(tmp_path, come_back))


ENGLISH = re.compile(
    r"\b(the|you|your|and|of|with|each|rounds?|players?|are|have|has|will|dollars?|points)\b", re.I
)
"""Words that stand in most English sentences, and in no German one."""


def words_of(page: str) -> str:
    """What a page says, without what others said and what the study calls its players."""
    text = html.unescape(
        re.sub(r"<[^>]*>", " ", page.partition("<main")[2].partition("</main>")[0])
    )
    return re.sub("\u201e[^\u201c]*\u201c", "", text)


def test_every_game_is_played_in_german_and_pays_what_it_pays_in_english(tmp_path: Path) -> None:
    async def play(rooms: Rooms) -> dict[str, tuple[Mapping[str, float], str | None]]:
        ends: dict[str, tuple[Mapping[str, float], str | None]] = {}
        for number, offer in enumerate(rooms.house.offers.values()):
            if len(offer.people) < len(offer.seated):
                walkers = [await rooms.sit(offer)]
                walkers += [await rooms.join(walkers[0].room.code) for _ in offer.people[1:]]
                pages = await asyncio.gather(*(one.play() for one in walkers))
                if walkers[0].guest.language == "de":
                    assert all(ENGLISH.findall(words_of(page)) == [] for page in pages), pages
                match = walkers[0].room.match
                record = rooms.house.store.find(match.id)
                seat = record.seats[offer.people[0]]["spec"]
                ends[f"{number} {offer.game.name}"] = record.payoffs or {}, seat["style"]
        return ends

    async def main(language: str) -> dict[str, tuple[Mapping[str, float], str | None]]:
        async with visited(demo(), tmp_path / language, language=language) as rooms:
            return await play(rooms)

    english, german = asyncio.run(main("en")), asyncio.run(main("de"))
    assert len({name.partition(" ")[2] for name in german}) == 14
    for name, (payoffs, style) in german.items():
        assert (payoffs, style) == (english[name][0], "german")
        assert english[name][1] == "english"


async def _visit(tmp_path: Path, play: Callable[[Rooms], object]) -> None:
    async with visited(demo(), tmp_path / "s.sqlite") as rooms:
        await play(rooms)  # type: ignore[misc]
