"""How large pages are, and how soon their first chart is on the screen."""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import cheaptalk as ct
from bench.rows import Row

FEW: dict[str, object] = {
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
SHOWN = """<script>requestAnimationFrame(() => requestAnimationFrame(() => {
document.documentElement.dataset.shown = performance.now(); }));</script>"""


def rows() -> Iterator[Row]:
    """Pages of 32 matches, of the scripted GAMA-Bench, and of a meta-game."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = folder / "few.sqlite"
        with ct.Store.open(store, create=True) as opened:
            ct.run(ct.Study.model_validate(FEW), opened)
        made = {
            "a report of 32 matches": (800, ["report", "few", "--store", str(store)]),
            "GAMA-Bench by its recipe": (
                1_500, ["report", "gama-scripted", "--recipe", "gama"],
            ),
            "the meta-game of item bargaining": (None, ["metagame", "item-bargaining"]),
        }  # fmt: skip
        for what, (most, command) in made.items():
            study, page = command[1], folder / f"{command[1]}.html"
            at = ["--store", str(folder / f"{study}.sqlite")]
            if study != "few":
                cheaptalk("run", study, *at)
            cheaptalk(*command[:2], *at, *command[2:], "--out", str(page))
            size = page.stat().st_size / 1_000
            goal = None if most is None else ("<=", float(most))
            yield Row(f"page: {what}", size, "kB", goal)
            yield from first_chart(page, what)


def first_chart(page: Path, what: str) -> Iterator[Row]:
    """How soon the first chart of a page is drawn; nothing where there is no Chromium."""
    browser = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if browser is None:
        return
    text = POLICY.sub("", page.read_text(encoding="utf-8"))
    timed = page.with_suffix(".timed.html")
    timed.write_text(text.replace("</svg>", f"</svg>{SHOWN}", 1), encoding="utf-8")
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
    done = subprocess.run(
        [browser, *flags, "--dump-dom", timed.as_uri()], capture_output=True, text=True, check=True
    )
    found = re.search(r'data-shown="([\d.]+)"', done.stdout)
    if found:
        seconds = float(found[1]) / 1_000
        yield Row(f"first chart: {what}", seconds, "s", ("<=", 1.0), "in Chromium")


def cheaptalk(*arguments: str) -> None:
    """Run a command."""
    command: Sequence[str] = [sys.executable, "-m", "cheaptalk", *arguments]
    subprocess.run(command, check=True, capture_output=True)
