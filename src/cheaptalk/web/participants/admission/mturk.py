"""Submission of a task to MTurk, which shows participants' pages in a frame of its own page."""

from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from cheaptalk.studies.people.protocol import Protocol

SUBMIT_TO = "turkSubmitTo"
"""URL parameter with MTurk's address for the submission."""
DOMAIN = "mturk.com"
SITES = f"https://{DOMAIN} https://*.{DOMAIN}"
"""Sources of a content security policy: MTurk's pages, which may frame and receive ours."""


class Submission(NamedTuple):
    """A form that submits an assignment to MTurk: its address and the assignment's id."""

    action: str
    assignment: str


def mturk_host(url: str) -> str:
    """Return the host of an https URL of MTurk; empty for all other URLs.

    >>> mturk_host("https://workersandbox.mturk.com"), mturk_host("https://mturk.com.evil.org")
    ('workersandbox.mturk.com', '')
    >>> mturk_host("http://www.mturk.com"), mturk_host("https://evil.org#.mturk.com")
    ('', '')
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    is_plain = parts.netloc == host and port is None
    is_mturk = host == DOMAIN or host.endswith(f".{DOMAIN}")
    return host if parts.scheme == "https" and is_plain and is_mturk else ""


def submission(protocol: Protocol, parameters: str) -> Submission | None:
    """Return the form that submits an assignment, given the parameters of a participant's link.

    The result is None if MTurk does not show the pages in a frame.
    """
    given = dict(parse_qsl(parameters))
    host = mturk_host(f"https://{given.get(SUBMIT_TO, '')}")
    assignment = given.get("assignmentId", "")
    if protocol.recruitment.source != "mturk" or not host or not assignment:
        return None
    return Submission(f"https://{host}/mturk/externalSubmit", assignment)


def allowing_mturk(headers: dict[str, str]) -> dict[str, str]:
    """Return the headers of pages that MTurk may show in a frame, and that may submit to it."""
    policy = headers["Content-Security-Policy"]
    policy = policy.replace("form-action 'self'", f"form-action 'self' {SITES}")
    policy = policy.replace("frame-ancestors 'none'", f"frame-ancestors {SITES}")
    others = {name: text for name, text in headers.items() if name != "X-Frame-Options"}
    return others | {"Content-Security-Policy": policy}
