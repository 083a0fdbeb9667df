"""Tables as everybody has them: by keyboard, with a screen reader, on a telephone, in the dark."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from cheaptalk.rules.registry import GAMES
from cheaptalk.web.rooms.languages import languages
from cheaptalk.web.rooms.limits import Limit
from cheaptalk.web.rooms.table_templates import TableTemplate
from cheaptalk.web.typed_numbers import BadNumber, plain_number
from tests.reports.browser import Tab, browse
from tests.web.served import served
from tests.web.walker import LINKS, Rooms, Walker

pytestmark = pytest.mark.browser

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
"""A checker of pages: npm install --no-save axe-core."""
LOOKS = [(360, "dark"), (360, "light"), (1300, "dark"), (1300, "light")]
BROKEN_LAWS = """axe.run(document, {
    resultTypes: ["violations"], rules: { "target-size": { enabled: true } }
  }).then(found => found.violations.filter(one => ["serious", "critical"].includes(one.impact))
    .map(one => `${one.id}: ${one.nodes.map(node => node.html).join(" ").slice(0, 300)}`))"""
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
FOCUSED = "document.activeElement.outerHTML.slice(0, 120)"
SAID = """(window.said = [], new MutationObserver(() =>
  said.push(document.querySelector('[data-part=said]').textContent))
  .observe(document.querySelector('[data-part=said]'), { childList: true }))"""


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody asks too often."""
    monkeypatch.setattr(Limit, "allows", lambda limit, who: True)


def table_of(rooms: Rooms, game: str, people: int = 1) -> TableTemplate:
    table_templates = rooms.room_manager.table_templates.values()
    return next(
        template
        for template in table_templates
        if (template.game.name, len(template.human_seats)) == (game, people)
    )


def visiting(where: Path, visit: Callable[[Tab, Rooms], Any]) -> None:
    """Let a browser visit rooms that are served."""

    async def work(tab: Tab) -> None:
        async with served(where) as rooms:
            await visit(tab, rooms)
            await tab.send("Page.navigate", url="about:blank")  # which hears no more events

    browse(where / "profile", work)


async def pages(rooms: Rooms, game: str) -> AsyncIterator[str]:
    """The pages of a game, from its rules to a match's end; each as it is when it is read."""
    yield f"/games/{game}"
    walker = await rooms.sit(table_of(rooms, game))
    page, answered = await walker.until(">Your turn<", ">The game is over<"), 0
    while ">Your turn<" in page:
        if answered < 2:
            yield walker.path
        if answered == 0:
            await walker.post({"question": walker.question.key, "no": "such"})
            await walker.until("Your answer is not valid")
            yield walker.path
        await walker.answer(page)
        answered += 1
        page = await walker.until(">Your turn<", ">The game is over<")
    yield walker.path


async def other_pages(rooms: Rooms) -> AsyncIterator[str]:
    """Pages that are of no game."""
    yield "/"
    yield "/nowhere"
    yield "/p/forged"
    together = table_of(rooms, "chip_trading", 3)
    first = await rooms.sit(together)
    yield first.path
    yield f"/join/{first.room.code}"
    others = [await rooms.join(first.room.code) for _ in range(2)]
    yield f"/join/{first.room.code}"
    shown = [await item.until(">Your turn<", "Waiting for") for item in (first, *others)]
    yield next(
        one.path for one, page in zip((first, *others), shown, strict=True) if "Waiting" in page
    )
    first.room.seat_session(first.visitor).away = True
    yield first.path
    await others[0].post({}, "leave")
    yield others[0].path
    for element in (first, *others[1:]):
        await element.post({}, "leave")
    alone = await rooms.sit(table_of(rooms, "bargaining"))
    await alone.until(">Your turn<")
    alone.room.stage = type(alone.room.stage).BROKEN
    yield alone.path


