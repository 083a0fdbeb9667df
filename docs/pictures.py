"""Pictures of pages: the first screen as Chromium shows it, or else the first chart.

``python -m docs.pictures PAGE PICTURE`` takes one.
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
PATIENCE = 60
"""Seconds that a browser may take; one that hangs is taken for none."""
CHART = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
COLOUR = re.compile(r"(--[\w-]+):\s*(?:light-dark\()?(#[0-9a-f]{3,8})\b")


def screenshot(page: Path, picture: Path) -> bool:
    """Write the first screen of a page, 1300 by 800 pixels, as PNG.

    Returns:
        Whether there is a Chromium that did so.
    """
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        return False
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [browser, *HEADLESS, f"--user-data-dir={profile}", f"--screenshot={picture}"]
        try:
            subprocess.run(  # noqa: S603 - a browser that we name
                [*command, page.absolute().as_uri()],
                capture_output=True, timeout=PATIENCE, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return False
    return picture.exists()


def first_chart(html: str) -> str | None:
    """The first chart of a page as an SVG of its own, in the page's light colours.

    >>> style = "<style>:root { --ink: light-dark(#222, #eee) }</style>"
    >>> first_chart(style + '<svg fill="var(--ink)"></svg>')
    '<svg fill="#222"></svg>'
    """
    found = CHART.search(html)
    if found is None:
        return None
    drawn = found[0]
    for name, colour in reversed(COLOUR.findall(html)):
        drawn = drawn.replace(f"var({name})", colour)
    return drawn


if __name__ == "__main__":
    shown, written = map(Path, sys.argv[1:])
    if not screenshot(shown, written.absolute()):
        sys.exit("It takes a Chromium that starts: chromium, chromium-browser or google-chrome.")
