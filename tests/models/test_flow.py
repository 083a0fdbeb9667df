"""Flow control: a rate limiter finds a server's capacity, respects it, and never freezes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    REJECTION_TIME,
    LoadSimulation,
    limited_concurrency,
    limited_rate,
    overloaded,
    seeded_rng,
    timed_out,
    unreachable,
)


def rejected(status: int | None) -> Reply:
    return Reply(failure=Failure.PROVIDER_ERROR, detail=f"status {status}: no", status=status)


class Clock:
    """A clock that is set manually."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def limiter_at(clock: Clock, seed: int = 1, name: str = "tiny") -> RateLimiter:
    return RateLimiter(name, clock=clock, rng=seeded_rng(seed))


# Classification of replies


def test_replies_are_classified() -> None:
    for reply, trouble in [
        (ANSWER, None),
        (Reply(failure=Failure.REFUSED), None),
        (Reply(failure=Failure.FILTERED), None),
        (timed_out(), Trouble.TIMED_OUT),
        (overloaded(), Trouble.OVERLOADED),
        (overloaded().model_copy(update={"status": 503}), Trouble.OVERLOADED),
        (overloaded().model_copy(update={"status": 500}), Trouble.BROKEN),
        (unreachable(), Trouble.BROKEN),
        (rejected(401), Trouble.DENIED),
        (rejected(404), Trouble.DENIED),
        (rejected(429), Trouble.DENIED),
        (rejected(307), Trouble.DENIED),
        (rejected(407), Trouble.DENIED),
        (Reply(failure=Failure.PROVIDER_ERROR, unreached=True), Trouble.DENIED),
        (rejected(400), Trouble.REJECTED),
        (rejected(None), Trouble.REJECTED),
    ]:
        assert trouble_of(reply) is trouble


# Learning the capacity


def test_limiter_finds_concurrency_of_server() -> None:
    for capacity, seconds in [(1, 0.2), (3, 2), (10, 2), (50, 0.2), (300, 0.2)]:
        simulation = LoadSimulation(limited_concurrency(capacity, seconds))
        simulation.run(100 * seconds)
        settled = simulation.rate(50 * seconds, 100 * seconds)
        assert 0.75 <= settled / (capacity / seconds) <= 1.1
        assert 0.5 * capacity <= simulation.limiter.limit <= 1.5 * capacity + 2


def test_limiter_with_high_start_finds_limit() -> None:
    for capacity in [20, 100, 400]:
        simulation = LoadSimulation(limited_concurrency(capacity, 2.0), start=500.0, callers=1_000)
        simulation.run(60)
        assert 0.75 <= simulation.rate(30, 60) / (capacity / 2.0) <= 1.1
        assert len(simulation.failed) < 2 * (500 - capacity) + 50


def test_limiter_finds_rate_of_server() -> None:
    for rate, seconds in [(1, 0.2), (10, 0.2), (50, 0.2), (10, 2)]:
        simulation = LoadSimulation(limited_rate(rate, seconds))
        simulation.run(200)
        assert 0.75 <= simulation.rate(100, 200) / rate <= 1.1


def test_unlimited_server_is_used_up_to_ceiling() -> None:
    simulation = LoadSimulation(limited_concurrency(10_000, 1.0), callers=2_000)
    simulation.run(6)
    assert simulation.limiter.in_flight == CEILING
    assert not simulation.failed


def test_burst_of_answers_raises_limit(clock: Clock) -> None:
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
def test_rare_rejections_do_not_reduce_throughput(
    share: float, seconds: float, start: float
) -> None:
    rng = seeded_rng()

    def server(simulation: LoadSimulation) -> tuple[Reply, float]:
        return (overloaded(), REJECTION_TIME) if rng.random() < share else (ANSWER, seconds)

    simulation = LoadSimulation(server, callers=500, start=start)
    simulation.run(60)
    assert simulation.rate(30, 60) > 0.9 * 500 / seconds


def test_unused_limit_does_not_grow() -> None:
    simulation = LoadSimulation(limited_concurrency(10_000, 0.2), callers=5)
    simulation.run(60)
    assert simulation.limiter.limit == START


def test_waiting_time_is_bounded() -> None:
    simulation = LoadSimulation(limited_concurrency(10, 0.2), callers=100)
    simulation.run(200)
    assert simulation.longest_wait < 10 * 100 * 0.2 / 10, "ten times a fair wait"


