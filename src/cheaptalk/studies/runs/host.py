"""Hosts: objects that play matches of a study until they are closed.

A run plays a plan through a host. A server keeps a host open for weeks and plays a match when the
participants have arrived. Both use the same store, ledger, budget tracker and model clients. When a
match resumes, it is replayed with the replies in the ledger; only missing calls are made.
"""

import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import cache as remembered
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from cheaptalk.calls.budget import NO_CAP, Cap, Halted, MatchSpent, study_budget_tracker
from cheaptalk.calls.cache import open_cache
from cheaptalk.calls.commands import MatchCounts
from cheaptalk.calls.control import Control
from cheaptalk.calls.dispatcher import Caller, Dispatcher, Models
from cheaptalk.calls.event_loop import open_dispatcher
from cheaptalk.models.flow_control import PATIENCE
from cheaptalk.models.prices import Prices, load_prices
from cheaptalk.models.remote_agents import RemoteAgents, as_remote_agents
from cheaptalk.players import AskPerson, Kind, Player, Recording, Sources
from cheaptalk.players.strategy import Scripted
from cheaptalk.records import AnswerRecord, MatchEnd, NewMatch, Status, Store, StoreError, match_end
from cheaptalk.records.chat import ChatRecord
from cheaptalk.records.ledger.ledger import (
    CallKey,
    annotated,
    how_it_ended,
    mark_unresolved,
    noted_calls,
)
from cheaptalk.records.record import SETTLED, failed
from cheaptalk.records.store.lookup import StoreLike
from cheaptalk.records.store.store import StudyRows
from cheaptalk.rules import (
    Action,
    DecisionRequest,
    ReplayMismatch,
    Table,
    counted,
    play_async,
)
from cheaptalk.rules.display import brief
from cheaptalk.rules.errors import describe
from cheaptalk.studies.corrections import record_correction
from cheaptalk.studies.plans.matches import PlannedMatch
from cheaptalk.studies.presets import StudySource, study_of
from cheaptalk.studies.runs.live_chat import LiveChat

CONCURRENCY = 64
"""Default number of concurrent matches with models."""
IN_BATCHES = 10_000
"""Default number of concurrent matches in providers' batches."""


def match_row(rows: StudyRows, match: PlannedMatch, end: MatchEnd) -> NewMatch:
    """Convert an ended match to a store row, and register new players and configurations."""
    configuration, seated = match.configuration, {player.digest: player for player in match.seating}
    if configuration.digest not in rows.configurations or seated.keys() - rows.players.keys():
        people = {key: (player.label, player.spec) for key, player in seated.items()}
        rows.add({configuration.digest: configuration.game}, people)
    seats = {
        seat: rows.players[player.digest]
        for seat, player in zip(configuration.game.seats, match.seating, strict=True)
    }
    number = rows.configurations[configuration.digest]
    return NewMatch(match.id, number, match.planned_instance.key, match.repeat, seats, end)


End: TypeAlias = MatchEnd | ReplayMismatch | None
"""The end of a match, as returned by :meth:`.Host.play`."""


class RunObserver:
    """Base observer of a run; all callbacks are no-ops."""

    def models(self, models: Models) -> Models:
        """Return the model client, wrapped to observe its calls."""
        return models

    @contextmanager
    def match(self, _study: str, _match: PlannedMatch) -> Iterator[Callable[[End], None]]:
        """Observe a match and all of its calls; yield a callback for the end of the match."""
        yield lambda _end: None


NULL_OBSERVER: RunObserver = RunObserver()


Watch: TypeAlias = Callable[[Table], None]
"""A callback that receives the state of a match after each change."""


class ProviderFailed(Exception):
    """Raised if a call failed permanently for a technical reason."""


