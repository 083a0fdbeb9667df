"""Runs that judge the matches or survey answers of a study, or free-text answers by person.

Judges share the ledger and dispatcher of players, so that a later run continues an earlier one, and
no response is paid for twice. ``cheaptalk control`` also controls running judges.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

from cheaptalk.calls.budget import NO_CAP, Budget, BudgetTracker, Cap, Halted, unpriced
from cheaptalk.calls.cache import open_cache
from cheaptalk.calls.commands import MatchCounts, RunState
from cheaptalk.calls.control import Control
from cheaptalk.calls.dispatcher import Caller, Dispatcher, Models
from cheaptalk.calls.event_loop import CALLED_OFF, INTERRUPTED, awaitable, drive, open_dispatcher
from cheaptalk.judges.items import Item, Subject, answer_item, subjects
from cheaptalk.judges.judges import Judge, Verdict, matches_for, why_nothing
from cheaptalk.judges.verdicts import label
from cheaptalk.models.prices import Prices, load_prices
from cheaptalk.players import Kind
from cheaptalk.printing.printout import Printed
from cheaptalk.printing.progress import reporting
from cheaptalk.records import Store, digest
from cheaptalk.records.costs import Cost, cost_of
from cheaptalk.records.descriptions import ended_text
from cheaptalk.records.judgements import (
    VERDICT_KINDS,
    Judgement,
    judge_cost,
    judged_items,
    ledger_id,
    read_judgements,
    register_judge,
    write_judgement,
)
from cheaptalk.records.ledger.ledger import annotated, mark_unresolved, noted_calls
from cheaptalk.records.ledger.spending import spent_on
from cheaptalk.records.store.lookup import StoreLike, StudyLike, reads
from cheaptalk.rules import CheaptalkError, ReplayMismatch, counted
from cheaptalk.rules.display import brief

CONCURRENCY = 32
"""Default number of matches judged concurrently."""


@dataclass(repr=False)
class Judging(Printed):
    """The progress of a judge's run.

    Attributes:
        matches: number of matches to judge.
        done: number of completely judged matches.
        failed: number of incomplete matches, because a call or the replay failed.
        before: number of items that had a verdict before this run.
        kinds_before: number of items that remain invalid from earlier runs, by kind.
        verdicts: number of this run's verdicts, by category or score.
        kinds: number of this run's final answers, including invalid answers, by kind.
        problems: number of items not judged, by reason.
        unresolved: number of calls of earlier runs without a recorded response.
        cost: the cost of this run's accepted calls.
        spent: the judge's cost for the study over all runs, set at the end of this run.
        halted: why the run stopped early, or None.
        short: whether the budget was exhausted.
        uncountable: whether the run stopped because the provider does not report the token counts
            that a token budget requires.
        nothing: why there was nothing to judge, or None.
        state: the state of the run, updated about once per second.
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
        return brief(self, self.line)

    @property
    def share(self) -> float:
        """The share of matches that are completely judged."""
        return self.done / self.matches if self.matches else 1.0

    @property
    def line(self) -> str:
        """The number of judged matches, as text."""
        return ended_text(self.done, self.matches, failed=self.failed, verb="judged")

    @property
    def judged(self) -> int:
        """Number of items with a valid verdict in this run."""
        return self.verdicts.total()

    @property
    def invalid(self) -> int:
        """Number of items with an invalid verdict in this run."""
        return self.kinds.total() - self.judged

    @property
    def invalid_before(self) -> int:
        """Number of items that earlier runs left without a valid verdict."""
        return self.kinds_before.total()

    @property
    def without(self) -> Counter[Kind]:
        """Number of items without a valid verdict, by kind of the judge's answer."""
        kinds = self.kinds + self.kinds_before
        return Counter({kind: count for kind, count in kinds.items() if kind not in VERDICT_KINDS})

    def note(self, judgement: Judgement, new: Sequence[dict[str, Any]]) -> None:
        """Count a judgement, and add the cost of its new calls."""
        self.kinds[judgement.kind] += 1
        self.cost = sum((cost_of(call["reply"]) for call in new), self.cost)
        if judgement.verdict is not None:
            self.verdicts[label(judgement.verdict)] += 1