def test_limiter_recovers_after_outage() -> None:
    simulation = LoadSimulation(limited_concurrency(lambda now: 0 if 100 <= now < 150 else 50, 0.2))
    simulation.run(100)
    before, cut = simulation.rate(50, 100), simulation.limiter.limit
    simulation.run(260)
    assert simulation.rate(101, 150) == 0
    attempts = sum(105 <= moment < 150 for moment in simulation.sent)
    assert attempts < 20, "a server that is away is asked now and then"
    assert simulation.limiter.limit > 0.5 * cut, "an outage is no metric of the capacity"
    assert simulation.rate(210, 260) > 0.9 * before


def test_overload_reduces_limit_once_per_round_trip(clock: Clock) -> None:
    limiter = limiter_at(clock)
    calls = [limiter.go() for _ in range(20)]
    for call in calls:
        limiter.back(call, overloaded())
    assert limiter.limit == START * 0.75
    assert limiter.in_flight == 0


def test_timeouts_reduce_limit_without_pause(clock: Clock) -> None:
    limiter = limiter_at(clock)
    limiter.back(limiter.go(), timed_out())
    assert limiter.limit == START * 0.75
    assert limiter.wait() == 0


def test_other_failures_do_not_reduce_limit(clock: Clock) -> None:
    limiter = limiter_at(clock)
    for reply in [unreachable(), rejected(400)] * 3:
        limiter.back(limiter.go(), reply)
        limiter.back(limiter.go(), ANSWER)
    assert limiter.width == START
    assert limiter.wait() == 0


# Retry-After


def until_next(limiter: RateLimiter, clock: Clock) -> float:
    """Advance the clock until a call may be sent, and return the waiting time."""
    wait = limiter.wait()
    clock.now += wait
    return wait


def test_single_retry_after_does_not_stop_other_calls(clock: Clock) -> None:
    limiter = limiter_at(clock)
    limiter.back(limiter.go(), overloaded(20))
    assert until_next(limiter, clock) < 1
    limiter.back(limiter.go(), ANSWER)
    assert limiter.wait() < 1


def test_confirmed_retry_after_is_respected(clock: Clock) -> None:
    limiter = limiter_at(clock)
    limiter.back(limiter.go(), overloaded(20))
    until_next(limiter, clock)
    limiter.back(limiter.go(), overloaded(20))
    assert until_next(limiter, clock) == pytest.approx(20)
    probe = limiter.go()
    assert limiter.wait() == float("inf"), "one call goes ahead of the others"
    limiter.back(probe, ANSWER)
    assert limiter.wait() < 1


@given(st.lists(st.one_of(st.none(), st.floats(0, 10**9)), max_size=30))
def test_limiter_never_freezes(retry_afters: list[float | None]) -> None:
    clock = Clock()
    limiter = limiter_at(clock)
    for seconds in retry_afters:
        assert until_next(limiter, clock) <= LONGEST + 1e-6
        assert limiter.wait() <= 1e-6
        limiter.back(limiter.go(), overloaded(seconds))
    assert limiter.limit >= 1
    until_next(limiter, clock)
    limiter.back(limiter.go(), ANSWER)
    assert limiter.wait() < LONGEST


def test_abandoned_call_releases_its_slot(clock: Clock) -> None:
    limiter = limiter_at(clock)
    for _ in range(2):
        limiter.back(limiter.go(), overloaded())
        until_next(limiter, clock)
    limiter.back(limiter.go(), None)
    assert limiter.in_flight == 0
    assert until_next(limiter, clock) < LONGEST


def test_fixed_limit_is_respected(clock: Clock) -> None:
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


def test_consecutive_rejections_give_up_model(clock: Clock) -> None:
    for status, times in [(401, DENIALS), (404, DENIALS), (400, REJECTIONS)]:
        limiter = limiter_at(clock)
        fail(limiter, rejected(status), times - 1)
        assert limiter.given_up is None
        fail(limiter, rejected(status), 1)
        assert limiter.given_up is not None
        assert limiter.given_up.wrong
        assert limiter.given_up.reason == (
            f"tiny rejected {times} consecutive calls: status {status}: no; "
            "check the key, the model's name, its settings and the URL"
        )


def test_rejections_by_agent_hint_at_url(clock: Clock) -> None:
    limiter = limiter_at(clock, name="agent/mine@http://127.0.0.1:1/act")
    fail(limiter, rejected(404), DENIALS)
    assert limiter.given_up is not None
    assert limiter.given_up.reason.endswith("status 404: no; check its URL, and its key if any")


def test_answer_resets_rejection_count(clock: Clock) -> None:
    limiter = limiter_at(clock)
    for _ in range(5):
        fail(limiter, rejected(401), DENIALS - 1)
        fail(limiter, ANSWER, 1)
    assert limiter.given_up is None


def test_server_never_reached_is_given_up_after_grace(clock: Clock) -> None:
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


