"""Judging a study: every item that has no verdict of this judge yet is put to its model.

A judge's calls take the same way as a player's, from the ledger or over the wire, and its verdicts
are kept apart from the matches: to judge again is to go on, and nothing is bought twice. While it
runs, ``cheaptalk ctl`` looks after it as after a study. All verdicts make a frame, one row an item.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import polars as pl

from cheaptalk.calls.budget import NO_CAP, Budget, Cap, Halted, Purse, unpriced
from cheaptalk.calls.cache import CallCache, open_cache
from cheaptalk.calls.control import Control
from cheaptalk.calls.desk import Caller, Desk, Models
from cheaptalk.calls.event_loop import CALLED_OFF, INTERRUPTED, awaitable, drive, open_desk
from cheaptalk.calls.orders import MatchCounts, RunState
from cheaptalk.judges.answers import label, verdict_of
from cheaptalk.judges.items import Item
from cheaptalk.judges.judges import Judge, matches_for, why_nothing
from cheaptalk.judges.rubrics import Rubric
from cheaptalk.judges.subjects import Subject, subjects
from cheaptalk.models.prices import Prices, load_prices
from cheaptalk.players import Kind
from cheaptalk.records import MatchRecord, Store, configuration_digest
from cheaptalk.records.costs import Cost, cost_of
from cheaptalk.records.endings import ended_text
from cheaptalk.records.judgements import (
    GIVEN,
    Judgement,
    judge_cost,
    judged_items,
    judges_of,
    ledger_id,
    read_judgements,
    register_judge,
    write_judgement,
)
from cheaptalk.records.ledger.ledger import annotated, mark_unresolved, noted_calls
from cheaptalk.rules import CheaptalkError, ReplayMismatch
from cheaptalk.rules.display import brief
from cheaptalk.studies.lookup import reads_study

CONCURRENCY = 32
"""Matches that are judged at once."""
COLUMNS: dict[str, Any] = {
    "judge": pl.String,
    "match": pl.String,
    "game": pl.String,
    "configuration": pl.String,
    "deal": pl.String,
    "item": pl.String,
    "place": pl.String,
    "player": pl.String,
    "kind": pl.String,
    "verdict": pl.String,
    "score": pl.Float64,
}


@dataclass
class Judging:
    """How far a judge is.

    Attributes:
        matches: those to be judged.
        done: those of them in which nothing is left to be judged.
        failed: those in which something is, because a call failed or the match does not replay.
        before: items that had a verdict before this run.
        kinds_before: answers of earlier runs that are no verdicts, by kind, where the judge was not
            asked again.
        verdicts: this run's verdicts by category or score.
        kinds: the judge's final answers of this run by kind, those without a verdict included.
        problems: why items were not judged, and how many for each reason.
        unresolved: calls of earlier runs whose replies were never recorded.
        cost: what this run's accepted calls took.
        spent: what the judge has taken for the study over all its runs, once this one is over.
        halted: why the run stopped before its end, if it did.
        short: whether its budget allowed no more.
        uncountable: whether it stopped because its budget needs tokens counted that nobody counts.
        nothing: why nothing was judged, where there was nothing to judge.
        state: how the run is doing, about once a second anew.
    """

    matches: int = 0
    done: int = 0
    failed: int = 0
    before: int = 0
    kinds_before: Counter[Kind] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    kinds: Counter[Kind] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)
    unresolved: int = 0
    cost: Cost = field(default_factory=Cost)
    spent: Cost = field(default_factory=Cost)
    halted: str | None = None
    short: bool = False
    uncountable: bool = False
    nothing: str | None = None
    state: RunState | None = None

    def __repr__(self) -> str:
        how_far = ended_text(self.done, self.matches, failed=self.failed, verb="judged")
        return brief(self, how_far)

    @property
    def judged(self) -> int:
        """Items of which the judge gave a verdict in this run."""
        return self.verdicts.total()

    @property
    def invalid(self) -> int:
        """Items of which the judge finally gave no valid verdict in this run."""
        return self.kinds.total() - self.judged

    @property
    def invalid_before(self) -> int:
        """Items without a verdict of which the judge was not asked again in this run."""
        return self.kinds_before.total()

    @property
    def without(self) -> Counter[Kind]:
        """What the judge's answers were, by kind, of which it gave no valid verdict so far."""
        whole = self.kinds + self.kinds_before
        return Counter({kind: count for kind, count in whole.items() if kind not in GIVEN})

    def note(self, judgement: Judgement, new: Sequence[dict[str, Any]]) -> None:
        """Count a judgement, and what its new calls took."""
        self.kinds[judgement.kind] += 1
        self.cost = sum((cost_of(call["reply"]) for call in new), self.cost)
        if judgement.verdict is not None:
            self.verdicts[label(judgement.verdict)] += 1


