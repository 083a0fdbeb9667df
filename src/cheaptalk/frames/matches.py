"""Data frames of matches: one row per match, with all variables for statistical analysis."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from math import nan
from typing import Any, NamedTuple

import msgspec
import numpy as np
import polars as pl
import sqlalchemy as sa

from cheaptalk.frames.moves import move_columns, with_moves
from cheaptalk.frames.reader import (
    AT_ONCE,
    Frames,
    check_bounds,
    check_free,
    chosen,
    date_time,
    failed,
    places_in,
)
from cheaptalk.players import Kind
from cheaptalk.records import MatchRecord, Standing, Status, Store, StoreError, line_up
from cheaptalk.records.exports.columns import (
    BOOLEAN,
    DATE_TIME,
    INTEGER,
    JSON,
    NUMBER,
    TEXT,
    Column,
    shared_columns,
)
from cheaptalk.records.exports.sheets import VALUES
from cheaptalk.records.exports.tables import factor_column, factor_names, parameter_columns
from cheaptalk.records.identity import Configuration
from cheaptalk.records.metrics import Measured, MetricSet
from cheaptalk.records.moves import COUNTS
from cheaptalk.records.record import SETTLED
from cheaptalk.records.store import schema
from cheaptalk.records.store.column_types import LATEST
from cheaptalk.records.store.lookup import StoreLike, StudyLike, reads
from cheaptalk.records.store.parts import Part, over_parts
from cheaptalk.records.store.queries import seats_of
from cheaptalk.records.store.reader import (
    chunks,
    load_configurations,
    members_of,
    people_of,
    seated_player,
)
from cheaptalk.records.store.store import write_metrics
from cheaptalk.records.validation import DamagedValue
from cheaptalk.rules import Metric, get_game, unknown
from cheaptalk.statistics.columns import with_matching

matches, configurations = schema.matches, schema.configurations
KINDS = tuple(kind.value for kind in Kind)
TYPES: dict[str, Any] = {
    TEXT: pl.String,
    JSON: pl.String,
    INTEGER: pl.Int64,
    NUMBER: pl.Float64,
    BOOLEAN: pl.Boolean,
    DATE_TIME: pl.Datetime("us", "UTC"),
}
FRAME_COLUMNS = shared_columns("matches", "frame")
HEAD: dict[str, Any] = {declared.name: TYPES[declared.type] for declared in FRAME_COLUMNS}
"""The first columns of every game's frame."""
SHARED_VALUES = ("study", "game", "parameters")
"""The columns of :data:`HEAD` that all matches of a study, a game or a configuration share."""
STORED = {
    declared.name: declared.sql
    for declared in FRAME_COLUMNS
    if re.fullmatch(r"\w+\.\w+", declared.sql)
    and declared.name not in (*SHARED_VALUES, "configuration")
}
TIMES = {"begun": pl.Float64, "finished": pl.Float64}
"""Columns with times in seconds, from which the frames' date-times are computed."""
PLAYERS = "seats"
"""The column with the numbers of the players by seat, as JSON."""
HIDDEN: dict[str, Any] = {
    **dict.fromkeys(("number", "configuration_id"), pl.Int64),
    **dict.fromkeys((PLAYERS, "kinds", "payoffs", "definitions"), pl.String),
    "numbers": pl.Binary,
}
"""Columns from which others are computed; JSON as text, because many matches share it."""
SCORED = (pl.col("status") == Status.FINISHED.value) & ~pl.col("dropped")
"""Whether a match is scored, as an expression on a frame of matches."""
PAYOFFS = msgspec.json.Decoder(dict[str, float] | None)


