"""An overview of a study: its matches by status and game, why some failed, and what it took."""

import asyncio
from collections import Counter
from typing import NamedTuple

import sqlalchemy as sa

from cheaptalk.records import NoStore, Status, Store
from cheaptalk.records.costs import Cost
from cheaptalk.records.endings import ended_text
from cheaptalk.records.ledger.spending import study_cost
from cheaptalk.records.record import SETTLED
from cheaptalk.records.store import schema
from cheaptalk.web.laboratory.folder import Folder

matches, members, configurations = schema.matches, schema.members, schema.configurations


class Overview(NamedTuple):
    """What a store holds of a study.

    Attributes:
        planned: matches of its plan; None where no run has counted them.
        games: matches by game and status.
        failures: matches that were forfeited or failed, by game and reason, most first.
        cost: what its calls took; those that are unresolved are under way, or were lost.
        halted: why its last run stopped before its end; None where it did not.
        last: when the last match ended, in seconds since 1970; None where none has.
        judged: judgements in the store.
        went_on: when a participant last went on; None where there is none.
    """

    planned: int | None
    games: dict[str, Counter[Status]]
    failures: Counter[tuple[str, str]]
    cost: Cost
    halted: str | None
    last: float | None
    judged: int
    went_on: float | None

    @property
    def counts(self) -> Counter[Status]:
        """Matches by status."""
        return sum(self.games.values(), Counter[Status]())

    @property
    def done(self) -> int:
        """Matches that have ended and are not played again."""
        counts = self.counts
        return sum(counts[status] for status in SETTLED)

    def how_far(self, planned: int | None) -> str:
        """How many matches have ended, and how."""
        counts = self.counts
        return ended_text(
            self.done, planned, forfeited=counts[Status.FORFEITED], failed=counts[Status.FAILED]
        )

    @property
    def mark(self) -> list[object]:
        """Differs whenever the store holds other results than before, as plain data."""
        return [self.games, self.last, self.judged, self.went_on]

    @property
    def complete(self) -> bool:
        """Whether all matches of the plan have ended."""
        return self.planned is not None and self.done >= self.planned


def overview(store: Store, study: str) -> Overview | None:
    """How far a study is; None where no run has begun it.

    It is counted by the database, in one look at the study's matches and one at its purchases.
    """
    text = schema.studies
    query = (
        sa.select(
            matches.c.configuration_id, matches.c.status, matches.c.reason, sa.func.count(),
            sa.func.max(matches.c.finished),
        )
        .join(members, members.c.match_number == matches.c.number)
        .where(members.c.study_id == store.study_id(study), members.c.current)
        .group_by(matches.c.configuration_id, matches.c.status, matches.c.reason)
    )  # fmt: skip
    found: dict[str, Counter[Status]] = {}
    failures: Counter[tuple[str, str]] = Counter()
    last: float | None = None
    with store.reading() as connection:
        begun = connection.execute(
            sa.select(text.c.planned, text.c.halted).where(text.c.name == study)
        ).first()
        if begun is None:
            return None
        game_of = dict(
            connection.execute(sa.select(configurations.c.id, configurations.c.game)).all()
        )
        for configuration, status, reason, number, ended in connection.execute(query):
            game = game_of[configuration]
            found.setdefault(game, Counter())[Status(status)] += number
            if reason is not None:
                failures[game, reason] += number
            last = max((one for one in (last, ended) if one is not None), default=None)
        judged = connection.scalar(sa.select(sa.func.count()).select_from(schema.judgements)) or 0
        went_on = connection.scalar(sa.select(sa.func.max(schema.participants.c.changed)))
    ordered = Counter(dict(failures.most_common()))
    games = {game: found[game] for game in sorted(found)}
    return Overview(
        begun.planned, games, ordered, study_cost(store, study), begun.halted, last, judged, went_on
    )  # fmt: skip


class Overviews:
    """The overviews of a laboratory's studies, each counted anew when its store has changed.

    Args:
        folder: of the laboratory.
    """

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._known: dict[str, tuple[object, Overview | None]] = {}

    async def of(self, name: str) -> Overview | None:
        """How far a study is; None before its first run.

        Raises:
            UnknownName: there is no such study.
            CheaptalkError: its store cannot be read.
        """
        return await asyncio.to_thread(self.read, name)

    def read(self, name: str) -> Overview | None:
        """The same, waiting for the disk; raises as :meth:`of` does."""
        try:
            with Store.open(self.folder.store(name)) as store:
                return self.count(name, store)
        except NoStore:
            return None

    def count(self, name: str, store: Store) -> Overview | None:
        """How far a study is in its store, which is open; None before its first run."""
        stamp = store.backend.stamp()
        known = self._known.get(name)
        if known is None or known[0] != stamp:
            known = self._known[name] = stamp, overview(store, name)
        return known[1]
