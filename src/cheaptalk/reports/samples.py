"""A sample of transcripts, chosen by rule, to be read in the report itself."""

import base64
import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jinja2
import polars as pl

from cheaptalk.records import MatchRecord, Status, digest, digest_key
from cheaptalk.records.redeals import Stand, Standing
from cheaptalk.reports.talk import talk
from cheaptalk.rules import Chance


def sampled(
    frames: Mapping[str, pl.DataFrame], number: int, chance: Chance, by: Sequence[str] = ()
) -> list[str]:
    """Ids of so many matches that ended of every pairing and status, drawn at random.

    Every pairing has a stream of its own, so that what is drawn depends on its matches alone.

    Args:
        by: columns that tell matches of a pairing apart, such as ``configuration``; so many are
            drawn of each.
    """
    chosen: list[str] = []
    for game, frame in frames.items():
        players = [name for name in frame.columns if name.startswith("player.")]
        apart = [*players, "status", *by]
        ended = frame.filter(pl.col("status") != Status.LIVE.value)
        groups = ended.group_by(apart).agg(pl.col("match").sort()).sort(apart)
        for *place, ids in groups.iter_rows():
            chosen += chance("transcripts", game, *place).shuffled(ids)[:number]
    return chosen


def packed(records: Iterable[MatchRecord], template: jinja2.Template, standing: Standing) -> str:
    """Transcripts as the page keeps them: JSON, compressed, in base64.

    Each is an object with what it can be found by (``game``, ``configuration``, ``status``,
    ``players``, ``roles`` and ``kinds`` by place) and its ``html``, in which all that players wrote
    is escaped.
    """
    entries = [_entry(record, template, standing.of(record)) for record in records]
    data = gzip.compress(json.dumps(entries).encode(), mtime=0)
    return base64.b64encode(data).decode()


def _entry(record: MatchRecord, template: jinja2.Template, stand: Stand) -> dict[str, Any]:
    return {
        "id": record.id,
        "game": record.game,
        "configuration": digest(record.game, record.version, digest_key(record.parameters)),
        "status": record.status.value,
        "players": {place: record.label(place) for place in record.seats},
        "roles": record.places,
        "kinds": {place: list(counts) for place, counts in record.kinds.items()},
        "html": template.render(record=record, talk=talk(record), calls=False, stand=stand),
    }
