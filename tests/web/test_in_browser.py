"""Tables in a browser: by keyboard, with a screen reader, on a phone, and in dark mode."""

import inspect
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

import cheaptalk.web
from cheaptalk.rules.registry import GAMES
from cheaptalk.web.posted import Limit
from cheaptalk.web.rooms.languages import Language, languages
from cheaptalk.web.typed_numbers import BadNumber, plain_number
from tests.reports.browser import Tab, browse
from tests.web.served import served
from tests.web.walker import LINKS, Rooms, Walker

pytestmark = pytest.mark.browser

WEB = Path(inspect.getfile(cheaptalk.web)).parent
AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
"""An accessibility checker: npm install --no-save axe-core."""
LOOKS = [(360, "dark"), (360, "light"), (1300, "dark"), (1300, "light")]
BROKEN_LAWS = """axe.run(document, {
    resultTypes: ["violations"], rules: { "target-size": { enabled: true } }
  }).then(found => found.violations
    .map(one => `${one.id}: ${one.nodes.map(node => node.html).join(" ").slice(0, 300)}`))"""
BAD_CONTRASTS = BROKEN_LAWS.replace("resultTypes", 'runOnly: ["color-contrast"], resultTypes')
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
FOCUSED = "document.activeElement.outerHTML.slice(0, 120)"
ANNOUNCED = """(window.said = [], new MutationObserver(() =>
  said.push(document.querySelector('[data-part=said]').textContent))
  .observe(document.querySelector('[data-part=said]'), { childList: true }))"""


@pytest.fixture
def no_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limit, "allows", lambda limit, client: True)


def browse_rooms(where: Path, visit: Callable[[Tab, Rooms], Any]) -> None:
    async def work(tab: Tab) -> None:
        async with served(where) as rooms:
            await visit(tab, rooms)
            await tab.send("Page.navigate", url="about:blank")  # which closes the event stream

    browse(where / "profile", work)


async def pages(rooms: Rooms, game: str) -> AsyncIterator[str]:
    """Yield the paths of a game's pages, from its rules to a match's end, each while shown."""
    yield f"/games/{game}"
    walker = await rooms.sit(game)
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
    """Yield the paths of pages outside games."""
    yield "/"
    yield "/nowhere"
    yield "/p/forged"
    first = await rooms.sit("chip_trading", 3)
    yield first.path
    yield f"/join/{first.room.code}"
    others = [await rooms.join(first.room.code) for _ in range(2)]
    yield f"/join/{first.room.code}"
    shown = [await item.until(">Your turn<", "Waiting for") for item in (first, *others)]
    yield next(
        user.path for user, page in zip((first, *others), shown, strict=True) if "Waiting" in page
    )
    first.room.seat_session(first.visitor).away = True
    yield first.path
    await others[0].post({}, "leave")
    yield others[0].path
    for element in (first, *others[1:]):
        await element.post({}, "leave")
    alone = await rooms.sit("bargaining")
    await alone.until(">Your turn<")
    alone.room.stage = type(alone.room.stage).BROKEN
    yield alone.path


PHYSICAL = re.compile(
    r"(?<![\w-])(?:(?:margin|padding|border)-)?(?:left|right)\s*:|: (?:left|right)\b"
)


def test_styles_have_no_left_or_right() -> None:
    for path in WEB.rglob("*.css"):
        assert PHYSICAL.findall(path.read_text(encoding="utf-8")) == [], path.name


def test_pages_are_mirrored_for_languages_that_are_written_from_right_to_left(
    tmp_path: Path,
) -> None:
    sides = "['.home, header b', '.turn h1'].map(one => document.querySelector(one))"

    async def visit(tab: Tab, rooms: Rooms) -> None:
        walker = await rooms.sit("bargaining")
        await walker.until(">Your turn<")
        places = {}
        arabic = {"ar": Language("ar")}  # without a catalogue
        rooms.room_manager.languages |= arabic  # type: ignore[operator]
        for code in ("en", "ar"):
            await rooms.client.get(f"{walker.path}?lang={code}")
            await tab.visit(rooms.url + walker.path, 390)
            assert await tab.run(TOO_WIDE) == 0
            places[code] = await tab.run(
                f"{sides}.map(one => {{ const range = document.createRange();"
                " range.selectNodeContents(one); const box = range.getBoundingClientRect();"
                " return [box.left, document.documentElement.clientWidth - box.right]; })"
            )
        for (left, right), mirrored in zip(places["en"], places["ar"], strict=True):
            assert mirrored == pytest.approx([right, left], abs=1)

    browse_rooms(tmp_path, visit)


async def violations(tab: Tab, address: str, width: int, scheme: str) -> list[str]:
    """Return the accessibility violations of a page, and its excess width."""
    await tab.visit(address, width, scheme)
    await tab.run(AXE.read_text() + "; 0")
    problems: list[str] = await tab.run(BROKEN_LAWS)
    wide = await tab.run(TOO_WIDE)
    return problems + [f"{wide} pixels too wide"] * (wide > 0)