class StoredRows:
    """The current matches of a part of a study, with their configurations and players by id.

    ``frame`` has one row per match, with the columns of :data:`STORED` and :data:`HIDDEN`.
    """

    def __init__(self, store: Store, study: str, part: Part, games: Collection[str]) -> None:
        self.store, self.study = store, study
        names = [name.split(".") for name in STORED.values()]
        columns: list[sa.ColumnElement[Any]] = [
            *(schema.metadata.tables[table].c[column] for table, column in names),
            *(matches.c[name] for name in TIMES),
        ]
        if store.backend.engine.dialect.name == "sqlite":  # stores all text and numbers as they are
            columns = [sa.type_coerce(column, sa.types.NullType()) for column in columns]
        texts = [sa.cast(matches.c[name], sa.String) for name in ("seats", "kinds", "payoffs")]
        measured = schema.metrics.c.definitions, schema.metrics.c.numbers
        query = (
            sa.select(*columns, matches.c.number, matches.c.configuration_id, *texts, *measured)
            .select_from(matches)
            .outerjoin(configurations, configurations.c.id == matches.c.configuration_id)
            .outerjoin(schema.metrics, schema.metrics.c.match_number == matches.c.number)
            .where(matches.c.number.in_(members_of(study, part)))
            .where(configurations.c.id.is_(None) | configurations.c.game.in_(games))
            .order_by(matches.c.number)
        )
        self.configurations: dict[int, Configuration] = {}
        types = {name: HEAD[name] for name in STORED} | TIMES | HIDDEN
        with store.reading() as connection:
            self.people = people_of(connection, study)
            values = list(zip(*connection.execute(query).all(), strict=True))
            try:
                series = [
                    pl.Series(name, column, types[name])
                    for name, column in zip(types, values, strict=bool(values))
                ]
            except (TypeError, pl.exceptions.PolarsError) as error:
                self.check()
                raise DamagedValue(str(error)) from error
            self.frame = pl.DataFrame(series, types)
            ids = self.frame["configuration_id"].unique().to_list()
            load_configurations(self.configurations, ids, connection)
        ended, finished = pl.col("status").is_in(SETTLED), pl.col("status") == Status.FINISHED.value
        uncounted, unpaid = (
            pl.col(name).fill_null("null") == "null" for name in ("kinds", "payoffs")
        )
        invalid = pl.any_horizontal(
            ~pl.col("configuration_id").is_in(list(self.configurations)),
            ~pl.col("status").is_in([*Status]),
            ~pl.col(list(TIMES)).is_between(0, LATEST),
        )
        if self.frame.filter(invalid | (ended & uncounted) | (finished & unpaid)).height:
            self.check()

    def check(self) -> None:
        """Read all records of the study, which raises DamagedStore for the first damaged one."""
        for _ in self.store.records(self.study):
            pass

    def parameters(self, game: str) -> dict[str, Mapping[str, Any]]:
        """Return the parameters of a game's configurations by digest, in order of appearance."""
        ids = self.frame["configuration_id"].unique(maintain_order=True)
        known = (self.configurations[id_] for id_ in ids)
        return {item.digest: item.parameters for item in known if item.game == game}

    def of_game(self, game: str, seats: Sequence[str], standing: Standing) -> pl.DataFrame:
        """Return the rows of a game, with all columns of its frame except metrics.

        Seats and counts of answers are parsed once for all matches that share them.
        """
        known = {id_: item for id_, item in self.configurations.items() if item.game == game}
        own = self.frame.filter(pl.col("configuration_id").is_in(list(known)))
        pairs = own.select("seats", "kinds").unique(maintain_order=True)
        shared = pl.DataFrame(
            [
                [seated, kinds, *self._shared(seated, kinds, seats, standing)]
                for seated, kinds in pairs.iter_rows()
            ],
            schema={
                **dict.fromkeys(("seats", "kinds", "pairing"), pl.String),
                **dict.fromkeys(("dropped", "imported"), pl.Boolean),
                **{f"player_{seat}": pl.String for seat in seats},
                **{f"answers_{seat}_{kind}": pl.Int64 for seat in seats for kind in KINDS},
            },
            orient="row",
        )
        digest = pl.col("configuration_id").replace_strict(
            {id_: item.digest for id_, item in known.items()}, return_dtype=pl.String
        )
        rows = with_matching(
            own.with_columns(configuration=digest), shared, ["seats", "kinds"], "m:1"
        )
        paid = [self._payoffs(text) or {} for text in own["payoffs"]]
        payoffs = [
            pl.Series(f"payoff_{seat}", [item.get(seat) for item in paid], pl.Float64)
            for seat in seats
        ]
        scored = rows.select(SCORED).to_series()
        imported, end = pl.col("imported"), date_time(pl.col("finished"))
        times = {
            "started_at": date_time(pl.col("begun")),
            "ended_at": pl.when(~imported).then(end),
            "imported_at": pl.when(imported).then(end),
        }
        masked = (pl.when(scored).then(item).alias(item.name) for item in payoffs)
        own_columns = [name for name in HEAD if name not in SHARED_VALUES]
        absent = pl.lit(None, pl.String).alias("source_date")
        return rows.with_columns(absent, *masked, **times).select(
            *own_columns, *shared.columns[5:], *(item.name for item in payoffs), *HIDDEN, "imported"
        )

    def _shared(
        self, seats_text: str, kinds_text: str | None, seats: Sequence[str], standing: Standing
    ) -> Iterator[Any]:
        numbers = schema.SEATS.read(seats_text)
        players = {seat: seated_player(self.people, number) for seat, number in numbers.items()}
        kinds = schema.KINDS.read(kinds_text) or {}
        imported = any("imported" in player["spec"] for player in players.values())
        labels = {seat: str(player["label"]) for seat, player in players.items()}
        yield from (line_up(list(labels.values())), standing.drops(kinds), imported)
        yield from map(labels.get, seats)
        unknown = dict.fromkeys([Kind.REPAIRED.value]) if imported else {}
        for seat in seats:
            counts = kinds.get(seat, {}) | unknown
            yield from (counts.get(kind, 0) if seat in labels else None for kind in KINDS)

    def _payoffs(self, text: str | None) -> Mapping[str, float] | None:
        try:
            return None if text is None else PAYOFFS.decode(text)
        except msgspec.MsgspecError:
            payoffs: Mapping[str, float] | None = schema.PAYOFFS.read(text)
            return payoffs

    def records(self, rows: pl.DataFrame) -> Iterator[tuple[int, int, MatchRecord]]:
        """Yield the index, the match number and the complete record of each given row."""
        by_id = {id_: row for id_, *row in rows.select("match_id", "index", "number").iter_rows()}
        for numbers in chunks(rows["number"].to_list(), AT_ONCE):
            part, where = range(numbers[0], numbers[-1] + 1), matches.c.number.in_(numbers)
            for record in self.store.records(self.study, bodies=True, where=where, part=part):
                yield *by_id[record.id], record


