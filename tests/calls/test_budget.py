"""Budgets: checked before each call, calls in flight counted; what is spent stays spent."""

import asyncio
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from aiohttp import web

import cheaptalk as ct
from cheaptalk.calls.budget import (
    USUAL_ANSWER,
    BudgetTracker,
    MatchSpent,
    Sizes,
    study_budget_tracker,
)
from cheaptalk.mock_server import answer
from cheaptalk.mock_server.formats import completion
from cheaptalk.models import ChatMessage, Failure, ModelCall, ModelSettings, Reply, Usage
from cheaptalk.models.prices import Price, Prices
from cheaptalk.models.usage import characters
from cheaptalk.records import Status, Store
from cheaptalk.records.costs import Cost
from cheaptalk.records.ledger.ledger import mark_unresolved
from cheaptalk.records.ledger.spending import spent
from cheaptalk.records.store.schema import calls
from cheaptalk.studies import Budget, Cap, Halted, StudyError
from tests.fakes import Canned, Server, broken, legal, study, with_model

LONG = {"games": [{"game": "bargaining", "fixed": {"horizon": 6}}], "instances": 8}
DEAR = Price(models=("vllm/*",), input=100, output=400, as_of=date(2026, 1, 1))
"""A hundredth of a cent for a token of the question."""
PRICES = Prices({"test": (DEAR,)})