def test_server_that_always_times_out_is_given_up_after_grace(clock: Clock) -> None:
    limiter = limiter_at(clock)
    fail(limiter, timed_out(), IN_A_ROW)
    assert limiter.given_up is None, "it may be about to start"
    clock.now += GRACE
    fail(limiter, timed_out(), 1)
    assert limiter.given_up is not None
    assert limiter.given_up.reason == (
        f"tiny gave no usable answer to the last {IN_A_ROW + 1} calls: no answer within 10 "
        "seconds; check that it is running, or increase its timeout"
    )


def test_hint_in_reply_is_not_repeated(clock: Clock) -> None:
    limiter = limiter_at(clock)
    hint = "no server answers at localhost:1: check that it is running and that the port is correct"
    unreached = unreachable().model_copy(update={"unreached": True, "detail": hint})
    fail(limiter, unreached, IN_A_ROW)
    clock.now += GRACE
    fail(limiter, unreached, 1)
    assert limiter.given_up is not None
    assert limiter.given_up.reason.endswith(f" calls: {hint}")


def test_known_server_is_given_up_after_patience_and_recovers(clock: Clock) -> None:
    for reply in (unreachable(), overloaded(), timed_out()):
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


def test_agent_that_crashes_on_some_requests_is_not_given_up(clock: Clock) -> None:
    for reply in (unreachable(), rejected(404), rejected(400)):
        limiter = limiter_at(clock, name="agent/mine@http://localhost:1/act")
        fail(limiter, ANSWER, 1)
        fail(limiter, reply, 2 * REJECTIONS)
        clock.now += PATIENCE
        fail(limiter, reply, 1)
        assert limiter.given_up is None
        assert until_next(limiter, clock) <= BREATH, "others need not wait for it"
        retries = Retries(limiter)
        attempts = SENDINGS[Trouble.BROKEN] if reply.retry else 1
        pauses = [retries.wait(reply) for _ in range(attempts)]
        assert [pause is None for pause in pauses] == [False] * (attempts - 1) + [True]


def test_unreachable_agent_is_given_up_after_patience(clock: Clock) -> None:
    limiter = limiter_at(clock, name="agent/mine@http://localhost:1/act")
    fail(limiter, ANSWER, 1)
    fail(limiter, UNREACHED, IN_A_ROW)
    assert Retries(limiter).wait(UNREACHED) is not None
    clock.now += PATIENCE
    fail(limiter, UNREACHED, 1)
    assert limiter.given_up is not None


def time_out_exclusively(limiter: RateLimiter, times: int) -> None:
    for _ in range(times):
        limiter.back(limiter.go(alone=True), timed_out())


def test_hanging_server_is_given_up_before_patience_ends(clock: Clock) -> None:
    """Regression: a hanging agent lost matches until the patience of 10 minutes ended."""
    limiter = limiter_at(clock, name="agent/mine@http://localhost:1/act")
    fail(limiter, ANSWER, 1)
    fail(limiter, timed_out(), IN_A_ROW)
    time_out_exclusively(limiter, ALONE_IN_A_ROW - 1)
    assert limiter.given_up is None
    time_out_exclusively(limiter, 1)
    assert limiter.given_up is not None
    assert limiter.given_up.reason.endswith(
        f"no usable answer to the last {IN_A_ROW + ALONE_IN_A_ROW} calls: no answer within 10 "
        "seconds (2 times its timeout, with no other call in flight); check that it is "
        "running, or increase its timeout"
    )


def test_answer_resets_timeout_count(clock: Clock) -> None:
    limiter = limiter_at(clock, name="agent/mine@http://localhost:1/act")
    for _ in range(3):
        fail(limiter, timed_out(), IN_A_ROW)
        time_out_exclusively(limiter, ALONE_IN_A_ROW - 1)
        fail(limiter, ANSWER, 1)
    time_out_exclusively(limiter, ALONE_IN_A_ROW)
    assert limiter.given_up is None, "too few timeouts since the last answer"


def test_timed_out_agent_request_is_retried_once(clock: Clock) -> None:
    retries = Retries(limiter_at(clock, name="agent/mine@http://localhost:1/act"))
    assert retries.wait(timed_out()) is not None
    assert retries.wait(timed_out()) is None


# Retries


def retry_pauses(clock: Clock, *replies: Reply) -> list[float | None]:
    retries = Retries(limiter_at(clock))
    return [retries.wait(reply) for reply in replies]


def test_number_of_retries_depends_on_trouble(clock: Clock) -> None:
    for reply in (unreachable(), timed_out(), rejected(400)):
        pauses = retry_pauses(clock, *[reply] * SENDINGS[trouble_of(reply) or Trouble.BROKEN])
        assert [pause is None for pause in pauses] == [False] * (len(pauses) - 1) + [True]
    assert retry_pauses(clock, Reply(failure=Failure.REFUSED)) == [None]