class Measuring:
    """Metrics of a game's matches; ``measured`` are those that were computed and can be stored."""

    def __init__(
        self, rows: StoredRows, game: str, metrics: Sequence[Metric], as_published: bool
    ) -> None:
        self.rows = rows
        self.version = get_game(game).rules.version
        self.set = MetricSet.of(game)
        self.metrics = metrics
        self.wanted = [(metric, metric.variant(as_published)) for metric in metrics]
        self.measured: dict[int, Measured] = {}

    def add(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Add columns with the metrics, and with the dates of imported matches, to a frame."""
        check_free(
            "metric", self.metrics, [*frame.columns, *COUNTS, *move_columns(places_in(frame))]
        )
        if not self.metrics:
            return frame
        frame = frame.with_row_index("index")
        scored = SCORED & (pl.col("rules_version") == self.version)
        columns = [self.set.functions.index(item) for item in self.wanted]
        values = np.full((frame.height, len(self.wanted)), np.nan)
        size = 8 * len(self.set.functions)
        valid = (
            (pl.col("definitions") == pl.lit(self.set.definitions, pl.String))
            & (pl.col("numbers").bin.size() == size)
        ).fill_null(False)
        stored = frame.filter(scored & valid)
        if stored.height:
            numbers = np.frombuffer(b"".join(stored["numbers"]), "<f8").reshape(stored.height, -1)
            values[stored["index"].to_numpy()] = numbers[:, columns]
        missing = frame.filter(scored & ~valid)
        for index, number, record in self.rows.records(missing):
            values[index] = self._computed(record, number)
        series = [
            pl.Series(metric.name, values[:, column]).fill_nan(None)
            for column, metric in enumerate(self.metrics)
        ]
        dates: list[str | None] = [None] * frame.height
        for index, _, record in self.rows.records(frame.filter("imported")):
            dates[index] = record.played
        source_date = pl.Series("source_date", dates, pl.String)
        return frame.drop("index").with_columns(source_date, *series)

    def _computed(self, record: MatchRecord, number: int) -> list[float]:
        """Return the selected metrics of a match; note all metrics if they can be stored."""
        result = record.result()
        values = []
        for metric, variant in self.wanted:
            try:
                value = variant(result)
            except Exception as error:
                raise failed("metric", metric.name, record, error) from error
            check_bounds("metric", metric, value, record)
            values.append(nan if value is None else value)
        if len(self.metrics) == len({metric.name for metric, _ in self.set.functions}):
            measured = self.set.measure(result)
            if measured is not None:
                self.measured[number] = measured
        return values


def scored(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the scored matches of a frame; the frame itself if all are scored."""
    return frame if frame.select(SCORED.all()).item() else frame.filter(SCORED)


def write_back(store: Store, measured: Mapping[int, Measured]) -> None:
    """Store metrics that were computed for a frame, unless the store can't be written to now."""
    if measured:
        with suppress(StoreError), store.writing(), store.transaction() as connection:
            write_metrics(connection, measured)


class _Part(NamedTuple):
    """Rows of a game, parameters by configuration, and computed metrics by match number."""

    frame: pl.DataFrame
    parameters: dict[str, Mapping[str, Any]]
    measured: dict[int, Measured]


def read_matches(
    store: StoreLike,
    study: StudyLike,
    *,
    only: Collection[str] | None = None,
    games: Collection[str] | None = None,
    as_published: bool = False,
    moves: bool = False,
    workers: int = 1,
) -> Frames:
    """Return the matches of a study as data frames, one per game.

    >>> study = ct.Study(name="s", games=[{"game": "bargaining"}], players={"fair": "equal_split"})
    >>> _ = ct.run(study, "s.sqlite")
    >>> matches = ct.read_matches("s.sqlite", "s")["bargaining"]
    >>> matches.select("pairing", "payoff_alice", "game_money").rows()
    [('fair / fair', 5000.0, 10000.0)]

    Each match is a row, whatever its status. Metrics and payoffs are null unless the match finished
    and was not excluded (see :class:`~cheaptalk.studies.Unanswered`). Metrics are also null if they
    are undefined, or if the match was played under another version of the rules than the installed
    one.

    Columns: ``match_id``, ``study``, ``game``, ``rules_version``, ``parameters`` (JSON),
    ``configuration`` (a digest of game and parameters), ``instance`` (within a configuration, equal
    for matches on the same instance), ``repeat``, ``pairing`` (labels in the order of seats, see
    :func:`.line_up`), ``status``, ``dropped``, ``calls``, ``input_tokens``, ``output_tokens``,
    ``dollars`` (as far as prices are known), ``started_at``, ``ended_at`` and ``imported_at``
    (date-times in UTC; imported matches have only the last), ``source_date`` (when an imported
    match was played, as the other system wrote it; null if unknown, or if no metric is selected),
    then ``player_SEAT`` (labels),
    ``answers_SEAT_KIND`` (the number of answers of each kind; for imported matches ``ok`` counts
    all valid answers and ``repaired`` is null, because their attempts are unknown), ``payoff_SEAT``
    (in the game's unit), the game's metrics under their own names, ``game_PARAMETER`` (fields of
    nested parameters have names such as ``game_horizon_rounds``, and parameters with a value for
    each seat such as ``game_discounts_alice``; lists are JSON), and in studies with factors
    ``factor_SEAT_FACTOR`` (the level of the seat's player). A frame has columns for the seats of
    all configurations; they are null if a match lacks the seat.

    Args:
        study: the study's name in the store.
        only: names of the metrics to compute, which saves time; None for all.
        games: names of the games to read, which saves time; None for all.
        as_published: use the published variants of metrics if they differ.
        moves: also count the moves in finished matches, which reads all records. Columns:
            ``moves_SEAT``, the number of requested moves that were made; ``messages_SEAT``, the
            moves with a nonempty message; ``words_SEAT`` in messages, separated by whitespace;
            ``decisions_SEAT``, the moves that accept or reject, buy or pass; and ``first_move``,
            the first move of the match as JSON, null if it was not made.
        workers: parallel processes, used if there is much to read and this program registered
            nothing itself. More than one requires a store in a file, and an importable script
            (``if __name__ == "__main__":``).

    Raises:
        StoreError: there is no such study.
        UnknownName: a game is not installed, the study has no match of a game in ``games``, or none
            of its games has such a metric.
        MetricError: a metric failed.
    """
    frames = matches_with_players(
        store,
        study,
        only=only,
        games=games,
        as_published=as_published,
        moves=moves,
        workers=workers,
    )
    return Frames({game: frame.drop(PLAYERS) for game, frame in frames.items()})


@reads
def matches_with_players(
    store: StoreLike,
    study: StudyLike,
    *,
    only: Collection[str] | None,
    games: Collection[str] | None,
    as_published: bool,
    moves: bool,
    workers: int,
) -> dict[str, pl.DataFrame]:
    """Return the frames of :func:`read_matches`, and the players' numbers as :data:`PLAYERS`."""
    assert isinstance(store, Store)
    assert isinstance(study, str)
    seats = seats_of(store, study)
    for game in games or ():
        if game not in seats:
            raise unknown(f"game of {study}:", game, list(seats))
    seats = {game: roles for game, roles in seats.items() if games is None or game in games}
    metrics = chosen(seats, "metric", lambda game_spec: game_spec.metrics, only)
    metric_names = {game: [item.name for item in metrics[game]] for game in seats}
    parts = over_parts(store, study, workers, _read_part, seats, metric_names, as_published, moves)
    for read in parts:
        for game_part in read.values():
            write_back(store, game_part.measured)
    factors = store.study(study, counted=False).spec.get("factors") or {}
    frames = {}
    for game in sorted(seats):
        of_game = [read.pop(game) for read in parts if game in read]  # frees memory
        if of_game:
            frame = _joined(of_game, study, game, list(seats[game]))
            frames[game] = with_factors(frame, seats[game], factors)
    return frames


def with_factors(
    frame: pl.DataFrame, seats: Collection[str], factors: Mapping[str, Mapping[str, str]]
) -> pl.DataFrame:
    """Add a column ``factor_SEAT_FACTOR`` with the factor's level for the player in a seat or role.

    ``factors`` are levels by player and factor. The columns are null for players without the
    factor.
    """
    columns = []
    for seat in seats:
        filled = set(frame[f"player_{seat}"].unique())
        for name in factor_names(factors):
            levels = {player: values[name] for player, values in factors.items() if name in values}
            if filled & levels.keys():
                level = pl.col(f"player_{seat}").replace_strict(
                    levels, default=None, return_dtype=pl.String
                )
                columns.append(level.alias(factor_column(seat, name)))
    return frame.with_columns(columns)


def _read_part(
    store: Store,
    study: str,
    part: Part,
    seats: Mapping[str, Mapping[str, str]],
    metric_names: Mapping[str, Sequence[str]],
    as_published: bool,
    moves: bool,
) -> dict[str, _Part]:
    """Read a part of a study; return its rows by game."""
    standing, games = Standing(store, study), {}
    with store.backend.explaining():
        rows = StoredRows(store, study, part, list(seats))
        for game, game_seats in seats.items():
            metrics = [get_game(game).metrics[name] for name in metric_names[game]]
            measuring = Measuring(rows, game, metrics, as_published)
            own = rows.of_game(game, list(game_seats), standing)
            if own.height:
                parameters = rows.parameters(game)
                frame = measuring.add(own)
                if moves:
                    frame = with_moves(store, study, frame, list(game_seats), rows.configurations)
                frame = frame.drop(*HIDDEN.keys() - {PLAYERS}, "imported")
                games[game] = _Part(frame, parameters, measuring.measured)
    return games


def _joined(parts: Sequence[_Part], study: str, game: str, seats: Sequence[str]) -> pl.DataFrame:
    """Return the complete frame of a game, with its parameters."""
    parameters: dict[str, Mapping[str, Any]] = {}
    for part in parts:
        parameters |= part.parameters
    digests = pl.Series(list(parameters), dtype=pl.String)
    declared = parameter_columns(get_game(game), seats, dict)
    declared.insert(0, Column("parameters", JSON, "", "", dict))
    by_digest = [series_of(column, parameters.values()) for column in declared]
    joined = [  # frees each column of the parts as soon as it is copied
        pl.concat([part.frame.drop_in_place(name) for part in parts], rechunk=True)
        for name in parts[0].frame.columns
    ]
    frame = pl.DataFrame(joined).with_columns(
        pl.lit(study).alias("study"),
        pl.lit(game).alias("game"),
        *(
            pl.col("configuration").replace_strict(digests, column).alias(column.name)
            for column in by_digest
        ),
    )
    return frame.select(*HEAD, pl.exclude(*HEAD))


def series_of(column: Column, sources: Iterable[Any]) -> pl.Series:
    """Return a column's values as in exported tables, read from the source of each row."""
    values = (column.of(source) for source in sources)
    written = [None if value is None else VALUES[column.type](value) for value in values]
    return pl.Series(column.name, written, TYPES[column.type])