async def complaints(tab: Tab, address: str, width: int, scheme: str) -> list[str]:
    """What is wrong with a page for somebody."""
    await tab.visit(address, width, scheme)
    await tab.run(AXE.read_text() + "; 0")
    found: list[str] = await tab.run(BROKEN_LAWS)
    wide = await tab.run(TOO_WIDE)
    return found + [f"{wide} pixels too wide"] * (wide > 0)


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: npm install axe-core")
@pytest.mark.parametrize("game", [*sorted(GAMES), ""])
def test_all_pages_are_for_everybody(unhurried: None, game: str, tmp_path: Path) -> None:
    found: list[str] = []

    async def visit(tab: Tab, rooms: Rooms) -> None:
        async for path in pages(rooms, game) if game else other_pages(rooms):
            for width, scheme in LOOKS:
                address = f"{rooms.client.base_url}".rstrip("/") + path
                wrong = await complaints(tab, address, width, scheme)
                found.extend(f"{path[:8]} {width} {scheme}: {item}" for item in wrong)

    visiting(tmp_path, visit)
    assert found == []


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: npm install axe-core")
def test_a_page_that_is_not_for_everybody_is_found(unhurried: None, tmp_path: Path) -> None:
    async def visit(tab: Tab, rooms: Rooms) -> None:
        walker = await rooms.sit(table_of(rooms, "guess_the_average"))
        await walker.until(">Your turn<")
        address = f"{rooms.client.base_url}".rstrip("/") + walker.path
        assert await complaints(tab, address, 360, "light") == []
        await tab.run("""{ document.querySelector("main .amount span").remove();
          document.querySelector("main").style.width = "500px";
          document.querySelector(".turn h1").style.color = "#ddd" }""")
        found = await tab.run(BROKEN_LAWS)
        assert {item.partition(":")[0] for item in found} >= {"label", "color-contrast"}
        assert await tab.run(TOO_WIDE) > 0

    visiting(tmp_path, visit)


async def tab_to(tab: Tab, chosen: str) -> None:
    """Press the tabulator until something has the focus."""
    for _ in range(40):
        if await tab.run(f"document.activeElement.matches({chosen!r})"):
            return
        await tab.press("Tab")
    raise AssertionError(f"no way to {chosen} from {await tab.run(FOCUSED)}")


def test_a_match_is_played_by_keyboard_alone(unhurried: None, tmp_path: Path) -> None:
    """From the choice of the game to the last page; after each answer one is where it goes on."""

    async def visit(tab: Tab, rooms: Rooms) -> None:
        await tab.visit(f"{rooms.client.base_url}")
        for chosen in ('a[href="/games/guess_the_average"]', "main form button"):
            await tab_to(tab, chosen)
            await tab.press("Enter")
            await tab.until(f"!document.querySelector({chosen!r})")
            await tab.until("document.readyState === 'complete'")
        for turn in range(5):
            await tab.until("document.querySelector('.turn.now form.answer') !== null")
            if turn:
                assert "Your turn" in await tab.run(FOCUSED)
            asked = await tab.run("document.querySelector('.turn').dataset.question")
            await tab_to(tab, "#f-chosen_number")
            await tab.write("30")
            await tab.press("Enter")
            await tab.until(f"document.querySelector('.turn')?.dataset.question !== {asked!r}")
        await tab.until("document.querySelector('.earned') !== null")
        await tab.until("document.activeElement.textContent === 'The game is over'")
        assert tab.complaints == []

    visiting(tmp_path, visit)


def test_a_turn_is_said_once_and_the_focus_stays(unhurried: None, tmp_path: Path) -> None:
    async def visit(tab: Tab, rooms: Rooms) -> None:
        first = await rooms.sit(table_of(rooms, "chip_trading", 3))
        await tab.visit(f"{rooms.client.base_url}".rstrip("/") + first.path)
        await tab.run(f"{SAID}; 0")
        await tab_to(tab, 'form[action$="fill"] button')
        await rooms.join(first.room.code)
        await tab.until("said.length === 1")
        assert "here" in await tab.run("said[0]")
        assert "the free seat" in await tab.run("document.activeElement.textContent")
        await rooms.join(first.room.code)
        await tab.until("document.querySelector('.turn') !== null")
        assert await tab.run("document.activeElement.matches('.turn h1, .turn .waiting')")
        await others_play(rooms, first)
        await tab.until("document.querySelector('.turn.now') !== null")
        await tab.run("document.querySelector('.rules summary').focus(); said.length = 0")
        await first.answer(await first.page())
        await others_play(rooms, first)
        await tab.until("said.some(one => one.startsWith('Your turn'))")
        told = await tab.run("said.filter(one => one.startsWith('Your turn')).length")
        assert told == 1
        assert await tab.run("document.activeElement.matches('.rules summary')")

    visiting(tmp_path, visit)


