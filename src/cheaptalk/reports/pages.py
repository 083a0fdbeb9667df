"""What the report and the viewer share: templates, style, and how numbers are written."""

import base64
import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import jinja2
from markupsafe import Markup, escape

from cheaptalk.players import Kind
from cheaptalk.records import FEW, MatchRecord, Status, line_up, runs
from cheaptalk.reports.charts.chart import Chart
from cheaptalk.reports.charts.svg import PAGE, WIDE, WIDTH, Href, drawing
from cheaptalk.rules import counted, game_title
from cheaptalk.studies import money
from cheaptalk.text import capital, fixed, plain, readable

PORT = 8642
"""Where the viewer listens unless told otherwise."""
VIEWER = f"http://127.0.0.1:{PORT}"
"""The address of a viewer that listens there."""
HERE = Path(__file__).parent / "templates"
SCRIPTS = ("page.js", "charts.js")
"""What a page does: sorting, filtering, reading transcripts; pointing at marks, saving figures."""
STATUSES = {
    Status.FINISHED: "ended by the rules; the only matches that are scored",
    Status.FORFEITED: "ended because a seat finally gave no valid answer; not scored",
    Status.FAILED: "stopped by an error that is not play, such as a provider's; can be resumed",
    Status.LIVE: "begun and not ended: under way, or interrupted",
}
"""What each status of a match means."""
KINDS = {
    Kind.OK: "valid at the first try",
    Kind.REPAIRED: "valid after being asked again",
    Kind.ILLEGAL: "finally a move that the rules refuse",
    Kind.UNPARSABLE: "finally nothing readable, or something ambiguous",
    Kind.TRUNCATED: "finally a text that was cut off before the end of its answer",
    Kind.REFUSED: "the model finally declined",
    Kind.FILTERED: "a filter of the provider's finally stopped the question or the answer",
    Kind.TIMED_OUT: "no answer before the deadline",
    Kind.LEFT: "no answer from a person, who had left the table for good",
    Kind.STOOD_IN: "answered by a person's stand-in: they gave no answer in time, or had left",
    Kind.PROVIDER_ERROR: "the provider failed: an error of the harness, never scored as play",
}
"""What each kind of answer means."""
CODE = re.compile(r"(?::\w+:)?`{1,2}~?(?:[\w.]+\.(?=\w+`))?([^`]+)`{1,2}")
"""Code in a docstring: between backticks, or a reference of which the last name is shown."""
WITHIN = re.compile(r"(?<=\S)\n(?=[^\s*-])")
"""The end of a line within a paragraph: the next is no other paragraph, list or formula."""


def anchor(text: str) -> str:
    """A text as it can stand in an address or the name of a file.

    >>> anchor("discount 0.9, rounds 3")
    'discount-0.9-rounds-3'
    """
    return re.sub(r"[^\w.]+", "-", text).strip("-")


def prose(text: str) -> Markup:
    """What a docstring says, its code marked as such, each paragraph as one line.

    >>> print(prose("see :data:`~games.presets.ALL`:\\n``a < b``"))
    see <code>ALL</code>: <code>a &lt; b</code>
    """
    joined = WITHIN.sub(" ", str(escape(text)))
    return Markup(CODE.sub(r"<code>\1</code>", joined))  # noqa: S704 - escaped here


def exactly(text: str) -> Markup:
    """A text within ``pre``: no first line break is swallowed, and no other kind is changed.

    >>> print(exactly("\\na < b\\r"))
    <BLANKLINE>
    <BLANKLINE>
    a &lt; b&#13;
    """
    return Markup("\n" + str(escape(text)).replace("\r", "&#13;"))  # noqa: S704 - escaped here


def set_values(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without those that are not set."""
    return {name: value for name, value in settings.items() if value not in (None, {}, [])}


def single(values: Mapping[str, Any]) -> dict[str, Any]:
    """Those values that are set and no lists."""
    return {name: value for name, value in values.items()
            if value is not None and not isinstance(value, list | dict)}  # fmt: skip


def lined_up(record: MatchRecord) -> str:
    """A match's players in one line."""
    return line_up([record.label(place) for place in record.seats])


def moment(seconds: float) -> str:
    """A time, given in seconds since 1970, in UTC.

    >>> moment(0)
    '1 January 1970, 00:00 UTC'
    """
    then = datetime.fromtimestamp(seconds, UTC)
    return f"{then.day} {then:%B %Y, %H:%M} UTC"


def brief_moment(seconds: float) -> str:
    """The same where little room is, for columns whose heading says that it is UTC.

    >>> brief_moment(0)
    '1970-01-01 00:00'
    """
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"


def day(then: date) -> str:
    """A day.

    >>> day(date(2024, 9, 1))
    '1 September 2024'
    """
    return f"{then.day} {then:%B %Y}"


def viewer_path(
    study: str, game: str | None = None, query: Mapping[str, str] | None = None, root: str = ""
) -> str:
    """Where a viewer with this root shows a study's matches of a game that fit a query."""
    path = f"{root}/studies/{quote(study)}" + (f"/{quote(game)}" if game else "")
    return f"{path}?{urlencode(query)}" if query else path


def drawn(chart: Chart, href: Href | None, *, wide: bool = False) -> Markup:
    """A chart as it stands in a page, its marks leading to their matches."""
    return Markup(drawing(chart, WIDE if wide else WIDTH, paint=PAGE, href=href))  # noqa: S704 - escaped where it is drawn


def verbatim(code: str) -> Markup:
    """Our own style or script as it stands in a page, unescaped."""
    return Markup(code.replace("\r\n", "\n"))  # noqa: S704 - files of this package


@cache
def source(name: str) -> Markup:
    """A style sheet or script from the templates' folder."""
    return verbatim((HERE / name).read_text(encoding="utf-8"))


def policy(*scripts: str, forms: str = "'none'") -> str:
    """A content security policy: only these scripts run, and nothing is ever fetched.

    Args:
        scripts: the page's scripts, exactly as they stand in it.
        forms: where forms may be sent.
    """
    digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        f"img-src data: blob:; base-uri 'none'; form-action {forms}"
    )


def page_policy() -> str:
    """The content security policy of reports and other pages that are one file."""
    return policy(*map(source, SCRIPTS))


def environment(*folders: Path) -> jinja2.Environment:
    """Templates for HTML, everything in them escaped; those in ``folders`` come first."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader([*folders, HERE]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "anchor": anchor, "brief_moment": brief_moment, "drawn": drawn, "capital": capital,
        "counted": counted, "day": day, "exactly": exactly, "fixed": fixed,
        "game_title": game_title,
        "lined_up": lined_up, "moment": moment, "money": money, "plain": plain,
        "prose": prose, "readable": readable, "runs": runs, "set_values": set_values,
        "single": single,
    }  # fmt: skip
    made.globals |= {
        "source": source, "STATUSES": STATUSES, "KINDS": KINDS, "FEW": FEW,
    }  # fmt: skip
    return made
