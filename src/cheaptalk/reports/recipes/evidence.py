"""The data that recipes read: a study's matches, read once and cached as frames."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import polars as pl

from cheaptalk.frames.matches import read_matches, scored
from cheaptalk.frames.people import with_people
from cheaptalk.frames.seats import by_seat
from cheaptalk.records import MatchRecord, Store
from cheaptalk.records.encoding import standard_json
from cheaptalk.records.moves import COUNTS
from cheaptalk.records.store.queries import overview, seats_of
from cheaptalk.records.store.reader import specs_of
from cheaptalk.rules import CheaptalkError, get_game
from cheaptalk.text import plain

Kept = TypeVar("Kept")
DRAWS = 1_000
"""Default number of bootstrap draws."""


def check_players(store: Store, studies: Sequence[str]) -> None:
    """Raise CheaptalkError if a label names different players in different studies."""
    written = {
        study: store.study(study, counted=False).spec.get("players") or {} for study in studies
    }
    check_models(written)
    check_scripts({study: specs_of(store, study) for study in studies})


def check_models(studies: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
    """Check that each model has the same settings in all studies."""
    models: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for study, players in studies.items():
        for label, spec in players.items():
            if "model" not in spec:
                continue
            first, other = models.setdefault(label, (study, spec))
            differ = [key for key in {**other, **spec} if other.get(key) != spec.get(key)]
            if differ:
                names = ", ".join(map(plain, differ))
                raise _not_the_same(label, first, study, f"{names} differ")


def check_scripts(studies: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]) -> None:
    """Check that each script has the same settings in all studies, for each game that it plays."""
    strategies: dict[tuple[str, str], tuple[str, set[str]]] = {}
    for study, players in studies.items():
        for label, specs in players.items():
            scripts: dict[str, set[str]] = {}
            for spec in specs:
                if "strategy" in spec:
                    scripts.setdefault(spec["game"], set()).add(standard_json(spec))
            for game, settings in scripts.items():
                first, other_settings = strategies.setdefault((label, game), (study, settings))
                if not (settings <= other_settings or other_settings <= settings):
                    why = f"the player plays {plain(game)} with other settings"
                    raise _not_the_same(label, first, study, why)


def _not_the_same(label: str, first: str, study: str, why: str) -> CheaptalkError:
    return CheaptalkError(
        f"{label} differs between {first} and {study}: {why}, so a mean over both would be "
        "meaningless; use one study, or give the players different labels"
    )


@dataclass(frozen=True, eq=False)
class Evidence:
    """The data of a study from which recipes compute results.

    Attributes:
        store, study: where the matches are recorded.
        as_published: compute metrics as the published systems' code does, where that differs.
        metrics: the metrics to compute; None for all.
        draws, seed: number of draws, and seed, of every bootstrap and permutation test.
        workers: processes that read matches; see :func:`.read_matches`.
        options: options of the recipe, by name; see :class:`.Recipe`.
        count_moves: whether the frames also count moves.
        progress: called repeatedly with the state of long computations.
    """

    store: Store
    study: str
    as_published: bool = False
    metrics: tuple[str, ...] | None = None
    draws: int = DRAWS
    seed: int = 0
    options: Mapping[str, str] = field(default_factory=dict)
    workers: int = 1
    count_moves: bool = False
    progress: Callable[[str], None] | None = None
    kept: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def once(self, make: Callable[["Evidence"], Kept]) -> Kept:
        """Apply a function to the data, and cache the result for all parts of the recipe."""
        if make not in self.kept:
            self.kept[make] = make(self)
        value: Kept = self.kept[make]
        return value

    @cached_property
    def frames(self) -> Mapping[str, pl.DataFrame]:
        """Return the matches of all statuses, as one frame per game."""
        only = self.metrics
        if only is not None:  # metrics of games that the study contains
            metrics = {name for game in self.seats for name in get_game(game).metrics}
            only = tuple(name for name in only if name in metrics)
        frames = read_matches(
            self.store,
            self.study,
            only=only,
            as_published=self.as_published,
            moves=self.count_moves,
            workers=self.workers,
        )
        return with_people(self.store, self.study, frames)

    @cached_property
    def moves(self) -> pl.DataFrame:
        """Return the moves of each seat in the scored matches, one row per match and seat.

        Columns: ``match_id``, ``game``, ``player``, those of ``moves`` in :func:`.read_matches`
        without the seat's name, and ``first_move``.
        """
        if not self.count_moves:
            return replace(self, count_moves=True).moves
        columns = ("match_id", "first_move", "game", "player")
        if not self.frames:
            return pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
        own = f"^(player|payoff|{'|'.join(COUNTS)})_.*$"
        return pl.concat(
            by_seat(
                self.scored(game).select("match_id", "first_move", "game", own),
                get_game(game),
                self.seats[game],
            ).select(*columns, pl.col(*COUNTS).cast(pl.Int64))
            for game in self.frames
        )

    @cached_property
    def _spec(self) -> Mapping[str, Any]:
        return self.store.study(self.study, counted=False).spec

    @property
    def sources(self) -> dict[str, Mapping[str, Any]]:
        """Return the study's definition or, if it is pooled, those of its sources, by name."""
        pooled = self._spec.get("pooled") or [{"study": self.study, **self._spec}]
        return {spec["study"]: spec for spec in pooled}

    @cached_property
    def seats(self) -> Mapping[str, Mapping[str, str]]:
        """Return the role of each seat, by game."""
        return seats_of(self.store, self.study)

    @cached_property
    def imported(self) -> str | None:
        """Return the name of the other system that played the matches, or None."""
        system: str | None = self._spec.get("imported")
        return system

    @cached_property
    def players(self) -> dict[str, dict[str, Any]]:
        """Return the players as the study defines them, by label; empty for imported games."""
        return dict(self._spec.get("players") or {})

    @cached_property
    def factors(self) -> dict[str, dict[str, str]]:
        """Return the level of each factor, by player and factor."""
        return dict(self._spec.get("factors") or {})

    @cached_property
    def labels(self) -> list[str]:
        pairings = overview(self.store, self.study).pairings
        return sorted({label for pairing in pairings for label in pairing.players.values()})

    def scored(self, game: str) -> pl.DataFrame:
        """Return the scored matches of a game; empty if it was not played."""
        frame = self.frames.get(game)
        return pl.DataFrame() if frame is None else scored(frame)

    def played(self, games: Sequence[str]) -> list[str]:
        """Return the given games that have a scored match."""
        return [name for name in games if not self.scored(name).is_empty()]

    def records(self, games: Sequence[str]) -> Iterator[MatchRecord]:
        """Yield the scored matches of these games, with all requests and answers."""
        ids = {id_ for game in self.played(games) for id_ in self.scored(game)["match_id"]}
        if ids:
            records = self.store.records(self.study, bodies=True, games=games)
            yield from (record for record in records if record.id in ids)
