"""What docstrings refer to, as ``:func:`name```: a link where it is documented, else code.

MkDocs calls the functions whose names begin with ``on_``.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mkdocs.plugins import event_priority
from mkdocs.structure.files import Files
from mkdocs.utils import get_relative_url

ROLE = re.compile(r":(attr|class|data|exc|func|meth|mod):<code>(~?)\.?([\w.]+)</code>")
"""A reference in a page: ``~`` before a name shows its last part alone."""
MEMBERS = ("attr", "meth")
"""Roles of what belongs to a class."""
ANCHOR = re.compile(r'\bid="(cheaptalk\.[\w.]+)"')
Places = Mapping[str, str]
"""Where each documented thing stands, by its full name: the address of its page with an anchor."""


@event_priority(100)
def on_env(_env: Any, files: Files, **_: Any) -> None:
    """Show the references of all pages, now that it is known what each documents."""
    pages = [file.page for file in files.documentation_pages() if file.page is not None]
    places = {
        name: f"{page.url}#{name}" for page in pages for name in ANCHOR.findall(page.content or "")
    }
    named = by_ending(places)
    for page in pages:
        page.content = shown(page.content or "", page.url, places, named)


def by_ending(names: Iterable[str]) -> Mapping[str, list[str]]:
    """Full names by each of their endings, the name itself among them.

    >>> dict(by_ending(["cheaptalk.play"]))
    {'play': ['cheaptalk.play'], 'cheaptalk.play': ['cheaptalk.play']}
    """
    found: dict[str, list[str]] = defaultdict(list)
    for name in names:
        parts = name.split(".")
        for place in reversed(range(len(parts))):
            found[".".join(parts[place:])].append(name)
    return found


def shown(content: str, url: str, places: Places, named: Mapping[str, list[str]]) -> str:
    """A page with its references as links, or as code where they name nothing, or several things.

    >>> places = {"cheaptalk.rules.play": "rules/#cheaptalk.rules.play"}
    >>> page = ":func:<code>.play</code> or :data:<code>GONE</code>"
    >>> shown(page, "styles/", places, by_ending(places))
    '<a href="../rules/#cheaptalk.rules.play"><code>play</code></a> or <code>GONE</code>'

    Args:
        content: the page, as HTML.
        url: its address.
        places: where each documented thing stands.
        named: their full names, of :func:`by_ending`.
    """

    def reference(found: re.Match[str]) -> str:
        role, short, name = found.groups()
        label = f"<code>{name.rpartition('.')[2] if short else name}</code>"
        meant = [one for one in named.get(name, ()) if of_a_class(one) == (role in MEMBERS)]
        target = nearest([places[one] for one in meant], url)
        if target is None:
            return label
        return f'<a href="{get_relative_url(target, url)}">{label}</a>'

    return ROLE.sub(reference, content)


def of_a_class(name: str) -> bool:
    """Whether a full name is that of an attribute or a method.

    >>> of_a_class("cheaptalk.rules.Game.play"), of_a_class("cheaptalk.rules.Game")
    (True, False)
    """
    return name.split(".")[-2][:1].isupper()


def nearest(targets: Sequence[str], url: str) -> str | None:
    """The one of some targets that is meant on a page: one there if there is, else the only one.

    >>> nearest(["a/#x", "b/#x"], "b/"), nearest(["a/#x", "b/#x"], "c/"), nearest(["a/#x"], "c/")
    ('b/#x', None, 'a/#x')
    """
    here = [one for one in targets if one.startswith(f"{url}#")] or targets
    return here[0] if len(here) == 1 else None
