"""Accessibility of every page of the console: structure, contrast, and layout on phones."""

from pathlib import Path

import pytest

from tests.reports.browser import Tab, browse
from tests.web.console.populated import populated
from tests.web.laboratory.test_pages_in_browser import log_in
from tests.web.test_in_browser import AXE, findings

pytestmark = pytest.mark.browser


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: npm install axe-core")
def test_every_page_of_the_console_is_accessible(tmp_path: Path) -> None:
    problems: dict[str, list[str]] = {}

    async def visit(tab: Tab) -> None:
        async with populated(tmp_path / "lab") as lab:
            url = str(lab.client.base_url).rstrip("/") + "/console"
            problems["/login"] = await findings(tab, f"{url}/login")
            await log_in(tab, url)
            await lab.log_in()
            async for path, _ in lab.pages():
                problems[path] = await findings(tab, url + path)
            await tab.send("Page.navigate", url="about:blank")

    (tmp_path / "lab").mkdir()
    browse(tmp_path / "profile", visit)
    assert not any(problems.values()), "\n".join(
        f"{path} {item}" for path, found in problems.items() for item in found
    )
