"""The pages of the gallery and their pictures, made by the commands that ``gallery.md`` shows.

MkDocs calls the functions whose names begin with ``on_``.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from docs.blocks import BASH, MARK, blocks, environment, script
from docs.pictures import first_chart, screenshot
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

PAGE = "gallery.md"
HEADING = re.compile(r"^## (?P<title>.*?) \{ #(?P<name>[\w-]+) \}$", re.MULTILINE)
"""Begins the section of an exhibit, whose commands write the page ``NAME.html``."""


class Exhibit(NamedTuple):
    """A page of the gallery.

    Attributes:
        name: of its file, without the ending, and of its section.
        title: its section's heading.
        page: it, as HTML.
        picture: the ending of its picture and the picture; None where there is none.
    """

    name: str
    title: str
    page: bytes
    picture: tuple[str, bytes] | None

    def files(self) -> Iterator[tuple[str, bytes]]:
        """The exhibit as files of the site."""
        yield f"gallery/{self.name}.html", self.page
        if self.picture:
            ending, content = self.picture
            yield f"gallery/{self.name}.{ending}", content

    def shown(self) -> str:
        """What stands under its heading: the picture, which leads to the page, and a link."""
        page = f"gallery/{self.name}.html"
        lines = [f"[Open the page]({page}){{ .md-button }}"]
        if self.picture:
            lines.insert(0, f"[![{self.title}](gallery/{self.name}.{self.picture[0]})]({page})")
        return "\n\n".join(lines)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and their pictures."""
    text = files.src_uris[PAGE].content_string
    for one in exhibits(text):
        for path, content in one.files():
            files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Show the pictures in the gallery, each under its heading."""
    if page.file.src_uri != PAGE:
        return markdown
    made = {one.name: one for one in exhibits(page.file.content_string)}
    return HEADING.sub(lambda found: f"{found[0]}\n\n{made[found['name']].shown()}", markdown)


@cache
def exhibits(text: str) -> list[Exhibit]:
    """What the commands of a gallery make: once, however often a site that is served is built."""
    found = list(HEADING.finditer(text))
    ends = [one.start() for one in found[1:]] + [len(text)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        sections = [text[one.start() : end] for one, end in zip(found, ends, strict=True)]
        return list(pool.map(exhibit, sections))


def exhibit(section: str) -> Exhibit:
    """Run the commands of a section in a folder of their own, and take the page from there.

    Raises:
        PluginError: a command failed, or none wrote the page.
    """
    heading = HEADING.match(section)
    assert heading is not None, section
    with TemporaryDirectory() as place:
        folder = Path(place)
        settings = folder / ".config" / "cheaptalk" / "settings.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text("workers = 1\n", encoding="utf-8")  # exhibits are made side by side
        text, run = script(blocks(section))
        done = subprocess.run(  # noqa: S603 - our own page's commands
            [BASH, "-c", text], cwd=folder, env=environment(folder), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        page = folder / f"{heading['name']}.html"
        if done.stdout.split(MARK)[1::2] != ["0"] * len(run) or not page.exists():
            raise PluginError(f"{PAGE}, {heading['title']}: {done.stdout.replace(MARK, ' ')}")
        return Exhibit(heading["name"], heading["title"], page.read_bytes(), picture(page))


def picture(page: Path) -> tuple[str, bytes] | None:
    """A picture of a page: ending and content, the best that can be had here."""
    png = page.with_suffix(".png")
    if screenshot(page, png):
        return "png", png.read_bytes()
    chart = first_chart(page.read_text(encoding="utf-8"))
    return None if chart is None else ("svg", chart.encode())
