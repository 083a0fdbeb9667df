"""Data frames of rounds: one row per round and seat, with the games' series."""

from collections.abc import Collection, Sequence
from typing import Any

import polars as pl

from cheaptalk.frames.matches import HEAD
from cheaptalk.frames.reader import (
    Frames,
    RowValues,
    check_bounds,
    check_free,
    chosen,
    failed,
)
from cheaptalk.records import MatchRecord, Standing, Store, line_up
from cheaptalk.records.store.lookup import StoreLike, StudyLike, reads
from cheaptalk.records.store.queries import seats_of
from cheaptalk.rules import Series

MATCH = {
    name: HEAD[name] for name in ("match_id", "configuration", "instance", "repeat", "pairing")
}
"""The columns that identify a match, as in :func:`.read_matches`."""
PART = 100_000
"""Number of rows that are collected before they are converted to columns."""


@reads
def read_rounds(
    store: StoreLike,
    study: StudyLike,
    *,
    only: Collection[str] | None = None,
    as_published: bool = False,
) -> Frames:
    """Return the matches of a study round by round, as one frame for each game with series.

    >>> study = ct.Study(name="s", games=[{"game": "bargaining"}], players={"fair": "equal_split"})
    >>> _ = ct.run(study, "s.sqlite")
    >>> rounds = ct.read_rounds("s.sqlite", "s")["bargaining"]
    >>> rounds.select("round", "seat", "share_alice").rows()
    [(1, 'alice', 0.5)]

    Only scored matches have rows: they finished, were not excluded (see
    :class:`~cheaptalk.studies.Unanswered`), and were played under the installed rules.

    Columns: ``match_id``, ``configuration``, ``instance``, ``repeat`` and ``pairing`` as in
    :func:`.read_matches`; ``round`` (from 1; if players alternate, the series documents whether two
    turns are one round), ``seat`` (null in rows that cover all players), ``player`` (the label of
    the seat's player), then one column per series, null if undefined. Rows are in the order of
    matches, rounds and seats; rows that cover all players come first.

    Args:
        study: the study's name in the store.
        only: names of the series to compute; None for all. Games without any of them are omitted.
        as_published: use the published variants of series if they differ.

    Raises:
        StoreError: there is no such study.
        UnknownName: a game is not installed, or none of the study's games has such a series.
        MetricError: a series failed.
    """
    assert isinstance(store, Store)
    assert isinstance(study, str)
    standing, seats = Standing(store, study), seats_of(store, study)
    series = chosen(seats, "series", lambda game_spec: game_spec.series, only)
    games = {
        game: _Rounds(list(seats[game]), series[game], standing, as_published)
        for game in sorted(seats)
        if series[game]
    }
    for record in store.records(study, bodies=True):
        if record.game in games:
            games[record.game].add(record)
    return Frames({name: rounds.frame() for name, rounds in games.items()})


class _Rounds:
    def __init__(
        self, seats: Sequence[str], series: list[Series], standing: Standing, as_published: bool
    ) -> None:
        self.places: dict[str | None, int] = {None: -1} | {seat: n for n, seat in enumerate(seats)}
        self.series = series
        self.standing = standing
        self.as_published = as_published
        key = MATCH | {"round": pl.Int64, "seat": pl.String, "player": pl.String}
        check_free("series", series, list(key))
        self.schema: dict[str, Any] = key | {item.name: pl.Float64 for item in series}
        self.rows: list[RowValues] = []
        self.parts = [pl.DataFrame(schema=self.schema)]

    def add(self, record: MatchRecord) -> None:
        result = self.standing.result(record)
        if result is None:
            return
        rows: dict[tuple[int, int], RowValues] = {}
        labels = {seat: record.label(seat) for seat in record.seats}
        pairing = line_up(list(labels.values()))
        digest = record.configuration.digest
        match = [record.id, digest, record.instance_key, record.repeat, pairing]
        for column, series in enumerate(self.series, len(match) + 3):
            try:
                points = [
                    (number, seat, self.places[seat], value)
                    for number, seat, value in series.variant(self.as_published)(result)
                ]
            except Exception as error:
                raise failed("series", series.name, record, error) from error
            for number, seat, place, value in points:
                check_bounds("series", series, value, record)
                player = None if seat is None else labels.get(seat)
                row = [*match, number, seat, player, *[None] * len(self.series)]
                rows.setdefault((number, place), row)[column] = value
        self.rows += [rows[key] for key in sorted(rows)]
        if len(self.rows) > PART:
            self.pack()

    def pack(self) -> None:
        """Convert the collected rows to columns, which take less memory."""
        self.parts.append(pl.DataFrame(self.rows, schema=self.schema, orient="row"))
        self.rows = []

    def frame(self) -> pl.DataFrame:
        self.pack()
        return pl.concat(self.parts)
