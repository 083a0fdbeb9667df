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
from cheaptalk.records.store.queries import seats_of
from cheaptalk.rules import Series
from cheaptalk.studies.lookup import reads_study

MATCH = {
    name: HEAD[name] for name in ("match_id", "configuration", "instance", "repeat", "pairing")
}
"""The columns that identify a match, as in :func:`.match_frames`."""
WHERE = {"at": pl.Int64, "round": pl.Int64, "index": pl.Int64}
"""The numeric key of a row: match, round, and the seat's index in the game's order."""
PART = 100_000
"""Number of rows that are collected before they are converted to columns."""


@reads_study
def round_frames(
    store: Store, study: str, *, only: Collection[str] | None = None, as_published: bool = False
) -> Frames:
    """Return the matches of a study round by round, as one frame for each game with series.

    Only scored matches have rows: they finished, were not excluded (see
    :class:`~cheaptalk.studies.Unanswered`), and were played under the installed rules.

    Columns: ``match_id``, ``configuration``, ``instance``, ``repeat`` and ``pairing`` as in
    :func:`.match_frames`; ``round`` (from 1; if players alternate, the series documents whether two
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
        self.seats: dict[str | None, int | None] = {seat: n for n, seat in enumerate(seats)}
        self.seats[None] = None
        self.series = series
        self.standing = standing
        self.as_published = as_published
        self.matches: list[RowValues] = []
        self.players: list[RowValues] = []
        self.rows: list[RowValues] = []
        self.schema: dict[str, Any] = WHERE | {item.name: pl.Float64 for item in series}
        self.parts = [pl.DataFrame(schema=self.schema)]

    def add(self, record: MatchRecord) -> None:
        result = self.standing.result(record)
        if result is None:
            return
        index, values_by_key = len(self.matches), dict[tuple[int, int | None], RowValues]()
        for column, series in enumerate(self.series):
            try:
                points = [
                    (number, self.seats[seat], value)
                    for number, seat, value in series.variant(self.as_published)(result)
                ]
            except Exception as error:
                raise failed("series", series.name, record, error) from error
            for number, seat, value in points:
                check_bounds("series", series, value, record)
                values_by_key.setdefault((number, seat), [None] * len(self.series))[column] = value
        labels = {seat: record.label(seat) for seat in record.seats}
        pairing = line_up(list(labels.values()))
        configuration = record.configuration.digest
        self.matches.append([record.id, configuration, record.instance_key, record.repeat, pairing])
        self.players += [[index, self.seats[seat], seat, player] for seat, player in labels.items()]
        self.rows += [[index, *key, *values] for key, values in values_by_key.items()]
        if len(self.rows) > PART:
            self.pack()

    def pack(self) -> None:
        """Convert the collected rows to columns, which take less memory."""
        self.parts.append(pl.DataFrame(self.rows, schema=self.schema, orient="row"))
        self.rows = []

    def frame(self) -> pl.DataFrame:
        check_free("series", self.series, [*MATCH, *WHERE, "seat", "player"])
        self.pack()
        matches = pl.DataFrame(self.matches, schema=MATCH, orient="row").with_row_index("at")
        matches = matches.cast({"at": pl.Int64})
        seated = {"at": pl.Int64, "index": pl.Int64, "seat": pl.String, "player": pl.String}
        players = pl.DataFrame(self.players, schema=seated, orient="row")
        return (
            pl.concat(self.parts)
            .sort("at", "round", "index", nulls_last=False)
            .join(matches, on="at", how="left", maintain_order="left", validate="m:1")
            .join(players, on=["at", "index"], how="left", maintain_order="left", validate="m:1")
            .select(*MATCH, "round", "seat", "player", *(item.name for item in self.series))
        )
