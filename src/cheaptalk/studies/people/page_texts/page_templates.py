"""Templates of custom pages: a researcher's own HTML around the fields of a page.

A template is the content of a form, to which the server adds the heading and the button. It renders
each item ``NAME`` of its step by ``{{ fields.NAME }}``, shows earlier answers by
``{{ values.NAME }}`` and images by ``{{ image("FILE", "alternative text") }}``, and knows the
page's ``language``. It can contain conditions, and only harmless elements and attributes.
"""

import logging
import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from html.parser import HTMLParser
from typing import Any

import jinja2
import jinja2.meta
from jinja2 import nodes
from markupsafe import Markup

from cheaptalk.rules import suggest
from cheaptalk.rules.errors import describe, shown
from cheaptalk.studies.people.page_texts.markdown import END, LINK, START, Fill, ImageUrl
from cheaptalk.studies.people.page_texts.texts import FIRST
from cheaptalk.styles.template_files import Sandbox

LOG = logging.getLogger(__name__)

NODES = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.Const, nodes.Name, nodes.Getattr),
    *(nodes.Getitem, nodes.Call, nodes.If, nodes.CondExpr, nodes.Compare, nodes.Operand),
    *(nodes.And, nodes.Or, nodes.Not),
)
"""Parts of templates; loops, filters and assignments could take unlimited time or memory."""
VARIABLES = ("fields", "values", "image", "language")
ELEMENT = re.compile(
    "a|abbr|b|blockquote|br|caption|code|dd|details|div|dl|dt|em|figcaption|figure|h[2-6]|hr|i|img"
    "|li|ol|p|pre|section|small|span|strong|sub|summary|sup|table|tbody|td|tfoot|th|thead|tr|u|ul"
)
"""Matches the permitted elements."""
ATTRIBUTE = re.compile(
    "alt|aria-[a-z]+|class|colspan|dir|height|href|id|lang|open|role|rowspan|scope|src|title|width"
)
"""Matches the permitted attributes."""


