"""A study's matches as frames: one row a match, with all that statistics want to know of it."""

from collections.abc import Callable, Collection
from typing import Any

import polars as pl

from cheaptalk.frames.reader import (
    Frames,
    Reader,
    RowValues,
    check_bounds,
    check_free,
    chosen,
    failed,
)
from cheaptalk.players import Kind
from cheaptalk.records import MatchRecord, Status, Store, line_up
from cheaptalk.records.encoding import standard_json
from cheaptalk.records.store.queries import places_of
from cheaptalk.rules import Measure
from cheaptalk.studies.lookup import reads_study

KINDS = tuple(kind.value for kind in Kind)
SCORED = (pl.col("status") == Status.FINISHED.value) & ~pl.col("dropped")
"""Which matches of a frame count."""
HEAD = {
    "match": pl.String,
    "status": pl.String,
    "dropped": pl.Boolean,
    "rules": pl.Int64,
    "configuration": pl.String,
    "deal": pl.String,
    "repeat": pl.Int64,
    "pairing": pl.String,
    "calls": pl.Int64,
    "input_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "dollars": pl.Float64,
    "finished": pl.Float64,
    "played": pl.String,
}
"""The columns that every game's frame begins with."""


@reads_study
def match_frames(
    store: Store,
    study: str,
    *,
    only: Collection[str] | None = None,
    as_published: bool = False,
    seen: Callable[[MatchRecord], None] | None = None,
) -> Frames:
    """The matches of a study, as one frame a game.

    Every match is a row, whatever its status. Measures and payoffs are null unless it finished and
    was not dropped (see :class:`~cheaptalk.studies.Unanswered`); measures also where they
    are undefined, and where the match was played under another version of the rules than the one
    installed (column ``rules``), to which they may not apply.

    Columns: ``match`` (its id), ``status``, ``dropped``, ``rules``, ``configuration`` (a digest of
    game and parameters), ``deal`` (equal, within a configuration, for matches on the same deal),
    ``repeat``, ``pairing`` (labels in the order of places, see :func:`.line_up`), ``calls``,
    ``input_tokens``, ``output_tokens``, ``dollars`` (as far as prices were known), ``finished``
    (seconds since 1970; of imported matches when they were imported), ``played`` (when they were
    played, as the other system wrote it; null where it did not, or no measure is wanted), then
    ``player.PLACE`` (labels), ``kind.PLACE.KIND`` (how many answers were of each kind; of imported
    matches ``ok`` counts all valid answers, and ``repaired`` is null, as nobody knows the tries),
    ``payoff.PLACE`` (in the game's unit), the game's measures under their own names, and
    ``game.PARAMETER`` (numbers and booleans as such, anything else as JSON). There are columns
    for the places of all configurations; they are null where a match has no such place.

    Args:
        study: its name in the store.
        only: names of the measures to compute, which saves time; None: all. A game's frame has
            those that the game has.
        as_published: take the published variants of measures where these differ.
        seen: is shown every match that counts, with its answers, so that they are read once.

    Raises:
        StoreError: there is no such study.
        UnknownName: a game is not installed, or none of the study's games has such a measure.
        MeasureError: a measure failed.
    """
    reader, places = Reader.of(store, study), places_of(store, study)
    wanted = chosen(places, "measure", lambda box: box.measures, only)
    games = {
        game: _Rows(list(places[game]), wanted[game], reader, as_published)
        for game in sorted(places)
    }
    for record in store.records(study, bodies=seen is not None or any(wanted.values())):
        games[record.game].add(record)
        if seen is not None and reader.counts(record):
            seen(record)
    return Frames({name: rows.frame() for name, rows in games.items() if rows.rows})


class _Rows:
    """The rows of one game as they are read."""

    def __init__(
        self, places: list[str], measures: list[Measure], reader: Reader, as_published: bool
    ) -> None:
        self.places = places
        self.measures = measures
        self.reader = reader
        self.variants = [(one, one.variant(as_published)) for one in measures]
        self.rows: list[RowValues] = []
        self.configurations: dict[str, dict[str, Any]] = {}

    def add(self, record: MatchRecord) -> None:
        labels = {place: record.label(place) for place in record.seats}
        configuration = record.configuration.digest
        self.configurations.setdefault(configuration, record.parameters)
        paid = (record.payoffs or {}) if self.reader.counts(record) else {}
        unknown = dict.fromkeys([Kind.REPAIRED.value]) if record.imported else {}
        kinds = [record.kinds.get(at, {}) | unknown if at in labels else None
                 for at in self.places]  # fmt: skip
        self.rows.append(
            [
                record.id, record.status.value, self.reader.dropped(record), record.version,
                configuration, record.deal_key, record.repeat, line_up(list(labels.values())),
                record.calls, record.input_tokens, record.output_tokens, record.dollars,
                record.finished, record.played,
                *map(labels.get, self.places),
                *[None if of is None else of.get(kind, 0) for of in kinds for kind in KINDS],
                *map(paid.get, self.places), *self.measured(record),
            ]
        )  # fmt: skip

    def measured(self, record: MatchRecord) -> RowValues:
        result = self.reader.result(record) if self.measures else None
        if result is None:
            return [None] * len(self.measures)
        values: RowValues = []
        for measure, variant in self.variants:
            try:
                value = variant(result)
            except Exception as error:
                raise failed("measure", measure.name, record, error) from error
            check_bounds("measure", measure, value, record)
            values.append(value)
        return values

    def frame(self) -> pl.DataFrame:
        columns: dict[str, Any] = dict(HEAD)
        columns |= {f"player.{place}": pl.String for place in self.places}
        columns |= {f"kind.{place}.{kind}": pl.Int64 for place in self.places for kind in KINDS}
        columns |= {f"payoff.{place}": pl.Float64 for place in self.places}
        check_free("measure", self.measures, columns)
        columns |= {measure.name: pl.Float64 for measure in self.measures}
        frame = pl.DataFrame(self.rows, schema=columns, orient="row")
        return frame.join(self.parameters(), on="configuration", maintain_order="left")

    def parameters(self) -> pl.DataFrame:
        """One row a configuration with its parameters."""
        made = self.configurations
        columns: dict[str, list[Any]] = {"configuration": list(made)}
        for name in dict.fromkeys(name for values in made.values() for name in values):
            columns[f"game.{name}"] = _uniform([values.get(name) for values in made.values()])
        return pl.DataFrame(columns)


def _uniform(values: list[Any]) -> list[Any]:
    """Values that fit one column: as they are if all are of one plain type, else as JSON."""
    types = {type(value) for value in values if value is not None}
    if types == {int, float}:
        return [None if value is None else float(value) for value in values]
    if len(types) <= 1 and types <= {bool, int, float, str}:
        return values
    return [None if value is None else standard_json(value) for value in values]