class LiveMatch:
    """A match with at least one model or person."""

    def __init__(
        self,
        match: PlannedMatch,
        dispatcher: Dispatcher,
        sources: Sources,
        watch: Watch = lambda _table: None,
    ) -> None:
        game = match.configuration.game
        self.match = match
        self.dispatcher = dispatcher
        self.table = Table(game, match.instance, match.seed)
        self.caller = Caller(match.id, dispatcher, match.seed, sources.ask_person)
        self.answers: list[AnswerRecord] = []
        seated = dict(zip(game.seats, match.seating, strict=True))
        self.specs = {actor.name: seated[actor.seat].spec for actor in game.actors}
        by_seat = {seat: player.spec.player(game, sources) for seat, player in seated.items()}
        self.players: dict[str, Player] = {actor.name: by_seat[actor.seat] for actor in game.actors}
        self.watch = watch
        self.chat: LiveChat | None = None
        if (log := self.table.chat) is not None:
            self.chat = LiveChat(self.table, log, self.caller, self.players, self.specs, watch)

    async def play(self) -> MatchEnd:
        """Play the match to its end.

        Raises:
            Halted: the run stops; the match stays live.
            ReplayMismatch: the recorded calls do not fit the match, which stays unchanged.
        """
        try:
            answer, chat = self.dispatcher.pace.answering(self.answer), self.chat
            await play_async(self.table, answer, self.watch, chat.prepare if chat else None)
        except (ProviderFailed, MatchSpent) as error:
            return failed(str(error), self.match.seed)
        finally:
            if self.chat is not None:
                await self.chat.close()
        order = list(self.specs)
        self.answers.sort(key=lambda answer: (answer.request, order.index(answer.actor)))
        said = [] if self.chat is None else list(self._annotated_chat(self.chat.entries))
        return match_end(self.table, self.match.seed, list(self._annotated()), chat=said)

    def _annotated(self) -> Iterator[AnswerRecord]:
        """Yield the answers, with the ledger's notes added to their calls."""
        noted = noted_calls(self.dispatcher.store, self.match.id)
        for answer in self.answers:
            key = partial(CallKey, self.match.id, answer.request, answer.actor)
            keys = [*map(key, range(len(answer.calls)))]
            yield answer._replace(calls=annotated(list(answer.calls), keys, noted))

    def _annotated_chat(self, entries: Sequence[ChatRecord]) -> Iterator[ChatRecord]:
        noted = noted_calls(self.dispatcher.store, self.match.id)
        for entry in entries:
            keys = [
                CallKey(self.match.id, *entry.place(index)) for index in range(len(entry.calls))
            ]
            yield entry._replace(calls=annotated(list(entry.calls), keys, noted))

    async def answer(self, request: DecisionRequest) -> Action | None:
        """Make the calls for a decision request; record and return the answer."""
        thinking = self.players[request.actor].answer(request)
        line = None
        if self.chat is not None:
            self.chat.begin_answer(request.actor)
            line = self._script_line(self.chat, request.actor)
        spec = self.specs[request.actor]
        thought = await self.caller.think(thinking, request.number, request.actor, spec)
        answer, last_reply = thought.result, thought.last
        if answer.kind is Kind.PROVIDER_ERROR:
            detail = last_reply.detail if last_reply else "unknown"
            call = f'call for "{request.actor}" in request {request.number}'
            raise ProviderFailed(f"{call}: {detail}")
        action = None if answer.action is None else answer.action.model_dump(mode="json")
        record = AnswerRecord(request.number, request.actor, answer.kind, action, thought.calls)
        self.answers.append(record)
        if self.chat is not None:
            await self.chat.end_answer(request.actor, line or answer.chat)
        return answer.action

    def _script_line(self, chat: LiveChat, actor: str) -> str | None:
        """Return the line of a script with its answer; models send theirs in the answer."""
        player, turn = self.players[actor], chat.script_line(actor)
        return None if turn is None or not isinstance(player, Scripted) else player.line(turn)


class Host:
    """A host that plays matches of a study, several of them concurrently.

    Args:
        dispatcher: makes calls and tracks the budget.
        sources: external sources for players, such as recordings.

    Attributes:
        counts: number of matches that this host has ended, by status.
    """

    def __init__(
        self,
        rows: StudyRows,
        dispatcher: Dispatcher,
        sources: Sources,
        observer: RunObserver = NULL_OBSERVER,
    ) -> None:
        self.rows, self.dispatcher = rows, dispatcher
        self.sources, self.observer = sources, observer
        dispatcher.models = observer.models(dispatcher.models)
        self.counts: Counter[Status] = Counter()
        self._begun = 0

    def __repr__(self) -> str:
        return brief(self, f"{self.rows.name}, {counted(self.counts.total(), 'match')} ended")

    def matches(self) -> MatchCounts:
        done = sum(self.counts[status] for status in SETTLED)
        failed, forfeited = self.counts[Status.FAILED], self.counts[Status.FORFEITED]
        return MatchCounts(self._begun, done, failed, forfeited=forfeited)

    async def play(
        self,
        match: PlannedMatch,
        ask_person: AskPerson | None = None,
        watch: Watch = lambda _table: None,
        join_chat: Callable[[LiveChat], None] = lambda _chat: None,
    ) -> End:
        """Play a match to its end, or resume it from the ledger.

        Args:
            ask_person: function that asks the people in this match; by default the host's function.
            watch: called with the state of the match at the start, after each answer and at the
                end.
            join_chat: called with the chat of the match, if it has one, before play begins.

        Returns:
            The stored end of the match, from this or an earlier run; a mismatch if the recorded
            calls do not fit the match, which then stays unchanged; None if the host was halted.

        Raises:
            StoreError: the store cannot be written; committed data are kept.
        """
        if earlier_end := how_it_ended(self.dispatcher.store, match.id):
            return earlier_end
        row = match_row(self.rows, match, failed("", match.seed))._asdict()
        begun = {"body": row.pop("ended").body, "begun": time.time()}
        live = {"status": Status.LIVE.value} | begun
        await self.dispatcher.ledger.begin(self.rows.id, row | live)
        self._begun += 1
        with self.observer.match(self.rows.name, match) as report_end:
            end = await self._to_its_end(match, ask_person, watch, join_chat)
            report_end(end)
        if isinstance(end, MatchEnd):
            await self.dispatcher.ledger.finish(self.rows.id, match_row(self.rows, match, end))
            self.counts[end.status] += 1
        return end

    async def _to_its_end(
        self,
        match: PlannedMatch,
        ask_person: AskPerson | None,
        watch: Watch,
        join_chat: Callable[[LiveChat], None],
    ) -> End:
        sources = self.sources._replace(ask_person=ask_person or self.sources.ask_person)
        try:
            live = LiveMatch(match, self.dispatcher, sources, watch)
            self.dispatcher.begun.add(match.id)
            if live.chat is not None:
                join_chat(live.chat)
            return await live.play()
        except Halted as halt:
            self.dispatcher.halt(str(halt))
            return None
        except ReplayMismatch as mismatch:
            return mismatch
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - one broken player must not end the others' matches
            return failed(describe(error), match.seed)


