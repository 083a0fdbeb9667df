"""Coding of free-text survey answers by a judge."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from cheaptalk.calls.budget import NO_CAP, Budget, BudgetTracker, Cap, Halted, unpriced
from cheaptalk.calls.dispatcher import Caller, Dispatcher, Models
from cheaptalk.calls.event_loop import INTERRUPTED, drive, open_dispatcher
from cheaptalk.judges.answers import label
from cheaptalk.judges.items import Item, answer_item
from cheaptalk.judges.judge_runs import CONCURRENCY
from cheaptalk.judges.judges import Judge, Verdict
from cheaptalk.models.prices import Prices, load_prices
from cheaptalk.players import Kind
from cheaptalk.records import Store, digest
from cheaptalk.records.costs import Cost
from cheaptalk.records.judgements import ledger_id
from cheaptalk.records.ledger.ledger import mark_unresolved
from cheaptalk.records.ledger.spending import spent_on
from cheaptalk.rules import CheaptalkError, counted


def code_answers(
    store: Store,
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
    if models is None and (missing := by.seat.unreachable()):
        raise CheaptalkError(f"the judge's model cannot be called: {missing}")
    known_prices = prices or load_prices()
    if budget.dollars and known_prices.of(by.seat.model) is None:
        raise CheaptalkError(unpriced(by.seat.model))
    items = {
        digest(question, text): answer_item("answer", "judge", question, text)
        for text in answers.values()
    }
    with store.writing():
        mark_unresolved(store)
        names = [ledger_id(by.digest, key) for key in items]
        spent = sum((spent_on(store, name) for name in names), Cost())
        coding = _Coding(store, by, items)
        budget_tracker = BudgetTracker(Budget(**budget.model_dump()), spent, known_prices)
        drive(coding.go(budget_tracker, concurrency, models), lambda: coding.dispatcher)
    verdicts = {
        key: None if verdict.data is None else label(verdict.data)
        for key, verdict in coding.verdicts.items()
    }
    return {person: verdicts[digest(question, text)] for person, text in answers.items()}


@dataclass
class _Coding:
    store: Store
    by: Judge
    items: Mapping[str, Item]
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    problem: str = ""
    dispatcher: Dispatcher | None = None

    async def go(
        self, budget_tracker: BudgetTracker, concurrency: int, models: Models | None
    ) -> None:
        async with open_dispatcher(
            self.store, budget_tracker, models=models, concurrency=concurrency
        ) as dispatcher:
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
