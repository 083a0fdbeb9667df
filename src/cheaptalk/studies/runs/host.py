"""A host plays matches of a study one by one, for as long as it is open.

A run plays its plan over a host. A server holds one open for weeks, and plays a match when its
people have arrived. In both the store, the ledger, the money and the way to models are the same,
and to resume is to play again with the ledger's replies: the players then make exactly the calls
that are missing.
"""

import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache as remembered
from pathlib import Path
from typing import Any, TypeAlias

from cheaptalk.calls.budget import NO_CAP, Cap, Halted, MatchSpent, study_purse
from cheaptalk.calls.cache import open_cache
from cheaptalk.calls.control import Control
from cheaptalk.calls.desk import Caller, Desk, Models
from cheaptalk.calls.event_loop import open_desk
from cheaptalk.calls.orders import MatchCounts
from cheaptalk.models.flow_control import PATIENCE
from cheaptalk.models.guests import Guests, as_guests
from cheaptalk.models.prices import Prices, load_prices
from cheaptalk.players import AskPerson, Kind, Player, Recording, Sources
from cheaptalk.records import AnswerRecord, Ended, NewMatch, Status, Store, StoreError, ended
from cheaptalk.records.ledger.ledger import (
    CallKey,
    annotated,
    how_it_ended,
    mark_unresolved,
    noted_calls,
)
from cheaptalk.records.record import SETTLED, failed
from cheaptalk.records.store.store import StudyRows
from cheaptalk.rules import Action, Asked, ReplayMismatch, Table, play_async
from cheaptalk.rules.errors import describe
from cheaptalk.studies.plans.matches import PlannedMatch
from cheaptalk.studies.presets import study_of
from cheaptalk.studies.runs.onlooker import NOBODY, End, Onlooker
from cheaptalk.studies.study import Study

CONCURRENCY = 64
"""Matches with models that are played at once."""
IN_BATCHES = 10_000
"""The same where all wait for providers' batches."""


def match_row(rows: StudyRows, match: PlannedMatch, end: Ended) -> NewMatch:
    """The row of a match that ended so; whoever is new in it is noted."""
    configuration, seated = match.configuration, {one.digest: one for one in match.seating}
    if configuration.digest not in rows.configurations or seated.keys() - rows.players.keys():
        people = {key: (one.label, one.spec) for key, one in seated.items()}
        rows.add({configuration.digest: configuration.game}, people)
    seats = {
        place: rows.players[one.digest]
        for place, one in zip(configuration.game.places, match.seating, strict=True)
    }
    number = rows.configurations[configuration.digest]
    return NewMatch(match.id, number, match.dealt.key, match.repeat, seats, end)


Watch: TypeAlias = Callable[[Table], None]
"""Looks at a table whenever something has happened there."""


def unwatched(_table: Table) -> None:
    """Look at nothing."""


class ProviderFailed(Exception):
    """A call failed for good: an error of the harness, not of play."""


class LiveMatch:
    """One match with at least one player who takes time."""

    def __init__(self, match: PlannedMatch, desk: Desk, sources: Sources) -> None:
        game = match.configuration.game
        self.match = match
        self.desk = desk
        self.table = Table(game, match.deal, match.seed)
        self.caller = Caller(match.id, desk, match.seed, sources.ask_person)
        self.answers: list[AnswerRecord] = []
        seated = dict(zip(game.places, match.seating, strict=True))
        self.specs = {seat.name: seated[seat.place].spec for seat in game.seats}
        made = {place: one.spec.player(game, sources) for place, one in seated.items()}
        self.players: dict[str, Player] = {seat.name: made[seat.place] for seat in game.seats}

    async def play(self, watch: Watch) -> Ended:
        """Play to the end.

        Args:
            watch: called with the table at the beginning and whenever an answer is given.

        Raises:
            Halted: the run stops; the match stays live.
            ReplayMismatch: what is recorded does not fit; the match is left untouched.
        """
        try:
            await play_async(self.table, self.desk.pace.answering(self.answer), watch)
        except (ProviderFailed, MatchSpent) as error:
            return failed(str(error), self.match.seed)
        order = list(self.specs)
        self.answers.sort(key=lambda one: (one.request, order.index(one.seat)))
        return ended(self.table, self.match.seed, list(self._annotated()))

    def _annotated(self) -> Iterator[AnswerRecord]:
        """The answers with what the ledger notes of their calls."""
        noted = noted_calls(self.desk.store, self.match.id)
        for one in self.answers:
            keys = [
                CallKey(self.match.id, one.request, one.seat, attempt)
                for attempt in range(len(one.calls))
            ]
            yield one._replace(calls=annotated(list(one.calls), keys, noted))

    async def answer(self, asked: Asked) -> Action | None:
        """Let a seat's player think, making the calls it wants; record what it answers."""
        thinking = self.players[asked.seat].answer(asked)
        spec = self.specs[asked.seat]
        thought = await self.caller.think(thinking, asked.request, asked.seat, spec)
        answer, last = thought.result, thought.last
        if answer.kind is Kind.PROVIDER_ERROR:
            detail = last.detail if last else "unknown"
            raise ProviderFailed(f'call for "{asked.seat}" in request {asked.request}: {detail}')
        action = None if answer.action is None else answer.action.model_dump(mode="json")
        record = AnswerRecord(asked.request, asked.seat, answer.kind, action, thought.calls)
        self.answers.append(record)
        return answer.action


