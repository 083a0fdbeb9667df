"""Links of the built site: each leads somewhere, and no page asks another site for anything.

MkDocs calls the functions whose names begin with ``on_``.
"""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError

LEADING = ("href", "src", "poster", "data", "action")
"""Attributes that hold an address."""
ASKED_BY_STYLE = re.compile(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""")
"""Something of another site that a style sheet asks for."""


class Addresses(HTMLParser):
    """What a page leads to, and the places in it that can be led to.

    Attributes:
        places: the ids of its elements.
        leads: addresses that readers may follow.
        asks: addresses that a browser asks for by itself.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.leads: list[str] = []
        self.asks = ASKED_BY_STYLE.findall(page)
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name"):
                self.places.add(value or "")
            elif name in LEADING and value:
                (self.leads if tag in ("a", "form") else self.asks).append(value)


def on_post_build(config: MkDocsConfig) -> None:
    """Refuse a site with a link that leads nowhere.

    Raises:
        PluginError: there is one, or a page asks another site for something.
    """
    found = list(problems(Path(config.site_dir)))
    if found:
        raise PluginError("\n".join(found))


def problems(site: Path) -> Iterator[str]:
    """What is wrong with the links of a site, a line each."""
    site = site.resolve()
    pages = {
        path: Addresses(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))
    }
    for path, page in pages.items():
        where = path.relative_to(site)
        for address in dict.fromkeys(page.leads + page.asks):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                if address in page.asks and parts.scheme != "data":
                    yield f"{where} asks another site: {address}"
                continue
            file = target(site, path, parts)
            if not file.is_file():
                yield f"{where} leads nowhere: {address}"
            elif file in pages and unquote(parts.fragment) not in pages[file].places | {""}:
                yield f"{where} leads to no place of {file.relative_to(site)}: {address}"
    for path in sorted(site.rglob("*.css")):
        for address in ASKED_BY_STYLE.findall(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site)} asks another site: {address}"


def target(site: Path, page: Path, address: SplitResult) -> Path:
    """The file that an address within the site means on a page."""
    path = unquote(address.path)
    if not path:
        return page
    file = site / path.lstrip("/") if path.startswith("/") else (page.parent / path).resolve()
    return file / "index.html" if file.is_dir() else file
