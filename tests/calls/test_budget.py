"""Budgets are checked before each call, include calls in flight, and persist across runs."""

import asyncio
import re
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


@pytest.fixture
def uncapped(tmp_path: Path) -> Canned:
    """Return the models of a run without a budget."""
    models = Canned(counting, pause=0.001)
    with Store.open(tmp_path / "whole.sqlite", create=True) as other:
        assert run(other, models).left == 0
    return models


@pytest.mark.parametrize("cap", [1, 8])
def test_call_cap_is_met_exactly_and_halts_cleanly(store: Store, cap: int) -> None:
    models = Canned()
    progress = run(store, models, calls=cap)
    assert progress.halted == f"the budget of {cap} call{'s' if cap > 1 else ''} is exhausted"
    assert len(models.calls) == spent(store, 1).calls == cap
    assert progress.left > 0
    assert not store.unresolved()


def test_only_a_larger_budget_resumes_the_run(store: Store) -> None:
    first, second, third = Canned(), Canned(), Canned()
    run(store, first, calls=10)
    assert run(store, second, calls=10).halted
    assert second.calls == []
    done = run(store, third, calls=10_000)
    assert (done.halted, done.left) == (None, 0)
    assert len(set(first.numbers + third.numbers)) == len(first.numbers) + len(third.numbers)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_token_cap_is_nearly_used_up_but_not_exceeded(
    store: Store, uncapped: Canned, share: float
) -> None:
    cap = round(share * sum(map(tokens, uncapped.calls)))
    models = Canned(counting)
    progress = run(store, models, tokens=cap)
    taken = spent(store, 1).tokens
    assert re.fullmatch(
        rf"the budget of {cap:,} tokens could be exceeded by the next call, which may need [\d,]+ "
        rf"tokens \({taken:,} used\)",
        progress.halted or "",
    )
    assert cap - 2 * max(map(tokens, uncapped.calls)) < taken <= cap
    assert taken == sum(map(tokens, models.calls))


def test_dollar_cap_halts_the_run_until_it_is_raised(store: Store, uncapped: Canned) -> None:
    needed = sum(DEAR.dollars(usage_for(call)) for call in uncapped.calls)
    cap = round(needed / 2, 2)
    models, more = Canned(counting), Canned(counting)
    progress = run(store, models, dollars=cap)
    cost = spent(store, 1)
    assert progress.halted
    assert re.fullmatch(
        rf"the budget of \${cap:.2f} could be exceeded by the next call, which may need \$[\d.]+ "
        rf"\({re.escape(money(cost.dollars))} used\)",
        progress.halted,
    )
    assert cost.dollars == pytest.approx(
        sum(DEAR.dollars(usage_for(call)) for call in models.calls)
    )
    assert 0.9 * cap < cost.dollars <= cap
    assert run(store, more, dollars=2 * needed).left == 0
    assert spent(store, 1).dollars == pytest.approx(needed)
    assert sorted(models.numbers + more.numbers) == sorted(uncapped.numbers)


def test_records_contain_the_cost_of_their_match(store: Store) -> None:
    run(store, Canned(counting))
    for record in store.records(bodies=True):
        replies = [call["reply"] for answer in record.answers for call in answer.calls]
        assert record.dollars == pytest.approx(sum(call_reply["dollars"] for call_reply in replies))
        assert (record.unpriced, record.calls) == (0, len(replies))


def test_match_over_its_budget_fails_and_resumes_with_a_larger_one(store: Store) -> None:
    first, again, more = Canned(counting), Canned(counting), Canned(counting)
    progress = run(store, first, per_match={"calls": 1})
    assert progress.halted is None
    assert progress.failed == progress.left > 0
    assert Status.FORFEITED not in progress.counts
    assert {reason.partition(": ")[2] for reason in progress.problems} == {
        "the match's budget of 1 call is exhausted"
    }
    assert all(record.outcome is None for record in store.records() if record.status == "failed")
    assert run(store, again, per_match={"calls": 1}).failed == progress.failed
    assert again.calls == [], "what was bought is remembered"
    assert run(store, more, per_match={"calls": 50}).left == 0
    assert len(set(first.numbers + more.numbers)) == len(first.numbers) + len(more.numbers)


def test_run_cap_counts_only_the_calls_of_that_run(store: Store) -> None:
    for _ in range(2):
        models = Canned(counting)
        progress = run(store, models, cap=Cap(calls=5), calls=1_000)
        assert progress.halted == "this run's limit of 5 calls is exhausted"
        assert len(models.calls) == 5