async def findings(tab: Tab, address: str) -> list[str]:
    """Return a page's accessibility violations on a phone and a desktop, light and dark."""
    problems = []
    for width in (390, 1280):
        wrong = await violations(tab, address, width, "light")
        await tab.send(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark"}],
        )
        wrong += await tab.run(BAD_CONTRASTS)
        problems += [f"{width}: {item}" for item in wrong]
    return problems


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: npm install axe-core")
@pytest.mark.parametrize("game", [*sorted(GAMES), ""])
def test_all_pages_are_accessible(no_limits: None, game: str, tmp_path: Path) -> None:
    problems: list[str] = []

    async def visit(tab: Tab, rooms: Rooms) -> None:
        async for path in pages(rooms, game) if game else other_pages(rooms):
            for width, scheme in LOOKS:
                address = rooms.url + path
                wrong = await violations(tab, address, width, scheme)
                problems.extend(f"{path[:8]} {width} {scheme}: {item}" for item in wrong)

    browse_rooms(tmp_path, visit)
    assert problems == []


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: npm install axe-core")
def test_inaccessible_page_is_detected(no_limits: None, tmp_path: Path) -> None:
    async def visit(tab: Tab, rooms: Rooms) -> None:
        walker = await rooms.sit("guess_the_average")
        await walker.until(">Your turn<")
        address = rooms.url + walker.path
        assert await violations(tab, address, 360, "light") == []
        await tab.run("""{ document.querySelector("main .amount span").remove();
          document.querySelector("main").style.width = "500px";
          document.querySelector(".turn h1").style.color = "#ddd" }""")
        problems = await tab.run(BROKEN_LAWS)
        assert {item.partition(":")[0] for item in problems} >= {"label", "color-contrast"}
        assert await tab.run(TOO_WIDE) > 0

    browse_rooms(tmp_path, visit)


async def tab_to(tab: Tab, selector: str) -> None:
    for _ in range(40):
        if await tab.run(f"document.activeElement.matches({selector!r})"):
            return
        await tab.press("Tab")
    raise AssertionError(f"no way to {selector} from {await tab.run(FOCUSED)}")


def test_match_can_be_played_by_keyboard(no_limits: None, tmp_path: Path) -> None:
    """From the choice of a game to the last page; each answer moves the focus to the next turn."""

    async def visit(tab: Tab, rooms: Rooms) -> None:
        await tab.visit(rooms.url)
        for selector in ('a[href="/games/guess_the_average"]', "main form button"):
            await tab_to(tab, selector)
            await tab.press("Enter")
            await tab.until(f"!document.querySelector({selector!r})")
            await tab.until("document.readyState === 'complete'")
        for turn in range(5):
            await tab.until("document.querySelector('.turn.now form.answer') !== null")
            if turn:
                assert "Your turn" in await tab.run(FOCUSED)
            question = await tab.run("document.querySelector('.turn').dataset.question")
            await tab_to(tab, "#f-chosen_number")
            await tab.write("30")
            await tab.press("Enter")
            await tab.until(f"document.querySelector('.turn')?.dataset.question !== {question!r}")
        await tab.until("document.querySelector('.earned') !== null")
        await tab.until("document.activeElement.textContent === 'The game is over'")
        assert tab.complaints == []

    browse_rooms(tmp_path, visit)


def test_turn_is_announced_once_and_the_focus_stays(no_limits: None, tmp_path: Path) -> None:
    async def visit(tab: Tab, rooms: Rooms) -> None:
        first = await rooms.sit("chip_trading", 3)
        await tab.visit(rooms.url + first.path)
        await tab.run(f"{ANNOUNCED}; 0")
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
        count = await tab.run("said.filter(one => one.startsWith('Your turn')).length")
        assert count == 1
        assert await tab.run("document.activeElement.matches('.rules summary')")

    browse_rooms(tmp_path, visit)


async def others_play(rooms: Rooms, player: Walker) -> None:
    """Let all others answer until a player has a request."""
    visitors = [visitor for visitor in player.room.visitors.values() if visitor is not None]
    walkers = [Walker(rooms, f"/p/{LINKS.token(visitor.name)}") for visitor in visitors]
    while ">Your turn<" not in (shown := await player.page()):
        assert "The game is over" not in shown
        for walker in walkers:
            page = await walker.page()
            if walker.visitor is not player.visitor and ">Your turn<" in page:
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
def test_page_and_server_parse_numbers_alike(
    no_limits: None, language: str, tmp_path: Path
) -> None:
    writing = languages()[language].writing

    async def visit(tab: Tab, rooms: Rooms) -> None:
        walker = await rooms.sit("bargaining")
        await walker.until(">Your turn<")
        address = f"{rooms.url}{walker.path}?lang={language}"
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

    browse_rooms(tmp_path, visit)


def test_german_numbers_are_submitted_as_typed(no_limits: None, tmp_path: Path) -> None:
    async def visit(tab: Tab, rooms: Rooms) -> None:
        walker = await rooms.sit("bargaining")
        await walker.until(">Your turn<")
        await tab.visit(f"{rooms.url}{walker.path}?lang=de")
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

    browse_rooms(tmp_path, visit)