@reads_study
def judge(
    store: Store,
    study: str,
    by: Judge,
    *,
    sample: int | None = None,
    seed: int = 0,
    player: str | None = None,
    again: bool = False,
    budget: Cap = NO_CAP,
    cache: Path | str | None = None,
    concurrency: int = CONCURRENCY,
    progress: Callable[[Judging], None] = lambda _: None,
    models: Models | None = None,
    prices: Prices | None = None,
    stop: Event | None = None,
) -> Judging:
    """Judge the finished matches of a study by a rubric; what is judged already is not again.

    By a rubric for answers, what people wrote in its surveys is judged; :func:`.answer_verdicts`
    has the verdicts. All that is said of matches here is then of these people.

    Args:
        study: the name of a study in the store.
        by: the judge.
        sample: so many matches, drawn at random; all if not set. A larger sample of the same seed
            holds the smaller one.
        seed: of the sample.
        player: a label: judge the matches alone in which this player sits.
        again: ask again where the judge gave no verdict; what it said before stays in the record.
        budget: what this judge may spend on this study, over all its runs.
        cache: a file of replies bought before, made where there is none; None for no cache.
        concurrency: matches judged at once.
        progress: told after every match, and about once a second.
        models: makes the calls; by default over HTTP.
        prices: what models cost; by default those of :func:`~cheaptalk.models.prices.load_prices`.
        stop: calls the judge off once another thread sets it, as it does a :func:`.run`.

    Raises:
        StoreError: there is no such study, or the store cannot be written.
        CheaptalkError: no match fits the rubric, or the model's key is not set.
        KeyboardInterrupt: stopped by Ctrl-C; what was bought stays.
    """
    chosen = matches_for(store, study, by, sample=sample, seed=seed, player=player)
    if models is None and (missing := by.seat.unreachable()):
        raise CheaptalkError(f"the judge cannot be asked: {missing}")
    known = prices or load_prices()
    if budget.dollars and known.of(by.seat.model) is None:
        raise CheaptalkError(unpriced(by.seat.model))
    with open_cache(cache) as call_cache, store.writing():
        register_judge(store, by.digest, by.written)
        run = _JudgingRun(store, study, by, chosen, progress, stop or Event(), again=again)
        spent = judge_cost(store, by.digest, study)
        purse = Purse(Budget(**budget.model_dump()), spent, known)
        with run.control:
            drive(run.go(purse, call_cache, concurrency, models), lambda: run.desk)
    return run.state


judge_async = awaitable(judge)
"""What :func:`judge` does, to be awaited, as :func:`.run_async` is."""


