"""Running a study: play what is planned and not yet in the store."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

from cheaptalk.calls.batches import Batching
from cheaptalk.calls.cache import CacheStation
from cheaptalk.calls.control import Control
from cheaptalk.calls.desk import AskPerson, Desk, Models
from cheaptalk.calls.driver import INTERRUPTED, drive, interruptible, over_the_wire
from cheaptalk.calls.orders import Matches, RunState
from cheaptalk.calls.purse import NO_CAP, Cap, Purse
from cheaptalk.models.flow import PATIENCE, Lanes
from cheaptalk.models.prices import Prices, load_prices
from cheaptalk.records import Ended, NewMatch, Status, Store
from cheaptalk.records.ledger.ledger import Ledger, begun_matches, mark_unresolved
from cheaptalk.records.ledger.spending import spent
from cheaptalk.records.record import SETTLED
from cheaptalk.records.store.store import adopt, note_halt, note_plan
from cheaptalk.records.unanswered import excluded
from cheaptalk.rules import Given, ReplayMismatch
from cheaptalk.studies.plans.plan import Plan, PlannedMatch, lay_out, redealt
from cheaptalk.studies.runs.checks import check_prices, check_seats
from cheaptalk.studies.runs.live import play_live
from cheaptalk.studies.runs.progress import Progress
from cheaptalk.studies.runs.scripted import play_scripted
from cheaptalk.studies.runs.stations import (
    check_batching,
    check_collected,
    join_batches,
    opened,
    with_providers,
)
from cheaptalk.studies.study import Study

CONCURRENCY = 64
"""Matches with models that are played at once."""
IN_BATCHES = 10_000
"""The same where all wait for providers' batches."""


def run(
    study: Study | Plan,
    store: Store,
    *,
    workers: int = 1,
    concurrency: int | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
    patience: float = PATIENCE,
    models: Models | None = None,
    ask_person: AskPerson | None = None,
    prices: Prices | None = None,
    cap: Cap = NO_CAP,
    cache: Path | None = None,
    batching: Batching | None = None,
) -> Progress:
    """Play all matches of a study that the store does not hold yet.

    Running again resumes: nothing recorded is lost or asked twice, and failed matches are tried
    again.

    Args:
        study: the study, or its plan if it was laid out already.
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

    Raises:
        StudyError: the study cannot be laid out, or a key, price or person is missing.
        StoreError: the store cannot be written; what was committed stays.
        KeyboardInterrupt: stopped by Ctrl-C; what was committed stays.
    """
    laid = study if isinstance(study, Plan) else lay_out(study, store)
    moves = check_seats(laid, store, ask_person)
    known = prices or load_prices()
    check_prices(laid, known, cap)
    check_batching(laid, store, batching)
    with opened(cache) as station, store.writing():
        playing = _Run(laid, store, progress, patience, known, cap, station, batching)
        with playing.control:
            at_once = concurrency or (CONCURRENCY if batching is None else IN_BATCHES)
            with playing.noting_halts():
                playing.go(workers, at_once, models, ask_person, moves)
    return playing.progress


