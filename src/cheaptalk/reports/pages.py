"""Templates, styles and number formats that reports and the viewer share."""

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import jinja2
from markupsafe import Markup, escape

from cheaptalk.players import Kind
from cheaptalk.records import FEW, MatchRecord, Status, group_seats, line_up
from cheaptalk.reports.charts.chart import Chart
from cheaptalk.reports.charts.svg import PAGE, WIDE, WIDTH, Href, drawing
from cheaptalk.rules import counted, game_title
from cheaptalk.studies import money
from cheaptalk.styles.template_files import without_texts
from cheaptalk.text import capital, fixed, plain, readable

PORT = 8642
"""Default port of the viewer."""
VIEWER = f"http://127.0.0.1:{PORT}"
"""Default address of the viewer."""
HERE = Path(__file__).parent / "templates"
SCRIPTS = ("page.js", "charts.js")
"""Scripts of a page: tables and transcripts, and charts."""
STATUSES = {
    Status.FINISHED: "ended by the rules; the only matches that are scored",
    Status.FORFEITED: "ended because a player gave no valid answer after all retries; not scored",
    Status.FAILED: "stopped by a technical error, such as a provider's; can be resumed",
    Status.LIVE: "started but not ended: in progress or interrupted",
}
"""The meaning of each status of a match."""
KINDS = {
    Kind.OK: "valid at the first try",
    Kind.REPAIRED: "valid after being asked again",
    Kind.ILLEGAL: "a move that the rules don't allow, after all retries",
    Kind.UNPARSABLE: "an unreadable or ambiguous response, after all retries",
    Kind.TRUNCATED: "a response that was cut off before its answer ended, after all retries",
    Kind.REFUSED: "a refusal by the model, after all retries",
    Kind.FILTERED: "a response blocked by the provider's content filter, after all retries",
    Kind.TIMED_OUT: "no answer before the deadline",
    Kind.LEFT: "no answer, because the participant had left the match",
    Kind.STOOD_IN: "answered by a participant's substitute, after a timeout or a dropout",
    Kind.PROVIDER_ERROR: "a provider error: a technical failure, never scored as play",
}
"""The meaning of each kind of answer."""
CODE = re.compile(r"(?::\w+:)?`{1,2}~?(?:[\w.]+\.(?=\w+`))?([^`]+)`{1,2}")
"""Code in a docstring: between backticks, or a reference, of which the last name is shown."""
WITHIN = re.compile(r"(?<=\S)\n(?=[^\s*-])")
"""The end of a line within a paragraph, which is not followed by a paragraph, list or formula."""


def anchor(text: str) -> str:
    """Return a text in a form that is valid in addresses and file names.

    >>> anchor("discount 0.9, rounds 3")
    'discount-0.9-rounds-3'
    """
    return re.sub(r"[^\w.]+", "-", text).strip("-")


def prose(text: str) -> Markup:
    """Return a docstring as HTML, with code marked and each paragraph in one line.

    >>> print(prose("see :data:`~games.presets.ALL`:\\n``a < b``"))
    see <code>ALL</code>: <code>a &lt; b</code>
    """
    joined = WITHIN.sub(" ", str(escape(text)))
    return Markup(CODE.sub(r"<code>\1</code>", joined))  # noqa: S704 - escaped here


def exactly(text: str) -> Markup:
    """Return a text for ``pre`` elements that preserves all line breaks.

    >>> print(exactly("\\na < b\\r"))
    <BLANKLINE>
    <BLANKLINE>
    a &lt; b&#13;
    """
    return Markup("\n" + str(escape(text)).replace("\r", "&#13;"))  # noqa: S704 - escaped here


def set_values(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that have a value, without the texts of template files."""
    shown: dict[str, Any] = without_texts(settings)
    return {name: value for name, value in shown.items() if value not in (None, {}, [])}


def single(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings with a single value: neither None nor a list or mapping."""
    return {
        name: value
        for name, value in values.items()
        if value is not None and not isinstance(value, list | dict)
    }


def lined_up(record: MatchRecord) -> str:
    """Return the players of a match as one line of text."""
    return line_up([record.label(seat) for seat in record.seats])


def moment(seconds: float) -> str:
    """Format a time, given in seconds since 1970, as date and time in UTC.

    >>> moment(0)
    '1 January 1970, 00:00 UTC'
    """
    then = datetime.fromtimestamp(seconds, UTC)
    return f"{then.day} {then:%B %Y, %H:%M} UTC"


def brief_moment(seconds: float) -> str:
    """Format a UTC time without the time zone, for columns whose heading already names UTC.

    >>> brief_moment(0)
    '1970-01-01 00:00'
    """
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"


def day(then: date) -> str:
    """Return a date as text.

    >>> day(date(2024, 9, 1))
    '1 September 2024'
    """
    return f"{then.day} {then:%B %Y}"


def viewer_path(
    study: str, game: str | None = None, query: Mapping[str, str] | None = None, root: str = ""
) -> str:
    """Return the viewer's path to the matches of a game that satisfy a query."""
    path = f"{root}/studies/{quote(study)}" + (f"/{quote(game)}" if game else "")
    return f"{path}?{urlencode(query, safe=',')}" if query else path


def drawn(chart: Chart, href: Href | None, *, wide: bool = False) -> Markup:
    """Return a chart as SVG for a page, with links to matches."""
    return Markup(drawing(chart, WIDE if wide else WIDTH, paint=PAGE, href=href))  # noqa: S704 - escaped where it is drawn


def verbatim(code: str) -> Markup:
    """Return the text of a style sheet or script, unescaped."""
    return Markup(code.replace("\r\n", "\n"))  # noqa: S704 - files of this package


@cache
def source(name: str) -> Markup:
    """Return a style sheet or script from the templates folder."""
    return verbatim((HERE / name).read_text(encoding="utf-8"))


def policy(*scripts: str, forms: str = "'none'") -> str:
    """Return a content security policy that allows only these scripts and no requests."""
    digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        f"img-src data: blob:; base-uri 'none'; form-action {forms}"
    )


def page_policy() -> str:
    """Return the content security policy of self-contained pages."""
    return policy(*map(source, SCRIPTS))


def environment(*folders: Path) -> jinja2.Environment:
    """Return a Jinja environment for HTML, with autoescaping; ``folders`` take precedence."""
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader([*folders, HERE]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: list[Callable[..., object]] = [anchor, brief_moment, capital, counted, day, drawn]
    filters += [exactly, fixed, game_title, lined_up, moment, money, plain, prose, readable]
    filters += [group_seats, set_values, single]
    templates.filters |= {function.__name__: function for function in filters}
    templates.globals |= {"source": source, "STATUSES": STATUSES, "KINDS": KINDS, "FEW": FEW}
    return templates


TEMPLATES = environment()
"""The templates of reports, each compiled on first use."""
