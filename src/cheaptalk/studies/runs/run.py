"""Running a study: play what is planned and not yet in the store."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from cheaptalk.calls.batches import Batching
from cheaptalk.calls.budget import NO_CAP, Cap, Purse, study_purse
from cheaptalk.calls.cache import open_cache
from cheaptalk.calls.control import Control
from cheaptalk.calls.desk import Desk, Models
from cheaptalk.calls.event_loop import INTERRUPTED, drive, in_batches, open_desk
from cheaptalk.calls.orders import MatchCounts, RunState
from cheaptalk.models.flow_control import PATIENCE
from cheaptalk.models.prices import Prices
from cheaptalk.players import AskPerson, Sources
from cheaptalk.records import Ended, Status, Store
from cheaptalk.records.exclusions import excluded
from cheaptalk.records.forfeits import Forfeit, invalid
from cheaptalk.records.ledger.batches import calls_in_batches
from cheaptalk.records.ledger.ledger import mark_unresolved
from cheaptalk.records.ledger.spending import spent
from cheaptalk.records.record import SETTLED
from cheaptalk.records.store.reader import chunks
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
from cheaptalk.studies.runs.scripted import play_scripted
from cheaptalk.studies.runs.time_left import TimeLeft
from cheaptalk.studies.study import Study

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
    prices: Prices | None = None,
    cap: Cap = NO_CAP,
    cache: Path | str | None = None,
    batching: Batching | None = None,
    expected: Mapping[str, float] = NOTHING_EXPECTED,
    onlooker: Onlooker = NOBODY,
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
        prices: what models cost; by default those of :func:`~cheaptalk.models.prices.load_prices`.
        cap: what this run may spend, besides the study's budget over all runs.
        cache: a file of replies bought before, made where there is none; None for no cache.
        batching: how to play in providers' batches; None to make each call at once.
        expected: calls of a match by game, as an estimate has them, to foretell the time left.
        onlooker: looks on while matches with models or people are played, such as
            :class:`.Telemetry`.

    Raises:
        StudyError: the study cannot be laid out, or a key, price or person is missing.
        StoreError: the store cannot be written; what was committed stays.
        KeyboardInterrupt: stopped by Ctrl-C; what was committed stays.
    """
    wanted = study if isinstance(study, Plan | Checked) else study_of(study)
    with Store.opened(store, create=True) as opened, open_cache(cache) as call_cache:
        if isinstance(wanted, Checked):
            checked = wanted
        else:
            planned = wanted if isinstance(wanted, Plan) else lay_out(wanted, opened)
            checked = check(
                planned, opened, ask_person=ask_person, prices=prices, cap=cap, batching=batching
            )
        sources = Sources(recordings(opened), ask_person)
        with opened.writing():
            at_once = concurrency or (CONCURRENCY if checked.batching is None else IN_BATCHES)
            new_desk = partial(
                open_desk, opened, models=models, concurrency=at_once, patience=patience,
                cache=call_cache,
            )  # fmt: skip
            playing = _Run(checked, opened, progress, new_desk, sources, expected, onlooker)
            with playing.control, playing.noting_halts():
                playing.go(workers)
    return playing.progress


