"""Sizes of report pages, and the time until their first chart is rendered."""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import cheaptalk as ct
from bench.rows import Row

SMALL_STUDY: dict[str, object] = {
    "name": "few",
    "games": [{"game": "bargaining", "fixed": {"horizon": 6}}],
    "players": {
        "fair": {"strategy": "equal_split"}, "hard": {"strategy": "boulware"},
        "soft": {"strategy": "conceder"}, "chance": {"strategy": "random"},
    },
    "instances": 2,
}  # fmt: skip
"""A study of 32 matches."""
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
TIMING_SCRIPT = """<script>requestAnimationFrame(() => requestAnimationFrame(() => {
document.documentElement.dataset.shown = performance.now(); }));</script>"""


def rows() -> Iterator[Row]:
    """Yield the figures of a small report, the scripted GAMA-Bench report and a meta-game page."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        store = folder / "few.sqlite"
        with ct.Store.open(store, create=True) as opened:
            ct.run(ct.Study.model_validate(SMALL_STUDY), opened)
        pages = {
            "a report of 32 matches": (800, ["report", "few", "--store", str(store)]),
            "GAMA-Bench with its recipe": (
                1_500, ["report", "gama-scripted", "--recipe", "gama"],
            ),
            "the meta-game of item bargaining": (None, ["metagame", "item-bargaining"]),
        }  # fmt: skip
        for name, (max_size, command) in pages.items():
            study, page = command[1], folder / f"{command[1]}.html"
            store_option = ["--store", str(folder / f"{study}.sqlite")]
            if study != "few":
                cheaptalk("run", study, *store_option)
            cheaptalk(*command[:2], *store_option, *command[2:], "--out", str(page))
            size = page.stat().st_size / 1_000
            goal = None if max_size is None else ("<=", float(max_size))
            yield Row(f"page size: {name}", size, "kB", goal)
            yield from first_chart(page, name)


def first_chart(page: Path, name: str) -> Iterator[Row]:
    """Yield the time until the first chart of a page is rendered, if Chromium is installed."""
    browser = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if browser is None:
        return
    text = POLICY.sub("", page.read_text(encoding="utf-8"))
    timed = page.with_suffix(".timed.html")
    timed.write_text(text.replace("</svg>", f"</svg>{TIMING_SCRIPT}", 1), encoding="utf-8")
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
    done = subprocess.run(
        [browser, *flags, "--dump-dom", timed.as_uri()], capture_output=True, text=True, check=True
    )
    match = re.search(r'data-shown="([\d.]+)"', done.stdout)
    if match:
        seconds = float(match[1]) / 1_000
        yield Row(f"time to first chart: {name}", seconds, "s", ("<=", 1.0), "in Chromium")


def cheaptalk(*arguments: str) -> None:
    """Run a command of cheaptalk."""
    command: Sequence[str] = [sys.executable, "-m", "cheaptalk", *arguments]
    subprocess.run(command, check=True, capture_output=True)