@reads
def judge(
    store: StoreLike,
    study: StudyLike,
    by: Judge,
    *,
    sample: int | None = None,
    seed: int = 0,
    player: str | None = None,
    again: bool = False,
    budget: Cap = NO_CAP,
    cache: Path | str | None = None,
    concurrency: int = CONCURRENCY,
    progress: Callable[[Judging], None] | None = None,
    models: Models | None = None,
    prices: Prices | None = None,
    stop: Event | None = None,
) -> Judging:
    """Judge the finished matches of a study by a rubric, except items judged before.

    With a rubric for survey answers, "match" below means a participant, and
    :func:`.answer_verdicts` returns the verdicts.

    >>> players = {"seller": {"strategies": {"persuasion": {"alice": "honest", "bob": "trusting"}}}}
    >>> study = ct.Study(name="sales", games=[{"game": "persuasion"}], players=players)
    >>> _ = ct.run(study, "sales.sqlite")
    >>> ct.judge("sales.sqlite", "sales", ct.judges.judge_of("honesty", "script/legal"))
    <Judging: 1 of 1 match judged>

    Args:
        study: the name of a study in the store.
        by: the judge.
        sample: number of matches, drawn at random; by default all. A larger sample with the same
            seed contains the smaller sample.
        seed: seed of the sample.
        player: the label of a player, to judge only this player's matches.
        again: judge items with an invalid verdict again; the earlier answers remain recorded.
        budget: the judge's limit for this study over all runs.
        cache: a file of cached responses, created if missing; None for no cache.
        concurrency: maximum number of matches judged concurrently.
        progress: called after every match, and about once per second; by default, notebooks show
            the progress.
        models: makes the calls; by default over HTTP.
        prices: the models' prices; by default from :func:`~cheaptalk.models.prices.load_prices`.
        stop: stops the run when another thread sets it, as for :func:`.run`.

    Raises:
        StoreError: the store has no study of this name, or cannot be written.
        CheaptalkError: no match fits the rubric, or the model's key isn't set.
        KeyboardInterrupt: stopped by Ctrl-C; the message states how many matches are judged.
    """
    assert isinstance(store, Store)
    assert isinstance(study, str)
    ids = matches_for(store, study, by, sample=sample, seed=seed, player=player)
    known_prices = _prices(by, budget, models, prices)
    with (
        open_cache(cache) as call_cache,
        store.writing(),
        reporting(progress) as report,
    ):
        register_judge(store, by.digest, by.written)
        run = _JudgingRun(store, study, by, ids, report, stop or Event(), again)
        spent = judge_cost(store, by.digest, study)
        budget_tracker = BudgetTracker(Budget(**budget.model_dump()), spent, known_prices)
        opened = open_dispatcher(
            store,
            budget_tracker,
            run.study_id,
            models=models,
            concurrency=concurrency,
            cache=call_cache,
        )
        try:
            with run.control:
                drive(run.go(opened, budget_tracker), lambda: run.dispatcher)
        except KeyboardInterrupt:
            judged = f"{run.state.done:,} of {counted(run.state.matches, 'match')}"
            advice = f"{judged} are judged; call ct.judge again to resume"
            raise KeyboardInterrupt(advice) from None  # without a traceback of the event loop
    return run.state


judge_async = awaitable(judge)
"""An awaitable version of :func:`judge`."""


def _prices(by: Judge, budget: Cap, models: Models | None, prices: Prices | None) -> Prices:
    """Return the prices of models; raise CheaptalkError if the judge's model can't be called."""
    if models is None and (missing := by.seat.unreachable()):
        raise CheaptalkError(f"the judge's model cannot be called: {missing}")
    known_prices = prices or load_prices()
    if budget.dollars and known_prices.of(by.seat.model) is None:
        raise CheaptalkError(unpriced(by.seat.model))
    return known_prices


