"""Requests to a player: their duration and failed attempts."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from cheaptalk.profiles.requests import requests_to
from cheaptalk.records import MatchRecord
from cheaptalk.records.ledger.ledger import CallKey
from cheaptalk.records.ledger.spending import FailedAttempt

LATE = {"failure": "timed_out", "retry": True, "seconds": 2.0}
BROKEN = {"failure": "provider_error", "retry": True, "status": 500, "seconds": 0.5}
OVERLOADED = BROKEN | {"status": 429}
UNREACHED = BROKEN | {"status": None, "unreached": True}
GOOD = {"text": "{}", "seconds": 1.0}


def match_of(*replies: dict[str, Any], model: str = "agent/me@http://host/act") -> MatchRecord:
    """Return a match in which Alice answered one request per reply, with one call each."""
    answers = [
        SimpleNamespace(request=number, actor="alice", calls=[{"reply": reply}])
        for number, reply in enumerate(replies)
    ]
    seats = {"alice": {"spec": {"model": model}}}
    record = SimpleNamespace(
        calls=len(replies), answers=answers, seats=seats, seat_of=lambda seat: seat
    )
    return cast(MatchRecord, record)


def failed(request: int, reply: dict[str, Any], seat: str = "alice") -> FailedAttempt:
    return FailedAttempt(CallKey("match", request, seat, 0), reply)


def test_retried_requests_count_once_with_all_attempts() -> None:
    """Request 0 times out once, 1 twice, 2 breaks and then times out, 3 is answered at once."""
    attempts = [failed(0, LATE), failed(1, LATE), failed(2, BROKEN), failed(2, LATE)]
    got = requests_to(match_of(GOOD, LATE, GOOD, GOOD), "alice", attempts)
    assert (got.requests, got.timeouts, got.errors) == (4, 2, 1)
    assert got.calls == 8
    assert got.seconds == pytest.approx(3 * 1.0 + 4 * 2.0 + 0.5)


def test_only_failures_of_the_player_count() -> None:
    attempts = [failed(0, OVERLOADED), failed(1, UNREACHED), failed(2, BROKEN, seat="bob")]
    got = requests_to(match_of(GOOD, GOOD, GOOD | {"cached": True}), "alice", attempts)
    assert (got.requests, got.timeouts, got.errors) == (2, 0, 0)
    assert got.calls == 3, "rejected attempts reached the server, unreached ones did not"


def test_only_remote_agents_are_agents() -> None:
    assert requests_to(match_of(GOOD), "alice", ()).agent
    assert not requests_to(match_of(GOOD, model="openai/gpt-4o"), "alice", ()).agent
