"""Judging a study: every item that has no verdict of this judge yet is put to its model.

A judge's calls take the same way as a player's, from the ledger or over the wire, and its verdicts
are kept apart from the matches: to judge again is to go on, and nothing is bought twice.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cheaptalk.measures.items import Item, items_of
from cheaptalk.measures.judges import Judge, Verdict
from cheaptalk.models import Reply
from cheaptalk.models.flow import CEILING
from cheaptalk.models.lanes import Lanes
from cheaptalk.models.prices import Prices, load_prices
from cheaptalk.players import Kind
from cheaptalk.records import MatchRecord, Status, Store, digest
from cheaptalk.records.browsing import ended_matches, some
from cheaptalk.records.costs import Cost
from cheaptalk.records.judgements import (
    Judgement,
    judge_cost,
    ledger_id,
    read_judgements,
    register_judge,
    write_judgement,
)
from cheaptalk.records.ledger import CallKey, Ledger, begun_matches, mark_unresolved
from cheaptalk.rules import CheaptalkError, ReplayMismatch
from cheaptalk.studies.caching import CacheStation
from cheaptalk.studies.calling import Caller, Desk, Models
from cheaptalk.studies.driving import INTERRUPTED, drive, interruptible, over_the_wire
from cheaptalk.studies.purse import NO_CAP, Halted, Purse, unpriced
from cheaptalk.studies.spec import Budget, Cap
from cheaptalk.studies.stations import opened

CONCURRENCY = 32
"""Matches that are judged at once."""


@dataclass
class Judging:
    """How far a judge is. ``matches`` are those to be judged, ``done`` those that were looked at.

    Attributes:
        before: items that had a verdict before this run.
        verdicts: this run's verdicts by category or score.
        kinds: the judge's answers of this run by kind.
        problems: why items have no verdict, and how many have none for each reason.
        cost: what this run's accepted calls took.
        halted: why the run stopped before its end, if it did.
        short: whether its budget allowed no more.
    """

    matches: int = 0
    done: int = 0
    before: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    kinds: Counter[Kind] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)
    cost: Cost = field(default_factory=Cost)
    halted: str | None = None
    short: bool = False

    @property
    def judged(self) -> int:
        """Items judged in this run, those included that brought no valid verdict."""
        return sum(self.kinds.values())

    def note(self, judgement: Judgement) -> None:
        """Count a judgement."""
        self.kinds[judgement.kind] += 1
        self.cost += judgement.cost
        if judgement.verdict is not None:
            self.verdicts[label(judgement.verdict)] += 1


def label(verdict: dict[str, Any]) -> str:
    """A verdict in a word: its category, or its score as text."""
    return str(verdict.get("category", verdict.get("score")))


def judge(
    store: Store,
    study: str,
    by: Judge,
    *,
    sample: int | None = None,
    seed: int = 0,
    budget: Cap = NO_CAP,
    cache: Path | None = None,
    concurrency: int = CONCURRENCY,
    progress: Callable[[Judging], None] = lambda _: None,
    models: Models | None = None,
    prices: Prices | None = None,
) -> Judging:
    """Judge the finished matches of a study by a rubric; what is judged already is not again.

    Args:
        study: the name of a study in the store.
        by: the judge.
        sample: so many matches, drawn at random; all if not set. A larger sample of the same seed
            holds the smaller one.
        seed: of the sample.
        budget: what this judge may spend on this study, over all its runs.
        cache: a file of replies bought before, made where there is none; None for no cache.
        concurrency: matches judged at once.
        progress: told after every match.
        models: makes the calls; by default over HTTP.
        prices: what models cost; by default those of :func:`~cheaptalk.models.prices.load_prices`.

    Raises:
        StoreError: there is no such study, or the store cannot be written.
        CheaptalkError: no match fits the rubric, or the model's key is not set.
        KeyboardInterrupt: stopped by Ctrl-C; what was bought stays.
    """
    chosen = matches_for(store, study, by, sample=sample, seed=seed)
    if models is None and (missing := by.seat.missing()):
        raise CheaptalkError(f"the judge cannot be asked: {missing}")
    known = prices or load_prices()
    if budget.dollars and known.of(by.seat.model) is None:
        raise CheaptalkError(unpriced(by.seat.model))
    with opened(cache) as station, store.writing():
        register_judge(store, by.digest, by.written)
        mark_unresolved(store)
        run = _Run(store, study, by, chosen, progress)
        purse = Purse(
            Budget(**budget.model_dump()), judge_cost(store, by.digest, study), known
        )  # fmt: skip
        drive(run.go(purse, station, concurrency, models), lambda: run.desk)
    return run.state


def matches_for(
    store: Store, study: str, by: Judge, *, sample: int | None = None, seed: int = 0
) -> list[str]:
    """The matches that a judge is to judge: finished ones of games that its rubric fits.

    Raises:
        StoreError: there is no such study.
        CheaptalkError: it has none.
    """
    store.study(study)
    ended = ended_matches(store, study, Status.FINISHED)
    games = sorted({game for _, game in ended})
    found = [id_ for id_, game in ended if by.rubric.fits(game)]
    if not found:
        of = f"its games are {', '.join(games)}" if games else "it has no finished match"
        fits = f", which fits {', '.join(by.rubric.games)}" if by.rubric.games else ""
        raise CheaptalkError(f"{study} has nothing to judge by {by.rubric.name}{fits}: {of}")
    if sample is None or sample >= len(found):
        return found
    drawn = set(sorted(found, key=lambda id_: digest("sample", seed, id_))[:sample])
    return [id_ for id_ in found if id_ in drawn]


def first_item(
    store: Store, study: str, by: Judge, *, sample: int | None = None, seed: int = 0
) -> tuple[str, Item]:
    """The first thing that a judge is asked about, with its match's id.

    Raises:
        StoreError: there is no such study.
        CheaptalkError: it has nothing to judge.
    """
    chosen = matches_for(store, study, by, sample=sample, seed=seed)
    for record in some(store, study, chosen, batch=20):
        for item in items_of(record, by.rubric):
            return record.id, item
    raise CheaptalkError(f"{study} has nothing to judge by {by.rubric.name}: nobody said a word")


class _Run:
    def __init__(
        self,
        store: Store,
        study: str,
        by: Judge,
        chosen: Sequence[str],
        report: Callable[[Judging], None],
    ) -> None:
        self.store = store
        self.study = study
        self.by = by
        self.chosen = chosen
        self.report = report
        self.state = Judging(len(chosen))
        self.desk: Desk | None = None
        self.known = {
            (one.match_id, one.item) for one in read_judgements(store, study=study, judge=by.digest)
        }

    async def go(
        self, purse: Purse, cache: CacheStation | None, concurrency: int, models: Models | None
    ) -> None:
        async with AsyncExitStack() as stack:
            ledger = stack.enter_context(Ledger(self.store))
            models = models or over_the_wire(stack)
            self.desk = desk = Desk(
                self.store, ledger, models, purse, cache=cache, begun=begun_matches(self.store),
                lanes=Lanes(ceiling=max(CEILING, concurrency)),
            )  # fmt: skip
            waiting = self.waiting()
            with interruptible(desk):
                async with asyncio.TaskGroup() as group:
                    for _ in range(min(concurrency, len(self.chosen))):
                        group.create_task(self.work(waiting, desk))
        self.state.halted, self.state.short = desk.halted, purse.short
        if desk.halted == INTERRUPTED:
            raise KeyboardInterrupt

    def waiting(self) -> Iterator[tuple[MatchRecord, list[Item]]]:
        """Matches with their items that are not judged yet, read in pages."""
        for record in some(self.store, self.study, self.chosen):
            try:
                items = items_of(record, self.by.rubric)
            except ReplayMismatch as mismatch:
                self.state.problems[str(mismatch)] += 1
                items = []
            fresh = [item for item in items if (record.id, item.name) not in self.known]
            self.state.before += len(items) - len(fresh)
            yield record, fresh

    async def work(self, waiting: Iterator[tuple[MatchRecord, list[Item]]], desk: Desk) -> None:
        for record, items in waiting:
            if desk.halted:
                return
            caller = Caller(ledger_id(self.by.digest, record.id), desk, record.id)
            for item in items:
                try:
                    await self.put(record, item, caller, desk)
                except Halted as halt:
                    desk.halt(str(halt))
                    return
            self.state.done += 1
            self.report(self.state)

    async def put(self, record: MatchRecord, item: Item, caller: Caller, desk: Desk) -> None:
        """Put an item to the judge; store what it says with every call it took."""
        thinking = self.by.think(item)
        calls: list[dict[str, Any]] = []
        keys: list[CallKey] = []
        reply: Reply | None = None
        while True:
            try:
                call = next(thinking) if reply is None else thinking.send(reply)
            except StopIteration as end:
                verdict: Verdict = end.value
                break
            match_id = ledger_id(self.by.digest, record.id)
            keys.append(CallKey(match_id, item.request, item.seat, len(calls)))
            reply, entry = await caller.make(keys[-1], call, self.by.seat)
            calls.append(entry)
        if verdict.kind is Kind.PROVIDER_ERROR:
            detail = reply.detail if reply else None
            self.state.problems[detail or "the provider failed"] += 1
            return
        made = Judgement(
            record.id, self.by.digest, item.name, verdict.kind, verdict.data, calls, time.time()
        )
        await desk.ledger.write(lambda connection: write_judgement(connection, made, keys))
        self.state.note(made)
