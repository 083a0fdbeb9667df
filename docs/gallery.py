"""MkDocs hooks that create the gallery with the commands in ``gallery.md``.

The hooks add each example page and its picture to the site.
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
"""Heading of an exhibit's section, whose commands write the page ``NAME.html``."""


class Exhibit(NamedTuple):
    """A page of the gallery.

    Attributes:
        name: the name of its section, and of its file without the extension.
        title: the heading of its section.
        page: the page's HTML.
        picture: the picture's file extension and content; None without a picture.
    """

    name: str
    title: str
    page: bytes
    picture: tuple[str, bytes] | None

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield the paths and contents of the exhibit's files."""
        yield f"gallery/{self.name}.html", self.page
        if self.picture:
            extension, content = self.picture
            yield f"gallery/{self.name}.{extension}", content

    def shown(self) -> str:
        """Return the Markdown below the heading: a link to the page, and the linked picture."""
        page = f"gallery/{self.name}.html"
        lines = [f"[Open the page]({page}){{ .md-button }}"]
        if self.picture:
            lines.insert(0, f"[![{self.title}](gallery/{self.name}.{self.picture[0]})]({page})")
        return "\n\n".join(lines)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and their pictures to the site."""
    text = files.src_uris[PAGE].content_string
    for item in exhibits(text):
        for path, content in item.files():
            files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Insert each exhibit's link and picture below its heading in the gallery."""
    if page.file.src_uri != PAGE:
        return markdown
    by_name = {item.name: item for item in exhibits(page.file.content_string)}
    return HEADING.sub(lambda match: f"{match[0]}\n\n{by_name[match['name']].shown()}", markdown)


@cache
def exhibits(text: str) -> list[Exhibit]:
    """Create the exhibits of a gallery; cached for repeated builds by ``mkdocs serve``."""
    headings = list(HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        starts = [heading.start() for heading in headings]
        sections = [text[start:end] for start, end in zip(starts, ends, strict=True)]
        return list(pool.map(exhibit, sections))


def exhibit(section: str) -> Exhibit:
    """Run the commands of a section in a temporary folder, and return the exhibit.

    Raises:
        PluginError: a command failed or did not write the page.
    """
    heading = HEADING.match(section)
    assert heading is not None, section
    with TemporaryDirectory() as name:
        folder = Path(name)
        settings = folder / ".config" / "cheaptalk" / "settings.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text("workers = 1\n", encoding="utf-8")  # exhibits are created in parallel
        text, run = script(blocks(section))
        done = subprocess.run(  # noqa: S603 - commands of our own page
            [BASH, "-c", text], cwd=folder, env=environment(folder), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        page = folder / f"{heading['name']}.html"
        if done.stdout.split(MARK)[1::2] != ["0"] * len(run) or not page.exists():
            raise PluginError(f"{PAGE}, {heading['title']}: {done.stdout.replace(MARK, ' ')}")
        return Exhibit(heading["name"], heading["title"], page.read_bytes(), picture(page))


def picture(page: Path) -> tuple[str, bytes] | None:
    """Return a page's picture as extension and content.

    The picture is a screenshot if Chromium is available, otherwise the page's first chart.
    """
    png = page.with_suffix(".png")
    if screenshot(page, png):
        return "png", png.read_bytes()
    chart = first_chart(page.read_text(encoding="utf-8"))
    return None if chart is None else ("svg", chart.encode())
