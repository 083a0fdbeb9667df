"""A sample of a study's transcripts, for a page to hold."""

import base64
import gzip
from collections.abc import Mapping, Sequence
from typing import Any

import jinja2
import polars as pl

from cheaptalk.frames.reader import places_in
from cheaptalk.records import MatchRecord, Status, Store
from cheaptalk.records.encoding import standard_json
from cheaptalk.records.exclusions import Stand, Standing
from cheaptalk.records.store.queries import some
from cheaptalk.reports.pages import environment
from cheaptalk.reports.transcripts import talk
from cheaptalk.rules import Chance

MOST_SAMPLED = 300
"""Transcripts of a game that a page holds at most."""


def sampled(
    frames: Mapping[str, pl.DataFrame], number: int, chance: Chance, by: Sequence[str] = ()
) -> list[str]:
    """Ids of so many matches that ended of every pairing and status, drawn at random.

    Every pairing has a stream of its own, so that what is drawn depends on its matches alone. Of a
    game with very many pairings, :data:`MOST_SAMPLED` are drawn in all.

    Args:
        by: columns that tell matches of a pairing apart, such as ``configuration``; so many are
            drawn of each.
    """
    chosen: list[str] = []
    for game, frame in frames.items():
        players = [f"player.{place}" for place in places_in(frame)]
        apart = [*players, "status", *by]
        ended = frame.filter(pl.col("status") != Status.LIVE.value)
        groups = ended.group_by(apart, maintain_order=True).agg(pl.col("match").sort()).sort(apart)
        drawn = [
            match
            for *place, ids in groups.iter_rows()
            for match in chance("transcripts", game, *place).shuffled(ids)[:number]
        ]
        if len(drawn) > MOST_SAMPLED:
            drawn = chance("transcripts", game).shuffled(drawn)[:MOST_SAMPLED]
        chosen += drawn
    return chosen


def packed(store: Store, study: str, ids: Sequence[str]) -> str:
    """Transcripts of some matches as a page keeps them: JSON, compressed, in base64.

    Each is an object with what it can be found by (``game``, ``configuration``, ``status``,
    ``players``, ``roles`` and ``kinds`` by place) and its ``html``, in which all that players wrote
    is escaped.
    """
    template, standing = environment().get_template("match.html.jinja"), Standing(store, study)
    entries = [_entry(record, template, standing.of(record)) for record in some(store, study, ids)]
    data = gzip.compress(standard_json(entries).encode(), mtime=0)
    return base64.b64encode(data).decode()


def _entry(record: MatchRecord, template: jinja2.Template, stand: Stand) -> dict[str, Any]:
    return {
        "id": record.id,
        "game": record.game,
        "configuration": record.configuration.digest,
        "status": record.status.value,
        "players": {place: record.label(place) for place in record.seats},
        "roles": record.places,
        "kinds": {place: list(counts) for place, counts in record.kinds.items()},
        "html": template.render(record=record, talk=talk(record), calls=False, stand=stand),
    }
