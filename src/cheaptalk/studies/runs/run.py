"""Running a study: play what is planned and not yet in the store."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    ExitStack,
    contextmanager,
    nullcontext,
)
from functools import partial
from importlib import import_module
from itertools import groupby
from pathlib import Path
from threading import Event
from types import MappingProxyType
from typing import Any

from cheaptalk.calls.batches import Batching
from cheaptalk.calls.budget import NO_CAP, Cap, Purse, study_purse
from cheaptalk.calls.cache import open_cache
from cheaptalk.calls.control import Control
from cheaptalk.calls.desk import Desk, Models
from cheaptalk.calls.event_loop import (
    CALLED_OFF,
    INTERRUPTED,
    awaitable,
    drive,
    in_batches,
    open_desk,
)
from cheaptalk.calls.orders import MatchCounts, RunState
from cheaptalk.cluster import Cluster, check_address, cluster
from cheaptalk.models.flow_control import PATIENCE
from cheaptalk.models.guests import Guests, as_guests
from cheaptalk.models.prices import Prices
from cheaptalk.players import AskPerson, ModelSeat, Sources
from cheaptalk.records import Ended, Status, Store
from cheaptalk.records.exclusions import excluded
from cheaptalk.records.forfeits import Forfeit, invalid
from cheaptalk.records.identity import digest, study_digest
from cheaptalk.records.ledger.batches import calls_in_batches, refusals
from cheaptalk.records.ledger.ledger import mark_unresolved
from cheaptalk.records.ledger.spending import spent
from cheaptalk.records.record import SETTLED
from cheaptalk.records.store.reader import chunks
from cheaptalk.records.store.shares import Share, Shares
from cheaptalk.records.store.store import StudyRows, adopt, note_run
from cheaptalk.rules import ReplayMismatch
from cheaptalk.studies.estimates.experience import ENOUGH
from cheaptalk.studies.plans.matches import Marks, PlannedMatch
from cheaptalk.studies.plans.plan import Plan, lay_out, redealt
from cheaptalk.studies.presets import study_of
from cheaptalk.studies.runs.checks import Checked, check, check_collected
from cheaptalk.studies.runs.host import CONCURRENCY, IN_BATCHES, Host, match_row, recordings
from cheaptalk.studies.runs.onlooker import NOBODY, Onlooker
from cheaptalk.studies.runs.progress import Progress
from cheaptalk.studies.runs.scripted import Chunk, Work, play_scripted
from cheaptalk.studies.runs.time_left import TimeLeft
from cheaptalk.studies.runs.turns import in_turn
from cheaptalk.studies.study import Study

SCRIPTED, LIVE = "scripted", "live"
"""Kinds of work: matches between scripts, and those with models or people."""
CHUNK = 512
"""Matches between scripts that are played, handed over and committed together."""
LOOK = 0.5
"""Seconds between two looks at what other runs do."""
NOTHING_EXPECTED: Mapping[str, float] = MappingProxyType({})


def run(
    study: Study | Plan | Checked | Path | str,
    store: Store | Path | str,
    *,
    workers: int = 1,
    concurrency: int | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
    patience: float = PATIENCE,
    models: Models | None = None,
    ask_person: AskPerson | None = None,
    guests: Guests | Mapping[str, Any] | None = None,
    prices: Prices | None = None,
    cap: Cap = NO_CAP,
    cache: Path | str | None = None,
    batching: Batching | None = None,
    expected: Mapping[str, float] = NOTHING_EXPECTED,
    on: str | None = None,
    onlooker: Onlooker = NOBODY,
    stop: Event | None = None,
) -> Progress:
    """Play all matches of a study that the store does not hold yet.

    Running again resumes: nothing recorded is lost or asked twice, and failed matches are tried
    again.

    Args:
        study: the study, its file, or a preset's name; its plan if it was laid out already; or what
            :func:`.check` made of that, whose prices, cap and batching then hold.
        store: where its matches are kept, or the store's file or URL; made where there is none.
        workers: processes for matches between scripted players. More than one needs the caller's
            script to be importable (``if __name__ == "__main__":``).
        concurrency: matches with models played at once; by default 64, and 10,000 in batches.
        progress: told after every step.
        patience: seconds for which a model's server may be overloaded or away before it is given
            up.
        models: makes the calls to models; by default over HTTP.
        ask_person: asks a person at this machine.
        guests: has the agents asked that the study calls ``guest/NAME``: a :class:`.Door` at which
            they come by themselves, or by name agents of this process: functions of chat messages,
            or objects with ``invoke`` or the like.
        prices: what models cost; by default those of :func:`~cheaptalk.models.prices.load_prices`.
        cap: what this run may spend, besides the study's budget over all runs.
        cache: a file of replies bought before, made where there is none; None for no cache.
        batching: how to play in providers' batches; None to make each call at once.
        expected: calls of a match by game, as an estimate has them, to foretell the time left.
        on: a cluster whose machines play matches between scripts, and make the calls to models:
            ``ray`` or ``ray://HOST:PORT``, as :func:`~cheaptalk.cluster.cluster` takes it; None for
            this machine. Money, limits and the record stay in one place, here.
        onlooker: looks on while matches with models or people are played, such as
            :class:`.Telemetry`.
        stop: calls the run off once another thread sets it: within a second no more matches and
            calls are begun, what is in flight comes back and is recorded, and the progress is
            returned, halted.

    Raises:
        StudyError: the study cannot be laid out, or a key, price or person is missing.
        StoreError: the store cannot be written; what was committed stays.
        KeyboardInterrupt: stopped by Ctrl-C; what was committed stays.
    """
    wanted = study if isinstance(study, Plan | Checked) else study_of(study)
    coming = as_guests(guests)
    stop = stop or Event()
    if on is not None:
        check_address(on)
    with (
        ExitStack() as farewell,
        Store.opened(store, create=True) as opened,
        open_cache(cache) as call_cache,
    ):
        if isinstance(wanted, Checked):
            checked = wanted
        else:
            planned = wanted if isinstance(wanted, Plan) else lay_out(wanted, opened)
            checked = check(
                planned,
                opened,
                ask_person=ask_person,
                guests=coming,
                prices=prices,
                cap=cap,
                batching=batching,
            )
        sources = Sources(recordings(opened), ask_person, coming)
        with (
            nullcontext() if on is None else cluster(on) as machines,
            in_turn(opened, _work(checked.plan), stop) as shares,
        ):
            at_once = concurrency or (CONCURRENCY if checked.batching is None else IN_BATCHES)
            new_desk = partial(
                open_desk, opened, guests=coming, concurrency=at_once, patience=patience,
                cache=call_cache,
            )  # fmt: skip
            playing = _Run(
                checked, opened, shares, progress, new_desk, sources, expected, models, machines,
                onlooker, stop,
            )  # fmt: skip
            if coming is not None:
                farewell.callback(coming.conclude)
            with playing.control, playing.noting_halts():
                playing.go(workers)
    return playing.progress


run_async = awaitable(run)
"""What :func:`run` does, to be awaited: in a notebook, a server, or beside other tasks.