class _JudgingRun:
    def __init__(
        self,
        store: Store,
        study: str,
        by: Judge,
        chosen: Sequence[str],
        report: Callable[[Judging], None],
        stop: Event,
        *,
        again: bool,
    ) -> None:
        self.stop = stop
        self.store = store
        self.study = study
        self.study_id = store.study_id(study)
        self.by = by
        self.chosen = chosen
        self.report = report
        self.again = again
        self.state = Judging(len(chosen), unresolved=mark_unresolved(store))
        self.control = Control(store.backend.mailbox, study, self.matches)
        self.desk: Desk | None = None
        self.known = judged_items(store, study, by.digest)

    def matches(self) -> MatchCounts:
        return MatchCounts(self.state.matches, self.state.done, self.state.failed, verb="judged")

    async def go(
        self, purse: Purse, cache: CallCache | None, concurrency: int, models: Models | None
    ) -> None:
        opened = open_desk(
            self.store, purse, self.study_id, models=models, concurrency=concurrency, cache=cache
        )
        async with opened as desk, self.control.minding(desk, self.tell):
            self.desk = desk
            found = subjects(self.store, self.study, self.by.rubric, self.chosen)
            await desk.work_on(found, partial(self.look_at, desk=desk))
        self.state.halted, self.state.short = desk.halted, purse.short
        self.state.uncountable = purse.uncountable
        self.state.spent = purse.spent
        if not self.state.kinds and self.state.done == len(self.chosen):
            known = self.state.before, self.state.invalid_before
            self.state.nothing = why_nothing(self.by.rubric, *known)
        if desk.halted == INTERRUPTED:
            raise KeyboardInterrupt

    def tell(self, state: RunState) -> None:
        self.state.state = state
        if self.desk is not None and self.stop.is_set():
            self.desk.halt(CALLED_OFF)
        self.report(self.state)

    async def look_at(self, subject: Subject, desk: Desk) -> None:
        """Judge what is not judged yet of a match, or of a person's answers."""
        state = self.state
        try:
            caller = Caller(ledger_id(self.by.digest, subject.id), desk, subject.id)
            is_whole = True
            for item in self.fresh(subject):
                is_whole &= await self.put(subject, item, caller, desk)
            state.done += is_whole
            state.failed += not is_whole
        except Halted as halt:
            desk.halt(str(halt))
        except ReplayMismatch as mismatch:
            state.problems[str(mismatch)] += 1
            state.failed += 1
        self.report(state)

    def fresh(self, subject: Subject) -> list[Item]:
        """The items that the judge is to be asked about."""
        found = []
        for item in subject.items():
            kind = self.known.get((subject.id, item.name))
            if kind in GIVEN:
                self.state.before += 1
            elif kind is None or self.again:
                found.append(item)
            else:
                self.state.kinds_before[kind] += 1
        return found

    async def put(self, subject: Subject, item: Item, caller: Caller, desk: Desk) -> bool:
        """Put an item to the judge; store what it says with every call it took.

        Returns:
            Whether it is settled: not where the provider failed.
        """
        thinking = self.by.think(item)
        before = self.calls_before(subject, item)
        thought = await caller.think(
            thinking, item.request, item.seat, self.by.seat, attempts=len(before)
        )
        verdict, last = thought.result, thought.last
        if verdict.kind is Kind.PROVIDER_ERROR:
            detail = last.detail if last else None
            self.state.problems[detail or "the provider failed"] += 1
            return False
        noted = noted_calls(self.store, caller.match_id)
        made = Judgement(
            subject.id,
            self.by.digest,
            item.name,
            Kind.REPAIRED if before and verdict.kind is Kind.OK else verdict.kind,
            verdict.data,
            [*before, *annotated(thought.calls, thought.keys, noted)],
            time.time(),
        )
        await desk.ledger.write(
            lambda connection: write_judgement(connection, self.study_id, made, thought.keys)
        )
        self.state.note(made, new=thought.calls)
        return True

    def calls_before(self, subject: Subject, item: Item) -> list[dict[str, Any]]:
        """The recorded calls in which the judge gave no verdict of an item."""
        if (subject.id, item.name) not in self.known:
            return []
        said = read_judgements(self.store, judge=self.by.digest, match_id=subject.id)
        return next((one.calls for one in said if one.item == item.name), [])


@reads_study
def verdict_frame(store: Store, study: str) -> pl.DataFrame:
    """All judgements of a study.

    Columns: ``judge`` (its digest), ``match``, ``game``, ``configuration`` and ``deal`` as in
    :func:`.match_frames`, ``item`` (what was judged), ``place`` and ``player`` (whose it is; null
    where a whole match was judged), ``kind`` (of the judge's answer), ``verdict`` (a category, or a
    score as text; null without a valid answer) and ``score`` (of a category, 1 if it counts as a
    find and 0 if not). Verdicts on people's answers are in :func:`.answer_verdicts`.

    Raises:
        StoreError: there is no such study.
    """
    store.study(study)
    rubrics = {
        key: Rubric.model_validate(spec["rubric"]) for key, spec in judges_of(store, study).items()
    }
    by_match: dict[str, list[Judgement]] = {}
    for one in read_judgements(store, study=study):
        by_match.setdefault(one.match_id, []).append(one)
    rows: list[list[Any]] = []
    for record in store.records(study) if by_match else ():
        rows += [_row(record, one, rubrics[one.judge]) for one in by_match.get(record.id, ())]
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def _row(record: MatchRecord, one: Judgement, rubric: Rubric) -> list[Any]:
    seat = one.item.rpartition("/")[2]
    place = record.at.get(seat)
    verdict, score = verdict_of(one, rubric)
    return [
        one.judge, record.id, record.game, configuration_digest(record.rules), record.deal_key,
        one.item, place, None if place is None else record.label(place), one.kind.value, verdict,
        score,
    ]  # fmt: skip
