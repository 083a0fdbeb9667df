"""Data frames of matches: one row per match, with all variables for statistical analysis."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, Self

import polars as pl

from cheaptalk.frames.reader import Frames, Reader, chosen
from cheaptalk.frames.stored import HEAD as HEAD  # re-exported
from cheaptalk.frames.stored import HIDDEN, Measuring, StoredRows, write_back
from cheaptalk.frames.stored import KINDS as KINDS
from cheaptalk.frames.stored import SCORED as SCORED
from cheaptalk.records import MatchRecord, Store
from cheaptalk.records.encoding import standard_json
from cheaptalk.records.metrics import Measured
from cheaptalk.records.store.parts import Part, of_part, over_parts
from cheaptalk.records.store.queries import seats_of
from cheaptalk.rules import get_game
from cheaptalk.studies.lookup import reads_study


class Observer(Protocol):
    """A protocol for objects that accumulate data while matches are read."""

    def add(self, record: MatchRecord) -> None:
        """Process one match, including its recorded answers."""

    def join(self, later: Self) -> None:
        """Merge the data of another observer that processed later matches."""


class _Part(NamedTuple):
    """Rows of a game, parameters by configuration, and computed metrics by match number."""

    frame: pl.DataFrame
    parameters: dict[str, dict[str, Any]]
    measured: dict[int, Measured]


@reads_study
def match_frames(
    store: Store,
    study: str,
    *,
    only: Collection[str] | None = None,
    as_published: bool = False,
    workers: int = 1,
) -> Frames:
    """Return the matches of a study as data frames, one per game.

    Each match is a row, whatever its status. Metrics and payoffs are null unless the match finished
    and was not excluded (see :class:`~cheaptalk.studies.Unanswered`). Metrics are also null if they
    are undefined, or if the match was played under another version of the rules than the installed
    one.

    Columns: ``match_id``, ``rules_version``, ``configuration`` (a digest of game and parameters),
    ``instance`` (within a configuration, equal for matches on the same instance), ``repeat``,
    ``pairing`` (labels in the order of seats, see :func:`.line_up`), ``status``, ``dropped``,
    ``calls``, ``input_tokens``, ``output_tokens``, ``dollars`` (as far as prices are known),
    ``finished`` (seconds since 1970; for imported matches the time of import), ``played`` (when an
    imported match was played, as the other system wrote it; null if unknown, or if no metric is
    selected), then ``player_SEAT`` (labels), ``answers_SEAT_KIND`` (the number of answers of each
    kind; for imported matches ``ok`` counts all valid answers and ``repaired`` is null, because
    their attempts are unknown), ``payoff_SEAT`` (in the game's unit), the game's metrics under
    their own names, ``game.PARAMETER`` (numbers and booleans as such, anything else as JSON), and
    in studies with factors ``factor.SEAT.FACTOR`` (the level of the seat's player). A frame has
    columns for the seats of all configurations; they are null if a match lacks the seat.

    Args:
        study: the study's name in the store.
        only: names of the metrics to compute, which saves time; None for all.
        as_published: use the published variants of metrics if they differ.
        workers: parallel processes, used if there is much to read and this program registered
            nothing itself. More than one requires a store in a file, and an importable script
            (``if __name__ == "__main__":``).

    Raises:
        StoreError: there is no such study.
        UnknownName: a game is not installed, or none of the study's games has such a metric.
        MetricError: a metric failed.
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
    """Return a study's matches as one frame per game, and observers of all scored matches.

    Args:
        observers: the observers' classes; one instance of each is returned.
    """
    seats = seats_of(store, study)
    metrics = chosen(seats, "metric", lambda game_spec: game_spec.metrics, only)
    metric_names = {game: [item.name for item in metrics[game]] for game in seats}
    parts = over_parts(
        store, study, workers, _read_part, seats, metric_names, as_published, observers
    )
    frames = {
        game: _whole([read[game] for read, _ in parts if game in read]) for game in sorted(seats)
    }
    for read, _ in parts:
        for game_part in read.values():
            write_back(store, game_part.measured)
    (_, first), *rest = parts
    for _, later_observers in rest:
        for item, later in zip(first, later_observers, strict=True):
            item.join(later)
    factors = store.study(study, counted=False).spec.get("factors") or {}
    full_frames = {
        game: with_factors(frame, seats[game], factors)
        for game, frame in frames.items()
        if frame is not None
    }
    return Frames(full_frames), first


def with_factors(
    frame: pl.DataFrame, seats: Collection[str], factors: Mapping[str, Mapping[str, str]]
) -> pl.DataFrame:
    """Add a column ``factor.SEAT.FACTOR`` with each factor's level for the player in each seat.

    Args:
        frame: matches with columns ``player_SEAT``.
        seats: the seats, or roles, to add columns for; columns are null for players without the
            factor.
        factors: the level of each factor, by player and factor.
    """
    names = dict.fromkeys(name for levels in factors.values() for name in levels)
    columns = []
    for seat in seats:
        filled = set(frame[f"player_{seat}"].unique())
        for name in names:
            levels = {player: values[name] for player, values in factors.items() if name in values}
            if filled & levels.keys():
                level = pl.col(f"player_{seat}").replace_strict(
                    levels, default=None, return_dtype=pl.String
                )
                columns.append(level.alias(f"factor.{seat}.{name}"))
    return frame.with_columns(columns)


def _read_part(
    store: Store,
    study: str,
    part: Part,
    seats: Mapping[str, Mapping[str, str]],
    metric_names: Mapping[str, Sequence[str]],
    as_published: bool,
    kinds: Sequence[type[Observer]],
) -> tuple[dict[str, _Part], Sequence[Observer]]:
    """Read a part of a study; return its rows by game, and observers that processed its matches."""
    reader, observers, games = Reader.of(store, study), [kind() for kind in kinds], {}
    with store.backend.explaining():
        rows = StoredRows(store, study, part)
        for game, game_seats in seats.items():
            metrics = [get_game(game).metrics[name] for name in metric_names[game]]
            measuring = Measuring(rows, game, metrics, as_published)
            own = rows.of_game(game, list(game_seats), reader)
            if own.height:
                parameters = rows.parameters(game)
                frame = measuring.add(own).drop(*HIDDEN, "imported")
                games[game] = _Part(frame, parameters, measuring.measured)
    if observers:
        for record in store.records(study, bodies=True, where=of_part(part)):
            if reader.counts(record):
                for item in observers:
                    item.add(record)
    return games, observers


def _whole(parts: Sequence[_Part]) -> pl.DataFrame | None:
    """Return the complete frame of a game, with its parameters; None if it has no matches."""
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


def _uniform(values: list[Any]) -> list[Any]:
    """Return a column's values, converted to JSON unless all have the same plain type."""
    types = {type(value) for value in values if value is not None}
    if types == {int, float}:
        return [None if value is None else float(value) for value in values]
    if len(types) <= 1 and types <= {bool, int, float, str}:
        return values
    return [None if value is None else standard_json(value) for value in values]
