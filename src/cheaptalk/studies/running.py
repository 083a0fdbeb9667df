"""Running a study: play what is planned and not yet in the store."""

import asyncio
import signal
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from cheaptalk.records import Ended, NewMatch, Status, Store
from cheaptalk.records.ledger import Ledger, mark_unresolved, spent
from cheaptalk.rules import Given, ReplayMismatch
from cheaptalk.studies.calling import AskPerson, Desk, Models
from cheaptalk.studies.live import play_live
from cheaptalk.studies.planning import Plan, PlannedMatch
from cheaptalk.studies.preparing import SETTLED, check_seats, lay_out
from cheaptalk.studies.purse import Purse
from cheaptalk.studies.scripted import play_scripted
from cheaptalk.studies.spec import Study

CONCURRENCY = 64
"""Matches with models that are played at once."""
INTERRUPTED = "interrupted"
"""Why a run halts that is stopped from the keyboard."""


@dataclass
class Progress:
    """How far a run is. ``counts`` holds this run's matches by status."""

    planned: int
    before: int
    counts: Counter[Status] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)
    unresolved: int = 0
    halted: str | None = None

    @property
    def done(self) -> int:
        """Matches of the plan that have ended, before or in this run."""
        return self.before + sum(self.counts[status] for status in SETTLED)

    @property
    def left(self) -> int:
        return self.planned - self.done

    @property
    def failed(self) -> int:
        return self.counts[Status.FAILED]


def run(
    study: Study | Plan,
    store: Store,
    *,
    workers: int = 1,
    concurrency: int = CONCURRENCY,
    progress: Callable[[Progress], None] = lambda _: None,
    models: Models | None = None,
    ask_person: AskPerson | None = None,
) -> Progress:
    """Play all matches of a study that the store does not hold yet.

    Running again resumes: nothing recorded is lost or asked twice, and failed matches are tried
    again.

    Args:
        study: the study, or its plan if it was laid out already.
        workers: processes for matches between scripted players. More than one needs the caller's
            script to be importable (``if __name__ == "__main__":``).
        concurrency: matches with models played at once.
        progress: told after every step.
        models: makes the calls to models; by default over HTTP.
        ask_person: asks a person at this machine.

    Raises:
        StudyError: the study cannot be laid out, or a key or person is missing.
        StoreError: the store cannot be written; what was committed stays.
        KeyboardInterrupt: stopped by Ctrl-C; what was committed stays.
    """
    laid = study if isinstance(study, Plan) else lay_out(study, store)
    moves = check_seats(laid, store, ask_person)
    with store.writing():
        return _Run(laid, store, progress).go(workers, concurrency, models, ask_person, moves)


class _Run:
    def __init__(self, laid: Plan, store: Store, report: Callable[[Progress], None]) -> None:
        self.plan = laid
        self.store = store
        self.report = report
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
        known = store.statuses(match.id for match in laid.matches)
        settled = {id_ for id_, status in known.items() if status in SETTLED}
        store.adopt(self.study_id, settled)
        self.todo = [match for match in laid.matches if match.id not in settled]
        self.progress = Progress(len(laid.matches), len(settled))
        self.progress.unresolved = mark_unresolved(store)

    def go(
        self,
        workers: int,
        concurrency: int,
        models: Models | None,
        ask_person: AskPerson | None,
        moves: Mapping[str, list[Given]],
    ) -> Progress:
        self.report(self.progress)
        scripted = [match for match in self.todo if match.scripted]
        for chunk in play_scripted(scripted, workers):
            self.store.add(self.study_id, [self.stored(match, end) for match, end in chunk])
            for match, end in chunk:
                self.note(match, end)
            self.report(self.progress)
        live = [match for match in self.todo if not match.scripted]
        if live:
            try:
                self.drive(self.play_live(live, concurrency, models, ask_person, moves))
            except ExceptionGroup as group:
                raise _first(group) from group
        return self.progress

    def drive(self, main: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine; in a thread of its own where this one has a loop, as notebooks do."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            asyncio.run(main)
            return
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(asyncio.run, main)
            try:
                running.result()
            except KeyboardInterrupt:
                if self.desk is not None:
                    self.desk.halt(INTERRUPTED)
                raise

    async def play_live(
        self,
        matches: Sequence[PlannedMatch],
        concurrency: int,
        models: Models | None,
        ask_person: AskPerson | None,
        moves: Mapping[str, list[Given]],
    ) -> None:
        purse = Purse(self.plan.study.budget, *spent(self.store, self.study_id))
        async with AsyncExitStack() as stack:
            ledger = stack.enter_context(Ledger(self.store))
            if models is None:
                connect = import_module("cheaptalk.models.connect")  # slow, and seldom needed
                models = client = connect.open_models()
                stack.push_async_callback(client.close)
            assert models is not None
            self.desk = desk = Desk(self.store, ledger, models, purse, ask_person)
            with _interruptible(desk):
                await play_live(
                    matches, desk, concurrency, self.stored, self.study_id, moves,
                    self.note_and_report,
                )  # fmt: skip
        self.progress.halted = desk.halted
        if desk.halted == INTERRUPTED:
            raise KeyboardInterrupt

    def stored(self, match: PlannedMatch, end: Ended) -> NewMatch:
        places = match.configuration.game.places
        seats = {
            place: self.players[seated.digest]
            for place, seated in zip(places, match.seating, strict=True)
        }
        configuration = self.configurations[match.configuration.digest]
        return NewMatch(match.id, configuration, match.dealt.key, match.repeat, seats, end)

    def note(self, match: PlannedMatch, end: Ended | ReplayMismatch) -> None:
        if isinstance(end, ReplayMismatch):
            self.progress.counts[Status.FAILED] += 1
            self.progress.problems[str(end)] += 1
            return
        self.progress.counts[end.status] += 1
        if end.reason:
            labels = " / ".join(seated.label for seated in match.seating)
            self.progress.problems[f"{match.configuration.game.name}, {labels}: {end.reason}"] += 1

    def note_and_report(self, match: PlannedMatch, end: Ended | ReplayMismatch) -> None:
        self.note(match, end)
        self.report(self.progress)


@contextmanager
def _interruptible(desk: Desk) -> Iterator[None]:
    """On Ctrl-C let the calls in flight come back and be recorded; on a second one, stop."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None

    def interrupt() -> None:
        if desk.halted:
            task.cancel()
        desk.halt(INTERRUPTED)

    loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        yield
    except asyncio.CancelledError:
        if desk.halted != INTERRUPTED:
            raise
        raise KeyboardInterrupt from None
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first single error in a group."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