class _Run:
    def __init__(
        self,
        laid: Plan,
        store: Store,
        report: Callable[[Progress], None],
        patience: float,
        prices: Prices,
        cap: Cap,
        cache: CacheStation | None,
        batching: Batching | None,
    ) -> None:
        self.plan = laid
        self.cache = cache
        self.batching = batching
        self.prices = prices
        self.cap = cap
        self.store = store
        self.report = report
        self.patience = patience
        self.control = Control(store.path, laid.study.name, self.matches)
        self.desk: Desk | None = None
        study = laid.study
        self.study_id = store.register_study(study.name, study.written())
        used = {match.configuration.digest: match.configuration for match in laid.matches}
        self.configurations = store.register_configurations(
            {key: configuration.stored for key, configuration in used.items()}
        )
        people = laid.players()
        self.players = store.register_players(
            {key: one.spec.model_dump(mode="json") for key, one in people.items()}
        )
        labels = {self.players[key]: one.label for key, one in people.items()}
        store.register_roster(self.study_id, labels)
        self.progress = Progress(0, 0)
        self.todo: list[PlannedMatch] = []
        laid.matches += redealt(laid, store)
        self.take_up(laid.matches, only=laid.whole)
        self.progress.unresolved = mark_unresolved(store)

    def take_up(self, matches: Sequence[PlannedMatch], *, only: bool = False) -> None:
        """Play these matches next, but for those that have ended in another run or study.

        Args:
            only: set the study's other matches aside.
        """
        known = self.store.statuses(match.id for match in matches)
        settled = {id_ for id_, status in known.items() if status in SETTLED}
        self.progress.set_aside += adopt(self.store, self.study_id, known, only=only)
        self.todo = [match for match in matches if match.id not in settled]
        if self.batching is None:
            check_collected(self.store, self.plan.study.name, self.todo)
        self.progress.planned += len(matches)
        self.progress.before += len(settled)

    @contextmanager
    def noting_halts(self) -> Iterator[None]:
        """Note in the store why the run stops before its end, if it does, and what it came to."""
        note_halt(self.store, self.study_id, None)
        note_plan(self.store, self.study_id, self.progress.planned)
        try:
            yield
        except KeyboardInterrupt:
            self._sum_up(INTERRUPTED)
            raise
        self._sum_up(self.progress.halted)

    def _sum_up(self, halted: str | None) -> None:
        self.progress.halted = halted
        note_halt(self.store, self.study_id, halted)
        note_plan(self.store, self.study_id, self.progress.planned)
        self.progress.excluded = excluded(self.store, self.plan.study.name)
        if self.desk is not None:
            self.progress.cost = spent(self.store, self.study_id)

    def go(
        self,
        workers: int,
        concurrency: int,
        models: Models | None,
        ask_person: AskPerson | None,
        moves: Mapping[str, list[Given]],
    ) -> None:
        self.report(self.progress)
        scripted = [match for match in self.todo if match.scripted]
        for chunk in play_scripted(scripted, workers):
            self.store.add(self.study_id, [self.stored(match, end) for match, end in chunk])
            for match, end in chunk:
                self.note(match, end)
            self.report(self.progress)
            self.control.beat()
            if self.control.halted:
                self.progress.halted = self.control.halted
                return
        live = [match for match in self.todo if not match.scripted]
        if live:
            main = self.play_live(live, concurrency, models, ask_person, moves)
            drive(main, lambda: self.desk)
        if not self.progress.halted and (again := redealt(self.plan, self.store)):
            self.plan.matches += again
            self.take_up(again)
            self.go(workers, concurrency, models, ask_person, moves)

    async def play_live(
        self,
        matches: Sequence[PlannedMatch],
        concurrency: int,
        models: Models | None,
        ask_person: AskPerson | None,
        moves: Mapping[str, list[Given]],
    ) -> None:
        async with AsyncExitStack() as stack:
            ledger = stack.enter_context(Ledger(self.store))
            models = models or over_the_wire(stack)
            self.desk = desk = Desk(
                self.store, ledger, models, self.purse(), ask_person,
                lanes=Lanes(concurrency=concurrency, patience=self.patience),
                concurrency=concurrency, begun=begun_matches(self.store), cache=self.cache,
            )  # fmt: skip
            await stack.enter_async_context(self.control.minding(desk, self.note_state))
            with interruptible(desk):
                if self.batching is not None:
                    await join_batches(stack, desk, self.batching, self.prices, self.tell, matches)
                    desk.purse = self.purse()
                await play_live(
                    matches, desk, self.stored, self.study_id, moves, self.note_and_report
                )
        self.progress.halted, self.progress.short = desk.halted, desk.purse.short
        self.progress.used_up += len(desk.purse.used_up)
        self.progress.waiting = with_providers(self.store, matches)
        if self.cache is not None:
            self.progress.cached = self.cache.use
        if desk.halted == INTERRUPTED:
            raise KeyboardInterrupt

    def purse(self) -> Purse:
        """What may still be spent, from what the store says was spent so far."""
        before = spent(self.store, self.study_id)
        batch = self.batching is not None
        return Purse(self.plan.study.budget, before, self.prices, self.cap, batch=batch)

    def tell(self, batches: str) -> None:
        """Tell how far the batches are."""
        self.progress.batches = batches
        self.report(self.progress)

    def matches(self) -> Matches:
        return Matches(self.progress.planned, self.progress.done, self.progress.failed)

    def stored(self, match: PlannedMatch, end: Ended) -> NewMatch:
        places = match.configuration.game.places
        seats = {
            place: self.players[seated.digest]
            for place, seated in zip(places, match.seating, strict=True)
        }
        configuration = self.configurations[match.configuration.digest]
        return NewMatch(match.id, configuration, match.dealt.key, match.repeat, seats, end)

    def note_state(self, state: RunState) -> None:
        self.progress.state = state
        self.report(self.progress)

    def note(self, match: PlannedMatch, end: Ended | ReplayMismatch) -> None:
        if isinstance(end, ReplayMismatch):
            self.progress.counts[Status.FAILED] += 1
            self.progress.problems[str(end)] += 1
            return
        self.progress.counts[end.status] += 1
        for place, seated in zip(match.configuration.game.places, match.seating, strict=True):
            if seated.asked and place in end.kinds:
                self.progress.kinds.setdefault(seated.label, Counter()).update(end.kinds[place])
        if end.reason:
            labels = " / ".join(seated.label for seated in match.seating)
            self.progress.problems[f"{match.configuration.game.name}, {labels}: {end.reason}"] += 1

    def note_and_report(self, match: PlannedMatch, end: Ended | ReplayMismatch) -> None:
        self.note(match, end)
        self.report(self.progress)
