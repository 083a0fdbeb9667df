"""Report pages, each a single self-contained file with sampled transcripts, written atomically."""

import base64
import gzip
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jinja2
import polars as pl

from cheaptalk.atomic_files import whole_file
from cheaptalk.frames.reader import places_in
from cheaptalk.loopback import HOST
from cheaptalk.records import MatchRecord, Status, Store
from cheaptalk.records.encoding import standard_json
from cheaptalk.records.exclusions import Stand, Standing
from cheaptalk.records.store.queries import read_records
from cheaptalk.reports.charts.chart import Lead
from cheaptalk.reports.pages import (
    PORT,
    SCRIPTS,
    TEMPLATES,
    anchor,
    page_policy,
    source,
    viewer_path,
)
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import MadePart, Recipe, by_reason
from cheaptalk.reports.study.facts import study_facts, versions
from cheaptalk.reports.transcripts import match_transcript
from cheaptalk.rules import Chance, CheaptalkError

MOST_SAMPLED = 50
"""Maximum number of transcripts of a game in a page."""


def write_page(
    recipe: Recipe,
    parts: Sequence[MadePart],
    out: Path | str,
    *,
    name: str,
    evidence: Evidence | None = None,
    leads_to: str = "",
    viewer: str = "",
    command: str | None = None,
    **shown: Any,
) -> None:
    """Write a page as one HTML file that works offline; an existing file is replaced atomically.

    The page reports the design, answers and cost of ``evidence`` and links to matches of the study
    ``leads_to`` in a viewer, whose address may be relative to the page. ``command`` starts this
    viewer, by default for ``store``. Further template variables are, with ``leads_to``,
    ``transcripts``, ``store`` and ``sample``.
    """
    code = tuple(map(source, SCRIPTS))

    def href(lead: Lead) -> str:
        return viewer_path(leads_to, lead.game, lead.query, root=viewer)

    page = TEMPLATES.get_template("page.html.jinja").stream(
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
        command=_command(viewer, leads_to, shown) if command is None else command,
        lacking=by_reason(part for part in parts if not part.part.design),
        ids={part.part.title: anchor(part.part.title).lower() for part in parts},
        **shown,
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


def sampled(
    frames: Mapping[str, pl.DataFrame], number: int, chance: Chance, by: Sequence[str] = ()
) -> list[str]:
    """Return the ids of a random sample of ended matches, for every pairing and status.

    Every pairing, or group of its matches with equal columns ``by``, has its own random stream, so
    its sample depends only on its own matches. At most :data:`MOST_SAMPLED` matches are sampled.
    """
    chosen: list[str] = []
    for game, frame in frames.items():
        players = [f"player_{seat}" for seat in places_in(frame)]
        keys = [*players, "status", *by]
        ended = frame.filter(pl.col("status") != Status.LIVE.value)
        groups = ended.group_by(keys, maintain_order=True).agg(pl.col("match_id").sort()).sort(keys)
        sample = [
            match
            for *cell, ids in groups.iter_rows()
            for match in chance("transcripts", game, *cell).shuffled(ids)[:number]
        ]
        if len(sample) > MOST_SAMPLED:
            sample = chance("transcripts", game).shuffled(sample)[:MOST_SAMPLED]
        chosen += sample
    return chosen


def packed(store: Store, study: str, ids: Sequence[str]) -> str:
    """Return transcripts as gzipped JSON in base64: keys for selection, and escaped ``html``."""
    template, standing = TEMPLATES.get_template("match.html.jinja"), Standing(store, study)
    records = read_records(store, study, ids)
    entries = [_entry(record, template, standing.of(record)) for record in records]
    data = gzip.compress(standard_json(entries).encode(), mtime=0)
    return base64.b64encode(data).decode()


def _entry(record: MatchRecord, template: jinja2.Template, stand: Stand) -> dict[str, Any]:
    return {
        "id": record.id,
        "game": record.game,
        "configuration": record.configuration.digest,
        "status": record.status.value,
        "players": {seat: record.label(seat) for seat in record.seats},
        "roles": record.roles,
        "kinds": {seat: list(counts) for seat, counts in record.kinds.items()},
        "html": template.render(
            record=record, talk=match_transcript(record), calls=False, stand=stand
        ),
    }
