"""Audit: compare a store's records of a study with the server's account, call by call."""

from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import cheaptalk as ct
from tests.attack.faults import ALTERED, CHANGED, digest
from tests.attack.server import Account

DECLINED = {"refusal", "filtered", "too_late"}
"""Faults with which a call has no text."""
OVERTAKEN = {"answer", "dripping", "streamed", *ALTERED, *CHANGED}
"""Faults that can arrive after the deadline on a busy machine."""


class Books(NamedTuple):
    """A store's records of a study, by the numbers under which calls were sent.

    Attributes:
        matches: all matches.
        recorded: replies in the records of matches.
        listed: other calls: of failed matches, failed calls and unresolved calls.
        twice: numbers recorded more than once.
    """

    matches: list[ct.MatchRecord]
    recorded: dict[str, dict[str, Any]]
    listed: dict[str, dict[str, Any]]
    twice: list[str]

    @classmethod
    def read(cls, path: Path) -> "Books":
        with ct.Store.open(path) as store:
            matches = list(store.records(bodies=True))
            rows = [row for match in matches for row in store.open_calls(match.id)]
        replies = [
            (f"{match.id}/{given.request}/{given.actor}/{attempt}/{call['sending']}", call["reply"])
            for match in matches
            for given in match.answers
            for attempt, call in enumerate(given.calls)
        ]
        return cls.of(matches, replies, rows)

    @classmethod
    def of(
        cls,
        matches: list[ct.MatchRecord],
        replies: list[tuple[str, dict[str, Any]]],
        rows: list[dict[str, Any]],
    ) -> "Books":
        keys = ("match_id", "request", "actor", "attempt", "try")
        listed = {"/".join(str(row[key]) for key in keys): row for row in rows}
        times = Counter(number for number, _ in replies)
        twice = [number for number, often in times.items() if often > 1 or number in listed]
        return cls(matches, dict(replies), listed, twice)

    @property
    def statuses(self) -> Counter[str]:
        return Counter(str(match.status) for match in self.matches)

    @property
    def replies(self) -> list[dict[str, Any]]:
        return [*self.recorded.values(), *(row["reply"] or {} for row in self.listed.values())]


class Sums(NamedTuple):
    """Tokens of received replies, and of replies that were lost."""

    had: int
    lost: int


def audit(books: Books, account: Account, kept: Collection[str] = ()) -> list[str]:
    """Compare our books with the server's account, call by call; return all broken promises.

    Args:
        kept: digests of the answers that a cache may contain.
    """
    return [*endings(books), *sendings(books, account), *words(books, account, kept)]


def endings(books: Books) -> Iterator[str]:
    """Yield matches that end without a reason, or with an inconsistent one."""
    for match in books.matches:
        done = match.status == "finished"
        if match.status not in {"finished", "forfeited", "failed"}:
            yield f"{match.id} is {match.status}"
        elif done != (match.reason is None) or (done and match.payoffs is None):
            yield f"{match.id} is {match.status} for {match.reason}"


def sendings(books: Books, account: Account) -> Iterator[str]:
    """Yield requests that are missing, repeated or recorded with other tokens than billed."""
    for number in books.twice:
        yield f"{number} is recorded twice"
    for number, all_ in account.items():
        if len(all_) > 1:
            yield f"{number} was sent {len(all_)} times"
        if number not in books.recorded and number not in books.listed:
            yield f"{number} ({all_[0]['did']}) is missing from the store"
        elif problem := unbilled(books, number, all_[0]):
            yield f"{number} ({all_[0]['did']}): {problem}"


def unbilled(books: Books, number: str, sending: dict[str, Any]) -> str | None:
    """Describe the error in a call's tokens; return None if there is none."""
    row = books.listed.get(number, {})
    reply = reply_of(books, number)
    billed, had = tokens_of(sending), tokens_of(reply.get("usage", {}))
    if sending["lied"] and had and not reply.get("reported"):
        return f"{had} tokens are believed"
    if reply.get("reported"):
        fair = sending["lied"] and had >= billed
        return None if fair else f"{billed} tokens billed, {had} reckoned"
    if had and had != billed:
        return f"{billed} tokens billed, {had} recorded"
    is_open = row.get("state") in {"failed", "unresolved"} or reply.get("failure") == "timed_out"
    return None if had or not billed or is_open else f"{billed} tokens billed, none recorded"


def reply_of(books: Books, number: str) -> dict[str, Any]:
    return books.recorded.get(number) or books.listed.get(number, {}).get("reply") or {}


def words(books: Books, account: Account, kept: Collection[str]) -> Iterator[str]:
    """Yield recorded model texts that the server didn't send."""
    for number, reply in books.recorded.items():
        sent = account.get(number, [{"did": "nothing", "answer_digest": None}])[0]
        did, text = sent["did"], reply.get("text")
        if reply.get("cached"):
            genuine = digest(text) in kept
        elif text is not None:
            genuine = digest(text) == sent["answer_digest"] or did in ALTERED
        else:
            genuine = reply["failure"] != "provider_error" and did in OVERTAKEN | DECLINED
        if not genuine:
            yield f"{number} ({did}) was never sent: {reply.get('failure')} {text!r:.200}"


def sums(books: Books, account: Account) -> list[Sums]:
    """Return the tokens that the server billed for each call."""
    each = []
    for number, (sending, *_) in account.items():
        had = tokens_of(reply_of(books, number).get("usage", {}))
        each.append(Sums(had, max(tokens_of(sending) - had, 0)))
    return each


def tokens_of(usage: dict[str, Any]) -> int:
    return int(usage.get("input_tokens", 0) + usage.get("output_tokens", 0))