def recordings(store: Store | None) -> Callable[[str], Recording]:
    """Return a function that loads recorded matches by id and caches them."""

    @remembered
    def find(match_id: str) -> Recording:
        if store is None:
            raise ValueError(f"there is no store with match {match_id}")
        try:
            record = store.find(match_id)
        except StoreError as error:
            raise ValueError(str(error)) from None
        if record.status not in SETTLED:
            raise ValueError(f"match {match_id} has not ended")
        return Recording(record.game, record.replay().given)

    return find


@asynccontextmanager
async def open_host(
    study: StudySource,
    store: StoreLike,
    *,
    concurrency: int = CONCURRENCY,
    patience: float = PATIENCE,
    models: Models | None = None,
    ask_person: AskPerson | None = None,
    remote_agents: RemoteAgents | Mapping[str, Any] | None = None,
    prices: Prices | None = None,
    cap: Cap = NO_CAP,
    cache: Path | str | None = None,
    observer: RunObserver = NULL_OBSERVER,
) -> AsyncIterator[Host]:
    """Open a host for a study, and lock the store for writing until the host is closed.

    ``cheaptalk control`` works as for a run. The host handles no signals; the caller closes it.
    ``host.dispatcher.halt(reason)`` waits for calls in flight and makes no further calls.

    >>> import asyncio
    >>> study = ct.Study(name="s", games=[{"game": "bargaining"}], players={"fair": "equal_split"})
    >>> async def play_first_match():
    ...     async with ct.open_host(study, "s.sqlite") as host:
    ...         return await host.play(ct.plan(study).matches[0])
    >>> asyncio.run(play_first_match()).status
    <Status.FINISHED: 'finished'>

    Args:
        study: the study, its file or a preset's name; its budget applies to all runs and hosts.
        store: the store, its file or its URL; created if missing.
        concurrency: number of concurrent matches that ``cheaptalk control`` reports.
        patience: seconds during which a model's server may be overloaded or unreachable before its
            calls fail.
        ask_person: function that asks people, unless a match has its own function.
        remote_agents: server of remote agents, as for :func:`~cheaptalk.studies.run`.
        prices: model prices; by default those of :func:`~cheaptalk.models.prices.load_prices`.
        cap: budget of this host, in addition to the study's budget.
        cache: the cache file, created if missing; None for no cache.
        observer: receives callbacks during play, such as :class:`.Telemetry`.

    Raises:
        StoreError: the store is locked by another process, or cannot be written.
    """
    loaded, agents = study_of(study), as_remote_agents(remote_agents)
    async with AsyncExitStack() as stack:
        opened = stack.enter_context(Store.opened(store, create=True))
        call_cache = stack.enter_context(open_cache(cache))
        stack.enter_context(opened.writing())
        mark_unresolved(opened)
        record_correction(opened, loaded)
        rows = StudyRows(opened, loaded.name, loaded.written())
        budget_tracker = study_budget_tracker(
            opened, rows.id, loaded.budget, prices or load_prices(), cap
        )
        dispatcher = await stack.enter_async_context(
            open_dispatcher(
                opened,
                budget_tracker,
                rows.id,
                models=models,
                remote_agents=agents,
                concurrency=concurrency,
                patience=patience,
                cache=call_cache,
                signals=False,
            )
        )
        host = Host(rows, dispatcher, Sources(recordings(opened), ask_person, agents), observer)
        control = stack.enter_context(Control(opened.backend.mailbox, loaded.name, host.matches))
        await stack.enter_async_context(control.minding(dispatcher, lambda _: None))
        yield host