def test_last_retry_after_timeouts_is_sent_alone(clock: Clock) -> None:
    retries = Retries(limiter_at(clock))
    alone = []
    for _ in range(SENDINGS[Trouble.TIMED_OUT]):
        alone.append(retries.alone)
        retries.wait(timed_out())
    assert alone == [False, False, True]


def test_known_capacity_determines_width(clock: Clock) -> None:
    limiter = RateLimiter("hf/tiny", clock=clock, capacity={"hf/tiny": 16}.get)
    for _ in range(100):
        limiter.back(limiter.go(), ANSWER)
    assert limiter.width == 16
    limiter.back(limiter.go(), timed_out())
    assert limiter.width == 16
    limiter.fixed = 3
    assert limiter.width == 3


def test_overload_retries_are_limited_by_time(clock: Clock) -> None:
    retries = Retries(limiter_at(clock))
    for _ in range(100):
        assert retries.wait(overloaded()) is not None
    clock.now = PATIENCE
    assert retries.wait(overloaded()) is None


UNREACHED = unreachable().model_copy(update={"unreached": True})


@pytest.mark.parametrize(("reply", "before"), [(UNREACHED, 0), (unreachable(), IN_A_ROW)])
def test_known_unreachable_server_is_retried_until_patience_ends(
    clock: Clock, reply: Reply, before: int
) -> None:
    limiter = limiter_at(clock)
    fail(limiter, ANSWER, 1)
    fail(limiter, unreachable(), before)
    retries = Retries(limiter)
    for _ in range(100):
        assert retries.wait(reply) is not None
    fail(limiter, ANSWER, 1)
    gaps = [retries.wait(unreachable()) for _ in range(SENDINGS[Trouble.BROKEN])]
    assert gaps.index(None) == len(gaps) - 1, "what failed meanwhile is not held against the call"
    clock.now = PATIENCE
    assert retries.wait(UNREACHED) is None


def test_server_never_reached_is_not_retried_until_patience_ends(clock: Clock) -> None:
    limiter = limiter_at(clock)
    fail(limiter, UNREACHED, IN_A_ROW)
    retries = Retries(limiter)
    pauses = [retries.wait(UNREACHED) for _ in range(SENDINGS[Trouble.BROKEN])]
    assert pauses[-1] is None


def test_backoff_grows_with_full_jitter_up_to_maximum(clock: Clock) -> None:
    pauses = []
    for seed in range(200):
        retries = Retries(limiter_at(clock, seed))
        pauses.append([retries.wait(overloaded()) or 0.0 for _ in range(12)])
    longest = [max(column) for column in zip(*pauses, strict=True)]
    shortest = [min(column) for column in zip(*pauses, strict=True)]
    assert all(low < 0.05 * high for low, high in zip(shortest, longest, strict=True))
    assert [round(high / 0.5, 0) for high in longest[:4]] == [1, 2, 4, 8]
    assert max(longest) <= LONGEST


def test_retry_after_is_respected_up_to_maximum(clock: Clock) -> None:
    (soon,) = retry_pauses(clock, overloaded(7))
    (never,) = retry_pauses(clock, overloaded(3600))
    assert soon is not None
    assert 7 <= soon <= 7.5
    assert never is not None
    assert LONGEST <= never <= LONGEST + 0.5


def test_overtaken_timeout_does_not_reduce_limit() -> None:
    """Other calls are answered immediately meanwhile, so a queue can't have caused the timeout."""
    now = 0.0
    limiter = RateLimiter("agent/mine", clock=lambda: now, rng=seeded_rng())
    retries, stuck = Retries(limiter), limiter.go()
    for _ in range(IN_A_ROW):
        limiter.back(limiter.go(), ANSWER)
    now = 60.0
    limit = limiter.limit
    assert retries.wait(timed_out(), stuck) is not None
    limiter.back(stuck, timed_out())
    assert not retries.alone
    assert limiter.limit == limit
    assert limiter.wait() == 0


def test_timeout_under_load_is_retried_alone() -> None:
    """If all answers are slow, being overtaken is no evidence of a hang."""
    now = 0.0
    limiter = RateLimiter("agent/mine", clock=lambda: now, rng=seeded_rng())
    retries, stuck = Retries(limiter), limiter.go()
    for _ in range(IN_A_ROW // 2):
        calls = limiter.go(), limiter.go()
        now += 8
        for call in calls:
            limiter.back(call, ANSWER)
    assert not limiter.hung(stuck)
    retries.wait(timed_out(), stuck)
    assert retries.alone
