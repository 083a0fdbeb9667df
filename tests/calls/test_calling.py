"""Retries, rate limits and timeouts of calls; time in a queue doesn't count towards a timeout."""

from collections import Counter
from typing import Any, Literal
from zlib import crc32

import pytest
from aiohttp import web

import cheaptalk as ct
from cheaptalk.models import Failure, ModelCall, Reply
from cheaptalk.models.flow_control import ALONE_IN_A_ROW, DENIALS, SENDINGS, START, Trouble
from cheaptalk.records import Status, Store, costs_by_player
from cheaptalk.records.ledger.ledger import lost_calls
from cheaptalk.records.ledger.spending import spent
from tests.fakes import Answers, Canned, Server, broken, late, legal, study, with_model

MANY: dict[str, Any] = with_model() | {"instances": 30}


def failing(status: int, *, retry: bool, detail: str = "no") -> Reply:
    message = f"status {status}: {detail}"
    return Reply(failure=Failure.PROVIDER_ERROR, status=status, retry=retry, detail=message)


def always(reply: Reply) -> Answers:
    return lambda call, number: reply


def attempts(models: Canned) -> Counter[str]:
    """Count how often each call was sent."""
    return Counter(number.rpartition("/")[0] for number in models.numbers)


def test_wrong_key_halts_the_run_before_many_matches_fail(store: Store) -> None:
    models = Canned(lambda call, number: failing(401, retry=False, detail="no such key"))
    progress = ct.run(study(**MANY), store, models=models)
    assert progress.halted == (
        f"vllm/tiny rejected {DENIALS} consecutive calls: status 401: no such key; "
        "check the key, the model's name, its settings and the URL"
    )
    assert len(models.calls) <= START + DENIALS
    assert progress.failed < DENIALS, "the others' matches stay live"
    good = Canned()
    assert ct.run(study(**MANY), store, models=good).done == 60
    assert max(attempts(good).values()) == 1


