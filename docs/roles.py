"""MkDocs hook that converts references in docstrings, such as ``:func:`name```, to links.

A reference without a unique target becomes inline code.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mkdocs.plugins import event_priority
from mkdocs.structure.files import Files
from mkdocs.utils import get_relative_url

ROLE = re.compile(r":(attr|class|data|exc|func|meth|mod):<code>(~?)\.?([\w.]+)</code>")
"""A reference in a page; ``~`` before the name shortens it to its last part."""
MEMBERS = ("attr", "meth")
"""Roles of attributes and methods."""
ANCHOR = re.compile(r'\bid="(cheaptalk\.[\w.]+)"')
Places = Mapping[str, str]
"""URL with anchor of each documented object, by its full name."""


@event_priority(100)
def on_env(_env: Any, files: Files, **_: Any) -> None:
    """Resolve the references of all pages, once the documented objects of each are known."""
    pages = [file.page for file in files.documentation_pages() if file.page is not None]
    places = {
        name: f"{page.url}#{name}" for page in pages for name in ANCHOR.findall(page.content or "")
    }
    named = by_ending(places)
    for page in pages:
        page.content = shown(page.content or "", page.url, places, named)


def by_ending(names: Iterable[str]) -> Mapping[str, list[str]]:
    """Return the full names by each of their suffixes, including the name itself.

    >>> dict(by_ending(["cheaptalk.play"]))
    {'play': ['cheaptalk.play'], 'cheaptalk.play': ['cheaptalk.play']}
    """
    by_suffix: dict[str, list[str]] = defaultdict(list)
    for name in names:
        parts = name.split(".")
        for start in reversed(range(len(parts))):
            by_suffix[".".join(parts[start:])].append(name)
    return by_suffix


def shown(content: str, url: str, places: Places, named: Mapping[str, list[str]]) -> str:
    """Return a page with its references as links, or as code without a unique target.

    >>> places = {"cheaptalk.rules.play": "rules/#cheaptalk.rules.play"}
    >>> page = ":func:<code>.play</code> or :data:<code>GONE</code>"
    >>> shown(page, "styles/", places, by_ending(places))
    '<a href="../rules/#cheaptalk.rules.play"><code>play</code></a> or <code>GONE</code>'

    Args:
        content: the page's HTML.
        url: the page's URL.
        places: the URL of each documented object.
        named: the result of :func:`by_ending` for the names of these objects.
    """

    def reference(match: re.Match[str]) -> str:
        role, short, name = match.groups()
        label = f"<code>{name.rpartition('.')[2] if short else name}</code>"
        candidates = [
            full_name
            for full_name in named.get(name, ())
            if of_a_class(full_name) == (role in MEMBERS)
        ]
        target = nearest([places[full_name] for full_name in candidates], url)
        if target is None:
            return label
        return f'<a href="{get_relative_url(target, url)}">{label}</a>'

    return ROLE.sub(reference, content)


def of_a_class(name: str) -> bool:
    """Return whether a full name refers to an attribute or a method.

    >>> of_a_class("cheaptalk.rules.Game.play"), of_a_class("cheaptalk.rules.Game")
    (True, False)
    """
    return name.split(".")[-2][:1].isupper()


def nearest(targets: Sequence[str], url: str) -> str | None:
    """Return the only target on the page, or the only target overall, or None if ambiguous.

    >>> nearest(["a/#x", "b/#x"], "b/"), nearest(["a/#x", "b/#x"], "c/"), nearest(["a/#x"], "c/")
    ('b/#x', None, 'a/#x')
    """
    candidates = [target for target in targets if target.startswith(f"{url}#")] or targets
    return candidates[0] if len(candidates) == 1 else None
