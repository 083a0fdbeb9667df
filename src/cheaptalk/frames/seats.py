"""Data frames of seats: one row per player of each match."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import polars as pl

from cheaptalk.frames.matches import HEAD, KINDS, PLAYERS, matches_with_players, series_of
from cheaptalk.frames.reader import Frames
from cheaptalk.records import Store, line_up
from cheaptalk.records.exports.columns import JSON, PARAMETER, TEXT, Column, shared_columns
from cheaptalk.records.exports.seats import has_one_unit, metrics_by_seat, setting_columns
from cheaptalk.records.exports.tables import factor_column, kind_of
from cheaptalk.records.moves import COUNTS
from cheaptalk.records.store import schema
from cheaptalk.records.store.lookup import StoreLike, StudyLike, reads
from cheaptalk.records.store.queries import seats_of
from cheaptalk.records.store.reader import people_of
from cheaptalk.rules import GameSpec, get_game
from cheaptalk.statistics.columns import with_matching

NUMBER, ROW, TOTAL = "player number", "row of the match", "total of the payoffs"
"""Auxiliary columns."""
FRAME_COLUMNS = [declared.name for declared in shared_columns("seats", "frame")]
"""The first columns of every game's frame."""
OF_MATCH = {*HEAD, PLAYERS, NUMBER, "first_move"} - {*FRAME_COLUMNS}
"""Columns of matches that the frame omits, because sums over seats would count them repeatedly."""


@reads
def read_seats(
    store: StoreLike,
    study: StudyLike,
    *,
    only: Collection[str] | None = None,
    games: Collection[str] | None = None,
    as_published: bool = False,
    moves: bool = False,
    workers: int = 1,
) -> Frames:
    """Return the players of a study's matches as data frames, one per game.

    >>> study = ct.Study(name="s", games=[{"game": "bargaining"}], players={"fair": "equal_split"})
    >>> _ = ct.run(study, "s.sqlite")
    >>> ct.read_seats("s.sqlite", "s")["bargaining"].select("seat", "opponent", "share").rows()
    [('alice', 'fair', 0.5), ('bob', 'fair', 0.5)]

    Each seat of a match is a row, in the order of matches and seats. The columns are those of the
    exported table of seats: columns of :func:`.read_matches` with the match's identity and status,
    its metrics and its parameters (``game_PARAMETER``), and

    - ``seat``, ``role``, ``player`` (its label), ``kind`` (such as ``model``), ``model``,
      ``settings`` (JSON) and ``settings_NAME`` (each setting that a player of the study has);
    - ``opponent``: the label of the other player, or of all others as in ``pairing``;
    - ``payoff`` (in the game's unit) and ``share``, its share of the payoffs of all seats, null if
      these have different units, are negative or are all zero;
    - metrics of the seat under their names without the seat: ``self_gain`` contains
      ``self_gain_alice`` and ``self_gain_bob``;
    - ``answers_KIND``, ``factor_FACTOR`` and, with ``moves``, ``moves``, ``messages``, ``words``
      and ``decisions``.

    Rows of a match share its instance, so cluster standard errors by match or instance.

    Args:
        study: the study's name in the store.
        only, games, as_published, moves, workers: see :func:`.read_matches`.

    Raises:
        StoreError: there is no such study.
        UnknownName: a game is not installed, the study has no match of a game in ``games``, or none
            of its games has such a metric.
        MetricError: a metric failed.
    """
    assert isinstance(store, Store)
    assert isinstance(study, str)
    frames = matches_with_players(
        store,
        study,
        only=only,
        games=games,
        as_published=as_published,
        moves=moves,
        workers=workers,
    )
    seats = seats_of(store, study)
    with store.reading() as connection:
        players = people_of(connection, study)
    settings = _settings({number: player["spec"] for number, player in players.items()})
    return Frames(
        {
            game: _with_settings(by_seat(frame, get_game(game), seats[game]), settings)
            for game, frame in frames.items()
        }
    )


