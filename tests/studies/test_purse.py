"""Budgets: checked before each call, calls in flight counted; what is spent stays spent."""

import asyncio

import pytest

import cheaptalk as ct
from cheaptalk.models import Reply, Usage
from cheaptalk.records import Store
from cheaptalk.records.ledger import spent
from cheaptalk.studies import Budget, Halted
from cheaptalk.studies.purse import Purse
from tests.fakes import Canned, broken, study, with_model

LONG = {"games": [{"game": "bargaining", "fixed": {"horizon": 6}}], "deals": 8}


def reply(tokens: int) -> Reply:
    return Reply(text="hi", usage=Usage(input_tokens=tokens - 1, output_tokens=1))


def run(store: Store, models: Canned, **budget: int) -> ct.Progress:
    return ct.run(study(**with_model() | LONG, budget=budget), store, models=models)


@pytest.mark.parametrize("cap", [1, 5, 17])
def test_a_cap_on_calls_is_met_exactly_and_halts_cleanly(store: Store, cap: int) -> None:
    models = Canned()
    progress = run(store, models, calls=cap)
    assert progress.halted == f"the budget of {cap} calls is used up"
    assert len(models.calls) == spent(store, 1)[0] == cap
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


@pytest.mark.parametrize("cap", [95, 100, 101, 150])
def test_a_cap_on_tokens_is_never_exceeded_and_used_as_far_as_it_goes(
    store: Store, cap: int
) -> None:
    models = Canned(tokens=10, pause=0.05)
    progress = run(store, models, tokens=cap)
    used = 10 * len(models.calls)
    assert progress.halted == (f"the budget of {cap} tokens would be exceeded ({used} used)")
    assert cap - 10 < used <= cap
    assert spent(store, 1) == (len(models.calls), used)
    assert models.most > 1, "calls that can be paid for should go out together"


def test_sendings_that_fail_are_paid_for_too(store: Store, no_waits: None) -> None:
    models = Canned(lambda call, number: broken())
    progress = run(store, models, calls=12)
    assert progress.halted
    assert len(models.calls) == spent(store, 1)[0] == 12


def test_matches_shared_with_another_study_count_as_spent(store: Store) -> None:
    ct.run(study(**with_model() | LONG), store, models=Canned())
    models = Canned()
    calls = spent(store, 1)[0]
    more = study(**with_model() | LONG | {"deals": 9}, name="more", budget={"calls": calls})
    assert ct.run(more, store, models=models).halted
    assert models.calls == []


def test_without_a_budget_nothing_is_ever_refused() -> None:
    purse = Purse(Budget(), 10**9, 10**9)
    asyncio.run(purse.open())
    assert purse.in_flight == 1


def test_a_call_waits_where_those_in_flight_decide_whether_it_can_be_paid() -> None:
    async def scene() -> list[str]:
        purse, seen = Purse(Budget(tokens=100), 0, 0), []
        await purse.open()
        waiting = [asyncio.create_task(purse.open()) for _ in range(3)]
        await asyncio.sleep(0)
        seen.append(f"{purse.in_flight} in flight before the size of a call is known")
        purse.close(reply(40))
        await asyncio.wait(waiting, timeout=0.01)
        seen.append(f"{purse.in_flight} when it is 40")
        purse.close(reply(50))
        results = await asyncio.gather(*waiting, return_exceptions=True)
        seen.append(f"{[type(one).__name__ for one in results]}")
        return seen

    assert asyncio.run(scene()) == [
        "1 in flight before the size of a call is known",
        "1 when it is 40",
        "['NoneType', 'Halted', 'Halted']",
    ]


def test_a_call_that_never_came_back_costs_a_call() -> None:
    purse = Purse(Budget(calls=1), 0, 0)
    asyncio.run(purse.open())
    purse.close(None)
    with pytest.raises(Halted, match="the budget of 1 calls is used up"):
        asyncio.run(purse.open())
