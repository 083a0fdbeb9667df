"""What recipes read: a study's matches, read once and kept as frames."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import polars as pl

from cheaptalk.frames.matches import SCORED, Observer, observed_frames
from cheaptalk.frames.people import with_people
from cheaptalk.records import MatchRecord, Store
from cheaptalk.records.encoding import standard_json
from cheaptalk.records.store.queries import overview, places_of
from cheaptalk.records.store.reader import specs_of
from cheaptalk.rules import CheaptalkError, game_box
from cheaptalk.text import plain

Kept = TypeVar("Kept")
Observed = TypeVar("Observed", bound=Observer)
DRAWS = 1_000
"""Bootstrap draws unless told otherwise."""


def check_players(store: Store, studies: Sequence[str]) -> None:
    """See that a name stands for one player in all studies that are taken together.

    Raises:
        StoreError: there is no such study.
        CheaptalkError: a label is a model whose settings differ between two studies, or another
            script at the same game.
    """
    written = {one: store.study(one, counted=False).spec.get("players") or {} for one in studies}
    check_models(written)
    check_scripts({one: specs_of(store, one) for one in studies})


def check_models(studies: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
    """The same of models, by the players of each study as it writes them."""
    known: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for study, players in studies.items():
        for label, spec in players.items():
            if "model" not in spec:
                continue
            first, other = known.setdefault(label, (study, spec))
            differ = [key for key in {**other, **spec} if other.get(key) != spec.get(key)]
            if differ:
                names = ", ".join(map(plain, differ))
                raise _not_the_same(label, first, study, f"{names} differ")


def check_scripts(studies: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]) -> None:
    """The same of scripts, by the settings that each label has in each study.

    A script may have another strategy for another game or role, and a study need not seat it in
    all of them.
    """
    known: dict[tuple[str, str], tuple[str, set[str]]] = {}
    for study, players in studies.items():
        for label, specs in players.items():
            scripts: dict[str, set[str]] = {}
            for spec in specs:
                if "strategy" in spec:
                    scripts.setdefault(spec["game"], set()).add(standard_json(spec))
            for game, ours in scripts.items():
                first, theirs = known.setdefault((label, game), (study, ours))
                if not (ours <= theirs or theirs <= ours):
                    why = f"it plays {plain(game)} with other settings"
                    raise _not_the_same(label, first, study, why)


def _not_the_same(label: str, first: str, study: str, why: str) -> CheaptalkError:
    return CheaptalkError(
        f"{label} is not the same in {first} and {study}: {why}, and a mean over both would be of "
        "neither; take one study, or name the players apart"
    )


@dataclass(frozen=True, eq=False)
class Evidence:
    """A study as recipes see it.

    Attributes:
        store, study: where its matches are recorded.
        as_published: compute measures as the published systems' code does, where that differs.
        measures: which to compute; None for all.
        draws, seed: of every bootstrap and permutation test.
        workers: processes that read matches; see :func:`.match_frames`.
        observers: what sees all matches that count while frames are made of them.
        options: what the recipe is told besides, by name; see :class:`.Recipe`.
    """

    store: Store
    study: str
    as_published: bool = False
    measures: tuple[str, ...] | None = None
    draws: int = DRAWS
    seed: int = 0
    options: Mapping[str, str] = field(default_factory=dict)
    workers: int = 1
    observers: tuple[type[Observer], ...] = ()
    kept: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def once(self, make: Callable[["Evidence"], Kept]) -> Kept:
        """What a function makes of this evidence; several parts that ask for it share one."""
        if make not in self.kept:
            self.kept[make] = make(self)
        made: Kept = self.kept[make]
        return made

    @property
    def frames(self) -> Mapping[str, pl.DataFrame]:
        """All matches by game, whatever their status; see :func:`.match_frames`."""
        return self._read[0]

    def observed(self, kind: type[Observed]) -> Observed:
        """What an observer kept that saw every match that counts, with its answers.

        Matches are read for it alone unless it is one of ``observers``.
        """
        _, observers = self._read
        for one in observers:
            if isinstance(one, kind):
                return one
        observer = kind()
        for record in self.records(sorted(self.frames)):
            observer.add(record)
        return observer

    @cached_property
    def _read(self) -> tuple[Mapping[str, pl.DataFrame], Sequence[Observer]]:
        only = self.measures
        if only is not None:  # of the games that the study has
            known = {name for game in self.places for name in game_box(game).measures}
            only = tuple(name for name in only if name in known)
        frames, observers = observed_frames(
            self.store, self.study, self.observers, only,
            as_published=self.as_published, workers=self.workers,
        )  # fmt: skip
        return with_people(self.store, self.study, frames), observers

    @cached_property
    def places(self) -> Mapping[str, Mapping[str, str]]:
        """The places of each game with their roles."""
        return places_of(self.store, self.study)

    @cached_property
    def imported(self) -> str | None:
        """The system that played the matches, if it was another one."""
        system: str | None = self.store.study(self.study, counted=False).spec.get("imported")
        return system

    @cached_property
    def players(self) -> dict[str, dict[str, Any]]:
        """The players by label as the study writes them; none of games that were imported."""
        spec = self.store.study(self.study, counted=False).spec
        return dict(spec.get("players") or {})

    @cached_property
    def factors(self) -> dict[str, dict[str, str]]:
        """The level of each factor, by player and factor; empty without factors."""
        spec = self.store.study(self.study, counted=False).spec
        return dict(spec.get("factors") or {})

    @cached_property
    def labels(self) -> list[str]:
        """What the study calls its players that have begun a match."""
        pairings = overview(self.store, self.study).pairings
        return sorted({label for pairing in pairings for label in pairing.players.values()})

    def scored(self, game: str) -> pl.DataFrame:
        """The matches of a game that count: finished and not dropped; none if it was not played."""
        frame = self.frames.get(game)
        return pl.DataFrame() if frame is None else frame.filter(SCORED)

    def played(self, games: Sequence[str]) -> list[str]:
        """Which of these games have a match that counts, in the order given."""
        return [name for name in games if not self.scored(name).is_empty()]

    def records(self, games: Sequence[str]) -> Iterator[MatchRecord]:
        """The matches of these games that count, with all that was asked and answered."""
        wanted = {id_ for game in self.played(games) for id_ in self.scored(game)["match"]}
        if wanted:
            found = self.store.records(self.study, bodies=True, games=games)
            yield from (record for record in found if record.id in wanted)