def used(call: ModelCall) -> Usage:
    """A token for four characters of the question, and 20 for the answer."""
    return Usage(input_tokens=characters(call) // 4, output_tokens=20)


def counted(call: ModelCall, number: str = "") -> Reply:
    """A legal answer of a server that counts tokens so."""
    return Reply(text=legal(call), usage=used(call))


def tokens(call: ModelCall) -> int:
    return used(call).input_tokens + 20


def run(store: Store, models: Canned, cap: Cap | None = None, **budget: object) -> ct.Progress:
    made = study(**with_model() | LONG, budget=budget)
    return ct.run(made, store, models=models, prices=PRICES, cap=cap or Cap())


@pytest.fixture
def whole(tmp_path: Path) -> Canned:
    """The models of a run without a budget."""
    models = Canned(counted, pause=0.001)
    with Store.open(tmp_path / "whole.sqlite", create=True) as other:
        assert run(other, models).left == 0
    return models


@pytest.mark.parametrize("cap", [1, 5, 17])
def test_a_cap_on_calls_is_met_exactly_and_halts_cleanly(store: Store, cap: int) -> None:
    models = Canned()
    progress = run(store, models, calls=cap)
    assert progress.halted == f"the budget of {cap} call{'s' if cap > 1 else ''} is exhausted"
    assert len(models.calls) == spent(store, 1).calls == cap
    assert progress.left > 0
    assert not store.unresolved()


def test_more_budget_lets_a_run_go_on_and_the_same_one_does_not(store: Store) -> None:
    first, second, third = Canned(), Canned(), Canned()
    run(store, first, calls=10)
    assert run(store, second, calls=10).halted
    assert second.calls == []
    done = run(store, third, calls=10_000)
    assert (done.halted, done.left) == (None, 0)
    assert len(set(first.numbers + third.numbers)) == len(first.numbers) + len(third.numbers)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_cap_on_tokens_is_not_exceeded_and_used_as_far_as_it_goes(
    store: Store, whole: Canned, share: float
) -> None:
    cap = round(share * sum(map(tokens, whole.calls)))
    models = Canned(counted)
    progress = run(store, models, tokens=cap)
    taken = spent(store, 1).tokens
    assert progress.halted == f"the budget of {cap:,} tokens would be exceeded ({taken:,} used)"
    assert cap - 2 * max(map(tokens, whole.calls)) < taken <= cap
    assert taken == sum(map(tokens, models.calls))


class Company(Canned):
    """Models that answer the first call alone, and then none until another call is under way."""

    def __init__(self) -> None:
        super().__init__(counted)
        self.together = asyncio.Event()

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        self.in_flight += 1
        if self.in_flight > 1:
            self.together.set()
        if self.calls:
            async with asyncio.timeout(60):
                await self.together.wait()
        self.in_flight -= 1
        return await super().call(call, number, deadline)


def test_calls_that_can_be_paid_for_together_go_out_together(store: Store, whole: Canned) -> None:
    assert run(store, Company(), tokens=sum(map(tokens, whole.calls)) // 2).halted


def test_a_cap_on_dollars_stops_the_run_and_resumes(store: Store, whole: Canned) -> None:
    needed = sum(DEAR.dollars(used(call)) for call in whole.calls)
    cap = round(needed / 2, 2)
    models, more = Canned(counted), Canned(counted)
    progress = run(store, models, dollars=cap)
    cost = spent(store, 1)
    assert progress.halted
    assert progress.halted.startswith(f"the budget of ${cap:.2f} would be exceeded ($")
    assert cost.dollars == pytest.approx(sum(DEAR.dollars(used(call)) for call in models.calls))
    assert 0.9 * cap < cost.dollars <= cap
    assert run(store, more, dollars=2 * needed).left == 0
    assert spent(store, 1).dollars == pytest.approx(needed)
    assert sorted(models.numbers + more.numbers) == sorted(whole.numbers)


def test_a_match_remembers_what_it_cost(store: Store) -> None:
    run(store, Canned(counted))
    for record in store.records(bodies=True):
        replies = [call["reply"] for answer in record.answers for call in answer.calls]
        assert record.dollars == pytest.approx(sum(one["dollars"] for one in replies))
        assert (record.unpriced, record.calls) == (0, len(replies))


def test_a_match_over_its_own_budget_fails_with_the_reason_and_goes_on_when_it_is_raised(
    store: Store,
) -> None:
    first, again, more = Canned(counted), Canned(counted), Canned(counted)
    progress = run(store, first, per_match={"calls": 1})
    assert progress.halted is None
    assert progress.failed == progress.left > 0
    assert {reason.partition(": ")[2] for reason in progress.problems} == {
        "the match's budget of 1 call is exhausted"
    }
    assert all(record.outcome is None for record in store.records() if record.status == "failed")
    assert run(store, again, per_match={"calls": 1}).failed == progress.failed
    assert again.calls == [], "what was bought is remembered"
    assert run(store, more, per_match={"calls": 50}).left == 0
    assert len(set(first.numbers + more.numbers)) == len(first.numbers) + len(more.numbers)


def test_a_cap_on_the_run_counts_from_its_beginning(store: Store) -> None:
    for _ in range(2):
        models = Canned(counted)
        progress = run(store, models, cap=Cap(calls=5), calls=1_000)
        assert progress.halted == "this run's limit of 5 calls is exhausted"
        assert len(models.calls) == 5


def test_sendings_that_fail_are_counted_too(store: Store, no_waits: None) -> None:
    models = Canned(lambda call, number: broken())
    progress = run(store, models, calls=12)
    assert progress.halted
    assert len(models.calls) == spent(store, 1).calls == 12


def test_a_cap_counts_what_the_study_bought_and_not_what_it_shares(store: Store) -> None:
    ct.run(study(**with_model() | LONG), store, models=Canned())
    models = Canned()
    before = spent(store, 1)
    more = study(**with_model() | LONG | {"instances": 9}, name="more", budget={"calls": 2})
    assert ct.run(more, store, models=models).halted
    assert len(models.calls) == 2 == spent(store, 2).calls
    assert spent(store, 1) == before


def test_dollars_need_a_price_before_anything_runs(store: Store) -> None:
    unknown = study(**with_model(), budget={"dollars": 1})
    with pytest.raises(StudyError, match=r"players.tiny: no price is known for vllm/tiny, so a"):
        ct.run(unknown, store, models=Canned(), prices=Prices({}))
    with pytest.raises(
        StudyError, match=r"add the price to a file \(cheaptalk model prices --init"
    ):
        ct.run(study(**with_model()), store, prices=Prices({}), cap=Cap(dollars=1))
    assert store.studies() == []


def test_a_server_that_counts_no_tokens_cannot_be_capped_by_them(store: Store) -> None:
    def silent(call: ModelCall, number: str) -> Reply:
        return Reply(text=legal(call))

    progress = run(store, Canned(silent), tokens=10**6)
    assert progress.halted == ("vllm/tiny does not report token counts: limit calls instead")
    assert spent(store, 1).unpriced > 0
    assert run(store, Canned(silent), calls=10**6).left == 0


def call(length: int = 90, **settings: int) -> ModelCall:
    """A call of so many characters."""
    message = ChatMessage(role="user", content="x" * length)
    return ModelCall(model="vllm/m", messages=(message,), settings=ModelSettings(**settings))


def reply(asked: int, answered: int) -> Reply:
    return Reply(text="hi", usage=Usage(input_tokens=asked, output_tokens=answered))


def test_without_a_budget_nothing_is_ever_refused() -> None:
    async def scene() -> int:
        budget_tracker = BudgetTracker(Budget(), Cost(calls=10**9, dollars=1e9))
        await budget_tracker.open(call(), budget_tracker.tab())
        return budget_tracker.study.in_flight

    assert asyncio.run(scene()) == 1


@pytest.mark.parametrize(
    ("own", "short"), [({}, False), ({"calls": 9}, False), ({"calls": 2}, True)]
)
def test_a_cap_that_was_set_meanwhile_is_not_the_study_s_own(own: Any, short: bool) -> None:
    async def scene() -> bool:
        budget_tracker = BudgetTracker(Budget(**own), Cost(calls=3))
        budget_tracker.set(Budget(calls=3))
        with pytest.raises(Halted, match="the budget of 3 calls is exhausted"):
            await budget_tracker.open(call(), budget_tracker.tab())
        return budget_tracker.short

    assert asyncio.run(scene()) is short


def test_matches_at_their_cap_on_tokens_fail_for_one_reason(store: Store, whole: Canned) -> None:
    most = max(map(tokens, whole.calls)) + 20
    progress = run(store, Canned(counted), per_match={"tokens": most})
    assert progress.failed > 1
    assert {reason.partition(": ")[2] for reason in progress.problems} == {
        f"the match's budget of {most} tokens would be exceeded"
    }


async def settle() -> None:
    """Let all tasks go as far as they get."""
    for _ in range(100):
        await asyncio.sleep(0)


def test_a_call_waits_where_those_in_flight_decide_whether_it_can_be_paid() -> None:
    async def scene() -> list[str]:
        budget_tracker, seen = BudgetTracker(Budget(tokens=300), Cost()), []
        tab = budget_tracker.tab()
        first = await budget_tracker.open(call(max_tokens=100), tab)  # a guess: 30 and 100
        second = await budget_tracker.open(call(max_tokens=100), tab)
        waiting = [
            asyncio.create_task(budget_tracker.open(call(max_tokens=100), tab)) for _ in range(3)
        ]
        await asyncio.sleep(0)
        seen.append(f"{budget_tracker.study.in_flight} of 130 tokens are in flight")
        budget_tracker.close(first, reply(10, 100))
        await settle()
        seen.append(f"{budget_tracker.study.in_flight} when a question turns out to take 10")
        budget_tracker.close(second, reply(10, 20))
        await settle()
        seen.append(f"{budget_tracker.study.in_flight} when an answer was short")
        budget_tracker.close(await waiting[0], reply(10, 100))
        results = await asyncio.gather(*waiting, return_exceptions=True)
        seen += [type(one).__name__ for one in results]
        return seen

    assert asyncio.run(scene()) == [
        "2 of 130 tokens are in flight",
        "1 when a question turns out to take 10",
        "1 when an answer was short",
        "Reservation", "Halted", "Halted",
    ]  # fmt: skip


def test_a_call_of_unknown_size_goes_out_alone_where_the_guess_is_too_dear() -> None:
    async def scene() -> int:
        budget_tracker = BudgetTracker(Budget(tokens=60), Cost())
        held = await budget_tracker.open(call(), budget_tracker.tab())
        other = asyncio.create_task(budget_tracker.open(call(), budget_tracker.tab()))
        await asyncio.sleep(0)
        assert budget_tracker.study.in_flight == 1
        budget_tracker.close(held, reply(10, 10))
        budget_tracker.close(await other, reply(10, 31))
        with pytest.raises(Halted, match=r"60 tokens would be exceeded \(61 used\)"):
            await budget_tracker.open(call(), budget_tracker.tab())
        return budget_tracker.spent.tokens

    assert asyncio.run(scene()) == 61


def test_first_calls_go_out_together_where_their_guess_can_be_paid() -> None:
    async def scene() -> int:
        budget_tracker = BudgetTracker(Budget(tokens=100_000), Cost())
        await asyncio.gather(
            *(budget_tracker.open(call(), budget_tracker.tab()) for _ in range(50))
        )
        return budget_tracker.study.in_flight

    assert asyncio.run(scene()) == 50


def test_a_raised_budget_lets_those_who_wait_go_on() -> None:
    async def scene() -> None:
        budget_tracker = BudgetTracker(Budget(calls=1), Cost())
        await budget_tracker.open(call(), budget_tracker.tab())
        other = asyncio.create_task(budget_tracker.open(call(), budget_tracker.tab()))
        await asyncio.sleep(0)
        budget_tracker.set(Budget(calls=2))
        await other

    asyncio.run(scene())


def test_who_is_refused_by_one_cap_holds_nothing_of_another() -> None:
    async def scene() -> tuple[BudgetTracker, int]:
        budget_tracker = BudgetTracker(
            Budget(calls=9, per_match=Cap(calls=1)), Cost(), run=Cap(calls=2)
        )
        one, other = budget_tracker.tab(), budget_tracker.tab(Cost(calls=1))
        with pytest.raises(MatchSpent, match="the match's budget of 1 call is exhausted"):
            await budget_tracker.open(call(), other)
        budget_tracker.now.spent = Cost(calls=2)
        with pytest.raises(Halted, match="this run's limit of 2 calls is exhausted"):
            await budget_tracker.open(call(), one)
        return budget_tracker, one.in_flight

    budget_tracker, in_flight = asyncio.run(scene())
    assert (budget_tracker.study.in_flight, budget_tracker.study.held_tokens, in_flight) == (
        0,
        0,
        0,
    )
    assert budget_tracker.spent == Cost()


def test_a_call_that_never_came_back_costs_a_call() -> None:
    async def scene() -> None:
        budget_tracker = BudgetTracker(Budget(calls=1), Cost())
        budget_tracker.close(await budget_tracker.open(call(), budget_tracker.tab()), None)
        assert budget_tracker.spent == Cost(calls=1, unresolved=1)
        with pytest.raises(Halted, match="the budget of 1 call is exhausted"):
            await budget_tracker.open(call(), budget_tracker.tab())

    asyncio.run(scene())


def test_sizes_are_guessed_then_learned() -> None:
    sizes = Sizes()
    assert sizes.expected(call(90, max_tokens=50)) == Usage(input_tokens=30, output_tokens=50)
    thinking = sizes.expected(call(90, reasoning=5_000)).output_tokens
    assert thinking > 5_000
    sizes.note(call(100), Usage(input_tokens=25, output_tokens=70))
    assert sizes.expected(call(200)) == Usage(input_tokens=50, output_tokens=70)
    sizes.note(call(100), Usage(input_tokens=30, output_tokens=10))
    sizes.note(call(100), Usage())
    assert sizes.expected(call(200)) == Usage(input_tokens=60, output_tokens=70)
    assert sizes.expected(call(200, max_tokens=100)).output_tokens == 100


def test_a_failed_match_of_a_budget_is_no_play(store: Store) -> None:
    run(store, Canned(counted), per_match={"calls": 1})
    statuses = {record.status for record in store.records()}
    assert Status.FORFEITED not in statuses
    assert Status.FAILED in statuses


@pytest.mark.parametrize(("batch", "at_once"), [(False, 4), (True, 8)])
def test_calls_in_a_batch_are_held_for_at_its_price(batch: bool, at_once: int) -> None:
    async def scene() -> int:
        asked = call(max_tokens=100)
        price = Price(models=("*",), input=0, output=10_000, batch=0.5, as_of=date(2026, 1, 1))
        budget_tracker = BudgetTracker(
            Budget(dollars=4), Cost(), Prices({"test": (price,)}), batch=batch
        )
        tab = budget_tracker.tab()
        waiting = [asyncio.create_task(budget_tracker.open(asked, tab)) for _ in range(10)]
        await settle()
        for one in waiting:
            one.cancel()
        return budget_tracker.study.in_flight

    assert asyncio.run(scene()) == at_once


SILENT = {
    "timed out": Reply(failure=Failure.TIMED_OUT, detail="no answer within 1 seconds"),
    "broken": Reply(failure=Failure.PROVIDER_ERROR, detail="connection failed"),
}


@pytest.mark.parametrize("reply", SILENT.values(), ids=SILENT)
def test_calls_that_come_back_without_a_count_hold_what_they_may_have_taken(
    store: Store, reply: Reply
) -> None:
    models = Canned(lambda call, number: reply)
    progress = run(store, models, tokens=4_000)
    most = sum(Sizes().expected(call).input_tokens + USUAL_ANSWER for call in models.calls)
    assert progress.halted == (
        f"the budget of 4,000 tokens would be exceeded (0 used, up to {most:,} tokens more by "
        "calls without a token count)"
    )
    assert 0 < most <= 4_000
    again = Canned(counted)
    assert "would be exceeded" in (run(store, again, tokens=4_000).halted or "")
    assert again.calls == []
    assert run(store, again, tokens=1_000_000).left == 0


def test_a_cap_on_a_later_run_is_judged_by_what_came_back_before(store: Store) -> None:
    assert run(store, Canned(counted), cap=Cap(calls=2)).halted
    models = Canned(counted)
    again = run(store, models, cap=Cap(tokens=1))
    assert again.halted == "this run's limit of 1 token would be exceeded (0 used)"
    assert models.calls == []
    assert run(store, models, cap=Cap(tokens=1_000_000)).left == 0


def test_a_killed_run_s_calls_hold_what_they_may_have_taken(store: Store) -> None:
    def die(call: ModelCall, number: str) -> Reply:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(store, Canned(die), tokens=20_000)
    with store.transaction() as connection:
        connection.execute(sa.update(calls).values(state="sent", reply=None))
    budget_tracker = study_budget_tracker(store, 1, Budget(tokens=20_000), PRICES, Cap())
    assert budget_tracker.study.held_tokens == 0, "they may come back yet"
    unresolved = mark_unresolved(store)
    budget_tracker = study_budget_tracker(store, 1, Budget(tokens=20_000), PRICES, Cap())
    assert budget_tracker.study.held_tokens > unresolved * USUAL_ANSWER > 0


@pytest.mark.parametrize(("reasons", "dollars"), [(False, 0.16), (True, 3.36)])
def test_a_model_that_reasons_by_itself_is_taken_to_do_so_from_the_first_call_on(
    reasons: bool, dollars: float
) -> None:
    price = DEAR.model_copy(update={"reasons": reasons})
    call = ModelCall(model="vllm/tiny", messages=())

    async def held() -> float:
        budget_tracker = BudgetTracker(Budget(dollars=4), Cost(), Prices({"test": (price,)}))
        await budget_tracker.open(call, budget_tracker.tab())
        return budget_tracker.study.held_dollars

    assert asyncio.run(held()) == pytest.approx(dollars)


def test_a_cap_holds_though_the_server_always_says_next_to_nothing(store: Store) -> None:
    truly = 0

    async def lying(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        nonlocal truly
        said = completion(body, answer(body["messages"]))
        written = [message["content"] for message in body["messages"]]
        written.append(said["choices"][0]["message"]["content"])
        truly += sum(len(text) // 4 for text in written)
        said["usage"] = {"prompt_tokens": 1, "completion_tokens": 0, "total_tokens": 1}
        return web.json_response(said)

    with Server(handler=lying) as server:
        model = with_model(server.url, max_tokens=100, answers="text")
        made = study(**model | LONG | {"budget": {"tokens": 6_000}})
        progress = ct.run(made, store, concurrency=1)
    assert "the budget of 6,000 tokens would be exceeded" in (progress.halted or "")
    assert progress.cost is not None
    assert progress.cost.implausible == progress.cost.calls == len(server.calls)
    assert 3_000 < truly <= progress.cost.tokens <= 6_000
    assert progress.cost == spent(store, 1)
    record = next(store.records(bodies=True))
    assert record.implausible == record.calls
    assert record.answers[0].calls[0]["reply"]["reported"].startswith('{"prompt_tokens": 1')
