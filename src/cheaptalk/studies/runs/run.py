"""Runs, each of which plays a study's planned matches that are not stored yet."""

import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    ExitStack,
    contextmanager,
    nullcontext,
    suppress,
)
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import groupby
from pathlib import Path
from pickle import dumps
from threading import Event
from types import MappingProxyType
from typing import Any

from cheaptalk.calls import event_loop
from cheaptalk.calls.batches import Batching
from cheaptalk.calls.budget import NO_CAP, BudgetTracker, Cap, study_budget_tracker
from cheaptalk.calls.cache import open_cache
from cheaptalk.calls.commands import MatchCounts, RunState
from cheaptalk.calls.control import Control
from cheaptalk.calls.dispatcher import Dispatcher, Models
from cheaptalk.cluster import Cluster, check_address, cluster
from cheaptalk.models.flow_control import PATIENCE
from cheaptalk.models.prices import Prices
from cheaptalk.models.remote_agents import RemoteAgents, as_remote_agents
from cheaptalk.players import AskPerson, ModelSeat, PlayerWarning, Sources
from cheaptalk.printing.progress import reporting
from cheaptalk.records import MatchEnd, Status, Store
from cheaptalk.records.descriptions import Forfeit, invalid
from cheaptalk.records.exclusions import count_excluded
from cheaptalk.records.identity import digest, study_digest
from cheaptalk.records.ledger.batches import calls_in_batches, refusals
from cheaptalk.records.ledger.ledger import mark_unresolved
from cheaptalk.records.ledger.spending import spent
from cheaptalk.records.record import SETTLED
from cheaptalk.records.store.backend import Share, Shares
from cheaptalk.records.store.lookup import StoreLike
from cheaptalk.records.store.reader import chunks
from cheaptalk.records.store.store import StudyRows, adopt, note_run
from cheaptalk.rules import ReplayMismatch, counted
from cheaptalk.rules.arguments import describe_type
from cheaptalk.studies.corrections import record_correction
from cheaptalk.studies.estimates.usage_history import ENOUGH
from cheaptalk.studies.plans.matches import PlannedMatch
from cheaptalk.studies.plans.parts import has_people
from cheaptalk.studies.plans.plan import Plan, PlanLike, plan_in_store, replaced
from cheaptalk.studies.presets import study_of
from cheaptalk.studies.runs.checks import Checked, check, check_collected
from cheaptalk.studies.runs.host import (
    CONCURRENCY,
    IN_BATCHES,
    NULL_OBSERVER,
    Host,
    RunObserver,
    match_row,
    recordings,
)
from cheaptalk.studies.runs.progress import Progress, TimeLeft
from cheaptalk.studies.runs.scripted import Work, in_processes, play_scripted
from cheaptalk.studies.runs.turns import in_turn

SCRIPTED, LIVE = "scripted", "live"
"""Kinds of work: matches between scripts, and matches with models or people."""
CHUNK = 512
"""Number of matches between scripts that are played and committed together."""
LOOK = 0.5
"""Seconds between two checks whether other runs have finished their work."""
NOTHING_EXPECTED: Mapping[str, float] = MappingProxyType({})

describe_type(PlanLike | Checked, "a study, its file, a preset's name or a plan")


