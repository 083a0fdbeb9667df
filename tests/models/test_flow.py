"""Flow control: a lane finds what a server can bear, keeps to it, and never freezes."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from cheaptalk.models import Failure, Reply
from cheaptalk.models.flow_control import (
    ALONE_IN_A_ROW,
    BREATH,
    CEILING,
    DENIALS,
    GRACE,
    IN_A_ROW,
    LONGEST,
    PATIENCE,
    REJECTIONS,
    SENDINGS,
    START,
    RateLimiter,
    Retries,
    Trouble,
    trouble_of,
)
from tests.models.rush_hour import (
    ANSWER,
    SOON,
    RushHour,
    late,
    luck,
    rationed,
    seats,
    turned_away,
    unreachable,
)


def refused(status: int | None) -> Reply:
    return Reply(failure=Failure.PROVIDER_ERROR, detail=f"status {status}: no", status=status)


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def limiter_at(clock: Clock, seed: int = 1, name: str = "tiny") -> RateLimiter:
    return RateLimiter(name, clock=clock, rng=luck(seed))


# What a reply means


@pytest.mark.parametrize(
    ("reply", "trouble"),
    [
        (ANSWER, None),
        (Reply(failure=Failure.REFUSED), None),
        (Reply(failure=Failure.FILTERED), None),
        (late(), Trouble.TIMED_OUT),
        (turned_away(), Trouble.OVERLOADED),
        (turned_away().model_copy(update={"status": 503}), Trouble.OVERLOADED),
        (turned_away().model_copy(update={"status": 500}), Trouble.BROKEN),
        (unreachable(), Trouble.BROKEN),
        (refused(401), Trouble.DENIED),
        (refused(404), Trouble.DENIED),
        (refused(429), Trouble.DENIED),
        (refused(400), Trouble.REJECTED),
        (refused(None), Trouble.REJECTED),
    ],
)
def test_troubles_are_told_apart(reply: Reply, trouble: Trouble | None) -> None:
    assert trouble_of(reply) is trouble


# What a lane learns


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("seconds", [0.2, 2])
@pytest.mark.parametrize("capacity", [1, 3, 10, 50, 300])
def test_a_lane_finds_how_many_calls_a_server_works_on_at_once(
    capacity: int, seconds: float, seed: int
) -> None:
    hour = RushHour(seats(capacity, seconds), seed=seed)
    hour.run(100 * seconds)
    settled = hour.rate(50 * seconds, 100 * seconds)
    assert 0.75 <= settled / (capacity / seconds) <= 1.1
    assert 0.5 * capacity <= hour.limiter.limit <= 1.5 * capacity + 2


@pytest.mark.parametrize("capacity", [20, 100, 400])
def test_a_lane_that_begins_too_wide_soon_finds_the_limit(capacity: int) -> None:
    hour = RushHour(seats(capacity, 2.0), start=500.0, callers=1_000)
    hour.run(60)
    assert 0.75 <= hour.rate(30, 60) / (capacity / 2.0) <= 1.1
    assert len(hour.failed) < 2 * (500 - capacity) + 50


@pytest.mark.parametrize(("rate", "seconds"), [(1, 0.2), (10, 0.2), (50, 0.2), (10, 2)])
def test_a_lane_finds_how_many_calls_a_second_a_server_takes(rate: float, seconds: float) -> None:
    hour = RushHour(rationed(rate, seconds))
    hour.run(200)
    assert 0.75 <= hour.rate(100, 200) / rate <= 1.1


def test_few_calls_are_turned_away_once_the_limit_is_found() -> None:
    hour = RushHour(seats(50, 0.2))
    hour.run(200)
    late_ones = [moment for moment, _ in hour.failed if moment > 100]
    assert len(late_ones) < 0.01 * hour.rate(100, 200) * 100


def test_a_server_that_bears_everything_is_soon_used_to_the_full() -> None:
    hour = RushHour(seats(10_000, 1.0), callers=2_000)
    hour.run(6)
    assert hour.limiter.in_flight == CEILING
    assert not hour.failed


def test_answers_that_come_in_a_burst_raise_the_limit_like_any_others(clock: Clock) -> None:
    limiter = limiter_at(clock)
    for burst in (START, 2 * START, 4 * START):
        assert limiter.width == burst
        calls = [limiter.go() for _ in range(limiter.width)]
        clock.now += 2
        for call in calls:
            limiter.back(call, ANSWER)


@pytest.mark.parametrize(
    ("share", "seconds", "start"), [(0.002, 0.2, START), (0.01, 0.2, START), (0.02, 2, 500.0)]
)
def test_a_server_that_turns_a_call_away_now_and_then_is_used_to_the_full(
    share: float, seconds: float, start: float
) -> None:
    noise = luck()

    def server(hour: RushHour) -> tuple[Reply, float]:
        return (turned_away(), SOON) if noise.random() < share else (ANSWER, seconds)

    hour = RushHour(server, callers=500, start=start)
    hour.run(60)
    assert hour.rate(30, 60) > 0.9 * 500 / seconds


def test_a_limit_that_is_not_used_does_not_grow() -> None:
    hour = RushHour(seats(10_000, 0.2), callers=5)
    hour.run(60)
    assert hour.limiter.limit == START


def test_nobody_waits_for_ever() -> None:
    hour = RushHour(seats(10, 0.2), callers=100)
    hour.run(200)
    assert hour.longest_wait < 10 * 100 * 0.2 / 10, "ten times a fair wait"


def test_a_lane_takes_up_speed_after_an_outage() -> None:
    hour = RushHour(seats(lambda now: 0 if 100 <= now < 150 else 50, 0.2))
    hour.run(100)
    before, cut = hour.rate(50, 100), hour.limiter.limit
    hour.run(260)
    assert hour.rate(101, 150) == 0
    asked = sum(105 <= moment < 150 for moment in hour.sent)
    assert asked < 20, "a server that is away is asked now and then"
    assert hour.limiter.limit > 0.5 * cut, "an outage is no metric of the capacity"
    assert hour.rate(210, 260) > 0.9 * before


def test_overload_is_heard_once_a_round_trip(clock: Clock) -> None:
    limiter = limiter_at(clock)
    calls = [limiter.go() for _ in range(20)]
    for call in calls:
        limiter.back(call, turned_away())
    assert limiter.limit == START * 0.75
    assert limiter.in_flight == 0


def test_late_answers_slow_a_lane_down_without_a_pause(clock: Clock) -> None:
    limiter = limiter_at(clock)
    limiter.back(limiter.go(), late())
    assert limiter.limit == START * 0.75
    assert limiter.wait() == 0


def test_failures_that_are_no_sign_of_overload_do_not(clock: Clock) -> None:
    limiter = limiter_at(clock)
    for reply in [unreachable(), refused(400)] * 3:
        limiter.back(limiter.go(), reply)
        limiter.back(limiter.go(), ANSWER)
    assert limiter.width == START
    assert limiter.wait() == 0


# Retry-After


def until_next(limiter: RateLimiter, clock: Clock) -> float:
    """Let time pass until a call may go out; how long that was."""
    wait = limiter.wait()
    clock.now += wait
    return wait


def test_one_call_that_is_told_to_come_back_later_does_not_stop_the_others(clock: Clock) -> None:
    limiter = limiter_at(clock)
    limiter.back(limiter.go(), turned_away(20))
    assert until_next(limiter, clock) < 1
    limiter.back(limiter.go(), ANSWER)
    assert limiter.wait() < 1


def test_a_lane_keeps_to_retry_after_once_a_second_call_confirms_it(clock: Clock) -> None:
    limiter = limiter_at(clock)
    limiter.back(limiter.go(), turned_away(20))
    until_next(limiter, clock)
    limiter.back(limiter.go(), turned_away(20))
    assert until_next(limiter, clock) == pytest.approx(20)
    ahead = limiter.go()
    assert limiter.wait() == float("inf"), "one call goes ahead of the others"
    limiter.back(ahead, ANSWER)
    assert limiter.wait() < 1


@given(some.lists(some.one_of(some.none(), some.floats(0, 10**9)), max_size=30))
def test_a_lane_never_freezes(asked: list[float | None]) -> None:
    clock = Clock()
    limiter = limiter_at(clock)
    for seconds in asked:
        assert until_next(limiter, clock) <= LONGEST + 1e-6
        assert limiter.wait() <= 1e-6
        limiter.back(limiter.go(), turned_away(seconds))
    assert limiter.limit >= 1
    until_next(limiter, clock)
    limiter.back(limiter.go(), ANSWER)
    assert limiter.wait() < LONGEST


def test_a_call_that_nobody_waits_for_any_more_leaves_its_place(clock: Clock) -> None:
    limiter = limiter_at(clock)
    for _ in range(2):
        limiter.back(limiter.go(), turned_away())
        until_next(limiter, clock)
    limiter.back(limiter.go(), None)
    assert limiter.in_flight == 0
    assert until_next(limiter, clock) < LONGEST


def test_a_limit_set_by_hand_holds(clock: Clock) -> None:
    limiter = limiter_at(clock)
    limiter.fixed = 2
    calls = [limiter.go(), limiter.go()]
    assert limiter.wait() == float("inf")
    limiter.back(calls[0], ANSWER)
    assert limiter.wait() == 0
    limiter.fixed = None
    assert limiter.width == START + 1, "what was learned meanwhile counts"


# Giving up


def fail(limiter: RateLimiter, reply: Reply, times: int) -> None:
    for _ in range(times):
        limiter.back(limiter.go(), reply)


@pytest.mark.parametrize(("status", "times"), [(401, DENIALS), (404, DENIALS), (400, REJECTIONS)])
def test_a_wrong_key_or_name_is_given_up_soon(clock: Clock, status: int, times: int) -> None:
    limiter = limiter_at(clock)
    fail(limiter, refused(status), times - 1)
    assert limiter.given_up is None
    fail(limiter, refused(status), 1)
    assert limiter.given_up is not None
    assert limiter.given_up.wrong
    assert limiter.given_up.reason == (
        f"tiny rejected {times} consecutive calls: status {status}: no; "
        "check the key, the model's name, its settings and the URL"
    )


def test_an_agent_that_turns_calls_away_has_a_wrong_url(clock: Clock) -> None:
    limiter = limiter_at(clock, name="agent/mine@http://127.0.0.1:1/act")
    fail(limiter, refused(404), DENIALS)
    assert limiter.given_up is not None
    assert limiter.given_up.reason.endswith("status 404: no; check its URL, and its key if any")


def test_an_answer_between_shows_that_it_is_not_the_key(clock: Clock) -> None:
    limiter = limiter_at(clock)
    for _ in range(5):
        fail(limiter, refused(401), DENIALS - 1)
        fail(limiter, ANSWER, 1)
    assert limiter.given_up is None


def test_a_server_that_was_never_there_is_given_up_after_a_moment(clock: Clock) -> None:
    server, remote_agent = limiter_at(clock), limiter_at(clock, name="remote/mine")
    for limiter in (server, remote_agent):
        fail(limiter, unreachable(), IN_A_ROW)
        assert limiter.given_up is None, "it may be about to start"
    clock.now += GRACE
    for limiter in (server, remote_agent):
        fail(limiter, unreachable(), 1)
        assert limiter.given_up is not None
        assert not limiter.given_up.wrong
    assert server.given_up is not None
    assert server.given_up.reason == (
        f"tiny gave no usable answer to the last {IN_A_ROW + 1} calls: connection refused; "
        "check its URL and its server"
    )
    assert remote_agent.given_up is not None
    assert remote_agent.given_up.reason.endswith("connection refused; check its answers")


def test_a_server_that_never_answers_in_time_is_given_up_after_a_moment(clock: Clock) -> None:
    limiter = limiter_at(clock)
    fail(limiter, late(), IN_A_ROW)
    assert limiter.given_up is None, "it may be about to start"
    clock.now += GRACE
    fail(limiter, late(), 1)
    assert limiter.given_up is not None
    assert limiter.given_up.reason == (
        f"tiny gave no usable answer to the last {IN_A_ROW + 1} calls: no answer within 10 "
        "seconds; check that it is running, or increase its timeout"
    )


def test_what_a_reply_says_to_do_is_not_said_twice(clock: Clock) -> None:
    limiter = limiter_at(clock)
    said = "no server answers at localhost:1: check that it is running and that the port is correct"
    away = unreachable().model_copy(update={"unreached": True, "detail": said})
    fail(limiter, away, IN_A_ROW)
    clock.now += GRACE
    fail(limiter, away, 1)
    assert limiter.given_up is not None
    assert limiter.given_up.reason.endswith(f" calls: {said}")


@pytest.mark.parametrize("reply", [unreachable(), turned_away(), late()])
def test_a_server_that_has_worked_has_patience_and_comes_back(clock: Clock, reply: Reply) -> None:
    limiter = limiter_at(clock)
    fail(limiter, ANSWER, 1)
    fail(limiter, reply, IN_A_ROW)
    clock.now += PATIENCE - 1
    fail(limiter, reply, 1)
    assert limiter.given_up is None
    clock.now += 1
    fail(limiter, reply, 1)
    assert limiter.given_up is not None
    assert until_next(limiter, clock) == LONGEST, "one call a minute still finds out"
    fail(limiter, ANSWER, 1)
    assert limiter.given_up is None


@pytest.mark.parametrize("reply", [unreachable(), refused(404), refused(400)])
def test_an_agent_that_answers_others_is_not_given_up_for_requests_on_which_it_crashes(
    clock: Clock, reply: Reply
) -> None:
    limiter = limiter_at(clock, name="agent/mine@http://localhost:1/act")
    fail(limiter, ANSWER, 1)
    fail(limiter, reply, 2 * REJECTIONS)
    clock.now += PATIENCE
    fail(limiter, reply, 1)
    assert limiter.given_up is None
    assert until_next(limiter, clock) <= BREATH, "others need not wait for it"
    retries = Retries(limiter)
    sendings = SENDINGS[Trouble.BROKEN] if reply.retry else 1
    found = [retries.wait(reply) for _ in range(sendings)]
    assert [one is None for one in found] == [False] * (sendings - 1) + [True]


def test_an_agent_that_is_gone_is_waited_for(clock: Clock) -> None:
    limiter = limiter_at(clock, name="agent/mine@http://localhost:1/act")
    fail(limiter, ANSWER, 1)
    fail(limiter, NOBODY_THERE, IN_A_ROW)
    assert Retries(limiter).wait(NOBODY_THERE) is not None
    clock.now += PATIENCE
    fail(limiter, NOBODY_THERE, 1)
    assert limiter.given_up is not None


def time_out_alone(limiter: RateLimiter, times: int) -> None:
    for _ in range(times):
        limiter.back(limiter.go(alone=True), late())


def test_a_server_that_hangs_midway_is_given_up_before_its_patience_ends(clock: Clock) -> None:
    """An agent that hung lost match after match until the patience of 10 minutes ended."""
    limiter = limiter_at(clock, name="agent/mine@http://localhost:1/act")
    fail(limiter, ANSWER, 1)
    fail(limiter, late(), IN_A_ROW)
    time_out_alone(limiter, ALONE_IN_A_ROW - 1)
    assert limiter.given_up is None
    time_out_alone(limiter, 1)
    assert limiter.given_up is not None
    assert limiter.given_up.reason.endswith(
        f"no usable answer to the last {IN_A_ROW + ALONE_IN_A_ROW} calls: no answer within 10 "
        "seconds (2 times its timeout, with no other call in flight); check that it is "
        "running, or increase its timeout"
    )


def test_an_answer_between_shows_that_a_server_hangs_on_some_calls_only(clock: Clock) -> None:
    limiter = limiter_at(clock, name="agent/mine@http://localhost:1/act")
    for _ in range(3):
        fail(limiter, late(), IN_A_ROW)
        time_out_alone(limiter, ALONE_IN_A_ROW - 1)
        fail(limiter, ANSWER, 1)
    time_out_alone(limiter, ALONE_IN_A_ROW)
    assert limiter.given_up is None, "too few timeouts since the last answer"


def test_an_agent_that_hangs_on_a_request_is_sent_it_once_more(clock: Clock) -> None:
    retries = Retries(limiter_at(clock, name="agent/mine@http://localhost:1/act"))
    assert retries.wait(late()) is not None
    assert retries.wait(late()) is None


# Sending again


def waits(clock: Clock, *replies: Reply) -> list[float | None]:
    retries = Retries(limiter_at(clock))
    return [retries.wait(reply) for reply in replies]


@pytest.mark.parametrize(
    ("reply", "trouble"),
    [
        (unreachable(), Trouble.BROKEN),
        (late(), Trouble.TIMED_OUT),
        (refused(400), Trouble.REJECTED),
    ],
)
def test_a_failed_call_is_sent_again_as_often_as_its_trouble_allows(
    clock: Clock, reply: Reply, trouble: Trouble
) -> None:
    found = waits(clock, *[reply] * SENDINGS[trouble])
    assert [one is None for one in found] == [False] * (len(found) - 1) + [True]


def test_the_last_sending_of_a_call_that_timed_out_goes_out_alone(clock: Clock) -> None:
    retries = Retries(limiter_at(clock))
    alone = []
    for _ in range(SENDINGS[Trouble.TIMED_OUT]):
        alone.append(retries.alone)
        retries.wait(late())
    assert alone == [False, False, True]


def test_a_lane_of_a_known_capacity_is_as_wide_as_that(clock: Clock) -> None:
    limiter = RateLimiter("hf/tiny", clock=clock, capacity={"hf/tiny": 16}.get)
    for _ in range(100):
        limiter.back(limiter.go(), ANSWER)
    assert limiter.width == 16
    limiter.back(limiter.go(), late())
    assert limiter.width == 16
    limiter.fixed = 3
    assert limiter.width == 3


@pytest.mark.parametrize("reply", [ANSWER, Reply(failure=Failure.REFUSED)])
def test_an_answer_is_final(clock: Clock, reply: Reply) -> None:
    assert waits(clock, reply) == [None]


def test_overload_is_a_matter_of_patience_not_of_number(clock: Clock) -> None:
    retries = Retries(limiter_at(clock))
    for _ in range(100):
        assert retries.wait(turned_away()) is not None
    clock.now = PATIENCE
    assert retries.wait(turned_away()) is None


NOBODY_THERE = unreachable().model_copy(update={"unreached": True})


@pytest.mark.parametrize(("reply", "before"), [(NOBODY_THERE, 0), (unreachable(), IN_A_ROW)])
def test_a_server_that_is_away_is_waited_for_as_an_overloaded_one(
    clock: Clock, reply: Reply, before: int
) -> None:
    limiter = limiter_at(clock)
    fail(limiter, ANSWER, 1)
    fail(limiter, unreachable(), before)
    retries = Retries(limiter)
    for _ in range(100):
        assert retries.wait(reply) is not None
    fail(limiter, ANSWER, 1)
    found = [retries.wait(unreachable()) for _ in range(SENDINGS[Trouble.BROKEN])]
    assert found.index(None) == len(found) - 1, "what failed meanwhile is not held against the call"
    clock.now = PATIENCE
    assert retries.wait(NOBODY_THERE) is None


def test_a_server_that_was_never_there_is_not_waited_for(clock: Clock) -> None:
    limiter = limiter_at(clock)
    fail(limiter, NOBODY_THERE, IN_A_ROW)
    retries = Retries(limiter)
    found = [retries.wait(NOBODY_THERE) for _ in range(SENDINGS[Trouble.BROKEN])]
    assert found[-1] is None


def test_pauses_grow_with_full_jitter_up_to_the_longest(clock: Clock) -> None:
    found = []
    for seed in range(200):
        retries = Retries(limiter_at(clock, seed))
        found.append([retries.wait(turned_away()) or 0.0 for _ in range(12)])
    longest = [max(column) for column in zip(*found, strict=True)]
    shortest = [min(column) for column in zip(*found, strict=True)]
    assert all(low < 0.05 * high for low, high in zip(shortest, longest, strict=True))
    assert [round(high / 0.5, 0) for high in longest[:4]] == [1, 2, 4, 8]
    assert max(longest) <= LONGEST


def test_a_call_comes_back_when_the_server_asked_it_to_but_not_in_an_hour(clock: Clock) -> None:
    (soon,) = waits(clock, turned_away(7))
    (never,) = waits(clock, turned_away(3600))
    assert soon is not None
    assert 7 <= soon <= 7.5
    assert never is not None
    assert LONGEST <= never <= LONGEST + 0.5


def test_a_call_on_which_a_server_hangs_is_no_overload_and_blocks_no_other() -> None:
    """Other calls are answered at once meanwhile, so that no queue can have caused the timeout."""
    now = 0.0
    limiter = RateLimiter("agent/mine", clock=lambda: now, rng=luck())
    retries, stuck = Retries(limiter), limiter.go()
    for _ in range(IN_A_ROW):
        limiter.back(limiter.go(), ANSWER)
    now = 60.0
    limit = limiter.limit
    assert retries.wait(late(), stuck) is not None
    limiter.back(stuck, late())
    assert not retries.alone
    assert limiter.limit == limit
    assert limiter.wait() == 0


def test_a_call_that_times_out_under_load_is_sent_again_alone() -> None:
    """Where answers take long for all, being overtaken shows nothing."""
    now = 0.0
    limiter = RateLimiter("agent/mine", clock=lambda: now, rng=luck())
    retries, stuck = Retries(limiter), limiter.go()
    for _ in range(IN_A_ROW // 2):
        pair = limiter.go(), limiter.go()
        now += 8
        for place in pair:
            limiter.back(place, ANSWER)
    assert not limiter.hung(stuck)
    retries.wait(late(), stuck)
    assert retries.alone
