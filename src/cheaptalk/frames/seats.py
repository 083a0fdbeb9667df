"""Data frames of seats: one row per player of each match."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import polars as pl

from cheaptalk.frames.matches import KINDS, PLAYERS, matches_with_players, series_of
from cheaptalk.frames.reader import Frames
from cheaptalk.records import Store, line_up
from cheaptalk.records.exports.columns import JSON, PARAMETER, TEXT, Column, shared_columns
from cheaptalk.records.exports.seats import has_one_unit, metrics_by_seat, setting_columns
from cheaptalk.records.exports.tables import factor_column, factor_names, kind_of
from cheaptalk.records.moves import COUNTS
from cheaptalk.records.store import schema
from cheaptalk.records.store.queries import seats_of
from cheaptalk.records.store.reader import people_of
from cheaptalk.rules import GameSpec, get_game
from cheaptalk.statistics.columns import with_matching
from cheaptalk.studies.lookup import reads_study

NUMBER = "number"
"""The column with the number of the player in the store."""
FRAME_COLUMNS = [declared.name for declared in shared_columns("seats", "frame")]
"""The first columns of every game's frame."""


@reads_study
def read_seats(
    store: Store,
    study: str,
    *,
    only: Collection[str] | None = None,
    games: Collection[str] | None = None,
    as_published: bool = False,
    moves: bool = False,
    workers: int = 1,
) -> Frames:
    """Return the players of a study's matches as data frames, one per game.

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
    factors = factor_names(store.study(study, counted=False).spec.get("factors") or {})
    with store.reading() as connection:
        players = people_of(connection, study)
    settings = _settings(players)
    by_seat = {
        game: with_matching(
            _by_seat(frame, get_game(game), seats[game], players, factors), settings, NUMBER, "m:1"
        )
        for game, frame in frames.items()
    }
    return Frames({game: _in_order(rows) for game, rows in by_seat.items()})


def _settings(players: Mapping[int, Mapping[str, Any]]) -> pl.DataFrame:
    """Return the kind, model and settings of each player by number."""
    specs = {number: player["spec"] for number, player in players.items()}
    columns = [
        Column("kind", TEXT, "", "", kind_of),
        Column("model", TEXT, "", "", lambda settings: settings.get("model")),
        Column("settings", JSON, "", "", dict),
        *setting_columns(specs.values(), dict),
    ]
    numbers = pl.Series(NUMBER, list(specs), pl.Int64)
    return pl.DataFrame([numbers, *(series_of(column, specs.values()) for column in columns)])


def _by_seat(
    frame: pl.DataFrame,
    game_spec: GameSpec,
    seats: Mapping[str, str],
    players: Mapping[int, Mapping[str, Any]],
    factors: Sequence[str],
) -> pl.DataFrame:
    """Return the rows of a game's seats, from its frame of matches; without players' settings."""
    payoffs = [pl.col(f"payoff_{seat}") for seat in seats]
    total = pl.when(pl.min_horizontal(payoffs) >= 0).then(pl.sum_horizontal(payoffs))
    frame = frame.with_columns(
        total=pl.when(total > 0, has_one_unit(game_spec)).then(total),
        match=pl.int_range(pl.len()),
    )
    metrics = [item for item in game_spec.metrics.values() if item.name in frame.columns]
    by_seat = metrics_by_seat(metrics, list(seats))
    pairings = {text: schema.SEATS.read(text) for text in frame[PLAYERS].unique()}
    rows = []
    for place, (seat, role) in enumerate(seats.items()):
        own = {f"answers_{kind}": f"answers_{seat}_{kind}" for kind in KINDS}
        own |= {count: f"{count}_{seat}" for count in COUNTS}
        own |= {name: metric[seat].name for name, metric in by_seat.items() if seat in metric}
        own |= {f"factor_{name}": factor_column(seat, name) for name in factors}
        opponents = {
            text: line_up(
                [players[id_]["label"] for other, id_ in pairing.items() if other != seat]
            )
            for text, pairing in pairings.items()
        }
        numbers = {text: pairing.get(seat) for text, pairing in pairings.items()}
        rows.append(
            frame.select(
                *(name for name in FRAME_COLUMNS if name in frame.columns),
                f"^{PARAMETER}.*$",
                "match",
                pl.lit(place).alias("place"),
                pl.lit(seat).alias("seat"),
                pl.lit(role).alias("role"),
                pl.col(f"player_{seat}").alias("player"),
                pl.col(PLAYERS).replace_strict(opponents, return_dtype=pl.String).alias("opponent"),
                pl.col(PLAYERS).replace_strict(numbers, return_dtype=pl.Int64).alias(NUMBER),
                pl.col(f"payoff_{seat}").alias("payoff"),
                (pl.col(f"payoff_{seat}") / pl.col("total")).alias("share"),
                *(pl.col(name).alias(new) for new, name in own.items() if name in frame.columns),
            ).drop_nulls("player")
        )
    return pl.concat(rows, how="diagonal")


def _in_order(rows: pl.DataFrame) -> pl.DataFrame:
    """Sort rows by match and seat, and columns as in exported tables."""
    rows = rows.sort("match", "place").drop("match", "place", NUMBER)
    last = [name for name in rows.columns if name.startswith((PARAMETER, "factor_", "settings_"))]
    return rows.select(*FRAME_COLUMNS, pl.exclude(*FRAME_COLUMNS, *last), *last)