def run(
    study: PlanLike | Checked,
    store: StoreLike,
    *,
    workers: int = 1,
    concurrency: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    patience: float = PATIENCE,
    models: Models | None = None,
    ask_person: AskPerson | None = None,
    remote_agents: RemoteAgents | Mapping[str, Any] | None = None,
    prices: Prices | None = None,
    cap: Cap = NO_CAP,
    cache: Path | str | None = None,
    batching: Batching | None = None,
    expected: Mapping[str, float] = NOTHING_EXPECTED,
    on: str | None = None,
    observer: RunObserver = NULL_OBSERVER,
    stop: Event | None = None,
) -> Progress:
    """Play all matches of a study that are not in the store yet.

    Running again resumes: recorded replies are reused, and failed matches are retried.

    >>> import asyncio
    >>> study = ct.Study(name="s", games=[{"game": "persuasion"}], players={"luck": "random"})
    >>> ct.run(study, "s.sqlite")
    <Progress: 1 of 1 match ended>
    >>> asyncio.run(ct.run_async(study, "s.sqlite")).before  # the match is already in the store
    1

    Args:
        study: the study, its file or a preset's name; its plan; or the result of :func:`.check`,
            which replaces the arguments ``prices``, ``cap`` and ``batching``.
        store: the store, its file or its URL; created if missing.
        workers: processes for matches between scripted players. More than one requires an
            importable main script (``if __name__ == "__main__":``).
        concurrency: concurrent matches with models; by default 64, and 10,000 in batches.
        progress: called after every step; by default, notebooks show the progress.
        patience: seconds during which a model's server may be overloaded or unreachable before its
            calls fail.
        models: the model client; by default over HTTP.
        ask_person: function that asks a person at this machine.
        remote_agents: the study's players ``remote/NAME``: an :class:`.AgentServer` to which they
            connect, or a mapping from names to agents of this process. Agents are functions of chat
            messages, or objects with a method such as ``invoke``.
        prices: model prices; by default those of :func:`~cheaptalk.models.prices.load_prices`.
        cap: budget of this run, in addition to the study's budget.
        cache: the cache file, created if missing; None for no cache.
        batching: options for providers' batches; None to send calls immediately.
        expected: estimated calls per match by game, used to forecast the remaining time.
        on: a cluster with machines that play scripted matches and call models: ``ray`` or
            ``ray://HOST:PORT``, see :func:`~cheaptalk.cluster.cluster`; None for this machine.
            Budgets, rate limits and the store stay on this machine.
        observer: receives callbacks during matches with models or people, such as
            :class:`.Telemetry`.
        stop: an event that another thread sets to cancel the run. Within a second, no more matches
            and calls start. Calls in flight are completed and recorded.

    Raises:
        StudyError: the study cannot be planned, or a key, price or person is missing.
        StoreError: the store cannot be written; committed data is kept.
        KeyboardInterrupt: stopped by Ctrl-C; the message states how many matches are stored.
    """
    target = study if isinstance(study, Plan | Checked) else study_of(study)
    agents = as_remote_agents(remote_agents)
    stop = stop or Event()
    if on is not None:
        check_address(on)
    with (
        ExitStack() as finishing,
        Store.opened(store, create=True) as opened,
        open_cache(cache) as call_cache,
        reporting(progress) as report,
    ):
        if isinstance(target, Checked):
            checked = target
        else:
            planned = target if isinstance(target, Plan) else plan_in_store(target, opened)
            checked = check(
                planned,
                opened,
                ask_person=ask_person,
                remote_agents=agents,
                prices=prices,
                cap=cap,
                batching=batching,
            )
        sources = Sources(recordings(opened), ask_person, agents)
        with (
            nullcontext() if on is None else cluster(on) as machines,
            in_turn(opened, _work(checked.plan), stop) as shares,
        ):
            new_dispatcher = partial(
                event_loop.open_dispatcher,
                opened,
                remote_agents=agents,
                concurrency=concurrency or (IN_BATCHES if checked.batching else CONCURRENCY),
                patience=patience,
                cache=call_cache,
            )
            calling = (sources, new_dispatcher, models, machines, expected)
            playing = _Run(checked, opened, shares, *calling, report, observer, stop)
            if agents is not None:
                finishing.callback(agents.conclude)
            with playing.control, playing.noting_halts():
                playing.go(workers)
    return playing.progress


run_async = event_loop.awaitable(run)
"""The asynchronous version of :func:`run`, for notebooks, servers and concurrent tasks.

The arguments and the return value are those of :func:`run`. The study is played in a thread, which
also calls ``progress``. If the task is cancelled, calls in flight still finish and are recorded
before the task ends. Run the study again to resume it.
"""


