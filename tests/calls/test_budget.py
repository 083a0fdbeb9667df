"""Budgets are checked before each call, include calls in flight, and persist across runs."""

import asyncio
import itertools
import re
from datetime import date
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
from cheaptalk.mock_models import answer
from cheaptalk.mock_models.formats import completion
from cheaptalk.models import ChatMessage, Failure, ModelCall, ModelSettings, Reply, Usage
from cheaptalk.models.prices import Price, Prices
from cheaptalk.models.usage import characters
from cheaptalk.records import Status, Store
from cheaptalk.records.costs import Cost
from cheaptalk.records.ledger.ledger import mark_unresolved
from cheaptalk.records.ledger.spending import spent
from cheaptalk.records.store.schema import calls
from cheaptalk.studies import Budget, Cap, Halted, StudyError
from cheaptalk.text import money
from tests.fakes import Canned, Server, broken, legal, study, with_model

LONG = {"games": [{"game": "bargaining", "fixed": {"horizon": 6}}], "instances": 8}
DEAR = Price(models=("vllm/*",), input=100, output=400, as_of=date(2026, 1, 1))
"""A hundredth of a cent per input token."""
PRICES = Prices({"test": (DEAR,)})


def usage_for(call: ModelCall) -> Usage:
    """Return one token per four input characters, and 20 output tokens."""
    return Usage(input_tokens=characters(call) // 4, output_tokens=20)


def counting(call: ModelCall, number: str = "") -> Reply:
    """Return a legal answer with the usage of ``usage_for``."""
    return Reply(text=legal(call), usage=usage_for(call))


def tokens(call: ModelCall) -> int:
    return usage_for(call).input_tokens + 20


def run(store: Store, models: Canned, cap: Cap | None = None, **budget: object) -> ct.Progress:
    small_study = study(**with_model() | LONG, budget=budget)
    return ct.run(small_study, store, models=models, prices=PRICES, cap=cap or Cap())


@pytest.fixture(scope="module")
def uncapped(tmp_path_factory: pytest.TempPathFactory) -> Canned:
    """Return the models of a run without a budget."""
    models = Canned(counting, pause=0.001)
    with Store.open(tmp_path_factory.mktemp("whole") / "s.sqlite", create=True) as other:
        assert run(other, models).left == 0
    return models


def test_call_cap_includes_failed_attempts_and_halts_cleanly(store: Store, no_waits: None) -> None:
    first, second, third = Canned(lambda call, number: broken()), Canned(), Canned()
    progress = run(store, first, calls=10)
    assert progress.halted == "the budget of 10 calls is exhausted"
    assert len(first.calls) == spent(store, 1).calls == 10
    assert progress.left > 0
    assert not store.unresolved()
    assert run(store, second, calls=10).halted
    assert second.calls == [], "only a larger budget resumes the run"
    limited = run(store, second, cap=Cap(calls=5), calls=10_000)
    assert limited.halted == "this run's limit of 5 calls is exhausted"
    assert len(second.calls) == 5
    learned = run(store, third, cap=Cap(tokens=1), calls=10_000).halted or ""
    assert learned.startswith("this run's limit of 1 token could be exceeded by the next call, ")
    assert learned.endswith(" tokens (0 used)")
    assert third.calls == [], "the sizes of calls are known from earlier runs"
    done = run(store, third, calls=10_000)
    assert (done.halted, done.left) == (None, 0)
    numbers = first.numbers + second.numbers + third.numbers
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize(
    ("cap", "message"),
    [
        ({"calls": 1}, "the match's budget of 1 call is exhausted"),
        ({"tokens": 400}, "the match's budget of 400 tokens could be exceeded by the next call"),
    ],
)
def test_match_over_its_budget_fails_and_resumes_with_a_larger_one(
    store: Store, cap: dict[str, int], message: str
) -> None:
    first, again, more = Canned(counting), Canned(counting), Canned(counting)
    progress = run(store, first, per_match=cap)
    assert progress.halted is None
    assert progress.failed == progress.left > 1
    assert Status.FORFEITED not in progress.counts
    assert {reason.partition(": ")[2] for reason in progress.problems} == {message}
    assert all(record.outcome is None for record in store.records() if record.status == "failed")
    assert run(store, again, per_match=cap).failed == progress.failed
    assert again.calls == [], "what was bought is remembered"
    assert run(store, more, per_match={"calls": 50}).left == 0
    assert len(set(first.numbers + more.numbers)) == len(first.numbers) + len(more.numbers)


def test_budget_excludes_calls_shared_with_another_study(store: Store) -> None:
    ct.run(study(**with_model() | LONG), store, models=Canned())
    models = Canned()
    before = spent(store, 1)
    more = study(**with_model() | LONG | {"instances": 9}, name="more", budget={"calls": 2})
    assert ct.run(more, store, models=models).halted
    assert len(models.calls) == 2 == spent(store, 2).calls
    assert spent(store, 1) == before


@pytest.mark.parametrize("unit", ["tokens", "dollars"])
def test_cap_is_nearly_used_up_but_not_exceeded(store: Store, uncapped: Canned, unit: str) -> None:
    def cost_of(call: ModelCall) -> float:
        return tokens(call) if unit == "tokens" else DEAR.dollars(usage_for(call))

    needed = sum(map(cost_of, uncapped.calls))
    cap = round(needed / 2, 2 if unit == "dollars" else None)
    models, more = Canned(counting), Canned(counting)
    progress = run(store, models, None, **{unit: cap})
    cost = getattr(spent(store, 1), unit)
    shown = money if unit == "dollars" else "{:,}".format
    limit = f"{shown(cap)} tokens" if unit == "tokens" else shown(cap)
    assert re.fullmatch(
        rf"the budget of {re.escape(limit)} could be exceeded by the next call, which may need "
        rf"\$?[\d,.]+( tokens)? \({re.escape(shown(cost))} used\)",
        progress.halted or "",
    )
    assert cost == pytest.approx(sum(map(cost_of, models.calls)))
    assert cap - 2 * max(map(cost_of, uncapped.calls)) < cost <= cap
    assert run(store, more, None, **{unit: 2 * needed}).left == 0
    assert getattr(spent(store, 1), unit) == pytest.approx(needed)
    assert sorted(models.numbers + more.numbers) == sorted(uncapped.numbers)
    for record in store.records(bodies=True):
        replies = [call["reply"] for answer in record.answers for call in answer.calls]
        assert record.dollars == pytest.approx(sum(reply["dollars"] for reply in replies))
        assert (record.unpriced, record.calls) == (0, len(replies))


def test_dollar_caps_require_prices_before_the_run(store: Store) -> None:
    unknown = study(**with_model(), budget={"dollars": 1})
    with pytest.raises(StudyError, match=r"players.tiny: no price is known for vllm/tiny, so a"):
        ct.run(unknown, store, models=Canned(), prices=Prices({}))
    with pytest.raises(
        StudyError, match=r"add the price to a file \(cheaptalk model prices --init"
    ):
        ct.run(study(**with_model()), store, prices=Prices({}), cap=Cap(dollars=1))
    assert store.studies() == []


def test_token_caps_require_token_counts_from_the_server(store: Store) -> None:
    def silent(call: ModelCall, number: str) -> Reply:
        return Reply(text=legal(call))

    progress = run(store, Canned(silent), tokens=10**6)
    assert progress.halted == ("vllm/tiny does not report token counts: limit calls instead")
    assert spent(store, 1).unpriced > 0
    assert run(store, Canned(silent), calls=10**6).left == 0


def call(length: int = 90, **settings: int) -> ModelCall:
    """Return a call whose message has the given length in characters."""
    message = ChatMessage(role="user", content="x" * length)
    return ModelCall(model="vllm/m", messages=(message,), settings=ModelSettings(**settings))


def reply(input_tokens: int, output_tokens: int) -> Reply:
    return Reply(text="hi", usage=Usage(input_tokens=input_tokens, output_tokens=output_tokens))


@pytest.mark.parametrize(
    ("caps", "short"), [({}, False), ({"calls": 9}, False), ({"calls": 2}, True)]
)
async def test_caps_set_during_the_run_do_not_mark_the_study_as_short(
    caps: Any, short: bool
) -> None:
    tracker = BudgetTracker(Budget(**caps), Cost(calls=3))
    tracker.set(Budget(calls=3))
    with pytest.raises(Halted, match="the budget of 3 calls is exhausted"):
        await tracker.open(call(), tracker.tab())
    assert tracker.short is short


async def test_raised_budget_releases_waiting_calls() -> None:
    tracker = BudgetTracker(Budget(calls=1), Cost())
    await tracker.open(call(), tracker.tab())
    other = asyncio.create_task(tracker.open(call(), tracker.tab()))
    await asyncio.sleep(0)
    tracker.set(Budget(calls=2))
    await other


async def settle() -> None:
    """Let all tasks run until they block."""
    for _ in range(100):
        await asyncio.sleep(0)


async def in_flight(tracker: BudgetTracker, call: ModelCall, count: int = 10) -> int:
    """Open calls concurrently, and return how many are in flight when the others wait."""
    tab = tracker.tab()
    waiting = [asyncio.create_task(tracker.open(call, tab)) for _ in range(count)]
    await settle()
    for task in waiting:
        task.cancel()
    return tracker.study.in_flight


async def test_number_of_calls_in_flight_depends_on_their_maximum_cost() -> None:
    assert await in_flight(BudgetTracker(Budget(tokens=100_000), Cost()), call(), 50) == 50
    assert await in_flight(BudgetTracker(Budget(tokens=60), Cost()), call()) == 1, "of unknown size"
    price = Price(models=("*",), input=0, output=10_000, batch=0.5, as_of=date(2026, 1, 1))
    for batch, expected in ((False, 4), (True, 8)):
        prices = Prices({"test": (price,)})
        tracker = BudgetTracker(Budget(dollars=4), Cost(), prices, batch=batch)
        assert await in_flight(tracker, call(max_tokens=100)) == expected
    for reasons, dollars in ((False, 0.16), (True, 3.36)):
        prices = Prices({"test": (DEAR.model_copy(update={"reasons": reasons}),)})
        tracker = BudgetTracker(Budget(dollars=4), Cost(), prices)
        assert await in_flight(tracker, ModelCall(model="vllm/tiny", messages=()), 1) == 1
        assert tracker.study.held_dollars == pytest.approx(dollars)


async def test_call_waits_for_calls_in_flight_that_decide_its_affordability() -> None:
    tracker, counts = BudgetTracker(Budget(tokens=300), Cost()), list[int]()
    tab, request = tracker.tab(), call(max_tokens=100)
    first = await tracker.open(request, tab)  # estimate: 30 and 100 tokens
    second = await tracker.open(request, tab)
    waiting = [asyncio.create_task(tracker.open(request, tab)) for _ in range(3)]
    await asyncio.sleep(0)
    counts.append(tracker.study.in_flight)
    for reservation, received in ((first, reply(10, 100)), (second, reply(10, 20))):
        tracker.close(reservation, received)  # the message had 10 tokens
        await settle()
        counts.append(tracker.study.in_flight)
    tracker.close(await waiting[0], reply(10, 100))
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert counts == [2, 1, 1]
    assert [type(result).__name__ for result in results] == ["Reservation", "Halted", "Halted"]


async def test_unaffordable_estimate_sends_one_call_at_a_time() -> None:
    tracker = BudgetTracker(Budget(calls=2, tokens=60), Cost())
    first = await tracker.open(call(), tracker.tab())
    other = asyncio.create_task(tracker.open(call(), tracker.tab()))
    await asyncio.sleep(0)
    assert tracker.study.in_flight == 1
    tracker.close(first, reply(10, 10))
    tracker.close(await other, reply(10, 31))
    with pytest.raises(Halted, match="the budget of 2 calls is exhausted"):
        await tracker.open(call(), tracker.tab())
    tracker.set(Budget(tokens=60))
    with pytest.raises(Halted, match=r"60 tokens could be exceeded .* \(61 used\)"):
        await tracker.open(call(), tracker.tab())
    tracker.set(Budget(calls=3))
    tracker.close(await tracker.open(call(), tracker.tab()), None)
    cost = tracker.spent
    assert (cost.tokens, cost.calls, cost.unresolved) == (61, 3, 1), "a lost call counts"


async def test_call_rejected_by_one_cap_reserves_nothing_of_another() -> None:
    tracker = BudgetTracker(Budget(calls=9, per_match=Cap(calls=1)), Cost(), run=Cap(calls=2))
    fresh_tab, spent_tab = tracker.tab(), tracker.tab()
    spent_tab.spent = Cost(calls=1)
    with pytest.raises(MatchSpent, match="the match's budget of 1 call is exhausted"):
        await tracker.open(call(), spent_tab)
    tracker.now.spent = Cost(calls=2)
    with pytest.raises(Halted, match="this run's limit of 2 calls is exhausted"):
        await tracker.open(call(), fresh_tab)
    for account in (tracker.study, fresh_tab):
        assert (account.in_flight, account.held_tokens) == (0, 0)
    assert tracker.spent == Cost()


@pytest.mark.parametrize("failure", [Failure.TIMED_OUT, Failure.PROVIDER_ERROR])
def test_failed_calls_without_usage_keep_their_reservation(store: Store, failure: Failure) -> None:
    models = Canned(lambda call, number: Reply(failure=failure, detail="no"))
    halted = run(store, models, tokens=4_000).halted or ""
    reserved = [Sizes().expected(call).input_tokens + USUAL_ANSWER for call in models.calls]
    assert halted.startswith("the budget of 4,000 tokens could be exceeded by the next ")
    max_used = re.search(r"\(0 used, up to ([\d,]+) tokens more by calls without a token", halted)
    # calls that are small enough may be sent after the run has halted
    assert max_used
    assert int(max_used[1].replace(",", "")) in itertools.accumulate(reserved)
    assert 0 < sum(reserved) <= 4_000
    again = Canned(counting)
    assert "could be exceeded" in (run(store, again, tokens=4_000).halted or "")
    used = sum(map(tokens, again.calls))  # by calls that fit into the rest of the budget
    assert sum(reserved) + used <= 4_000
    assert run(store, again, tokens=1_000_000).left == 0


def test_calls_of_a_killed_run_keep_their_reservation(store: Store) -> None:
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


def test_token_cap_holds_if_the_server_underreports_usage(store: Store) -> None:
    actual_tokens = 0

    async def underreport_usage(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        nonlocal actual_tokens
        response = completion(body, answer(body["messages"]))
        messages = [*body["messages"], response["choices"][0]["message"]]
        actual_tokens += sum(len(message["content"]) // 4 for message in messages)
        response["usage"] = {"prompt_tokens": 1, "completion_tokens": 0, "total_tokens": 1}
        return web.json_response(response)

    with Server(handler=underreport_usage) as server:
        model = with_model(server.url, max_tokens=100, answers="text")
        capped = study(**model | LONG | {"budget": {"tokens": 6_000}})
        progress = ct.run(capped, store, concurrency=1)
    assert "the budget of 6,000 tokens could be exceeded" in (progress.halted or "")
    assert progress.cost is not None
    assert progress.cost.implausible == progress.cost.calls == len(server.calls)
    assert 3_000 < actual_tokens <= progress.cost.tokens <= 6_000
    assert progress.cost == spent(store, 1)
    record = next(store.records(bodies=True))
    assert record.implausible == record.calls
    assert record.answers[0].calls[0]["reply"]["reported"].startswith('{"prompt_tokens": 1')