class _Html(HTMLParser):
    """Checks that HTML has only permitted elements and attributes, and notes the fields in it.

    Methods raise ValueError for anything else, such as scripts, forms and comments.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.fields: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if not ELEMENT.fullmatch(tag):
            raise self._error(
                f"<{tag}> is not permitted; use only elements of text, lists, tables and figures"
            )
        for name, text in attrs:
            value = text or ""
            if not ATTRIBUTE.fullmatch(name):
                raise self._error(
                    f"the attribute {name} is not permitted; scripts and styles can't be used, but "
                    "the classes lead, note, choices and row of cheaptalk's pages can"
                )
            if name == "href" and not LINK.match(value):
                raise self._error(f"the link {shown(value)} must start with https:// or mailto:")
            if name == "src" and not re.fullmatch(f"{START}image [^{END}]*{END}", value):
                raise self._error(f'write {{{{ image({shown(value)}, "...") }}}} instead of <img>')
            if name != "src" and START in value:
                raise self._error("a field or image can't be part of an attribute")

    def handle_endtag(self, tag: str) -> None:
        if not ELEMENT.fullmatch(tag):
            raise self._error(f"</{tag}> is not permitted; remove it")

    def handle_data(self, data: str) -> None:
        self.fields += re.findall(f"{START}field ([^{END}]*){END}", data)

    def handle_comment(self, data: str) -> None:
        raise self._error("HTML comments are not permitted; write {# ... #}")

    def handle_decl(self, decl: str) -> None:
        raise self._error(f"<!{decl}> is not permitted; write only the content of the page")

    def unknown_decl(self, data: str) -> None:
        self.handle_decl(data)

    def handle_pi(self, data: str) -> None:
        self.handle_decl(data)

    def _error(self, problem: str) -> ValueError:
        return ValueError(f"line {self.getpos()[0]}: {problem}")


class _Lookup:
    """An object whose members are computed by name."""

    def __init__(self, member: Callable[[str], object]) -> None:
        self._member = member

    def __getitem__(self, name: str) -> object:
        return self._member(name)


def _image(name: str, alternative: str = "") -> Markup:
    return Markup('<img src="{}" alt="{}">').format(f"{START}image {name}{END}", alternative)


class _Sandbox(Sandbox):
    def is_safe_callable(self, obj: Any) -> bool:
        return obj is _image or super().is_safe_callable(obj)


def _environment() -> Sandbox:
    return _Sandbox(autoescape=True, undefined=jinja2.StrictUndefined)


@lru_cache(200)
def _compiled(text: str) -> jinja2.Template:
    return _environment().from_string(text)


def _html(text: str, value: Fill, language: str) -> str:
    """Render a template in which fields and images are marked by private characters."""
    return _compiled(text).render(
        fields=_Lookup(lambda name: Markup(f"{START}field {name}{END}")),  # noqa: S704 - a name
        values=_Lookup(lambda name: value(name).replace(START, "")),
        image=_image,
        language=language,
    )


def check_page_template(
    name: str, text: str, items: Collection[str], values: Collection[str], images: Collection[str]
) -> None:
    """Check a template of a page.

    Args:
        name: the file's name.
        text: the file's content.
        items: names of the items, each of which the template must render.
        values: names of earlier answers and other values.
        images: names of the study's images.

    Raises:
        ValueError: the template is not valid; the message is one sentence.
    """
    try:
        tree = _environment().parse(text)
        _check_names(tree, items, values, images)
        shown_fields = _Html(_html(text, lambda _: "1", FIRST)).fields
        twice = [item for item in items if shown_fields.count(item) > 1]
        if twice:
            raise ValueError(f"it renders the item {twice[0]} twice; remove one of them")
    except jinja2.TemplateError as error:
        line = getattr(error, "lineno", None)
        raise ValueError(f"{name}: {f'line {line}: ' if line else ''}{error.message}") from None
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    except Exception as error:  # noqa: BLE001 - an expression may fail in any way
        raise ValueError(f"{name} cannot be rendered: {describe(error)}") from None


def _check_names(
    tree: nodes.Template, items: Collection[str], values: Collection[str], images: Collection[str]
) -> None:
    """Check that a template only places fields, values and images, perhaps under conditions."""
    for node in tree.find_all(nodes.Node):
        if not isinstance(node, NODES):
            kind = type(node).__name__.lower()
            raise ValueError(
                f"line {node.lineno}: {kind} is not permitted; use only HTML, fields, values, "
                "image, language and {% if %}"
            )
    if unknown := sorted(jinja2.meta.find_undeclared_variables(tree) - {*VARIABLES}):
        raise ValueError(f"unknown variable {suggest(unknown[0], VARIABLES)}")
    for call in tree.find_all(nodes.Call):
        file = _constant(call.args[0]) if call.args else None
        if not isinstance(call.node, nodes.Name) or call.node.name != "image":
            raise ValueError(f"line {call.lineno}: only image can be called")
        if file not in images:
            raise ValueError(
                f"line {call.lineno}: image {shown(file)} not found; put the file into the folder "
                "of the study file, and list it under people.files"
            )
    _check_members(tree, "values", values)
    used = _check_members(tree, "fields", items)
    if missing := [item for item in items if item not in used]:
        raise ValueError(
            f"it does not render the item {missing[0]}; add {{{{ fields.{missing[0]} }}}}"
        )


def _check_members(tree: nodes.Template, variable: str, legal: Collection[str]) -> list[str]:
    """Return the members of a variable that a template uses; raise ValueError if one is unknown."""
    used = []
    for member in tree.find_all((nodes.Getattr, nodes.Getitem)):
        assert isinstance(member, nodes.Getattr | nodes.Getitem)
        owner = member.node.name if isinstance(member.node, nodes.Name) else ""
        key = member.attr if isinstance(member, nodes.Getattr) else _constant(member.arg)
        if owner not in ("fields", "values"):
            raise ValueError(f"line {member.lineno}: only fields and values have members")
        if owner == variable and key not in legal:
            problem = f"unknown name {suggest(str(key), sorted(legal))} in {variable}"
            raise ValueError(f"line {member.lineno}: {problem}")
        used += [str(key)] if owner == variable else []
    return used


def _constant(node: nodes.Node) -> object:
    return node.value if isinstance(node, nodes.Const) else None


def render_page(
    text: str, fields: Mapping[str, Markup], value: Fill, image_url: ImageUrl, language: str
) -> Markup:
    """Return the content of a page's form.

    The fields are rendered widgets by item. Fields that the template does not show, for example
    because of a condition, are added at the end, so that every participant can complete the page.
    """
    try:
        html = _html(text, value, language)
        shown_fields = _Html(html).fields
    except Exception:  # the template worked with other values
        LOG.exception("a template of a page cannot be rendered")
        html, shown_fields = "", []
    rest = [field for name, field in fields.items() if name not in shown_fields]

    def inserted(match: re.Match[str]) -> str:
        return fields[match[2]] if match[1] == "field" else image_url(match[2])

    html = re.sub(f"{START}(field|image) ([^{END}]*){END}", inserted, html)
    return Markup(html) + Markup().join(rest)  # noqa: S704 - checked above
