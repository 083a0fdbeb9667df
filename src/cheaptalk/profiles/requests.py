"""Requests to a player in a match: usage, and failures of first attempts."""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from cheaptalk.models import Reply
from cheaptalk.models.flow_control import AGENTS, Trouble, trouble_of
from cheaptalk.records import MatchRecord
from cheaptalk.records.costs import Cost, cost_of
from cheaptalk.records.ledger.spending import FailedAttempt
from cheaptalk.rules import counted


class Requests(NamedTuple):
    """A player's requests in a match; each request can have several attempts, called calls.

    Sums of unknown tokens or dollars are None. Cached replies are no requests. ``timeouts`` and
    ``errors`` (of servers, or closed connections) count requests by their first failure. An
    ``agent`` is a player without a model provider.
    """

    calls: int = 0
    seconds: float = 0.0
    tokens: int | None = 0
    dollars: float | None = 0.0
    requests: int = 0
    timeouts: int = 0
    errors: int = 0
    agent: bool = False


def requests_to(record: MatchRecord, seat: str, failed: Sequence[FailedAttempt]) -> Requests:
    """Summarise the requests to a seat in a match, including failed attempts."""
    agent = str(record.seats[seat]["spec"].get("model", "")).startswith(AGENTS)
    if not record.calls:
        return Requests(agent=agent)
    attempts = [attempt for attempt in failed if record.seat_of(attempt.key.actor) == seat]
    sent = {
        (answer.request, answer.actor, number): reply
        for answer in record.answers
        if record.seat_of(answer.actor) == seat
        for number, call in enumerate(answer.calls)
        if not ((reply := call.get("reply")) or {}).get("cached")
    }
    replies = [*(attempt.reply for attempt in attempts), *sent.values()]
    cost = sum(map(cost_of, replies), Cost())
    first: dict[tuple[int, str, int], Trouble] = {}
    tried = [((row.key.request, row.key.actor, row.key.attempt), row.reply) for row in attempts]
    for key, written in [*tried, *sent.items()]:
        reply = None if written is None else Reply.model_validate(written)
        # rate limits and unreachable servers do not depend on the player
        if key in sent and reply is not None and not reply.unreached:
            trouble = trouble_of(reply)
            if trouble in (Trouble.TIMED_OUT, Trouble.BROKEN):
                first.setdefault(key, trouble)
    troubles = list(first.values())
    return Requests(
        calls=cost.calls,
        seconds=sum((reply or {}).get("seconds") or 0.0 for reply in replies),
        tokens=cost.tokens if cost.tokens or not cost.calls else None,
        dollars=cost.dollars_known,
        requests=len(sent),
        timeouts=troubles.count(Trouble.TIMED_OUT),
        errors=troubles.count(Trouble.BROKEN),
        agent=agent,
    )


def repeated_text(rows: pl.DataFrame) -> str:
    """Return a text on requests whose first attempt failed; empty if there are none."""
    sums = pl.col("calls", "requests", "timeouts", "errors").sum()
    calls, requests, timeouts, errors = rows.select(sums).row(0)
    if not timeouts + errors:
        return ""
    reasons = [f"{timeouts:,} timed out"] if timeouts else []
    reasons += [f"{errors:,} failed with an error"] if errors else []
    return (
        f"{timeouts + errors:,} of {counted(requests, 'request')} got no answer at the first "
        f"attempt: {' and '.join(reasons)}; with retries, {counted(calls, 'attempt')} were made"
    )