class _Run:
    """A plan on its way through a host: what is left of it, and how far it is."""

    def __init__(
        self,
        checked: Checked,
        store: Store,
        report: Callable[[Progress], None],
        new_desk: Callable[[Purse, int], AbstractAsyncContextManager[Desk]],
        sources: Sources,
        expected: Mapping[str, float],
        onlooker: Onlooker,
    ) -> None:
        self.checked = checked
        self.plan = planned = checked.plan
        self.store = store
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
        groups = list(planned.matches.groups())
        games = {one.configuration.digest: one.configuration.game for one in groups}
        players = {key: (one.label, one.spec) for key, one in planned.players().items()}
        self.rows.add(games, players)
        self.began = time.monotonic()
        self.portable = all(spec.portable() for _, spec in players.values())
        self.instant = sum(group.matches for group in groups if group.instant)
        self.live, self.scripted = TimeLeft(expected=expected), TimeLeft()
        for group in groups:
            self._time(group.instant).plan(group.configuration.game.name, group.matches)
        ended = 0 if whole is None else self._adopt(whole)
        self.take_up(0, only=planned.whole)
        if whole is not None:
            self.progress.rest = len(whole.matches) - ended - self.progress.left
        self.progress.unresolved = mark_unresolved(store)

    def take_up(self, start: int, *, only: bool = False) -> None:
        """Play the matches from this one on next, but for those that have ended in another run or
        study.

        Args:
            only: set the study's other matches aside.
        """
        count = len(self.plan.matches) - start
        if not self.store.empty():
            known = self._look_up(start)
            self.progress.set_aside += adopt(self.store, self.rows.id, known, only=only)
        self.progress.planned += count
        if self.checked.batching is None:
            check_collected(self.store, self.plan.study.name, self.left(instant=False))

    def _adopt(self, whole: Plan) -> int:
        """Take up what has ended of the whole study, of which a part is played; how much has."""
        ended = 0

        def stored() -> Iterator[str]:
            nonlocal ended
            for some in chunks(whole.matches):
                known = self.store.statuses(match.id for match in some)
                ended += sum(status in SETTLED for status in known.values())
                yield from known

        if not self.store.empty():
            self.progress.set_aside += adopt(self.store, self.rows.id, stored(), only=whole.whole)
        return ended

    def _look_up(self, start: int) -> Iterator[str]:
        """Mark the matches from this one on that have ended; those of them that are stored."""
        numbered = enumerate(islice(self.plan.matches, start, None), start)
        for some in chunks(numbered):
            known = self.store.statuses(match.id for _, match in some)
            for number, match in some:
                if known.get(match.id) in SETTLED:
                    self.settled.set(number)
                    self.progress.before += 1
                    self.instant -= match.scripted
                    self._time(match.scripted).drop(match.configuration.game.name)
            yield from known

    def _time(self, instant: bool) -> TimeLeft:
        """Whose time is told: that of matches between scripts, or of those with others."""
        return self.scripted if instant else self.live

    def left(self, *, instant: bool) -> Iterator[PlannedMatch]:
        """The matches still to be played, between scripts or with others."""
        return self.plan.matches.left(self.settled, instant=instant)

    @contextmanager
    def noting_halts(self) -> Iterator[None]:
        """Note in the store why the run stops before its end, if it does, and what it came to."""
        self._note(None)
        try:
            yield
        except KeyboardInterrupt:
            self._sum_up(INTERRUPTED)
            raise
        self._sum_up(self.progress.halted)

    def _note(self, halted: str | None) -> None:
        planned = self.progress.planned + self.others
        if not self.plan.whole and self.plan.within is None:
            name = self.plan.study.name
            known = self.store.study(name, counted=False).planned or 0
            planned = max(known, self.store.count_members(name))
        note_run(self.store, self.rows.id, planned, halted)

    def _sum_up(self, halted: str | None) -> None:
        self.progress.halted = halted
        self._note(halted)
        self.progress.excluded = excluded(self.store, self.plan.study.name)
        if self.desk is not None:
            self.progress.cost = spent(self.store, self.rows.id)

    def go(self, workers: int) -> None:
        """Play what is left: matches between scripts first, then those with others."""
        start = len(self.plan.matches)
        self.report(self.progress)
        began = then = time.monotonic()
        processes = workers if self.portable else 1
        for chunk in play_scripted(self.left(instant=True), self.instant, processes):
            self.store.add(self.rows.id, [match_row(self.rows, match, end) for match, end in chunk])
            for match, end in chunk:
                self.note(match, end)
            now = time.monotonic()
            games = Counter(match.configuration.game.name for match, _ in chunk)
            self.scripted.share(games, now - then)
            then = now
            told = self.scripted.after(now - began)
            self.progress.seconds_left = None if self.live.waits else told
            self.report(self.progress)
            self.control.beat()
            if self.control.halted:
                self.progress.halted = self.control.halted
                return
        if any(True for _ in self.left(instant=False)):
            drive(self.play_live(), lambda: self.desk)
        if not self.progress.halted and (again := redealt(self.plan, self.store)):
            for number in range(start):
                self.settled.set(number)
            self.plan.matches.extend(again)
            self.instant = sum(match.scripted for match in again)
            for match in again:
                self._time(match.scripted).plan(match.configuration.game.name, 1)
            self.take_up(start)
            self.go(workers)

    async def play_live(self) -> None:
        """Play the matches with models or people, as many at once as the desk says."""
        async with AsyncExitStack() as stack:
            self.desk = desk = await stack.enter_async_context(
                self.new_desk(self.purse(), self.rows.id)
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
        return MatchCounts(progress.planned, progress.done, progress.failed, progress.seconds_left)

    def note_state(self, state: RunState) -> None:
        self.progress.state = state
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
