"""Reports in a browser: mouse, keyboard, phones, dark mode and paper."""

from pathlib import Path

import pytest

import cheaptalk as ct
from tests.played import CROWD, EVIL, play
from tests.reports.browser import Tab, browse

pytestmark = pytest.mark.browser

DRAWN = "[...document.querySelectorAll('.plot')].every(one => one.querySelector('svg'))"
PAIRINGS = "document.querySelector('[data-name=persuasion-pairings]')"
SHOWN = f"[...{PAIRINGS}.querySelectorAll('tbody tr:not([hidden])')]"
SAVING = """{ window.saved = null; URL.createObjectURL = (blob) => {
    blob.text().then((text) => { saved = text; }); return "#"; } }"""


@pytest.fixture
def page(badly: Path, tmp_path: Path) -> str:
    """The address of a report with failures."""
    out = tmp_path / "report.html"
    with ct.Store.open(badly) as store:
        ct.reports.report(store, "badly", out, sample=9)
    return out.as_uri()


async def test_opens_without_requests_and_draws_all_figures(page: str, tab: Tab) -> None:
    await tab.visit(page)
    await tab.until(DRAWN)
    assert await tab.run("document.querySelectorAll('.plot').length") > 5
    assert tab.complaints == []
    assert [url for url in tab.fetched if not url.startswith("data:")] == [page]


async def test_tables_sort_by_keyboard_filter_and_export(page: str, tab: Tab) -> None:
    await tab.visit(page)
    heads = f"[...{PAIRINGS}.querySelectorAll('thead button')].map(one => one.textContent)"
    at = (await tab.run(heads)).index("Forfeited")
    numbers = f"{SHOWN}.map(row => row.cells[{at}].textContent)"
    await tab.run(f"{PAIRINGS}.querySelectorAll('thead button')[{at}].focus()")
    await tab.press("Enter")
    falling = [int(number) for number in await tab.run(numbers)]
    assert falling == sorted(falling, reverse=True) != sorted(falling)
    await tab.press("Enter")
    assert [int(number) for number in await tab.run(numbers)] == sorted(falling)
    sorts = f"[...{PAIRINGS}.querySelectorAll('th[aria-sort]')].map(one => one.ariaSort)"
    assert (await tab.run(sorts)).count("ascending") == 1
    await tab.run(f"""{{ const search = {PAIRINGS}.querySelector('input');
        search.value = 'mute broken'; search.dispatchEvent(new Event('input')) }}""")
    assert sorted(await tab.run(f"{SHOWN}.map(row => row.cells[0].textContent)")) == [
        "broken",
        "mute",
    ]
    await tab.run(SAVING)
    await tab.run(f"{PAIRINGS}.querySelector('.csv').click()")
    await tab.until("saved !== null")
    head, *rows = (await tab.run("saved")).removeprefix("\ufeff").strip().split("\r\n")
    assert head.startswith(
        "Alice,Bob,Self gain Alice mean,Self gain Alice low,Self gain Alice high,"
    )
    assert sorted(row.partition(",")[0] for row in rows) == ["broken", "mute"]


async def test_number_opens_its_transcripts_and_escape_closes_them(page: str, tab: Tab) -> None:
    await tab.visit(page)
    reader = "document.getElementById('reader')"
    await tab.run("""[...document.querySelectorAll('[data-name=bargaining-pairings] a')]
        .find(link => link.href.includes('finished')).focus()""")
    await tab.press("Enter")
    await tab.until(f"{reader}.open && {reader}.querySelectorAll('.turn').length > 3")
    text = " ".join((await tab.run(f"{reader}.textContent")).split())
    assert " ".join(EVIL.split()) in text
    assert await tab.run(f"{reader}.querySelectorAll('script, img').length") == 0
    link = await tab.run(f"{reader}.querySelector('a').href")
    assert link.startswith("http://127.0.0.1:8642/studies/badly/bargaining?")
    await tab.press("Escape")
    await tab.until(f"!{reader}.open")
    await tab.run("document.querySelector('a.about').click()")
    await tab.until(f"{reader}.open")
    assert "Alice's share of the money" in await tab.run(f"{reader}.textContent")
    assert tab.complaints == []


def test_player_with_many_seats_links_to_its_transcripts(toys: None, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    with ct.Store.open(play(tmp_path, CROWD)) as store:
        ct.reports.report(store, "crowd", out)

    async def visit(tab: Tab) -> None:
        await tab.visit(out.as_uri(), 390)
        await tab.until(DRAWN)
        assert await tab.run("document.documentElement.scrollWidth") <= 390
        reader = "document.getElementById('reader')"
        links = "[...document.querySelectorAll('[data-name=giving-players] a')]"
        await tab.run(f"{links}.find(link => link.href.includes('player_giver=kind')).click()")
        await tab.until(f"{reader}.open && {reader}.querySelectorAll('details').length > 3")
        who = f"[...{reader}.querySelectorAll('summary')].map(one => one.textContent)"
        shown = {summary for summary in await tab.run(who) if ": " in summary}
        assert "free x 3 / luck x 4 / kind x 3: finished" in shown
        assert "Giver 1 kind, Giver 2 kind: finished" in shown
        assert all("kind" in line for line in shown)
        assert await tab.run(f"{reader}.scrollWidth <= {reader}.clientWidth")
        assert tab.complaints == []

    browse(tmp_path / "profile", visit)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark"), (360, "light")])
async def test_fits_the_window_and_follows_the_scheme(
    page: str, width: int, scheme: str, tab: Tab
) -> None:
    await tab.visit(page, width, scheme)
    await tab.until(DRAWN)
    assert await tab.run("document.documentElement.scrollWidth") <= width
    light = "getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0] > 200"
    assert await tab.run(light) is (scheme == "light")
    await tab.run("document.querySelector('.theme').click()")
    assert await tab.run(light) is (scheme == "dark")
    assert tab.complaints == []


async def test_prints_on_paper(page: str, tab: Tab) -> None:
    await tab.visit(page, scheme="dark")
    paper = await tab.printed()
    assert paper.startswith(b"%PDF")
    assert await tab.run(DRAWN)
    assert await tab.run("document.documentElement.dataset.theme ?? null") is None


@pytest.mark.parametrize("width", [1300, 420])
async def test_answer_and_its_chart_are_on_the_first_screen(
    well: Path, tmp_path: Path, width: int, tab: Tab
) -> None:
    report, recipe = tmp_path / "report.html", tmp_path / "recipe.html"
    with ct.Store.open(well) as store:
        ct.reports.report(store, "well", report)
        findings = ct.reports.findings(store, "well", "glee", draws=100)
        ct.reports.write_findings(findings, recipe)
    for page in (report, recipe):
        await tab.visit(page.as_uri(), width)
        bottom = "document.querySelector('.answer').getBoundingClientRect().bottom"
        assert await tab.run(bottom) < 800
    top = """[...document.querySelectorAll('.plot svg')].find(one =>
        one.getClientRects().length).getBoundingClientRect().top"""
    await tab.visit(report.as_uri(), width)
    assert await tab.run(top) < 700


async def test_arrow_keys_move_between_marks_and_enter_opens_matches(page: str, tab: Tab) -> None:
    await tab.visit(page)
    await tab.run("document.querySelector('.plot .mark').focus()")
    tip = "document.querySelector('.tip').textContent"
    first = await tab.run(tip)
    await tab.press("ArrowDown")
    assert await tab.run(tip) not in ("", first)
    assert await tab.run("document.activeElement.classList.contains('mark')")
    await tab.press("Enter")
    await tab.until("document.getElementById('reader').open")
    assert tab.complaints == []