@dataclass
class _JudgingRun:
    store: Store
    study: str
    by: Judge
    ids: Sequence[str]
    report: Callable[[Judging], None]
    stop: Event
    again: bool
    dispatcher: Dispatcher | None = None

    def __post_init__(self) -> None:
        self.study_id = self.store.study_id(self.study)
        self.state = Judging(len(self.ids), unresolved=mark_unresolved(self.store))
        self.control = Control(self.store.backend.mailbox, self.study, self.matches)
        self.known = judged_items(self.store, self.study, self.by.digest)

    def matches(self) -> MatchCounts:
        return MatchCounts(self.state.matches, self.state.done, self.state.failed, verb="judged")

    async def go(
        self, opened: AbstractAsyncContextManager[Dispatcher], budget_tracker: BudgetTracker
    ) -> None:
        async with opened as dispatcher, self.control.minding(dispatcher, self.report_state):
            self.dispatcher = dispatcher
            items = subjects(self.store, self.study, self.by.rubric, self.ids)
            await dispatcher.work_on(items, partial(self.judge_subject, dispatcher=dispatcher))
        self.state.halted, self.state.short = dispatcher.halted, budget_tracker.short
        self.state.uncountable = budget_tracker.uncountable
        self.state.spent = budget_tracker.spent
        if not self.state.kinds and self.state.done == len(self.ids):
            counts = self.state.before, self.state.invalid_before
            self.state.nothing = why_nothing(self.by.rubric, *counts)
        if dispatcher.halted == INTERRUPTED:
            raise KeyboardInterrupt

    def report_state(self, state: RunState) -> None:
        self.state.state = state
        if self.dispatcher is not None and self.stop.is_set():
            self.dispatcher.halt(CALLED_OFF)
        self.report(self.state)

    async def judge_subject(self, subject: Subject, dispatcher: Dispatcher) -> None:
        state = self.state
        try:
            caller = Caller(ledger_id(self.by.digest, subject.id), dispatcher, subject.id)
            is_complete = True
            pending, judged, invalid = subject.by_verdict(self.known, again=self.again)
            state.before += judged
            state.kinds_before += invalid
            for item in pending:
                is_complete &= await self.judge_item(subject, item, caller, dispatcher)
            state.done += is_complete
            state.failed += not is_complete
        except Halted as halt:
            dispatcher.halt(str(halt))
        except ReplayMismatch as mismatch:
            state.problems[str(mismatch)] += 1
            state.failed += 1
        self.report(state)

    async def judge_item(
        self, subject: Subject, item: Item, caller: Caller, dispatcher: Dispatcher
    ) -> bool:
        """Judge an item and store the verdict; return False if the provider failed."""
        earlier_calls = self.calls_before(subject, item)
        thought = await caller.think(
            self.by.think(item), item.request, item.actor, self.by.seat, attempts=len(earlier_calls)
        )
        verdict, last_reply = thought.result, thought.last
        if verdict.kind is Kind.PROVIDER_ERROR:
            detail = last_reply.detail if last_reply else None
            self.state.problems[detail or "the provider failed"] += 1
            return False
        notes = noted_calls(self.store, caller.match_id)
        kind = Kind.REPAIRED if earlier_calls and verdict.kind is Kind.OK else verdict.kind
        judgement = Judgement(
            subject.id,
            self.by.digest,
            item.name,
            kind,
            verdict.data,
            [*earlier_calls, *annotated(thought.calls, thought.keys, notes)],
            time.time(),
        )
        await dispatcher.ledger.write(
            lambda connection: write_judgement(connection, self.study_id, judgement, thought.keys)
        )
        self.state.note(judgement, new=thought.calls)
        return True

    def calls_before(self, subject: Subject, item: Item) -> list[dict[str, Any]]:
        if (subject.id, item.name) not in self.known:
            return []
        earlier = read_judgements(self.store, judge=self.by.digest, match_id=subject.id)
        return next((each.calls for each in earlier if each.item == item.name), [])