def _work(planned: Plan) -> str | None:
    """Return a key by which runs of the same plan share matches; None if runs cannot share them."""
    study = planned.study
    if not planned.whole or not planned.matches or study.unanswered.replace or study.instances_from:
        return None  # the matches depend on the time of planning
    ends = planned.matches[0].id, planned.matches[-1].id
    study_key = study_digest(planned.study.name, planned.study.written())
    return digest(study_key, len(planned.matches), *ends)


@dataclass(eq=False)
class _Run:
    """The state of a run."""

    checked: Checked
    store: Store
    shares: Shares
    sources: Sources
    new_dispatcher: Callable[..., AbstractAsyncContextManager[Dispatcher]]
    models: Models | None
    machines: Cluster | None
    expected: Mapping[str, float]
    report: Callable[[Progress], None]
    observer: RunObserver
    stop: Event

    def __post_init__(self) -> None:
        store, shares = self.store, self.shares
        self.plan = planned = self.checked.plan
        self.control = Control(store.backend.mailbox, planned.study.name, self.matches)
        self.dispatcher: Dispatcher | None = None
        self.progress = Progress(0, 0)
        full_plan = planned.within
        self.others = 0 if full_plan is None else len(full_plan.matches) - len(planned.matches)
        record_correction(store, planned.study)
        self.rows = StudyRows(store, planned.study.name, planned.study.written())
        planned.matches.extend(replaced(planned, store))
        self.settled = bytearray(len(planned.matches))
        games = {item.digest: item.game for item in planned.matches.configurations()}
        seated = planned.players()
        everyone = seated if full_plan is None else {**full_plan.players(), **seated}
        players = {key: (player.label, player.spec) for key, player in everyone.items()}
        self.rows.add(games, players)
        self.began = time.monotonic()
        self.seated = seated
        self.instant = 0
        self.live, self.scripted = TimeLeft(expected=self.expected), TimeLeft()
        ended = 0 if full_plan is None else self._adopt(full_plan)
        self.restore(0, only=planned.whole)
        self.past, self.found = shares.elsewhere(), 0
        if full_plan is not None:
            self._count_rest(full_plan, ended)
        if shares.first:
            self.progress.unresolved = mark_unresolved(store)

    def restore(self, start: int, *, only: bool = False) -> None:
        """Schedule the matches from number ``start`` on that have not ended yet.

        With ``only``, the study's other matches are superseded.
        """
        matches = self.plan.matches
        remaining: Sequence[int] = range(start, len(matches))
        if not self.store.empty():
            adopted = adopt(self.store, self.rows.id, matches.ids(start), only=only)
            self.progress.set_aside += adopted.set_aside
            self.progress.forfeited_before += adopted.forfeited
            remaining = [start + index for index in adopted.left]
            self.settled[start:] = b"\1" * (len(matches) - start)
            for number in remaining:
                self.settled[number] = 0
        self.progress.planned += len(matches) - start
        self.progress.before += len(matches) - start - len(remaining)
        for (game, instant), count in matches.kinds(remaining).items():
            (self.scripted if instant else self.live).plan(game, count)
            self.instant += count if instant else 0
        if self.checked.batching is None:
            check_collected(self.store, self.plan.study.name, self.remaining(instant=False))

    def _count_rest(self, full_plan: Plan, ended: int) -> None:
        """Count the unfinished matches that this run doesn't play, and those with people."""
        people = full_plan.matches.only(has_people)
        rest = len(full_plan.matches) - ended - self.progress.left
        if people:
            name = self.plan.study.name
            statuses = self.store.statuses(self.store.with_people(name))
            played = sum(status in SETTLED for status in statuses.values())
            planned = self.store.statuses(people.ids())
            pending = len(people) - sum(status in SETTLED for status in planned.values())
            self.progress.people_left = max(0, len(people) - played)
            rest -= pending
        self.progress.rest = rest

    def _adopt(self, full_plan: Plan) -> int:
        """Add stored matches of the full plan to the study, and return how many have ended."""
        if self.store.empty():
            return 0
        adopted = adopt(self.store, self.rows.id, full_plan.matches.ids(), only=full_plan.whole)
        self.progress.set_aside += adopted.set_aside
        return len(full_plan.matches) - len(adopted.left)

    def remaining(self, *, instant: bool, share: Share | None = None) -> Iterator[PlannedMatch]:
        """Yield the remaining matches between scripts, or all other remaining matches."""
        start, stop = (0, sys.maxsize) if share is None else (share.start, share.stop)
        return self.plan.matches.remaining(self.settled, instant=instant, start=start, stop=stop)

    def _shares(self, kind: str, size: int) -> Iterator[Share]:
        """Divide the remaining scripted or live matches into shares of consecutive numbers."""
        numbers = self.plan.matches.remaining_numbers(self.settled, instant=kind == SCRIPTED)
        for index, group in groupby(numbers, lambda number: number // size):
            yield Share(kind, index * size, (index + 1) * size, sum(1 for _ in group))

    @contextmanager
    def noting_halts(self) -> Iterator[None]:
        """Record how the run ended, including the reason if it stopped early."""
        self._note(None, to_come=self.progress.left)
        self.store.backend.merge_log()  # so that a copy of the file has the planned number
        try:
            yield
        except KeyboardInterrupt:
            with suppress(KeyboardInterrupt):  # of the progress callback
                self._sum_up(event_loop.INTERRUPTED)
            ended = f"{self.progress.done:,} of {counted(self.progress.planned, 'match')}"
            advice = f"{ended} are stored; call ct.run again to resume"
            raise KeyboardInterrupt(advice) from None  # without a traceback of the event loop
        self._sum_up(self.progress.halted)
        self.progress.log_open = not self.store.backend.merge_log()

    def _note(self, halted: str | None, *, to_come: int = 0) -> None:
        planned = self.progress.planned + self.others
        if not self.plan.whole and self.plan.within is None:
            name = self.plan.study.name
            planned_before = self.store.study(name, counted=False).planned or 0
            planned = max(planned_before, self.store.count_members(name))
        note_run(self.store, self.rows.id, planned, halted, to_come=to_come)

    def _sum_up(self, halted: str | None) -> None:
        self.progress.halted = halted
        self.progress.seconds_left = self.progress.dollars_left = None
        if self._elsewhere():
            statuses: Counter[Status] = Counter()  # of the plan's matches, over all runs
            for batch in chunks(self.plan.matches):
                statuses.update(self.store.statuses(match.id for match in batch).values())
            ended = sum(statuses[status] for status in SETTLED)
            self.progress.elsewhere = ended - self.progress.here
            forfeited = statuses[Status.FORFEITED] - self.progress.forfeited_here
            self.progress.forfeited_elsewhere = forfeited
        self._note(halted)
        self.progress.excluded = count_excluded(self.store, self.plan.study.name)
        if self.dispatcher is not None:
            self.progress.cost = spent(self.store, self.rows.id)
        if self.progress.left:
            self.report(self.progress)  # without a forecast

    def _elsewhere(self) -> int:
        """Return the number of matches that other runs have ended since this run started."""
        return self.found + self.shares.elsewhere() - self.past

    def go(self, workers: int) -> None:
        """Play the remaining matches, scripted ones first."""
        start = len(self.plan.matches)
        self.report(self.progress)
        self.shares.offer(SCRIPTED, partial(self._shares, SCRIPTED, CHUNK))
        self.shares.offer(LIVE, partial(self._shares, LIVE, sys.maxsize))
        self._play_scripted(workers)
        self._play_others()
        if not self.progress.halted and (replacements := replaced(self.plan, self.store)):
            self.settled = bytearray(b"\1" * start + bytes(len(replacements)))
            self.plan.matches.extend(replacements)
            self.instant = 0
            self.restore(start)
            self.go(workers)

    def _play_scripted(self, workers: int) -> None:
        """Play scripted matches until none is left for this run or concurrent runs."""
        began = previous = time.monotonic()
        machines = self.machines
        if in_processes(self.instant, workers, machines) and self._must_play_here(machines):
            workers, machines = 1, None
        while True:
            for share, chunk in play_scripted(self._works(), self.instant, workers, machines):
                rows = [match_row(self.rows, match, end) for match, end in chunk]
                self.store.add(self.rows.id, rows, partial(self.shares.done, share))
                for match, end in chunk:
                    self.note(match, end)
                now = time.monotonic()
                games = Counter(match.configuration.game.name for match, _ in chunk)
                self.scripted.share(games, now - previous)
                previous = now
                seconds_left = self.scripted.after(now - began, elsewhere=self.progress.elsewhere)
                self.progress.seconds_left = None if self.live.waits else seconds_left
                if self._stopping():
                    return
            if not self._wait_for_others(SCRIPTED):
                return

    def _must_play_here(self, machines: Cluster | None) -> bool:
        """Return whether a player cannot play in other processes, and warn about it."""
        pickle = dumps if machines is None else machines.pickle
        for player in self.seated.values():
            if player.scripted and (reason := player.spec.unportable(pickle)):
                warnings.warn(
                    f'scripted matches are played in this process, because of the player "'
                    f'{player.label}": {reason}',
                    PlayerWarning,
                    stacklevel=2,
                )
                return True
        return False

    def _works(self) -> Iterator[Work]:
        """Yield chunks of scripted matches, reserving one share at a time."""
        while share := self.shares.take(SCRIPTED):
            works = 0
            for batch in chunks(self.remaining(instant=True, share=share), CHUNK):
                works += 1
                yield Work(share, batch)
            if not works:
                self.store.backend.commit(partial(self.shares.done, share))

    def _play_others(self) -> None:
        """Play matches with models or people, unless another run is already playing them."""
        while not self.progress.halted:
            share = self.shares.take(LIVE, alone=True)
            if share is not None:
                if not self.shares.first:
                    self.progress.unresolved += mark_unresolved(self.store)
                    self._pass_over_ended()
                if any(True for _ in self.remaining(instant=False)):
                    event_loop.drive(self.play_live(), lambda: self.dispatcher)
                if not self.progress.halted:
                    self.store.backend.commit(partial(self.shares.done, share))
                elif self.progress.halted != event_loop.CALLED_OFF:
                    self.shares.halt(self.progress.halted)
            elif not self._wait_for_others(LIVE):
                return

    def _pass_over_ended(self) -> None:
        """Skip matches with models or people that another run has ended."""
        numbers = self.plan.matches.remaining_numbers(self.settled, instant=False)
        for batch in chunks([*numbers]):
            statuses = self.store.statuses(self.plan.matches[number].id for number in batch)
            for number in batch:
                match = self.plan.matches[number]
                if statuses.get(match.id) in SETTLED:
                    self.settled[number] = 1
                    self.live.drop(match.configuration.game.name)
                    self.found += 1

    def _wait_for_others(self, kind: str) -> bool:
        """Wait, and return whether matches reserved by other runs may become available."""
        if not self.shares.waits(kind) or self._stopping():
            return False
        time.sleep(LOOK)
        return True

    def _stopping(self) -> bool:
        """Report progress and return whether the run must stop."""
        self.progress.elsewhere = self._elsewhere()
        self.report(self.progress)
        self.control.beat()
        if self.control.halted:
            self.shares.halt(self.control.halted)
        called_off = event_loop.CALLED_OFF if self.stop.is_set() else None
        self.progress.halted = self.control.halted or self.shares.halted or called_off
        return self.progress.halted is not None

    async def play_live(self) -> None:
        """Play the matches with models or people concurrently."""
        async with AsyncExitStack() as stack:
            models = await self._calling()
            self.dispatcher = dispatcher = await stack.enter_async_context(
                self.new_dispatcher(self.budget_tracker(), self.rows.id, models=models)
            )
            await stack.enter_async_context(self.control.minding(dispatcher, self.note_state))
            checked = self.checked
            if checked.batching is not None:
                ids = (match.id for match in self.remaining(instant=False))
                waited = event_loop.in_batches(
                    dispatcher, checked.batching, checked.prices, self.tell, ids
                )
                await stack.enter_async_context(waited)
                dispatcher.budget_tracker = self.budget_tracker()
            self.began = time.monotonic()
            host = Host(self.rows, dispatcher, self.sources, self.observer)

            async def play(match: PlannedMatch) -> None:
                end = await host.play(match)
                if end is not None:
                    self.note(match, end)
                    self.report(self.progress)

            await dispatcher.work_on(self.remaining(instant=False), play)
        tracker = dispatcher.budget_tracker
        self.progress.halted, self.progress.short = dispatcher.halted, tracker.short
        self.progress.uncountable = tracker.uncountable
        self.progress.used_up += len(tracker.used_up)
        ids = (match.id for match in self.remaining(instant=False))
        self.progress.waiting = calls_in_batches(self.store, ids)
        self.progress.cached = dispatcher.cache.use if dispatcher.cache else None
        if dispatcher.halted == event_loop.INTERRUPTED:
            raise KeyboardInterrupt

    async def _calling(self) -> Models | None:
        """Return the model client; None for the default client of this process."""
        model_players = [
            (player.spec, group.configuration.game)
            for (_, player), group in self.plan.seats().items()
            if isinstance(player.spec, ModelSeat)
        ]
        if self.models is not None or self.machines is None or not model_players:
            return self.models
        remote = import_module("cheaptalk.calls.remote_models")  # slow import, rarely needed
        begun: Models = await remote.RemoteModels.begun(
            self.machines, model_players, refusals(self.store)
        )
        return begun

    def budget_tracker(self) -> BudgetTracker:
        """Return the budget tracker, based on the cost recorded in the store."""
        limits = (self.plan.study.budget, self.checked.prices, self.checked.cap)
        batch = self.checked.batching is not None
        return study_budget_tracker(self.store, self.rows.id, *limits, batch=batch)

    def tell(self, batches: str) -> None:
        self.progress.batches = batches
        self.report(self.progress)

    def matches(self) -> MatchCounts:
        progress = self.progress
        counts = progress.planned, progress.done, progress.failed
        return MatchCounts(*counts, progress.seconds_left, progress.forfeited)

    def note_state(self, state: RunState) -> None:
        self.progress.state = state
        if self.dispatcher is not None and self.stop.is_set():
            self.dispatcher.halt(event_loop.CALLED_OFF)
        if self.dispatcher is not None and self.checked.batching is None:
            spent = self.dispatcher.budget_tracker.now.spent
            under_way = max(0.0, spent.calls - self.live.work)
            elapsed = time.monotonic() - self.began
            halted = self.dispatcher.halted
            self.progress.seconds_left = None if halted else self.live.after(elapsed, under_way)
            self.progress.dollars_left = None
            if spent.calls >= ENOUGH and spent.dollars_known and not halted:
                cost_per_call = spent.dollars / spent.calls
                self.progress.dollars_left = cost_per_call * self.live.remaining(under_way)
        self.report(self.progress)

    def note(self, match: PlannedMatch, end: MatchEnd | ReplayMismatch) -> None:
        game, labels = match.configuration.game, [seated.label for seated in match.seating]
        if isinstance(end, ReplayMismatch):
            self.live.drop(game.name)
            self.progress.counts[Status.FAILED] += 1
            self.progress.problems[str(end)] += 1
            return
        self.progress.counts[end.status] += 1
        if not match.scripted:
            if end.status is Status.FAILED:
                self.live.drop(game.name)
            else:
                self.live.end(game.name, max(1, end.calls))
        for seat, seated in zip(game.seats, match.seating, strict=True):
            if seated.may_fail and seat in end.kinds:
                self.progress.kinds.setdefault(seated.label, Counter()).update(end.kinds[seat])
        if end.status is Status.FORFEITED:
            named = dict(zip(game.seats, labels, strict=True))
            for seat, kind in invalid(end.kinds):
                self.progress.problems[f"{game.name}, {Forfeit(named[seat], seat, kind)}"] += 1
        elif end.reason:
            self.progress.problems[f"{game.name}, {' / '.join(labels)}: {end.reason}"] += 1
