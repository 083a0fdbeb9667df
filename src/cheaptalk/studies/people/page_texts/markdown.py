"""Markdown in texts for participants, without HTML; placeholders are filled in after parsing.

Values of placeholders are plain text: they are escaped, and never parsed as Markdown.
"""

import re
from collections.abc import Callable, MutableMapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from markupsafe import Markup, escape

from cheaptalk.studies.people.page_texts.texts import PLACEHOLDER

START, END = "\ue000", "\ue001"
"""Private characters around names of placeholders while a text is parsed."""
MARKED = re.compile(f"{START}([^{END}]*){END}")
MARKED_URL = re.compile(quote(START) + "(.*?)" + quote(END))
LINK = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
"""Matches the start of a link to a web page or mailbox."""
SPECIAL = re.compile(r"[][*_`!<&\\{}\n]")
"""Matches the characters with a meaning within a paragraph."""
NOT_A_FILE = re.compile(r"[a-z][a-z0-9+.-]*:|[/\\]", re.IGNORECASE)
MAX_CACHED = 2_000

Fill = Callable[[str], str]
"""Returns the value of a placeholder."""
ImageUrl = Callable[[str], str]
"""Returns the address of an image by its file name."""


def rendered(text: str, value: Fill, image_url: ImageUrl, *, inline: bool = False) -> Markup:
    """Return a text as HTML, with the values of its placeholders.

    >>> rendered("**Age:** {age} <b>", lambda name: "*30*", str)
    Markup('<p><strong>Age:</strong> *30* &lt;b&gt;</p>\\n')
    >>> rendered("[now](javascript:alert) ![x](a.png)", str, str, inline=True)
    Markup('[now](javascript:alert) <img src="a.png" alt="x">')
    """
    if inline and not SPECIAL.search(text):
        return escape(text.strip())
    environment = {"value": value, "image_url": image_url}
    html = PARSER.renderer.render(_tokens(text, inline), PARSER.options, environment)
    return Markup(html)  # noqa: S704 - the parser and the rules below escape all text


def images_in(text: str) -> list[str]:
    """Return the names of the images in a text.

    >>> images_in("See ![the scheme](my%20scheme.png) and `![code](x.png)`.")
    ['my scheme.png']
    """
    tokens = [child for token in _tokens(text, False) for child in token.children or ()]
    return [_file(token) for token in tokens if token.type == "image"]


def links_in(text: str) -> list[str]:
    """Return the addresses of the links in a text."""
    tokens = [child for token in _tokens(text, False) for child in token.children or ()]
    return [str(token.attrs["href"]) for token in tokens if token.type == "link_open"]


@lru_cache(MAX_CACHED)
def _tokens(text: str, inline: bool) -> Sequence[Token]:
    plain = text.replace(START, "").replace(END, "").strip()
    marked = PLACEHOLDER.sub(lambda match: match[1] or f"{START}{match[3]}{END}", plain)
    return PARSER.parseInline(marked) if inline else PARSER.parse(marked)


def _file(image: Token) -> str:
    return unquote(str(image.attrs["src"]))


class _Renderer(RendererHTML):
    """Renders tokens as HTML: text is escaped, and headings start at the second level."""

    def text(self, tokens: Sequence[Token], index: int, _: OptionsDict, env: Any) -> str:
        return str(escape(_filled(tokens[index].content, env)))

    def code_inline(self, tokens: Sequence[Token], index: int, _: OptionsDict, env: Any) -> str:
        return f"<code>{escape(_filled(tokens[index].content, env))}</code>"

    def fence(self, tokens: Sequence[Token], index: int, _: OptionsDict, env: Any) -> str:
        return f"<pre><code>{escape(_filled(tokens[index].content, env))}</code></pre>\n"

    def image(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
        token = tokens[index]
        label = self.renderInlineAsText(token.children, options, env)
        alternative = escape(_filled(label, env))
        return f'<img src="{escape(env["image_url"](_file(token)))}" alt="{alternative}">'

    def link_open(self, tokens: Sequence[Token], index: int, _: OptionsDict, env: Any) -> str:
        address = MARKED_URL.sub(
            lambda match: quote(env["value"](unquote(match[1])), safe=""),
            str(tokens[index].attrs["href"]),
        )
        return f'<a href="{escape(address)}" target="_blank" rel="noopener noreferrer">'

    def td_open(self, tokens: Sequence[Token], index: int, *_: Any) -> str:
        token = tokens[index]
        alignment = str(token.attrs.get("style", "")).removeprefix("text-align:")
        return f'<{token.tag} class="{alignment}">' if alignment else f"<{token.tag}>"

    th_open = td_open  # pages permit no inline styles

    def heading_open(self, tokens: Sequence[Token], index: int, *_: Any) -> str:
        return f"<{_lower(tokens[index].tag)}>"

    def heading_close(self, tokens: Sequence[Token], index: int, *_: Any) -> str:
        return f"</{_lower(tokens[index].tag)}>\n"


def _lower(tag: str) -> str:
    """Return the heading one level below a heading, because pages have a heading of their own."""
    return f"h{min(int(tag[1]) + 1, 6)}"


def _filled(text: str, env: MutableMapping[str, Any]) -> str:
    return MARKED.sub(lambda match: str(env["value"](match[1])), text)


class _Markdown(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802 - the library's name
        """Return whether an address is a web page, a mailbox or the name of a file."""
        return bool(LINK.match(url)) or not NOT_A_FILE.match(url)


def _parser() -> MarkdownIt:
    parser = _Markdown("commonmark", {"html": False}, renderer_cls=_Renderer)
    parser.enable("table").disable(["code", "html_block", "html_inline", "reference"])
    return parser


PARSER = _parser()