class Host:
    """Plays matches of a study, as many at once as it is asked to.

    Args:
        rows: where the store keeps the study.
        desk: where calls are made, and money is counted.
        sources: where players get what is not in their settings.
        onlooker: looks on while it plays.

    Attributes:
        counts: matches that ended here, by status.
    """

    def __init__(
        self, rows: StudyRows, desk: Desk, sources: Sources, onlooker: Onlooker = NOBODY
    ) -> None:
        self.rows = rows
        self.desk = desk
        self.sources = sources
        self.onlooker = onlooker
        desk.models = onlooker.models(desk.models)
        self.counts: Counter[Status] = Counter()
        self._begun = 0

    def matches(self) -> MatchCounts:
        """How many matches were played here, and how far they are."""
        done = sum(self.counts[status] for status in SETTLED)
        failed, forfeited = self.counts[Status.FAILED], self.counts[Status.FORFEITED]
        return MatchCounts(self._begun, done, failed, forfeited=forfeited)

    async def play(
        self, match: PlannedMatch, ask_person: AskPerson | None = None, watch: Watch = unwatched
    ) -> End:
        """Play a match to its end, from where the ledger has it.

        Args:
            ask_person: asks the people at this table; by default whoever asks for the host.
            watch: called with the table at the beginning, whenever an answer is given, and at the
                end.

        Returns:
            How it ended, now or before, which is stored by then; a mismatch where what is recorded
            does not fit, and the match is left untouched; None where the host was halted before
            the end.

        Raises:
            StoreError: the store cannot be written; what was committed stays.
        """
        if before := how_it_ended(self.desk.store, match.id):
            return before
        row = match_row(self.rows, match, failed("", match.seed))._asdict()
        begun = {"body": row.pop("ended").body, "begun": time.time()}
        live = {"status": Status.LIVE.value} | begun
        await self.desk.ledger.begin(self.rows.id, row | live)
        self._begun += 1
        with self.onlooker.match(self.rows.name, match) as told:
            end = await self._to_its_end(match, ask_person, watch)
            told(end)
        if isinstance(end, Ended):
            await self.desk.ledger.finish(self.rows.id, match_row(self.rows, match, end))
            self.counts[end.status] += 1
        return end

    async def _to_its_end(
        self, match: PlannedMatch, ask_person: AskPerson | None, watch: Watch
    ) -> End:
        sources = self.sources
        if ask_person is not None:
            sources = sources._replace(ask_person=ask_person)
        try:
            live = LiveMatch(match, self.desk, sources)
            self.desk.begun.add(match.id)
            return await live.play(watch)
        except Halted as halt:
            self.desk.halt(str(halt))
            return None
        except ReplayMismatch as mismatch:
            return mismatch
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - one broken player must not end the others' matches
            return failed(describe(error), match.seed)


def recordings(store: Store | None) -> Callable[[str], Recording]:
    """Finds the recorded matches that players repeat; each is read once."""

    @remembered
    def find(wanted: str) -> Recording:
        if store is None:
            raise ValueError(f"there is no store to take match {wanted} from")
        try:
            record = store.find(wanted)
        except StoreError as error:
            raise ValueError(str(error)) from None
        if record.status not in SETTLED:
            raise ValueError(f"match {wanted} has not ended")
        return Recording(record.game, record.replay().given)

    return find


@asynccontextmanager
async def open_host(
    study: Study | Path | str,
    store: Store | Path | str,
    *,
    concurrency: int = CONCURRENCY,
    patience: float = PATIENCE,
    models: Models | None = None,
    ask_person: AskPerson | None = None,
    guests: Guests | Mapping[str, Any] | None = None,
    prices: Prices | None = None,
    cap: Cap = NO_CAP,
    cache: Path | str | None = None,
    onlooker: Onlooker = NOBODY,
) -> AsyncIterator[Host]:
    """Open a host for a study, and hold its store for writing until it is closed.

    ``cheaptalk ctl`` looks after it as after a run. It takes no signals: whoever opened it decides
    when it ends, and ``host.desk.halt(reason)`` lets calls in flight come back and makes no more.

    Args:
        study: whose matches are played, its file or a preset's name; its budget holds over all its
            runs and hosts.
        store: where its matches are kept, or the store's file or URL; made where there is none.
        concurrency: matches that ``cheaptalk ctl`` says may be under way at once.
        patience: seconds for which a model's server may be overloaded or away before it is given
            up.
        models: makes the calls to models; by default over HTTP.
        ask_person: asks people, unless a match names somebody else who does.
        guests: has agents asked that come by themselves, as :func:`~cheaptalk.studies.run` takes
            them.
        prices: what models cost; by default those of :func:`~cheaptalk.models.prices.load_prices`.
        cap: what may be spent while it is open, besides the study's budget.
        cache: a file of replies bought before, made where there is none; None for no cache.
        onlooker: looks on while it plays, such as :class:`.Telemetry`.

    Raises:
        StoreError: the store is held by somebody else, or cannot be written.
    """
    wanted, coming = study_of(study), as_guests(guests)
    async with AsyncExitStack() as stack:
        opened = stack.enter_context(Store.opened(store, create=True))
        call_cache = stack.enter_context(open_cache(cache))
        stack.enter_context(opened.writing())
        mark_unresolved(opened)
        rows = StudyRows(opened, wanted.name, wanted.written())
        purse = study_purse(opened, rows.id, wanted.budget, prices or load_prices(), cap)
        desk = await stack.enter_async_context(
            open_desk(
                opened, purse, rows.id, models=models, guests=coming, concurrency=concurrency,
                patience=patience, cache=call_cache, signals=False,
            )
        )  # fmt: skip
        host = Host(rows, desk, Sources(recordings(opened), ask_person, coming), onlooker)
        control = Control(opened.backend.mailbox, wanted.name, host.matches)
        stack.enter_context(control)
        await stack.enter_async_context(control.minding(desk, lambda _: None))
        yield host
