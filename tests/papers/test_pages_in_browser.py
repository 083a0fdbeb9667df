"""The recipes' pages in a browser as narrow as a phone: charts, tables, and matches by keyboard."""

from pathlib import Path
from typing import Any

import pytest

import cheaptalk as ct
from tests.papers import chip_games, glee_study
from tests.reports.browser import Tab, browse

pytestmark = pytest.mark.browser
STUDIES: dict[str, tuple[Any, str, str]] = {
    "chips": (chip_games.STUDY, "[data-name=final-surplus] tbody a", ""),
    "gama": (("gama-scripted", 1), "[data-name=pirate-ballots] tbody a", ""),
    "glee": (
        glee_study.STUDY,
        "[data-name^=pairs-negotiation-figures] a.mark[href*='alice=fair'][href*='bob=tough']",
        "Alice fair, Bob tough",
    ),
    "metagame": (("item-bargaining-heuristics", 3), "[data-name=behaviour] tbody a", ""),
    "self-play": (("self-play", 3), "[data-name=scores] tbody a", "iteration-0"),
}
"""A study, or a preset and its number of instances; a link to a match, and the match's title."""


@pytest.mark.parametrize("recipe", STUDIES)
def test_page_draws_charts_and_opens_match_by_keyboard(recipe: str, tmp_path: Path) -> None:
    source, link, title = STUDIES[recipe]
    if isinstance(source, tuple):
        preset = ct.studies.preset(source[0])
        assert preset is not None
        study = preset.model_copy(update={"instances": source[1]})
    else:
        study = ct.studies.parse_study(source, "here")
    page = tmp_path / "page.html"
    with ct.Store.open(tmp_path / "store.sqlite", create=True) as store:
        ct.run(study, store)
        results = ct.reports.findings(store, study.name, recipe, draws=100)
        ct.reports.write_findings(results, page)

    async def visit(tab: Tab) -> None:
        await tab.visit(page.as_uri(), width=375)
        await tab.until(
            "[...document.querySelectorAll('.plot')].every((plot) => plot.querySelector('svg'))"
        )
        plots = [panel for group in results.charts.values() for panel in group.panels]
        assert await tab.run("document.querySelectorAll('.plot').length") >= len(plots)
        assert await tab.run("document.documentElement.scrollWidth") == 375
        rows = "[...document.querySelectorAll('.tabular')].map((table) => [table.dataset.name,"
        rows += " table.querySelectorAll('tbody tr').length])"
        assert dict(await tab.run(rows)) == {
            name: min(table.frame.height, 300) for name, table in results.tables.items()
        }
        reader = "document.getElementById('reader')"
        await tab.run(f'document.querySelector("{link}").focus()')
        await tab.press("Enter")
        await tab.until(f"{reader}.open && {reader}.querySelectorAll('.turn').length > 0")
        assert title in await tab.run(f"{reader}.querySelector('h2').textContent")
        await tab.press("Escape")
        await tab.until(f"!{reader}.open")
        assert tab.complaints == []
        fetched = [url for url in tab.fetched if not url.startswith(("data:", "blob:"))]
        assert fetched == [page.as_uri()]

    browse(tmp_path / "profile", visit)
