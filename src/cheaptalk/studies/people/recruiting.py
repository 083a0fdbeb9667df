"""The entries for recruitment platforms, and checks of a study's settings."""

import secrets
from collections.abc import Iterator
from typing import NamedTuple

from cheaptalk.records.store.schema import Ending
from cheaptalk.studies.people.protocol import RETURN, Protocol

TURNED_AWAY: tuple[Ending, ...] = ("screened_out", "quota_full", "failed_attention")
"""Endings for which platforms have their own codes or links."""
EXTERNAL_QUESTION = """\
<ExternalQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/\
2006-07-14/ExternalQuestion.xsd">
  <ExternalURL>{url}</ExternalURL>
  <FrameHeight>0</FrameHeight>
</ExternalQuestion>"""


class PlatformField(NamedTuple):
    """A field of a recruitment platform's form, and the text to enter in it.

    A completion code is that of an ``ending``.
    """

    name: str
    text: str
    ending: str = ""


class SettingCheck(NamedTuple):
    """A check of a setting that a platform requires, such as the code of an ending."""

    name: str
    passed: bool
    ending: str = ""

    @property
    def problem(self) -> str:
        """A sentence for a check that failed, which names the setting in the study file."""
        match self.name:
            case "code":
                return f"people.codes has no completion code for {self.ending}"
            case "distinct_codes":
                return "people.codes has the same completion code for several endings"
            case "prolific_url":
                return "people.recruitment.return_url doesn't lead to Prolific"
            case "sona_url":
                return "people.recruitment.return_url has no completion URL of SONA"
            case "worker_id":
                return "people.recruitment.id_parameter replaces MTurk's worker ID; omit it"
        return f"people.{self.name} is missing"


def platform_fields(protocol: Protocol, address: str) -> list[PlatformField]:
    """Return what to enter on the study's platform; ``address`` is that of its pages.

    >>> protocol = Protocol(path=["games"], recruitment={"source": "sona"})
    >>> platform_fields(protocol, "https://lab.org/s/s")[0].text
    'https://lab.org/s/s/?survey_code=%SURVEY_CODE%'
    """
    return list(_fields(protocol, f"{address}{protocol.link}", address))


def _fields(protocol: Protocol, link: str, address: str) -> Iterator[PlatformField]:
    recruitment = protocol.recruitment
    match recruitment.source:
        case "prolific":
            yield PlatformField("study_url", link)
            for ending, code in protocol.codes.items():
                yield PlatformField("code", code, ending)
            if recruitment.invited:
                yield PlatformField("allowlist", "\n".join(recruitment.invited))
        case "mturk":
            external = f"{address}/"
            yield PlatformField("external_question", EXTERNAL_QUESTION.format(url=external))
            yield PlatformField("survey_link", link)
        case "sona":
            yield PlatformField("study_url", link)
        case "code":
            yield PlatformField("link_for_codes", f"{address}/")
        case "open":
            yield PlatformField("link", f"{address}/")


def setting_checks(protocol: Protocol) -> list[SettingCheck]:
    """Return checks of the settings that a study's platform requires."""
    return list(_checks(protocol))


def _checks(protocol: Protocol) -> Iterator[SettingCheck]:
    recruitment, codes = protocol.recruitment, protocol.codes
    if recruitment.source == "prolific":
        for ending in ("complete", *TURNED_AWAY):
            yield SettingCheck("code", ending in codes, ending)
        unique = len({*codes.values()}) == len(codes)
        yield SettingCheck("distinct_codes", unique)
        default = isinstance(recruitment.return_url, dict) or recruitment.return_url is None
        own = default or RETURN["prolific"].partition("?")[0] in str(recruitment.return_url)
        yield SettingCheck("prolific_url", own)
    elif recruitment.source == "sona":
        url = recruitment.url("complete")
        yield SettingCheck("sona_url", url is not None)
    elif recruitment.source == "mturk":
        yield SettingCheck("worker_id", recruitment.id_parameter is None)
    if recruitment.source != "open":
        yield SettingCheck("contact", bool(protocol.contact))


def link_for_tests(protocol: Protocol, address: str) -> str:
    """Return a link for a test participant with a random id in the platform's format."""
    recruitment = protocol.recruitment
    match recruitment.source:
        case "prolific":
            given = [secrets.token_hex(12)] * 3
        case "mturk":
            given = [f"TEST{secrets.token_hex(5).upper()}" for _ in range(3)]
        case "sona":
            given = [str(10**9 + secrets.randbelow(10**9))]
        case _:
            return f"{address}/"
    pairs = zip(recruitment.parameters, given, strict=True)
    return f"{address}/?" + "&".join(f"{name}={value}" for name, value in pairs)


def preview_link(protocol: Protocol, address: str) -> str | None:
    """Return the link of MTurk's preview of the task; None on other platforms."""
    if protocol.recruitment.source != "mturk":
        return None
    return f"{address}/?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=TEST"


def return_links(protocol: Protocol) -> dict[Ending, str]:
    """Return the completion URL of each ending with a code or URL of its own, for tests."""
    recruitment = protocol.recruitment
    own = recruitment.return_url if isinstance(recruitment.return_url, dict) else {}
    endings = dict.fromkeys(["complete", *protocol.codes, *own])
    links = {
        ending: recruitment.sent_to(protocol.codes.get(ending, "TEST"), "TEST", ending)
        for ending in endings
    }
    return {ending: url for ending, url in links.items() if url is not None}