It takes the same arguments and returns the same. The study is played in a thread, in which
``progress`` is told, too. To cancel the task is to call the run off: what is in flight comes back
and is recorded before the task ends, and to run again is to go on.
"""


def _work(planned: Plan) -> str | None:
    """What runs share that play the same matches; None where one run is to play all of them."""
    study = planned.study
    if not planned.whole or not planned.matches or study.unanswered.redeal or study.deals_from:
        return None  # which matches these are depends on when one looks
    ends = planned.matches[0].id, planned.matches[-1].id
    written = study_digest(planned.study.name, planned.study.written())
    return digest(written, len(planned.matches), *ends)


class _Run:
    """A plan on its way through a host: what is left of it, and how far it is."""

    def __init__(
        self,
        checked: Checked,
        store: Store,
        shares: Shares,
        report: Callable[[Progress], None],
        new_desk: Callable[..., AbstractAsyncContextManager[Desk]],
        sources: Sources,
        expected: Mapping[str, float],
        models: Models | None,
        machines: Cluster | None,
        onlooker: Onlooker,
        stop: Event,
    ) -> None:
        self.stop = stop
        self.models = models
        self.machines = machines
        self.checked = checked
        self.plan = planned = checked.plan
        self.store = store
        self.shares = shares
        self.report = report
        self.new_desk = new_desk
        self.sources = sources
        self.onlooker = onlooker
        self.control = Control(store.backend.mailbox, planned.study.name, self.matches)
        self.desk: Desk | None = None
        self.progress = Progress(0, 0)
        self.settled = Marks()
        whole = planned.within
        self.others = 0 if whole is None else len(whole.matches) - len(planned.matches)
        self.rows = StudyRows(store, planned.study.name, planned.study.written())
        planned.matches.extend(redealt(planned, store))
        games = {one.digest: one.game for one in planned.matches.configurations()}
        seated = planned.players()
        everyone = seated if whole is None else {**whole.players(), **seated}
        players = {key: (one.label, one.spec) for key, one in everyone.items()}
        self.rows.add(games, players)
        self.began = time.monotonic()
        self.portable = all(one.spec.portable() for one in seated.values())
        self.instant = 0
        self.live, self.scripted = TimeLeft(expected=expected), TimeLeft()
        ended = 0 if whole is None else self._adopt(whole)
        self.take_up(0, only=planned.whole)
        self.past, self.found = shares.elsewhere(), 0
        if whole is not None:
            self.progress.rest = len(whole.matches) - ended - self.progress.left
        if shares.first:
            self.progress.unresolved = mark_unresolved(store)

    def take_up(self, start: int, *, only: bool = False) -> None:
        """Play the matches from this one on next, but for those that have ended in another run or
        study.

        Args:
            only: set the study's other matches aside.
        """
        matches = self.plan.matches
        left: Sequence[int] = range(start, len(matches))
        if not self.store.empty():
            found = adopt(self.store, self.rows.id, matches.ids(start), only=only)
            self.progress.set_aside += found.set_aside
            self.progress.forfeited_before += found.forfeited
            left = [start + place for place in found.left]
            self.settled.set_all(start, len(matches), but=left)
        self.progress.planned += len(matches) - start
        self.progress.before += len(matches) - start - len(left)
        for (game, instant), count in matches.kinds(left).items():
            self._time(instant).plan(game, count)
            self.instant += count if instant else 0
        if self.checked.batching is None:
            check_collected(self.store, self.plan.study.name, self.left(instant=False))

    def _adopt(self, whole: Plan) -> int:
        """Take up what has ended of the whole study, of which a part is played; how much has."""
        if self.store.empty():
            return 0
        found = adopt(self.store, self.rows.id, whole.matches.ids(), only=whole.whole)
        self.progress.set_aside += found.set_aside
        return len(whole.matches) - len(found.left)

    def _time(self, instant: bool) -> TimeLeft:
        """Whose time is told: that of matches between scripts, or of those with others."""
        return self.scripted if instant else self.live

    def left(self, *, instant: bool, share: Share | None = None) -> Iterator[PlannedMatch]:
        """The matches still to be played, between scripts or with others."""
        start, stop = (0, None) if share is None else (share.start, share.stop)
        return self.plan.matches.left(self.settled, instant=instant, start=start, stop=stop)

    def _shares(self, kind: str, size: int) -> Iterator[Share]:
        """What is left of a kind of work, divided."""
        numbers = self.plan.matches.numbers_left(self.settled, instant=kind == SCRIPTED)
        for place, some in groupby(numbers, lambda number: number // size):
            yield Share(kind, place * size, (place + 1) * size, sum(1 for _ in some))

    @contextmanager
    def noting_halts(self) -> Iterator[None]:
        """Note in the store why the run stops before its end, if it does, and what it came to."""
        self._note(None, to_come=self.progress.left)
        self.store.backend.merge_log()  # so that a copy of the main file shows what it lacks
        try:
            yield
        except KeyboardInterrupt:
            self._sum_up(INTERRUPTED)
            raise
        self._sum_up(self.progress.halted)
        self.progress.log_open = not self.store.backend.merge_log()

    def _note(self, halted: str | None, *, to_come: int = 0) -> None:
        planned = self.progress.planned + self.others
        if not self.plan.whole and self.plan.within is None:
            name = self.plan.study.name
            known = self.store.study(name, counted=False).planned or 0
            planned = max(known, self.store.count_members(name))
        note_run(self.store, self.rows.id, planned, halted, to_come=to_come)

    def _sum_up(self, halted: str | None) -> None:
        self.progress.halted = halted
        if self._elsewhere():
            statuses = self._statuses()
            ended = sum(statuses[status] for status in SETTLED)
            self.progress.elsewhere = ended - self.progress.here
            self.progress.forfeited_elsewhere = (
                statuses[Status.FORFEITED] - self.progress.forfeited_here
            )
        self._note(halted)
        self.progress.excluded = excluded(self.store, self.plan.study.name)
        if self.desk is not None:
            self.progress.cost = spent(self.store, self.rows.id)

    def _elsewhere(self) -> int:
        """How many matches others have ended since this run looked into the store."""
        return self.found + self.shares.elsewhere() - self.past

    def _statuses(self) -> Counter[Status]:
        """The matches of the plan that are in the store by status, whoever played them."""
        parts = (self.store.statuses(one.id for one in some) for some in chunks(self.plan.matches))
        return Counter(status for part in parts for status in part.values())

    def go(self, workers: int) -> None:
        """Play what is left: matches between scripts first, then those with others."""
        start = len(self.plan.matches)
        self.report(self.progress)
        self.shares.offer(SCRIPTED, partial(self._shares, SCRIPTED, CHUNK))
        self.shares.offer(LIVE, partial(self._shares, LIVE, sys.maxsize))
        self._play_scripted(workers if self.portable else 1)
        self._play_others()
        if not self.progress.halted and (again := redealt(self.plan, self.store)):
            self.settled.set_all(0, start)
            self.plan.matches.extend(again)
            self.instant = 0
            self.take_up(start)
            self.go(workers)

    def _play_scripted(self, workers: int) -> None:
        """Play matches between scripts, as long as any are left here or with others."""
        began = then = time.monotonic()
        while True:
            for share, chunk in self._played(workers):
                rows = [match_row(self.rows, match, end) for match, end in chunk]
                self.store.add(self.rows.id, rows, partial(self.shares.done, share))
                for match, end in chunk:
                    self.note(match, end)
                now = time.monotonic()
                games = Counter(match.configuration.game.name for match, _ in chunk)
                self.scripted.share(games, now - then)
                then = now
                told = self.scripted.after(now - began, elsewhere=self.progress.elsewhere)
                self.progress.seconds_left = None if self.live.waits else told
                if self._stopping():
                    return
            if not self._wait_for_others(SCRIPTED):
                return

    def _played(self, workers: int) -> Iterator[tuple[Share, Chunk]]:
        machines = self.machines if self.portable else None
        return play_scripted(self._works(), self.instant, workers, machines)

    def _works(self) -> Iterator[Work]:
        """Take shares of the matches between scripts, as long as there are any."""
        while share := self.shares.take(SCRIPTED):
            works = 0
            for some in chunks(self.left(instant=True, share=share), CHUNK):
                works += 1
                yield Work(share, some)
            if not works:
                self.store.backend.commit(partial(self.shares.done, share))

    def _play_others(self) -> None:
        """Play matches with models or people, unless another run does."""
        while not self.progress.halted:
            share = self.shares.take(LIVE, alone=True)
            if share is not None:
                if not self.shares.first:
                    self.progress.unresolved += mark_unresolved(self.store)
                    self._pass_over_ended()
                if any(True for _ in self.left(instant=False)):
                    drive(self.play_live(), lambda: self.desk)
                if not self.progress.halted:
                    self.store.backend.commit(partial(self.shares.done, share))
                elif self.progress.halted != CALLED_OFF:
                    self.shares.halt(self.progress.halted)
            elif not self._wait_for_others(LIVE):
                return

    def _pass_over_ended(self) -> None:
        """Leave out matches with models or people that another run has ended meanwhile."""
        numbers = self.plan.matches.numbers_left(self.settled, instant=False)
        for some in chunks([*numbers]):
            known = self.store.statuses(self.plan.matches[number].id for number in some)
            for number in some:
                match = self.plan.matches[number]
                if known.get(match.id) in SETTLED:
                    self.settled.set(number)
                    self.live.drop(match.configuration.game.name)
                    self.found += 1

    def _wait_for_others(self, kind: str) -> bool:
        """Whether others are at work that this run may have to take over; wait a little then."""
        if not self.shares.waits(kind) or self._stopping():
            return False
        time.sleep(LOOK)
        return True

    def _stopping(self) -> bool:
        """Give account, and see whether the run is to stop here."""
        self.progress.elsewhere = self._elsewhere()
        self.report(self.progress)
        self.control.beat()
        if self.control.halted:
            self.shares.halt(self.control.halted)
        called_off = CALLED_OFF if self.stop.is_set() else None
        self.progress.halted = self.control.halted or self.shares.halted or called_off
        return self.progress.halted is not None

    async def play_live(self) -> None:
        """Play the matches with models or people, as many at once as the desk says."""
        async with AsyncExitStack() as stack:
            models = await self._calling()
            self.desk = desk = await stack.enter_async_context(
                self.new_desk(self.purse(), self.rows.id, models=models)
            )
            await stack.enter_async_context(self.control.minding(desk, self.note_state))
            checked = self.checked
            if checked.batching is not None:
                ids = (match.id for match in self.left(instant=False))
                waited = in_batches(desk, checked.batching, checked.prices, self.tell, ids)
                await stack.enter_async_context(waited)
                desk.purse = self.purse()
            self.began = time.monotonic()
            host = Host(self.rows, desk, self.sources, self.onlooker)

            async def play(match: PlannedMatch) -> None:
                end = await host.play(match)
                if end is not None:
                    self.note(match, end)
                    self.report(self.progress)

            await desk.work_on(self.left(instant=False), play)
        self.progress.halted, self.progress.short = desk.halted, desk.purse.short
        self.progress.uncountable = desk.purse.uncountable
        self.progress.used_up += len(desk.purse.used_up)
        ids = (match.id for match in self.left(instant=False))
        self.progress.waiting = calls_in_batches(self.store, ids)
        self.progress.cached = desk.cache.use if desk.cache else None
        if desk.halted == INTERRUPTED:
            raise KeyboardInterrupt

    async def _calling(self) -> Models | None:
        """Who makes calls to models; None for this process."""
        seats = [
            (player.spec, group.configuration.game)
            for (_, player), group in self.plan.seats().items()
            if isinstance(player.spec, ModelSeat)
        ]
        if self.models is not None or self.machines is None or not seats:
            return self.models
        remote = import_module("cheaptalk.calls.remote_models")  # slow, and seldom needed
        begun: Models = await remote.RemoteModels.begun(self.machines, seats, refusals(self.store))
        return begun

    def purse(self) -> Purse:
        """What may still be spent, from what the store says was spent so far."""
        checked = self.checked
        return study_purse(
            self.store, self.rows.id, self.plan.study.budget, checked.prices, checked.cap,
            batch=checked.batching is not None,
        )  # fmt: skip

    def tell(self, batches: str) -> None:
        self.progress.batches = batches
        self.report(self.progress)

    def matches(self) -> MatchCounts:
        progress = self.progress
        return MatchCounts(
            progress.planned, progress.done, progress.failed, progress.seconds_left,
            progress.forfeited,
        )  # fmt: skip

    def note_state(self, state: RunState) -> None:
        self.progress.state = state
        if self.desk is not None and self.stop.is_set():
            self.desk.halt(CALLED_OFF)
        if self.desk is not None and self.checked.batching is None:
            spent = self.desk.purse.now.spent
            self.progress.seconds_left = self.live.so_far(
                time.monotonic() - self.began, spent.calls
            )
            self.progress.dollars_left = (
                self.live.rest_of(spent.dollars, spent.calls)
                if spent.calls >= ENOUGH and spent.dollars_known
                else None
            )
        self.report(self.progress)

    def note(self, match: PlannedMatch, end: Ended | ReplayMismatch) -> None:
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
        for place, seated in zip(game.places, match.seating, strict=True):
            if seated.asked and place in end.kinds:
                self.progress.kinds.setdefault(seated.label, Counter()).update(end.kinds[place])
        if end.status is Status.FORFEITED:
            named = dict(zip(game.places, labels, strict=True))
            for place, kind in invalid(end.kinds):
                self.progress.problems[f"{game.name}, {Forfeit(named[place], place, kind)}"] += 1
        elif end.reason:
            self.progress.problems[f"{game.name}, {' / '.join(labels)}: {end.reason}"] += 1
