"""Pictures of pages: a Chromium screenshot of the first screen, or the first chart.

``python -m docs.pictures PAGE PICTURE`` writes a screenshot.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
HEADLESS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--hide-scrollbars", "--window-size=1300,800")  # fmt: skip
TIMEOUT = 60
"""Timeout of the browser in seconds; a browser that times out counts as unavailable."""
CHART = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
COLOUR = re.compile(r"(--[\w-]+):\s*(?:light-dark\()?(#[0-9a-f]{3,8})\b")


def screenshot(page: Path, picture: Path) -> bool:
    """Write a PNG screenshot of the first 1300 by 800 pixels of a page.

    Returns:
        Whether the screenshot was written; False without a working Chromium.
    """
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        return False
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [browser, *HEADLESS, f"--user-data-dir={profile}", f"--screenshot={picture}"]
        try:
            subprocess.run(  # noqa: S603 - a fixed list of browsers
                [*command, page.absolute().as_uri()],
                capture_output=True, timeout=TIMEOUT, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return False
    return picture.exists()


def first_chart(html: str) -> str | None:
    """Return the first chart of a page as a standalone SVG in the light colours, if there is one.

    >>> style = "<style>:root { --ink: light-dark(#222, #eee) }</style>"
    >>> first_chart(style + '<svg fill="var(--ink)"></svg>')
    '<svg fill="#222"></svg>'
    """
    match = CHART.search(html)
    if match is None:
        return None
    svg = match[0]
    for name, colour in reversed(COLOUR.findall(html)):
        svg = svg.replace(f"var({name})", colour)
    return svg


if __name__ == "__main__":
    page, picture = map(Path, sys.argv[1:])
    if not screenshot(page, picture.absolute()):
        sys.exit("No working browser found. Install chromium, chromium-browser or google-chrome.")
