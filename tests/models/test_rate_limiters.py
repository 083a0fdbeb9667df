"""Rate limiters: calls wait in order of arrival, and all are released at the end."""

import asyncio

import pytest

from cheaptalk.models.flow_control import RateLimiters
from tests.models.rush_hour import ANSWER, overloaded, seeded_rng


async def run_ready_tasks() -> None:
    """Let all ready tasks run."""
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.fixture
def limiters() -> RateLimiters:
    return RateLimiters(rng=seeded_rng())


async def test_calls_to_each_model_are_sent_in_order_of_arrival(limiters: RateLimiters) -> None:
    order: list[int] = []

    async def call(number: int) -> None:
        slot = await limiters.enter("tiny")
        order.append(number)
        await asyncio.sleep(0)
        limiters.leave(slot, ANSWER)

    limiters.fix("tiny", 1)
    limiters.fix("full", 1)
    await limiters.enter("full")
    waiting = asyncio.create_task(limiters.enter("full"))
    await asyncio.gather(*(call(number) for number in range(20)))
    assert limiters["tiny"].in_flight == 0
    assert {limiter.name: count for limiter, count in limiters.all()} == {"tiny": 0, "full": 1}
    waiting.cancel()
    assert order == list(range(20))


async def test_cancelled_waiters_release_their_slots(limiters: RateLimiters) -> None:
    limiters.fix("tiny", 1)
    slot = await limiters.enter("tiny")
    first, second, third = (asyncio.create_task(limiters.enter("tiny")) for _ in range(3))
    await run_ready_tasks()
    first.cancel()
    await run_ready_tasks()
    limiters.leave(slot, ANSWER)
    second.cancel()  # just after it got its slot
    await run_ready_tasks()
    assert limiters["tiny"].in_flight <= 1
    limiters.leave(await asyncio.wait_for(third, 5), ANSWER)
    assert limiters["tiny"].in_flight == 0


async def test_calls_wait_during_pause_and_continue_after(limiters: RateLimiters) -> None:
    slot = await limiters.enter("tiny")
    limiters.pause()
    waiting = asyncio.create_task(limiters.enter("tiny"))
    limiters.leave(slot, overloaded())
    await run_ready_tasks()
    assert not waiting.done()
    limiters.resume()
    assert limiters["tiny"].wait() > 0
    await asyncio.wait_for(waiting, 5)


async def test_stop_releases_waiting_calls(limiters: RateLimiters) -> None:
    limiters.fix("tiny", 1)
    limiters.pause()
    waiting = [asyncio.create_task(limiters.enter("tiny")) for _ in range(3)]
    await run_ready_tasks()
    waiting[0].cancel()
    limiters.stop()
    await asyncio.wait_for(asyncio.gather(*waiting[1:]), 5)
    await asyncio.wait_for(limiters.enter("tiny"), 5)


async def test_exclusive_call_has_no_concurrent_calls(limiters: RateLimiters) -> None:
    order: list[str] = []

    async def call(name: str, alone: bool = False) -> None:
        slot = await limiters.enter("tiny", alone=alone)
        order.append(f"{name} with {limiters['tiny'].in_flight - 1} others")
        await run_ready_tasks()
        limiters.leave(slot, ANSWER)

    limiters.fix("tiny", 2)
    names = ("first", "second", "third", "last", "fourth")
    await asyncio.gather(*(call(name, alone=name == "last") for name in names))
    assert order == [
        "first with 0 others",
        "second with 1 others",
        "last with 0 others",
        "third with 1 others",
        "fourth with 1 others",
    ]
