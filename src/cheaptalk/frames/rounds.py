"""A study's matches by round: one row a round and place, with what the games' series say of it."""

from collections.abc import Collection, Sequence
from typing import Any

import polars as pl

from cheaptalk.frames.matches import HEAD
from cheaptalk.frames.reader import (
    Frames,
    Reader,
    RowValues,
    check_bounds,
    check_free,
    chosen,
    failed,
)
from cheaptalk.records import MatchRecord, Store, line_up
from cheaptalk.records.store.queries import places_of
from cheaptalk.rules import Series
from cheaptalk.studies.lookup import reads_study

MATCH = {name: HEAD[name] for name in ("match", "configuration", "deal", "repeat", "pairing")}
"""The columns that tell the match, as in the frames of :func:`.match_frames`."""
WHERE = {"at": pl.Int64, "round": pl.Int64, "seat": pl.Int64}
"""What a row is of, by number; places are numbered in the game's order."""
PART = 100_000
"""Rows that are gathered before they become columns."""


@reads_study
def round_frames(
    store: Store, study: str, *, only: Collection[str] | None = None, as_published: bool = False
) -> Frames:
    """The matches of a study round by round, as one frame for each game that has series.

    A match counts as in :func:`.match_frames`: it has finished, was not dropped (see
    :class:`~cheaptalk.studies.Unanswered`), and was played under the rules that are installed. All
    others have no rows.

    Columns: ``match``, ``configuration``, ``deal``, ``repeat`` and ``pairing`` as there;
    ``round`` (from 1; where players take turns, of which a game may call two a round, its series
    say which they count), ``place`` (null in the rows of all players together), ``player`` (the
    label of who sat there), then one column a series, null where it is undefined. Rows are in the
    order of matches, rounds and places, those of all together first.

    Args:
        study: its name in the store.
        only: names of the series to compute; None: all. Games without any of these are left out.
        as_published: take the published variants of series where these differ.

    Raises:
        StoreError: there is no such study.
        UnknownName: a game is not installed, or none of the study's games has such a series.
        MeasureError: a series failed.
    """
    reader, places = Reader.of(store, study), places_of(store, study)
    wanted = chosen(places, "series", lambda box: box.series, only)
    games = {
        game: _Rounds(list(places[game]), wanted[game], reader, as_published)
        for game in sorted(places) if wanted[game]
    }  # fmt: skip
    for record in store.records(study, bodies=True):
        if record.game in games:
            games[record.game].add(record)
    return Frames({name: rounds.frame() for name, rounds in games.items()})


class _Rounds:
    """The rounds of one game as its matches are read."""

    def __init__(
        self, places: Sequence[str], series: list[Series], reader: Reader, as_published: bool
    ) -> None:
        self.places: dict[str | None, int | None] = {place: n for n, place in enumerate(places)}
        self.places[None] = None
        self.series = series
        self.reader = reader
        self.as_published = as_published
        self.matches: list[RowValues] = []
        self.players: list[RowValues] = []
        self.rows: list[RowValues] = []
        self.schema: dict[str, Any] = WHERE | {one.name: pl.Float64 for one in series}
        self.parts = [pl.DataFrame(schema=self.schema)]

    def add(self, record: MatchRecord) -> None:
        result = self.reader.result(record)
        if result is None:
            return
        at, found = len(self.matches), dict[tuple[int, int | None], RowValues]()
        for column, one in enumerate(self.series):
            try:
                points = [
                    (number, self.places[place], value)
                    for number, place, value in one.variant(self.as_published)(result)
                ]
            except Exception as error:
                raise failed("series", one.name, record, error) from error
            for number, seat, value in points:
                check_bounds("series", one, value, record)
                found.setdefault((number, seat), [None] * len(self.series))[column] = value
        labels = {place: record.label(place) for place in record.seats}
        self.matches.append(
            [record.id, record.configuration.digest, record.deal_key, record.repeat,
             line_up(list(labels.values()))]
        )  # fmt: skip
        self.players += [[at, self.places[place], place, who] for place, who in labels.items()]
        self.rows += [[at, *key, *values] for key, values in found.items()]
        if len(self.rows) > PART:
            self.pack()

    def pack(self) -> None:
        """Turn the rows so far into columns, which take less memory."""
        self.parts.append(pl.DataFrame(self.rows, schema=self.schema, orient="row"))
        self.rows = []

    def frame(self) -> pl.DataFrame:
        check_free("series", self.series, [*MATCH, *WHERE, "place", "player"])
        self.pack()
        matches = pl.DataFrame(self.matches, schema=MATCH, orient="row").with_row_index("at")
        seated = {"at": pl.Int64, "seat": pl.Int64, "place": pl.String, "player": pl.String}
        players = pl.DataFrame(self.players, schema=seated, orient="row")
        return (
            pl.concat(self.parts)
            .sort("at", "round", "seat", nulls_last=False)
            .join(
                matches.cast({"at": pl.Int64}),
                on="at",
                how="left",
                maintain_order="left",
                validate="m:1",
            )
            .join(players, on=["at", "seat"], how="left", maintain_order="left", validate="m:1")
            .select(*MATCH, "round", "place", "player", *(one.name for one in self.series))
        )
