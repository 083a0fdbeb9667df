"""An overview of a study: matches by status and game, failures and costs."""

import asyncio
from collections import Counter
from typing import NamedTuple

import sqlalchemy as sa

from cheaptalk.records import Status, Store, StoreNotFound
from cheaptalk.records.costs import Cost
from cheaptalk.records.descriptions import ended_text
from cheaptalk.records.ledger.spending import study_cost
from cheaptalk.records.record import SETTLED
from cheaptalk.records.store import schema
from cheaptalk.web.laboratory.folder import Folder

matches, members, configurations = schema.matches, schema.members, schema.configurations


class Overview(NamedTuple):
    """Numbers of matches and failures, and the costs, in a study's store.

    Attributes:
        planned: number of planned matches; None if no run has counted them.
        games: number of matches by game and status.
        failures: number of forfeited or failed matches by game and reason, in descending order.
        cost: cost of the calls; unresolved ones are in flight or were lost.
        halted: reason why the last run stopped early, or None.
        last: end of the last match in seconds since 1970, or None.
        judged: number of judgements.
        went_on: time of a participant's last step, or None.
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
        """Number of matches by status."""
        return sum(self.games.values(), Counter[Status]())

    @property
    def done(self) -> int:
        """Number of ended matches, excluding those that will be played again."""
        counts = self.counts
        return sum(counts[status] for status in SETTLED)

    def how_far(self, planned: int | None) -> str:
        """Return a text with the numbers of ended, forfeited and failed matches."""
        counts = self.counts
        return ended_text(
            self.done, planned, forfeited=counts[Status.FORFEITED], failed=counts[Status.FAILED]
        )

    @property
    def mark(self) -> list[object]:
        """JSON-compatible marker that changes whenever the study's results change."""
        return [self.games, self.last, self.judged, self.went_on]

    @property
    def complete(self) -> bool:
        """Whether all planned matches have ended."""
        return self.planned is not None and self.done >= self.planned


def overview(store: Store, study: str) -> Overview | None:
    """Return the overview of a study; None before its first run.

    The database counts the matches in a single query.
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
    counts: dict[str, Counter[Status]] = {}
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
            counts.setdefault(game, Counter())[Status(status)] += number
            if reason is not None:
                failures[game, reason] += number
            last = max((time for time in (last, ended) if time is not None), default=None)
        judged = connection.scalar(sa.select(sa.func.count()).select_from(schema.judgements)) or 0
        went_on = connection.scalar(sa.select(sa.func.max(schema.participants.c.changed)))
    ordered = Counter(dict(failures.most_common()))
    games = {game: counts[game] for game in sorted(counts)}
    return Overview(
        begun.planned, games, ordered, study_cost(store, study), begun.halted, last, judged, went_on
    )  # fmt: skip


class Overviews:
    """Overviews of a laboratory's studies, cached until a study's store changes."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._known: dict[str, tuple[object, Overview | None]] = {}

    async def get(self, name: str) -> Overview | None:
        """Return the overview of a study; None before its first run.

        Raises:
            UnknownName: the study does not exist.
            CheaptalkError: the store cannot be read.
        """
        return await asyncio.to_thread(self.read, name)

    def read(self, name: str) -> Overview | None:
        """Return the overview of a study synchronously; None before its first run."""
        try:
            with Store.open(self.folder.store(name)) as store:
                return self.count(name, store)
        except StoreNotFound:
            return None

    def count(self, name: str, store: Store) -> Overview | None:
        """Return the overview of a study from an open store; None before its first run."""
        stamp = store.backend.stamp()
        cached = self._known.get(name)
        if cached is None or cached[0] != stamp:
            cached = self._known[name] = stamp, overview(store, name)
        return cached[1]