def test_failed_attempts_count_against_the_call_cap(store: Store, no_waits: None) -> None:
    models = Canned(lambda call, number: broken())
    progress = run(store, models, calls=12)
    assert progress.halted
    assert len(models.calls) == spent(store, 1).calls == 12


def test_budget_excludes_calls_shared_with_another_study(store: Store) -> None:
    ct.run(study(**with_model() | LONG), store, models=Canned())
    models = Canned()
    before = spent(store, 1)
    more = study(**with_model() | LONG | {"instances": 9}, name="more", budget={"calls": 2})
    assert ct.run(more, store, models=models).halted
    assert len(models.calls) == 2 == spent(store, 2).calls
    assert spent(store, 1) == before


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
def test_caps_set_during_the_run_do_not_mark_the_study_as_short(caps: Any, short: bool) -> None:
    async def scene() -> bool:
        budget_tracker = BudgetTracker(Budget(**caps), Cost(calls=3))
        budget_tracker.set(Budget(calls=3))
        with pytest.raises(Halted, match="the budget of 3 calls is exhausted"):
            await budget_tracker.open(call(), budget_tracker.tab())
        return budget_tracker.short

    assert asyncio.run(scene()) is short


def test_matches_over_their_token_cap_fail_with_one_message(store: Store, uncapped: Canned) -> None:
    token_cap = max(map(tokens, uncapped.calls)) + 20
    progress = run(store, Canned(counting), per_match={"tokens": token_cap})
    assert progress.failed > 1
    assert {reason.partition(": ")[2] for reason in progress.problems} == {
        f"the match's budget of {token_cap} tokens could be exceeded by the next call"
    }


async def settle() -> None:
    """Let all tasks run until they block."""
    for _ in range(100):
        await asyncio.sleep(0)


def test_call_waits_for_calls_in_flight_that_decide_its_affordability() -> None:
    async def scene() -> list[str]:
        budget_tracker, seen = BudgetTracker(Budget(tokens=300), Cost()), []
        tab = budget_tracker.tab()
        first = await budget_tracker.open(call(max_tokens=100), tab)  # estimate: 30 and 100 tokens
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
        seen += [type(result).__name__ for result in results]
        return seen

    assert asyncio.run(scene()) == [
        "2 of 130 tokens are in flight",
        "1 when a question turns out to take 10",
        "1 when an answer was short",
        "Reservation",
        "Halted",
        "Halted",
    ]


def test_unaffordable_estimate_sends_one_call_at_a_time() -> None:
    async def scene() -> int:
        budget_tracker = BudgetTracker(Budget(tokens=60), Cost())
        first = await budget_tracker.open(call(), budget_tracker.tab())
        other = asyncio.create_task(budget_tracker.open(call(), budget_tracker.tab()))
        await asyncio.sleep(0)
        assert budget_tracker.study.in_flight == 1
        budget_tracker.close(first, reply(10, 10))
        budget_tracker.close(await other, reply(10, 31))
        with pytest.raises(Halted, match=r"60 tokens could be exceeded .* \(61 used\)"):
            await budget_tracker.open(call(), budget_tracker.tab())
        return budget_tracker.spent.tokens

    assert asyncio.run(scene()) == 61


def test_affordable_first_calls_are_sent_concurrently() -> None:
    async def scene() -> int:
        budget_tracker = BudgetTracker(Budget(tokens=100_000), Cost())
        await asyncio.gather(
            *(budget_tracker.open(call(), budget_tracker.tab()) for _ in range(50))
        )
        return budget_tracker.study.in_flight

    assert asyncio.run(scene()) == 50


def test_raised_budget_releases_waiting_calls() -> None:
    async def scene() -> None:
        budget_tracker = BudgetTracker(Budget(calls=1), Cost())
        await budget_tracker.open(call(), budget_tracker.tab())
        other = asyncio.create_task(budget_tracker.open(call(), budget_tracker.tab()))
        await asyncio.sleep(0)
        budget_tracker.set(Budget(calls=2))
        await other

    asyncio.run(scene())


def test_call_rejected_by_one_cap_reserves_nothing_of_another() -> None:
    async def scene() -> tuple[BudgetTracker, int]:
        budget_tracker = BudgetTracker(
            Budget(calls=9, per_match=Cap(calls=1)), Cost(), run=Cap(calls=2)
        )
        fresh_tab, spent_tab = budget_tracker.tab(), budget_tracker.tab()
        spent_tab.spent = Cost(calls=1)
        with pytest.raises(MatchSpent, match="the match's budget of 1 call is exhausted"):
            await budget_tracker.open(call(), spent_tab)
        budget_tracker.now.spent = Cost(calls=2)
        with pytest.raises(Halted, match="this run's limit of 2 calls is exhausted"):
            await budget_tracker.open(call(), fresh_tab)
        return budget_tracker, fresh_tab.in_flight

    budget_tracker, in_flight = asyncio.run(scene())
    assert (budget_tracker.study.in_flight, budget_tracker.study.held_tokens, in_flight) == (
        0,
        0,
        0,
    )
    assert budget_tracker.spent == Cost()