def by_seat(frame: pl.DataFrame, game_spec: GameSpec, seats: Mapping[str, str]) -> pl.DataFrame:
    """Return one row per seat of a frame of matches, in the order of matches and seats.

    Columns are ``seat``, ``role``, ``opponent``, ``share``, the columns of the seat under their
    names in the table of seats, and all columns that belong to no seat. ``seats`` are the roles by
    seat.
    """
    columns = {seat: _own_columns(frame, game_spec, seat, list(seats)) for seat in seats}
    of_seats = {column for own in columns.values() for column in own.values()}
    payoffs = [pl.col(f"payoff_{seat}") for seat in seats]
    total = pl.when(pl.min_horizontal(payoffs) >= 0).then(pl.sum_horizontal(payoffs))
    frame = frame.with_columns(
        pl.when(total > 0, has_one_unit(game_spec)).then(total).alias(TOTAL),
        pl.int_range(pl.len()).alias(ROW),
    )
    rows = [
        frame.select(
            pl.lit(seat).alias("seat"),
            pl.lit(role).alias("role"),
            _opponent(frame, [f"player_{other}" for other in seats if other != seat]),
            (pl.col(f"payoff_{seat}") / pl.col(TOTAL)).alias("share"),
            *(pl.col(column).alias(name) for name, column in columns[seat].items()),
            pl.exclude(of_seats),
        ).drop_nulls("player")
        for seat, role in seats.items()
    ]
    joined = pl.concat(rows, how="diagonal")
    return joined.sort(ROW, maintain_order=True).drop(ROW, TOTAL)


def _own_columns(
    frame: pl.DataFrame, game_spec: GameSpec, seat: str, seats: Sequence[str]
) -> dict[str, str]:
    """Return the columns of a seat in a frame of matches, by name in the table of seats."""
    own = {name: f"{name}_{seat}" for name in ("player", "payoff", *COUNTS)}
    own |= {f"answers_{kind}": f"answers_{seat}_{kind}" for kind in KINDS}
    metrics = metrics_by_seat(game_spec.metrics.values(), seats)
    own |= {
        name: of_seats[seat].name
        for name, of_seats in metrics.items()
        if seat in of_seats and of_seats[seat].name != name
    }
    prefix = factor_column(seat, "")
    own |= {
        f"factor_{column.removeprefix(prefix)}": column
        for column in frame.columns
        if column.startswith(prefix)
    }
    return {name: column for name, column in own.items() if column in frame.columns}


def _opponent(frame: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    """Return the labels in the given columns, joined as in pairings."""
    texts = frame.select(pl.concat_str(columns, separator="\n", ignore_nulls=True)).to_series()
    names = {text: line_up(text.split("\n")) for text in texts.unique()}
    return texts.replace_strict(names, return_dtype=pl.String).alias("opponent")


def _settings(specs: Mapping[int, Mapping[str, Any]]) -> pl.DataFrame:
    """Return the kind, model and settings of each player by number."""
    columns = [
        Column("kind", TEXT, "", "", kind_of),
        Column("model", TEXT, "", "", lambda settings: settings.get("model")),
        Column("settings", JSON, "", "", dict),
        *setting_columns(specs.values(), dict),
    ]
    numbers = pl.Series(NUMBER, list(specs), pl.Int64)
    return pl.DataFrame([numbers, *(series_of(column, specs.values()) for column in columns)])


def _with_settings(rows: pl.DataFrame, settings: pl.DataFrame) -> pl.DataFrame:
    """Add the settings of each seat's player, and order columns as in exported tables."""
    seated = [
        (text, seat, number)
        for text in rows[PLAYERS].unique()
        for seat, number in schema.SEATS.read(text).items()
    ]
    keys = [PLAYERS, "seat"]
    numbers = pl.DataFrame(seated, [*keys, NUMBER], orient="row")
    rows = with_matching(with_matching(rows, numbers, keys, "m:1"), settings, NUMBER, "m:1")
    named = [name for name in FRAME_COLUMNS if name in rows.columns]
    last = [name for name in rows.columns if name.startswith((PARAMETER, "factor_", "settings_"))]
    shown = [name for name in rows.columns if name not in (*OF_MATCH, *named, *last)]
    return rows.select(*named, *shown, *last)
