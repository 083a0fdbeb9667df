"""Atomic writing of report pages, each as a single self-contained file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cheaptalk.atomic_files import whole_file
from cheaptalk.loopback import HOST
from cheaptalk.reports.charts.chart import Lead
from cheaptalk.reports.pages import (
    PORT,
    SCRIPTS,
    anchor,
    environment,
    page_policy,
    source,
    viewer_path,
)
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import MadePart, Recipe
from cheaptalk.reports.study.facts import study_facts, versions
from cheaptalk.rules import CheaptalkError


def write_page(
    recipe: Recipe,
    parts: Sequence[MadePart],
    out: Path | str,
    *,
    name: str,
    evidence: Evidence | None = None,
    leads_to: str = "",
    viewer: str = "",
    **shown: Any,
) -> None:
    """Write a page as one HTML file that works offline; an existing file is replaced atomically.

    The page reports the design, answers and cost of ``evidence`` and links to matches of the study
    ``leads_to`` in a viewer, whose address may be relative to the page. Further template variables
    are, with ``leads_to``, ``transcripts``, ``store`` and ``sample``.
    """
    code = tuple(map(source, SCRIPTS))

    def href(lead: Lead) -> str:
        return viewer_path(leads_to, lead.game, lead.query, root=viewer)

    page = (
        environment()
        .get_template("page.html.jinja")
        .stream(
            _of_study(evidence) if evidence else {},
            scripts=code,
            policy=page_policy(),
            viewer=viewer,
            href=href if leads_to else None,
            recipe=recipe,
            parts=[part for part in parts if part.shown],
            name=name,
            evidence=evidence,
            leads_to=leads_to,
            versions=versions(),
            command=_command(viewer, leads_to, shown),
            lacking={
                part.part.title: part.lacking
                for part in parts
                if part.lacking and not part.part.design
            },
            ids={part.part.title: anchor(part.part.title).lower() for part in parts},
            **shown,
        )
    )
    page.enable_buffering(100)
    out = Path(out)
    try:
        with whole_file(out) as file:
            file.writelines(page)
    except OSError as error:
        raise CheaptalkError(f"{out}: cannot be written: {error.strerror}") from error


def _command(viewer: str, study: str, shown: Mapping[str, Any]) -> str:
    """Return the command that starts the page's viewer; empty for a viewer on another machine."""
    address = urlsplit(viewer)
    if address.hostname != HOST:
        return ""
    port = "" if address.port == PORT else f" --port {address.port}"
    return f"cheaptalk view {study} --store {shown['store']}{port}"


def _of_study(evidence: Evidence) -> Mapping[str, Any]:
    summary = evidence.store.study(evidence.study)
    return {"study": summary, "facts": study_facts(evidence.store, summary, evidence.frames)}