def code_answers(
    store: StoreLike,
    answers: Mapping[str, str],
    by: Judge,
    *,
    question: str,
    budget: Cap = NO_CAP,
    concurrency: int = CONCURRENCY,
    models: Models | None = None,
    prices: Prices | None = None,
) -> dict[str, str | None]:
    """Return a judge's verdict on each free-text survey answer.

    Use a rubric for each theme, because an answer can have several themes (Strategic Tradeoffs,
    section 6.3, footnote 14). The store's ledger keeps every call, so no response is paid for
    twice, and identical answers are judged once. The calls belong to no study: ``status`` shows
    them, but no study's cost or export includes them.

    Args:
        store: the store of the calls; may be new.
        answers: answers by person.
        by: the judge, from :func:`.judge_of`.
        question: the survey question, which the judge also reads.
        budget: the judge's limit for these answers over all runs.
        concurrency: maximum number of answers judged concurrently.
        models: makes the calls; by default over HTTP.
        prices: the models' prices; by default from :func:`~cheaptalk.models.prices.load_prices`.

    Returns:
        The category or score by person; None if the judge gave no valid verdict.

    Raises:
        CheaptalkError: the model's key isn't set, the model's price is unknown, the budget is
            exhausted, or the provider failed; earlier responses are kept.
        KeyboardInterrupt: stopped by Ctrl-C; earlier responses are kept.
    """
    with Store.opened(store, create=True) as store:
        known_prices = _prices(by, budget, models, prices)
        items = {
            digest(question, text): answer_item("judge", question, text)
            for text in answers.values()
        }
        with store.writing():
            mark_unresolved(store)
            names = [ledger_id(by.digest, key) for key in items]
            spent = sum((spent_on(store, name) for name in names), Cost())
            coding = _Coding(by, items)
            budget_tracker = BudgetTracker(Budget(**budget.model_dump()), spent, known_prices)
            opened = open_dispatcher(store, budget_tracker, models=models, concurrency=concurrency)
            drive(coding.go(opened), lambda: coding.dispatcher)
        verdicts = {
            key: None if verdict.data is None else label(verdict.data)
            for key, verdict in coding.verdicts.items()
        }
        return {person: verdicts[digest(question, text)] for person, text in answers.items()}


@dataclass
class _Coding:
    by: Judge
    items: Mapping[str, Item]
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    problem: str = ""
    dispatcher: Dispatcher | None = None

    async def go(self, opened: AbstractAsyncContextManager[Dispatcher]) -> None:
        async with opened as dispatcher:
            self.dispatcher = dispatcher
            await dispatcher.work_on(self.items, partial(self.code, dispatcher=dispatcher))
        if dispatcher.halted == INTERRUPTED:
            raise KeyboardInterrupt
        missing = len(self.items) - len(self.verdicts)
        if missing:
            raise CheaptalkError(
                f"{counted(missing, 'answer')} of {len(self.items)} could not be coded: "
                f"{dispatcher.halted or self.problem}; other verdicts are kept"
            )

    async def code(self, key: str, dispatcher: Dispatcher) -> None:
        try:
            caller = Caller(ledger_id(self.by.digest, key), dispatcher)
            thinking = self.by.think(self.items[key])
            thought = await caller.think(thinking, 0, "judge", self.by.seat)
        except Halted as halt:
            dispatcher.halt(str(halt))
            return
        if thought.result.kind is Kind.PROVIDER_ERROR:
            self.problem = (thought.last and thought.last.detail) or "the provider failed"
        else:
            self.verdicts[key] = thought.result
