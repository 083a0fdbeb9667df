"""Coding free answers: a judge reads what people wrote in a survey, and says what is in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from cheaptalk.calls.budget import NO_CAP, Budget, Cap, Halted, Purse, unpriced
from cheaptalk.calls.desk import Caller, Desk, Models
from cheaptalk.calls.event_loop import INTERRUPTED, drive, open_desk
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
    """What a judge says of each free answer; see :func:`.judge_of`.

    A theme is coded by a rubric of its own, so that one answer can have several (Strategic
    Tradeoffs, section 6.3, footnote 14). The store's ledger keeps every call, so that nothing that
    was answered is bought again; equal answers are put to the judge once. The calls belong to no
    study: none counts them in what it cost, and no export has them. ``status`` says what they took.

    Args:
        store: keeps the calls; any store, also a new one.
        answers: what people wrote, by person.
        by: the judge.
        question: what they were asked, which the judge reads too.
        budget: what this judge may spend on these answers, over all runs.
        concurrency: answers read at once.
        models: makes the calls; by default over HTTP.
        prices: what models cost; by default those of :func:`~cheaptalk.models.prices.load_prices`.

    Returns:
        The category or the score by person; None where the judge finally gave none.

    Raises:
        CheaptalkError: the model's key is not set, its price is not known, the budget is spent, or
            the provider failed; what was answered until then is kept.
        KeyboardInterrupt: stopped by Ctrl-C; what was answered is kept.
    """
    if models is None and (missing := by.seat.unreachable()):
        raise CheaptalkError(f"the judge cannot be asked: {missing}")
    known = prices or load_prices()
    if budget.dollars and known.of(by.seat.model) is None:
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
        purse = Purse(Budget(**budget.model_dump()), spent, known)
        drive(coding.go(purse, concurrency, models), lambda: coding.desk)
    verdicts = {
        key: None if one.data is None else label(one.data) for key, one in coding.verdicts.items()
    }
    return {person: verdicts[digest(question, text)] for person, text in answers.items()}


@dataclass
class _Coding:
    """Answers as they are coded."""

    store: Store
    by: Judge
    items: Mapping[str, Item]
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    problem: str = ""
    desk: Desk | None = None

    async def go(self, purse: Purse, concurrency: int, models: Models | None) -> None:
        async with open_desk(self.store, purse, models=models, concurrency=concurrency) as desk:
            self.desk = desk
            await desk.work_on(self.items, partial(self.code, desk=desk))
        if desk.halted == INTERRUPTED:
            raise KeyboardInterrupt
        missing = len(self.items) - len(self.verdicts)
        if missing:
            raise CheaptalkError(
                f"{counted(missing, 'answer')} of {len(self.items)} could not be coded: "
                f"{desk.halted or self.problem}; the others are kept, and not asked for again"
            )

    async def code(self, key: str, desk: Desk) -> None:
        """Put one answer to the judge; note its verdict, or why there is none yet."""
        try:
            caller = Caller(ledger_id(self.by.digest, key), desk)
            thinking = self.by.think(self.items[key])
            thought = await caller.think(thinking, 0, "judge", self.by.seat)
        except Halted as halt:
            desk.halt(str(halt))
            return
        if thought.result.kind is Kind.PROVIDER_ERROR:
            self.problem = (thought.last and thought.last.detail) or "the provider failed"
        else:
            self.verdicts[key] = thought.result
