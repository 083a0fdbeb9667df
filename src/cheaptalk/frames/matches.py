"""A study's matches as frames: one row a match, with all that statistics want to know of it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, Self

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
from cheaptalk.records.store.parts import Part, of_part, over_parts
from cheaptalk.records.store.queries import places_of
from cheaptalk.rules import Measure, game_box
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


class Observer(Protocol):
    """What sees matches, and keeps something of them."""

    def add(self, record: MatchRecord) -> None:
        """See a match, with its answers."""

    def join(self, later: Self) -> None:
        """Take over what another one kept of the matches behind those seen here."""


class _Part(NamedTuple):
    """The rows of a game's frame from a part of a study, and parameters by configuration."""

    frame: pl.DataFrame
    parameters: dict[str, dict[str, Any]]


@reads_study
def match_frames(
    store: Store,
    study: str,
    *,
    only: Collection[str] | None = None,
    as_published: bool = False,
    workers: int = 1,
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
    ``game.PARAMETER`` (numbers and booleans as such, anything else as JSON), and in studies with
    factors ``factor.PLACE.FACTOR`` (the level that the player there has). There are columns
    for the places of all configurations; they are null where a match has no such place.

    Args:
        study: its name in the store.
        only: names of the measures to compute, which saves time; None: all. A game's frame has
            those that the game has.
        as_published: take the published variants of measures where these differ.
        workers: processes that read at the same time, where there is much to read and this program
            registered nothing of its own. More than one needs a store in a file, and the caller's
            script to be importable (``if __name__ == "__main__":``).

    Raises:
        StoreError: there is no such study.
        UnknownName: a game is not installed, or none of the study's games has such a measure.
        MeasureError: a measure failed.
    """
    return observed_frames(store, study, (), only, as_published=as_published, workers=workers)[0]


def observed_frames(
    store: Store,
    study: str,
    observers: Sequence[type[Observer]],
    only: Collection[str] | None = None,
    *,
    as_published: bool = False,
    workers: int = 1,
) -> tuple[Frames, Sequence[Observer]]:
    """:func:`match_frames`, and observers that saw all matches that count, which are read once.

    Args:
        observers: their kinds; one of each comes back.
    """
    places = places_of(store, study)
    measures = chosen(places, "measure", lambda box: box.measures, only)
    wanted = {game: [one.name for one in measures[game]] for game in places}
    parts = over_parts(store, study, workers, _read_part, places, wanted, as_published, observers)
    frames = {
        game: _whole([made[game] for made, _ in parts if game in made]) for game in sorted(places)
    }
    (_, first), *rest = parts
    for _, others in rest:
        for one, later in zip(first, others, strict=True):
            one.join(later)
    factors = store.study(study, counted=False).spec.get("factors") or {}
    return Frames(
        {
            game: with_factors(frame, places[game], factors)
            for game, frame in frames.items()
            if frame is not None
        }
    ), first


def with_factors(
    frame: pl.DataFrame, seats: Collection[str], factors: Mapping[str, Mapping[str, str]]
) -> pl.DataFrame:
    """Add the level of each factor of the player in each seat, as ``factor.SEAT.FACTOR``.

    Args:
        frame: matches with columns ``player.SEAT``.
        seats: the seats, or roles, to add columns for.
        factors: the level of each factor, by player and factor.

    Returns:
        The frame with columns for the seats that such players fill; null for other players.
    """
    names = dict.fromkeys(name for levels in factors.values() for name in levels)
    columns = []
    for seat in seats:
        filled = set(frame[f"player.{seat}"].unique())
        for name in names:
            level_of = {who: levels[name] for who, levels in factors.items() if name in levels}
            if filled & level_of.keys():
                level = pl.col(f"player.{seat}").replace_strict(
                    level_of, default=None, return_dtype=pl.String
                )
                columns.append(level.alias(f"factor.{seat}.{name}"))
    return frame.with_columns(columns)


def _read_part(
    store: Store,
    study: str,
    part: Part,
    places: Mapping[str, Mapping[str, str]],
    wanted: Mapping[str, Sequence[str]],
    as_published: bool,
    kinds: Sequence[type[Observer]],
) -> tuple[dict[str, _Part], Sequence[Observer]]:
    """Some matches of a study, by game, and the observers that saw them."""
    reader, observers = Reader.of(store, study), [kind() for kind in kinds]
    games = {
        game: _Rows(list(of), [game_box(game).measures[one] for one in wanted[game]], reader,
                    as_published)
        for game, of in places.items()
    }  # fmt: skip
    bodies = bool(observers) or any(wanted.values())
    for record in store.records(study, bodies=bodies, where=of_part(part)):
        games[record.game].add(record)
        if observers and reader.counts(record):
            for one in observers:
                one.add(record)
    made = {name: rows for name, rows in games.items() if rows.rows}
    return {name: _Part(rows.frame(), rows.parameters) for name, rows in made.items()}, observers


def _whole(parts: Sequence[_Part]) -> pl.DataFrame | None:
    """The frame of a game, with the parameters of its configurations; None without a match."""
    if not parts:
        return None
    parameters: dict[str, dict[str, Any]] = {}
    for part in parts:
        parameters |= part.parameters
    columns: dict[str, list[Any]] = {"configuration": list(parameters)}
    for name in dict.fromkeys(name for values in parameters.values() for name in values):
        columns[f"game.{name}"] = _uniform([values.get(name) for values in parameters.values()])
    frame = pl.concat([part.frame for part in parts])
    return frame.join(
        pl.DataFrame(columns), on="configuration", maintain_order="left", validate="m:1"
    )


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
        self.parameters: dict[str, dict[str, Any]] = {}

    def add(self, record: MatchRecord) -> None:
        labels = {place: record.label(place) for place in record.seats}
        configuration = record.configuration.digest
        self.parameters.setdefault(configuration, record.parameters)
        paid = (record.payoffs or {}) if self.reader.counts(record) else {}
        unknown = dict.fromkeys([Kind.REPAIRED.value]) if record.imported else {}
        kinds = [record.kinds.get(at, {}) | unknown if at in labels else None
                 for at in self.places]  # fmt: skip
        self.rows.append(
            [
                record.id, record.status.value, self.reader.dropped(record), record.version,
                configuration, record.deal_key, record.repeat, line_up(list(labels.values())),
                record.calls, record.input_tokens, record.output_tokens, record.dollars,
                record.finished, None if record.unread else record.played,
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
        return pl.DataFrame(self.rows, schema=columns, orient="row")


def _uniform(values: list[Any]) -> list[Any]:
    """Values that fit one column: as they are if all are of one plain type, else as JSON."""
    types = {type(value) for value in values if value is not None}
    if types == {int, float}:
        return [None if value is None else float(value) for value in values]
    if len(types) <= 1 and types <= {bool, int, float, str}:
        return values
    return [None if value is None else standard_json(value) for value in values]
