"""Running a study: play what is planned and not yet in the store."""

import asyncio
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field

from cheaptalk.models.openai import OpenAIModels
from cheaptalk.players import ModelSeat, PersonSeat, RecordedSeat
from cheaptalk.records import Ended, NewMatch, Status, Store, StoreError
from cheaptalk.records.ledger import Ledger, mark_unresolved, spent
from cheaptalk.rules import Given, ReplayMismatch
from cheaptalk.studies.live import AskPerson, Desk, Models, Purse, play_live
from cheaptalk.studies.planning import (
    Configuration,
    Dealt,
    Plan,
    PlannedMatch,
    deal_key,
    plan,
)
from cheaptalk.studies.scripted import play_scripted
from cheaptalk.studies.spec import Study, StudyError

CONCURRENCY = 64
"""Matches with models that are played at once."""
SETTLED = (Status.FINISHED, Status.FORFEITED)


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


def lay_out(study: Study, store: Store | None) -> Plan:
    """The plan of a study; one that takes its deals from another finds them in the store.

    Raises:
        StudyError: it cannot be laid out.
    """
    if study.deals_from is None:
        return plan(study)
    if store is None:
        raise StudyError(f"deals_from: {study.deals_from} needs a store (--store)")
    tables = list(_tables_of(store, study.deals_from))
    if not tables:
        raise StudyError(f'deals_from: "{study.deals_from}" has no finished match in {store.path}')
    return plan(study, tables)


def _tables_of(store: Store, name: str) -> Iterator[tuple[Configuration, list[Dealt]]]:
    """The configurations of a study with the deals and turn orders it was played on."""
    try:
        store.study(name)
    except StoreError as error:
        raise StudyError(f"deals_from: {error}") from None
    found: dict[str, tuple[Configuration, dict[tuple[str, str], Dealt]]] = {}
    for record in store.records(name, bodies=True):
        if record.status not in SETTLED:
            continue
        configuration = Configuration(record.rules)
        _, deals = found.setdefault(configuration.digest, (configuration, {}))
        deal = record.rules.deal_type.model_validate(record.body["deal"])
        dealt = Dealt(f"{record.deal_key}:{deal_key(deal)}", record.body["seed"], deal)
        deals.setdefault((dealt.key, dealt.seed), dealt)
    for configuration, deals in found.values():
        yield configuration, list(deals.values())


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
    check_seats(laid, ask_person)
    with store.writing():
        return _Run(laid, store, progress).go(workers, concurrency, models, ask_person)


def check_seats(laid: Plan, ask_person: AskPerson | None = None) -> None:
    """Refuse a plan whose players cannot be reached.

    Raises:
        StudyError: a provider's key is not set, or a person is to play and nobody asks them.
    """
    for player in laid.players().values():
        if isinstance(player.spec, ModelSeat) and player.spec.missing_key():
            raise StudyError(
                f"players.{player.label}: set the environment variable {player.spec.missing_key()}"
            )
        if isinstance(player.spec, PersonSeat) and ask_person is None:
            raise StudyError(f"players.{player.label}: a person plays with: cheaptalk play")


class _Run:
    def __init__(self, laid: Plan, store: Store, report: Callable[[Progress], None]) -> None:
        self.plan = laid
        self.store = store
        self.report = report
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
                asyncio.run(self.play_live(live, concurrency, models, ask_person))
            except ExceptionGroup as group:
                raise _first(group) from group
        return self.progress

    async def play_live(
        self,
        matches: Sequence[PlannedMatch],
        concurrency: int,
        models: Models | None,
        ask_person: AskPerson | None,
    ) -> None:
        over_http = OpenAIModels() if models is None else None
        caller = models or over_http
        assert caller is not None
        purse = Purse(self.plan.study.budget, *spent(self.store, self.study_id))
        with Ledger(self.store) as ledger:
            desk = Desk(self.store, ledger, caller, purse, ask_person)
            with _interruptible(desk):
                await play_live(
                    matches, desk, concurrency, self.stored, self.study_id,
                    _recorded(self.plan, self.store), self.note_and_report,
                )  # fmt: skip
        if over_http is not None:
            await over_http.close()
        self.progress.halted = desk.halted
        if desk.halted == INTERRUPTED:
            raise KeyboardInterrupt

    def stored(self, match: PlannedMatch, end: Ended) -> NewMatch:
        roles = match.configuration.game.roles
        seats = {
            role: self.players[seated.digest]
            for role, seated in zip(roles, match.seating, strict=True)
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


INTERRUPTED = "interrupted"


@contextmanager
def _interruptible(desk: Desk) -> Iterator[None]:
    """On Ctrl-C let the calls in flight come back and be recorded; on a second one, stop."""
    if threading.current_thread() is not threading.main_thread():
        with nullcontext():
            yield
        return
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()

    def interrupt() -> None:
        if desk.halted and task is not None:
            task.cancel()
        desk.halt(INTERRUPTED)

    loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def _recorded(laid: Plan, store: Store) -> dict[str, list[Given]]:
    """The moves that recorded players repeat, by match."""
    wanted = {
        player.spec.recorded
        for player in laid.players().values()
        if isinstance(player.spec, RecordedSeat)
    }
    return {id_: store.find(id_).replay().given for id_ in wanted}


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first single error in a group."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
