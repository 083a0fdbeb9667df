"""Flow control: a rate limiter finds a server's capacity, respects it, and never freezes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.models import Failure, Reply
from cheaptalk.models.flow_control import (
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


UNREACHED = Reply(
    failure=Failure.PROVIDER_ERROR, detail="no server answers", retry=True, unreached=True
)
AGENT = "agent/mine@http://localhost:1/act"


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


@pytest.mark.parametrize(
    ("capacity", "seconds", "start"),
    [(1, 0.2, START), (10, 2, START), (100, 0.2, START), (20, 0.2, 500.0), (150, 0.2, 500.0)],
)
def test_limiter_finds_concurrency_of_server(capacity: int, seconds: float, start: float) -> None:
    simulation = LoadSimulation(limited_concurrency(capacity, seconds), start=start)
    simulation.run(100 * seconds)
    settled = simulation.rate(50 * seconds, 100 * seconds)
    assert 0.75 <= settled / (capacity / seconds) <= 1.1
    assert 0.5 * capacity <= simulation.limiter.limit <= 1.5 * capacity + 2
    if start > capacity:
        assert len(simulation.failed) < 2 * (start - capacity) + 50


def test_limiter_finds_rate_of_server() -> None:
    for rate, seconds in [(1, 0.2), (50, 0.2), (10, 2)]:
        simulation = LoadSimulation(limited_rate(rate, seconds))
        simulation.run(200)
        assert 0.75 <= simulation.rate(100, 200) / rate <= 1.1


def test_unlimited_server_is_used_up_to_ceiling() -> None:
    simulation = LoadSimulation(limited_concurrency(10_000, 1.0), callers=2_000)
    simulation.run(6)
    assert simulation.limiter.in_flight == CEILING
    assert not simulation.failed
    few = LoadSimulation(limited_concurrency(10_000, 0.2), callers=5)
    few.run(10)
    assert few.limiter.limit == START, "an unused limit does not grow"


@pytest.mark.parametrize(("share", "seconds", "start"), [(0.01, 0.2, START), (0.02, 2, 500.0)])
def test_rare_rejections_do_not_reduce_throughput(
    share: float, seconds: float, start: float
) -> None:
    rng = seeded_rng()

    def server(simulation: LoadSimulation) -> tuple[Reply, float]:
        return (overloaded(), REJECTION_TIME) if rng.random() < share else (ANSWER, seconds)

    simulation = LoadSimulation(server, callers=500, start=start)
    simulation.run(30)
    assert simulation.rate(15, 30) > 0.9 * 500 / seconds


def test_limiter_recovers_after_outage() -> None:
    simulation = LoadSimulation(limited_concurrency(lambda now: 0 if 30 <= now < 80 else 20, 0.2))
    simulation.run(30)
    before, cut = simulation.rate(15, 30), simulation.limiter.limit
    assert simulation.longest_wait < 10 * 500 * 0.2 / 20, "ten times a fair wait"
    simulation.run(160)
    assert simulation.rate(31, 80) == 0
    attempts = sum(35 <= moment < 80 for moment in simulation.sent)
    assert attempts < 20, "a server that is away is asked now and then"
    assert simulation.limiter.limit > 0.5 * cut, "an outage is no metric of the capacity"
    assert simulation.rate(140, 160) > 0.9 * before


@pytest.mark.parametrize(
    ("failure", "limit", "pauses"),
    [
        (overloaded(), 0.75 * START, True),
        (timed_out(), 0.75 * START, False),
        (unreachable(), START, False),
        (rejected(400), START, False),
    ],
)
def test_only_overload_reduces_limit_and_once_per_round_trip(
    clock: Clock, failure: Reply, limit: float, pauses: bool
) -> None:
    limiter = limiter_at(clock)
    for call in [limiter.go() for _ in range(9)]:
        limiter.back(call, failure)
    assert (limiter.limit, limiter.in_flight) == (limit, 0)
    assert (limiter.wait() > 0) is pauses
    for _ in range(2):
        until_next(limiter, clock)
        limiter.back(limiter.go(), overloaded())
    until_next(limiter, clock)
    limiter.back(limiter.go(), None)  # a cancelled call
    assert limiter.in_flight == 0
    assert until_next(limiter, clock) < LONGEST


# Retry-After


def until_next(limiter: RateLimiter, clock: Clock) -> float:
    """Advance the clock until a call may be sent, and return the waiting time."""
    wait = limiter.wait()
    clock.now += wait
    return wait


def test_confirmed_retry_after_is_respected(clock: Clock) -> None:
    limiter = limiter_at(clock)
    limiter.back(limiter.go(), overloaded(20))
    assert until_next(limiter, clock) < 1, "a single rejection does not stop other calls"
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


# Giving up


def fail(limiter: RateLimiter, reply: Reply, times: int) -> None:
    for _ in range(times):
        limiter.back(limiter.go(), reply)


@pytest.mark.parametrize(
    ("name", "status", "times", "hint"),
    [
        ("tiny", 401, DENIALS, "the key, the model's name, its settings and the URL"),
        ("tiny", 400, REJECTIONS, "the key, the model's name, its settings and the URL"),
        (AGENT, 404, DENIALS, "its URL, and its key if any"),
    ],
)
def test_consecutive_rejections_give_up_model(
    clock: Clock, name: str, status: int, times: int, hint: str
) -> None:
    limiter = limiter_at(clock, name=name)
    fail(limiter, rejected(status), times - 1)
    if name != AGENT:
        fail(limiter, ANSWER, 1)
        fail(limiter, rejected(status), times - 1)
    assert limiter.given_up is None
    fail(limiter, rejected(status), 1)
    assert limiter.given_up is not None
    assert limiter.given_up.wrong
    assert limiter.given_up.reason == (
        f"{name} rejected {times} consecutive calls: status {status}: no; check {hint}"
    )


@pytest.mark.parametrize(
    ("name", "failure", "cure"),
    [
        ("tiny", unreachable(), "; check its URL and its server"),
        ("remote/mine", unreachable(), "; check its answers"),
        ("tiny", timed_out(), "; check that it is running, or increase its timeout"),
        ("tiny", UNREACHED, ""),
    ],
)
def test_server_without_answers_is_given_up_after_grace(
    clock: Clock, name: str, failure: Reply, cure: str
) -> None:
    limiter = limiter_at(clock, name=name)
    fail(limiter, failure, IN_A_ROW)
    assert limiter.given_up is None, "it may be about to start"
    retries = Retries(limiter)
    assert None in [retries.wait(failure) for _ in range(SENDINGS[Trouble.BROKEN])]
    clock.now += GRACE
    fail(limiter, failure, 1)
    assert limiter.given_up is not None
    assert not limiter.given_up.wrong
    assert limiter.given_up.reason == (
        f"{name} gave no usable answer to the last {IN_A_ROW + 1} calls: {failure.detail}{cure}"
    )


@pytest.mark.parametrize("reply", [unreachable(), overloaded(), timed_out(), UNREACHED])
def test_known_server_is_given_up_after_patience_and_recovers(clock: Clock, reply: Reply) -> None:
    limiter = limiter_at(clock, name=AGENT if reply is UNREACHED else "tiny")
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
        limiter = limiter_at(clock, name=AGENT)
        fail(limiter, ANSWER, 1)
        fail(limiter, reply, 2 * REJECTIONS)
        clock.now += PATIENCE
        fail(limiter, reply, 1)
        assert limiter.given_up is None
        assert until_next(limiter, clock) <= BREATH, "others need not wait for it"
        attempts = SENDINGS[Trouble.BROKEN] if reply.retry else 1
        retries = Retries(limiter)
        pauses = [retries.wait(reply) for _ in range(attempts)]
        assert [pause is None for pause in pauses] == [False] * (attempts - 1) + [True]


# Retries


def retry_pauses(clock: Clock, *replies: Reply) -> list[float | None]:
    retries = Retries(limiter_at(clock))
    return [retries.wait(reply) for reply in replies]


def test_number_of_retries_depends_on_trouble(clock: Clock) -> None:
    for reply in (unreachable(), timed_out(), rejected(400)):
        pauses = retry_pauses(clock, *[reply] * SENDINGS[trouble_of(reply) or Trouble.BROKEN])
        assert [pause is None for pause in pauses] == [False] * (len(pauses) - 1) + [True]
    assert retry_pauses(clock, Reply(failure=Failure.REFUSED)) == [None]
    agent = Retries(limiter_at(clock, name=AGENT))
    assert [agent.wait(timed_out()) is None for _ in range(2)] == [False, True]


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
    for retry_after, low in ((7, 7), (3600, LONGEST)):
        (pause,) = retry_pauses(clock, overloaded(retry_after))
        assert pause is not None
        assert low <= pause <= low + 0.5
    clock.now = PATIENCE
    assert retries.wait(overloaded()) is None, "overload is limited by time"


@pytest.mark.parametrize(("others", "seconds"), [(IN_A_ROW, 0), (IN_A_ROW, 8), (0, 0)])
def test_last_retry_after_timeouts_is_sent_alone_unless_server_hangs(
    clock: Clock, others: int, seconds: float
) -> None:
    """If many other calls are answered quickly, a queue can't have caused the timeout."""
    limiter = limiter_at(clock, name=AGENT)
    retries, stuck = Retries(limiter), limiter.go()
    for _ in range(others // 2):
        calls = limiter.go(), limiter.go()
        clock.now += seconds
        for call in calls:
            limiter.back(call, ANSWER)
    clock.now += 60 if seconds == 0 else 0
    limit, hung = limiter.limit, others > 0 and seconds == 0
    assert limiter.hung(stuck) is hung
    assert not retries.alone
    retries.wait(timed_out(), stuck)
    limiter.back(stuck, timed_out())
    assert retries.alone is not hung
    assert (limiter.limit == limit) is hung