async def others_play(rooms: Rooms, one: Walker) -> None:
    """Let all others answer until somebody is asked."""
    everybody = [visitor for visitor in one.room.visitors.values() if visitor is not None]
    walkers = [Walker(rooms, f"/p/{LINKS.token(visitor.name)}") for visitor in everybody]
    while ">Your turn<" not in (shown := await one.page()):
        assert "The game is over" not in shown
        for walker in walkers:
            page = await walker.page()
            if walker.visitor is not one.visitor and ">Your turn<" in page:
                await walker.answer(page)


WRITTEN = {
    "de": ["1.500", "7,5", "1500", "1.500,25", "1 500", "2.500 \u20ac", "-3", "1_0", "1,500", "7.5",
           "1e3", "nan", "007", "1 0", "", "zehn", "1.00", "1.500.00"],
    "en": ["1,500", "7.5", "1500", "1,500.25", "$2,500", "\u22123", "1_0", "1.500", "7,5", "1e3",
           "1,00,000", "5-3", "ten"],
}  # fmt: skip
OTHER_PART = """(written => {
  const typed = document.querySelector('#f-alice_gain');
  const other = document.querySelector('#f-bob_gain');
  other.value = 'untouched';
  typed.value = written;
  typed.dispatchEvent(new Event('input', { bubbles: true }));
  return other.value;
})"""


@pytest.mark.parametrize("language", WRITTEN)
def test_a_page_calculates_with_the_numbers_that_the_server_reads(
    unhurried: None, language: str, tmp_path: Path
) -> None:
    writing = languages()[language].writing

    async def visit(tab: Tab, rooms: Rooms) -> None:
        walker = await rooms.sit(table_of(rooms, "bargaining"))
        await walker.until(">Your turn<")
        address = f"{rooms.client.base_url}".rstrip("/") + f"{walker.path}?lang={language}"
        await tab.visit(address)
        money = await tab.run("Number(document.querySelector('[data-whole]').dataset.whole)")
        for written in WRITTEN[language]:
            try:
                meant = float(plain_number(written, writing) or "nan")
            except BadNumber:
                meant = float("nan")
            other = await tab.run(f"{OTHER_PART}({written!r})")
            if 0 <= meant <= money:
                assert float(plain_number(other, writing)) == money - meant, written
            else:
                assert other == "untouched", written

    visiting(tmp_path, visit)


def test_an_offer_typed_in_german_is_given_as_it_was_meant(unhurried: None, tmp_path: Path) -> None:
    async def visit(tab: Tab, rooms: Rooms) -> None:
        walker = await rooms.sit(table_of(rooms, "bargaining"))
        await walker.until(">Your turn<")
        await tab.visit(f"{rooms.client.base_url}".rstrip("/") + f"{walker.path}?lang=de")
        await tab.run("document.querySelector('#f-alice_gain').focus()")
        await tab.write("1_0")
        await tab.run("document.querySelector('#f-bob_gain').value = '9.990'")
        await tab.press("Enter")
        await tab.until(
            "document.querySelector('.problem')?.textContent.includes('1_0 ist keine eindeutige')"
        )
        assert walker.room.table is not None
        assert walker.room.table.given == []
        await tab.run("document.querySelector('#f-alice_gain').select()")
        await tab.write("1.500")
        assert await tab.run("document.querySelector('#f-bob_gain').value") == "8500"
        await tab.press("Enter")
        await tab.until("document.querySelector('.turn.now #f-alice_gain') === null")
        action = walker.room.table.given[0].action
        assert action is not None
        assert action.model_dump()["alice_gain"] == 1_500

    visiting(tmp_path, visit)