def test_unreachable_server_halts_the_run_and_costs_nothing(
    store: Store, no_waits: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cheaptalk.models.flow_control.GRACE", 0.0)
    away = broken("away").model_copy(update={"unreached": True})
    for reply, cure in ((broken("away"), "; check its URL and its server"), (away, "")):
        models = Canned(always(reply))
        progress = ct.run(study(**MANY), store, models=models)
        assert (progress.halted or "").endswith(f" calls: away{cure}")
        assert len(models.calls) < 100
        assert progress.left == 60
    cost = progress.cost
    assert cost is not None
    assert cost.unreached == len(models.calls) == lost_calls(store, "small")["unreached"]
    assert costs_by_player(store, "small") == {"tiny": cost}


def test_hanging_server_halts_the_run_before_many_matches_are_lost(
    store: Store, no_waits: None
) -> None:
    def hangs_after_40(call: ModelCall, number: str) -> Reply | str:
        return late() if len(models.numbers) > 40 else legal(call)

    models = Canned(hangs_after_40)
    progress = ct.run(study(**MANY), store, models=models, concurrency=8)
    halted = progress.halted or ""
    assert "too late (2 times its timeout, with no other call in flight)" in halted
    assert progress.counts[Status.FORFEITED] <= ALONE_IN_A_ROW
    assert progress.left > 20


def test_exhausted_rate_limiter_fails_only_its_own_matches(
    store: Store, no_waits: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cheaptalk.models.flow_control.GRACE", 0.0)
    monkeypatch.setattr("cheaptalk.models.flow_control.LONGEST", 60.0)
    players = {"good": {"model": "vllm/good"}, "bad": {"model": "vllm/bad"}}
    two_models = study(players=players, pairing="self", instances=12)

    def bad_is_unreachable(call: ModelCall, number: str) -> Reply | str:
        return legal(call) if call.model == "vllm/good" else broken("connection refused")

    progress = ct.run(two_models, store, models=Canned(bad_is_unreachable))
    assert progress.halted is None
    assert progress.counts == {Status.FINISHED: 12, Status.FAILED: 12}
    assert any("vllm/bad gave no usable answer " in problem for problem in progress.problems)
    again = ct.run(two_models, store, models=Canned())
    assert (again.before, again.counts) == (12, {Status.FINISHED: 12})


def test_overload_is_retried_without_failing_matches(store: Store, no_waits: None) -> None:
    seen: Counter[str] = Counter()

    def busy_eight_times(call: ModelCall, number: str) -> Reply | str:
        key = number.rpartition("/")[0]
        seen[key] += 1
        return legal(call) if seen[key] > 8 else failing(429, retry=True)

    never = ct.run(study(**with_model()), store, models=Canned(busy_eight_times), patience=0)
    assert (never.counts, set(seen.values())) == ({Status.FAILED: 6}, {1})
    progress = ct.run(study(**with_model()), store, models=Canned(busy_eight_times))
    assert progress.counts == {Status.FINISHED: 6}


@pytest.mark.parametrize("unreached", [True, None])
def test_temporary_outage_fails_no_match(
    store: Store, no_waits: None, monkeypatch: pytest.MonkeyPatch, unreached: Literal[True] | None
) -> None:
    monkeypatch.setattr("cheaptalk.models.flow_control.IN_A_ROW", 3)
    away = Reply(failure=Failure.PROVIDER_ERROR, detail="gone", retry=True, unreached=unreached)

    def gone_from_3rd_to_60th(call: ModelCall, number: str) -> Reply | str:
        return away if 3 <= len(models.numbers) <= 60 else legal(call)

    models = Canned(gone_from_3rd_to_60th)
    progress = ct.run(study(**with_model()), store, models=models, concurrency=2)
    assert progress.counts == {Status.FINISHED: 6}
    assert max(attempts(models).values()) > SENDINGS[Trouble.BROKEN]
    assert lost_calls(store, "small").total() == 58, "each sending has its intent"


def test_concurrency_limits_matches_and_waiting_is_no_part_of_the_deadline(store: Store) -> None:
    models = Canned(pause=0.005, at_once=3)
    changes = with_model(deadline=0.02) | {"instances": 10}
    progress = ct.run(study(**changes), store, models=models, concurrency=3)
    assert progress.counts == {Status.FINISHED: 20}
    assert models.most == 3


def test_client_exception_fails_its_match_and_settles_its_call(store: Store) -> None:
    def breaks(call: ModelCall, number: str) -> str:
        raise LookupError("a bug in the client")

    progress = ct.run(study(**with_model()), store, models=Canned(breaks))
    assert progress.counts == {Status.FAILED: 6}
    for record in store.records("small"):
        (call,) = store.open_calls(record.id)
        assert call["state"] == "failed"
        assert call["reply"]["detail"] == record.reason
        assert call["reply"]["detail"].startswith("LookupError in test_calling.py:")
    models = Canned()
    again = ct.run(study(**with_model()), store, models=models)
    assert again.counts == {Status.FINISHED: 6}
    assert again.unresolved == 0


async def reject_answer_forms(_: web.Request, body: dict[str, Any]) -> web.StreamResponse | None:
    """Reject structured answers."""
    for feature in ("response_format", "tools"):
        if feature in body:
            error = {"error": {"message": f"{feature} is not supported"}}
            return web.json_response(error, status=400)
    return None


def test_each_answer_form_is_recorded_and_capped_as_its_own_call(store: Store) -> None:
    with Server(handler=reject_answer_forms) as server:
        capped = study(**with_model(server.url), budget={"calls": 5})
        progress = ct.run(capped, store, concurrency=1)
        assert "the budget of 5 calls is exhausted" in (progress.halted or "")
        assert len(server.bodies) == len(set(server.calls)) == 5
        ways = [("response_format" in body, "tools" in body) for body in server.bodies]
        assert ways == [(True, False), (False, True), *[(False, False)] * 3]
        cost = spent(store, 1)
        assert (cost.calls, cost.unresolved) == (5, 0)
        ct.run(study(**with_model(server.url)), store)
        assert not any({"response_format", "tools"} & set(body) for body in server.bodies[5:])
        assert spent(store, 1).calls == len(server.bodies)


class Queueing(Canned):
    """A server at which every third match waits behind all others until it times out."""

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        behind = self.in_flight > 0 and crc32(number.partition("/")[0].encode()) % 3 == 0
        reply = await super().call(call, number, deadline)
        return late() if behind else reply


def test_timeout_caused_by_queued_calls_forfeits_no_match(store: Store, no_waits: None) -> None:
    models = Queueing(pause=0.01)
    small_study = study(**with_model() | {"instances": 10})
    progress = ct.run(small_study, store, models=models, concurrency=20)
    assert progress.counts == {Status.FINISHED: 20}
    assert lost_calls(store, "small")["timed_out"] > 0
