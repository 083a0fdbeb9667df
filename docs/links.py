"""MkDocs hook that checks the built site for broken links and requests to other sites."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError

URL_ATTRIBUTES = ("href", "src", "poster", "data", "action")
"""HTML attributes that contain a URL."""
STYLE_REQUEST = re.compile(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""")
"""A URL on another site that a style sheet loads."""


class Addresses(HTMLParser):
    """Parser that collects the URLs and anchors of a page.

    Attributes:
        anchors: the ids and names of its elements.
        links: URLs that readers can follow.
        requests: URLs that a browser loads automatically.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.requests = STYLE_REQUEST.findall(page)
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name"):
                self.anchors.add(value or "")
            elif name in URL_ATTRIBUTES and value:
                (self.links if tag in ("a", "form") else self.requests).append(value)


def on_post_build(config: MkDocsConfig) -> None:
    """Check the links of the built site.

    Raises:
        PluginError: a link is broken, or a page loads something from another site.
    """
    messages = list(problems(Path(config.site_dir)))
    if messages:
        raise PluginError("\n".join(messages))


def problems(site: Path) -> Iterator[str]:
    """Yield a message for each problem with the links of a site."""
    site = site.resolve()
    pages = {
        path: Addresses(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))
    }
    for path, page in pages.items():
        where = path.relative_to(site)
        for address in dict.fromkeys(page.links + page.requests):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                if address in page.requests and parts.scheme != "data":
                    yield f"{where} loads from another site: {address}"
                continue
            file = target(site, path, parts)
            if not file.is_file():
                yield f"{where} has a broken link: {address}"
            elif file in pages and unquote(parts.fragment) not in pages[file].anchors | {""}:
                yield f"{where} links to a missing anchor of {file.relative_to(site)}: {address}"
    for path in sorted(site.rglob("*.css")):
        for address in STYLE_REQUEST.findall(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site)} loads from another site: {address}"


def target(site: Path, page: Path, address: SplitResult) -> Path:
    """Return the file that an internal URL on a page refers to."""
    path = unquote(address.path)
    if not path:
        return page
    file = site / path.lstrip("/") if path.startswith("/") else (page.parent / path).resolve()
    return file / "index.html" if file.is_dir() else file
