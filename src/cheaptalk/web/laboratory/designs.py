"""Study designs written by researchers, parsed without revealing the server's files."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cheaptalk.learning.policy import policy_file, policy_names, read_policy
from cheaptalk.rules.errors import Location, shown
from cheaptalk.studies.study import Study, StudyError, parse_study
from cheaptalk.styles.template_files import named_files
from cheaptalk.web.laboratory.library import with_contents
from cheaptalk.yaml_files import parse_yaml

FILES = (".yaml", ".yml")
"""Suffixes by which a roster is a file instead of a name."""


def read_design(name: str, text: str, laboratory: Path | None = None) -> Study:
    """Parse a study design that was submitted from a browser, with files of the laboratory.

    No error says whether a file exists on the server, or what the file contains. The design must
    contain the study's name in the laboratory.
    """
    try:
        data = parse_yaml(text)
    except ValueError as error:
        raise StudyError(str(error)) from None
    if isinstance(data, Mapping):
        check_references(data)
        data = with_contents(data, laboratory)
    study = parse_study(data, name)
    if study.name != name:
        problem = f"must be {name}, the study's name here, not {study.name}"
        raise StudyError.at(("name",), problem)
    return study


def check_references(data: Mapping[str, Any]) -> None:
    """Check that a design names no file with a roster or template, and only loadable policies."""
    written = data.get("roster")
    for roster in written if isinstance(written, list) else [written]:
        if isinstance(roster, str) and roster.partition(":")[0].endswith(FILES):
            problem = f"{shown(roster)} is a file; a laboratory reads only installed rosters, so "
            raise StudyError.at(("roster",), f"{problem}list its players under players")
    for location, entry in _entries(data):
        if files := named_files(entry):
            raise StudyError.at(
                location,
                f"{shown(files[0])} is a template file; a laboratory uses only installed prompt "
                "styles, so write a style's name, or ask the administrator to install the template "
                "as a style",
            )
    for label, policy in _policies(data.get("players")):
        try:
            read_policy(policy_file(policy))
        except Exception:  # noqa: BLE001 - a broken file may fail in any way
            raise StudyError.at(
                ("players", label),
                f"{shown(policy)} is not a policy that this laboratory can load; use one that "
                f"comes with cheaptalk ({', '.join(policy_names())}), or a policy file that was "
                "trained with the installed version",
            ) from None


def _entries(data: Mapping[str, Any]) -> Iterator[tuple[Location, Any]]:
    """Yield the location and content of all settings that can name a template file."""
    yield ("models",), data.get("models")
    players = data.get("players")
    for label, entry in players.items() if isinstance(players, Mapping) else ():
        yield ("players", str(label)), entry


def _policies(players: object) -> Iterator[tuple[str, str]]:
    for label, entry in players.items() if isinstance(players, Mapping) else ():
        written: Mapping[str, Any] = entry if isinstance(entry, Mapping) else {}
        listed = written.get("policies")
        names = [written.get("policy"), *(listed if isinstance(listed, list) else [listed])]
        yield from ((str(label), policy) for policy in names if isinstance(policy, str))
