"""Samples of matches, whose transcripts a page contains."""

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
from cheaptalk.records.store.queries import read_matches
from cheaptalk.reports.pages import environment
from cheaptalk.reports.transcripts import talk
from cheaptalk.rules import Chance

MOST_SAMPLED = 50
"""Maximum number of transcripts of a game in a page."""


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
    template, standing = environment().get_template("match.html.jinja"), Standing(store, study)
    records = read_matches(store, study, ids)
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
        "html": template.render(record=record, talk=talk(record), calls=False, stand=stand),
    }