def test_unresolved_call_counts_as_one_call() -> None:
    async def scene() -> None:
        budget_tracker = BudgetTracker(Budget(calls=1), Cost())
        budget_tracker.close(await budget_tracker.open(call(), budget_tracker.tab()), None)
        assert budget_tracker.spent == Cost(calls=1, unresolved=1)
        with pytest.raises(Halted, match="the budget of 1 call is exhausted"):
            await budget_tracker.open(call(), budget_tracker.tab())

    asyncio.run(scene())


def test_call_sizes_are_estimated_then_learned() -> None:
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


@pytest.mark.parametrize(("batch", "at_once"), [(False, 4), (True, 8)])
def test_batched_calls_reserve_the_batch_price(batch: bool, at_once: int) -> None:
    async def scene() -> int:
        request = call(max_tokens=100)
        price = Price(models=("*",), input=0, output=10_000, batch=0.5, as_of=date(2026, 1, 1))
        budget_tracker = BudgetTracker(
            Budget(dollars=4), Cost(), Prices({"test": (price,)}), batch=batch
        )
        tab = budget_tracker.tab()
        waiting = [asyncio.create_task(budget_tracker.open(request, tab)) for _ in range(10)]
        await settle()
        for task in waiting:
            task.cancel()
        return budget_tracker.study.in_flight

    assert asyncio.run(scene()) == at_once


UNCOUNTED = {
    "timed out": Reply(failure=Failure.TIMED_OUT, detail="no answer within 1 seconds"),
    "broken": Reply(failure=Failure.PROVIDER_ERROR, detail="connection failed"),
}


@pytest.mark.parametrize("reply", UNCOUNTED.values(), ids=UNCOUNTED)
def test_failed_calls_without_usage_keep_their_reservation(store: Store, reply: Reply) -> None:
    models = Canned(lambda call, number: reply)
    progress = run(store, models, tokens=4_000)
    max_used = sum(Sizes().expected(call).input_tokens + USUAL_ANSWER for call in models.calls)
    assert progress.halted
    assert progress.halted.startswith("the budget of 4,000 tokens could be exceeded by the next ")
    assert progress.halted.endswith(
        f"(0 used, up to {max_used:,} tokens more by calls without a token count)"
    )
    assert 0 < max_used <= 4_000
    again = Canned(counting)
    assert "could be exceeded" in (run(store, again, tokens=4_000).halted or "")
    assert again.calls == []
    assert run(store, again, tokens=1_000_000).left == 0


def test_later_run_cap_uses_sizes_learned_from_earlier_runs(store: Store) -> None:
    assert run(store, Canned(counting), cap=Cap(calls=2)).halted
    models = Canned(counting)
    again = run(store, models, cap=Cap(tokens=1))
    assert again.halted
    assert again.halted.startswith("this run's limit of 1 token could be exceeded by the next call")
    assert again.halted.endswith(" tokens (0 used)")
    assert models.calls == []
    assert run(store, models, cap=Cap(tokens=1_000_000)).left == 0


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


@pytest.mark.parametrize(("reasons", "dollars"), [(False, 0.16), (True, 3.36)])
def test_first_call_of_a_reasoning_model_reserves_reasoning_tokens(
    reasons: bool, dollars: float
) -> None:
    price = DEAR.model_copy(update={"reasons": reasons})
    call = ModelCall(model="vllm/tiny", messages=())

    async def held_dollars() -> float:
        budget_tracker = BudgetTracker(Budget(dollars=4), Cost(), Prices({"test": (price,)}))
        await budget_tracker.open(call, budget_tracker.tab())
        return budget_tracker.study.held_dollars

    assert asyncio.run(held_dollars()) == pytest.approx(dollars)


def test_token_cap_holds_if_the_server_underreports_usage(store: Store) -> None:
    actual_tokens = 0

    async def underreport_usage(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        nonlocal actual_tokens
        response = completion(body, answer(body["messages"]))
        texts = [message["content"] for message in body["messages"]]
        texts.append(response["choices"][0]["message"]["content"])
        actual_tokens += sum(len(text) // 4 for text in texts)
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
