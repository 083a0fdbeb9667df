"""RateLimiters: calls wait for their turn, first come, first served, and are all let go in the
end."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from cheaptalk.models.flow_control import START, RateLimiters, Sent
from tests.models.rush_hour import ANSWER, luck, turned_away, unreachable

T = TypeVar("T")


async def settled() -> None:
    """Let all who can go on do so."""
    for _ in range(5):
        await asyncio.sleep(0)


def play(scene: Callable[[RateLimiters], Awaitable[T]]) -> T:
    async def run() -> T:
        return await scene(RateLimiters(rng=luck()))

    return asyncio.run(run())


def test_calls_go_out_in_the_order_in_which_they_came() -> None:
    async def scene(limiters: RateLimiters) -> list[int]:
        order: list[int] = []

        async def call(number: int) -> None:
            slot = await limiters.enter("tiny")
            order.append(number)
            await asyncio.sleep(0)
            limiters.leave(slot, ANSWER)

        limiters.fix("tiny", 1)
        await asyncio.gather(*(call(number) for number in range(20)))
        assert limiters["tiny"].in_flight == 0
        return order

    assert play(scene) == list(range(20))


def test_models_do_not_wait_for_each_other() -> None:
    async def scene(limiters: RateLimiters) -> None:
        limiters.fix("full", 1)
        await limiters.enter("full")
        waiting = asyncio.create_task(limiters.enter("full"))
        await limiters.enter("free")
        await settled()
        assert not waiting.done()
        assert [(limiter.name, count) for limiter, count in limiters.all()] == [
            ("full", 1),
            ("free", 0),
        ]
        waiting.cancel()

    play(scene)


def test_no_more_are_under_way_than_the_limit_and_a_higher_one_lets_more_go() -> None:
    async def scene(limiters: RateLimiters) -> list[int]:
        tasks = [asyncio.create_task(limiters.enter("tiny")) for _ in range(100)]
        seen = []
        for limit in (3, 10, None):
            limiters.fix("tiny", limit)
            await settled()
            seen.append(limiters["tiny"].in_flight)
        for task in tasks:
            task.cancel()
        return seen

    assert play(scene) == [3, 10, START]


def test_who_leaves_the_queue_takes_no_place_with_them() -> None:
    async def scene(limiters: RateLimiters) -> None:
        limiters.fix("tiny", 1)
        slot = await limiters.enter("tiny")
        first, second, third = (asyncio.create_task(limiters.enter("tiny")) for _ in range(3))
        await settled()
        first.cancel()
        await settled()
        limiters.leave(slot, ANSWER)
        second.cancel()  # at the moment when its turn has come
        await settled()
        assert limiters["tiny"].in_flight <= 1
        limiters.leave(await asyncio.wait_for(third, 5), ANSWER)
        assert limiters["tiny"].in_flight == 0

    play(scene)


def test_nothing_goes_out_in_a_pause_and_all_goes_on_afterwards() -> None:
    async def scene(limiters: RateLimiters) -> None:
        slot = await limiters.enter("tiny")
        limiters.pause()
        waiting = asyncio.create_task(limiters.enter("tiny"))
        limiters.leave(slot, ANSWER)
        await settled()
        assert not waiting.done()
        limiters.resume()
        await asyncio.wait_for(waiting, 5)

    play(scene)


def test_a_lane_goes_on_by_itself_after_it_paused_for_a_server() -> None:
    async def scene(limiters: RateLimiters) -> Sent:
        limiters.leave(await limiters.enter("tiny"), turned_away())
        assert limiters["tiny"].wait() > 0
        return await asyncio.wait_for(limiters.enter("tiny"), 5)

    assert play(scene).limiter.in_flight == 1


def test_whoever_waits_when_a_run_stops_is_let_through() -> None:
    async def scene(limiters: RateLimiters) -> None:
        limiters.fix("tiny", 1)
        limiters.pause()
        waiting = [asyncio.create_task(limiters.enter("tiny")) for _ in range(3)]
        await settled()
        waiting[0].cancel()
        limiters.stop()
        await asyncio.wait_for(asyncio.gather(*waiting[1:]), 5)
        await asyncio.wait_for(limiters.enter("tiny"), 5)

    play(scene)


def test_lanes_that_are_given_up_are_known() -> None:
    async def scene(limiters: RateLimiters) -> list[bool]:
        clock = [0.0]
        limiters = RateLimiters(clock=lambda: clock[0], patience=0.0)
        seen = [limiters.any_works()]
        for model in ("one", "two"):
            for _ in range(10):
                limiter = limiters[model]
                limiter.back(limiter.go(), unreachable())
            seen.append(limiters.any_works())
            limiters["three"]
        limiter.back(limiter.go(), ANSWER)
        return [*seen, limiters.any_works()]

    assert play(scene) == [False, False, True, True]


def test_a_call_that_goes_out_alone_has_the_lane_to_itself() -> None:
    async def scene(limiters: RateLimiters) -> list[str]:
        order: list[str] = []

        async def call(name: str, alone: bool = False) -> None:
            place = await limiters.enter("tiny", alone=alone)
            order.append(f"{name} with {limiters['tiny'].in_flight - 1} others")
            await settled()
            limiters.leave(place, ANSWER)

        limiters.fix("tiny", 2)
        await asyncio.gather(
            call("first"), call("second"), call("third"), call("last", alone=True), call("fourth")
        )
        return order

    assert play(scene) == [
        "first with 0 others", "second with 1 others", "last with 0 others",
        "third with 1 others", "fourth with 1 others",
    ]  # fmt: skip
