"""Writing a page: one file that needs nothing else, whole or not at all."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

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
from cheaptalk.whole_files import whole_file


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
    """Write a page as one HTML file that works offline; an existing file is replaced, whole.

    Args:
        recipe: what the page is.
        parts: what its parts gave.
        out: the file to write.
        name: of the study or file, for the heading.
        evidence: the study, whose design, answers and cost are told; none without.
        leads_to: the study whose matches numbers lead to; nowhere without.
        viewer: the address of a viewer, which may be one beside the page; empty where there is
            nothing to view.
        **shown: what templates take besides, by name: with ``leads_to``, ``transcripts``, ``store``
            and ``sample``.

    Raises:
        CheaptalkError: the file cannot be written.
    """
    code = tuple(map(source, SCRIPTS))

    def href(lead: Lead) -> str:
        return viewer_path(leads_to, lead.game, lead.query, root=viewer)

    page = (
        environment()
        .get_template("page.html.jinja")
        .stream(
            _of_study(evidence) if evidence else {},
            scripts=code, policy=page_policy(), viewer=viewer, href=href if leads_to else None,
            recipe=recipe, parts=[one for one in parts if one.shown], name=name, evidence=evidence,
            leads_to=leads_to, versions=versions(), command=_command(viewer, leads_to, shown),
            lacking={
                one.part.title: one.lacking for one in parts if one.lacking and not one.part.design
            },
            ids={one.part.title: anchor(one.part.title).lower() for one in parts}, **shown,
        )
    )  # fmt: skip
    page.enable_buffering(100)
    out = Path(out)
    try:
        with whole_file(out) as file:
            file.writelines(page)
    except OSError as error:
        raise CheaptalkError(f"{out}: cannot be written: {error.strerror}") from error


def _command(viewer: str, study: str, shown: Mapping[str, Any]) -> str:
    """What is to be run that a viewer on this machine listens; empty where it is another's."""
    where = urlsplit(viewer)
    if where.hostname != HOST:
        return ""
    port = "" if where.port == PORT else f" --port {where.port}"
    return f"cheaptalk view {study} --store {shown['store']}{port}"


def _of_study(evidence: Evidence) -> Mapping[str, Any]:
    """What a page says of a study as a whole."""
    summary = evidence.store.study(evidence.study)
    return {"study": summary, "facts": study_facts(evidence.store, summary, evidence.frames)}
