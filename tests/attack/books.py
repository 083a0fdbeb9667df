"""The audit: what a store holds of a study against what a server knows of it, call by call."""

from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import cheaptalk as ct
from tests.attack.faults import ALTERED, digest
from tests.attack.server import Account

OVERTAKEN = ALTERED | {
    "answer", "dripping", "huge_text", "other_model", "cut_text", "silence", "streamed",
    "terminal_codes", "hardly_any_tokens", "negative_tokens", "absurd_tokens", "tokens_in_words",
}  # fmt: skip
"""What a busy machine can make come after the deadline."""


class Breach(NamedTuple):
    """A promise that was broken.

    Attributes:
        of: the promise: ``missing``, ``twice``, ``invented``, ``tokens``, ``ending``, ``cap``,
            ``secret``, ``terminal``, ``traceback``, ``hang`` or ``status``.
        what: how.
    """

    of: str
    what: str


class Books(NamedTuple):
    """What a store holds of a study, by the numbers under which calls went over the wire.

    Attributes:
        matches: all of them.
        recorded: replies that are part of a match's record.
        listed: calls that are not: of failed matches, failed ones, and unresolved ones.
        twice: numbers that are recorded more than once.
    """

    matches: list[ct.MatchRecord]
    recorded: dict[str, dict[str, Any]]
    listed: dict[str, dict[str, Any]]
    twice: list[str]

    @classmethod
    def read(cls, path: Path) -> "Books":
        """Read a store."""
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
        """Books of these recorded replies and listed calls."""
        keys = ("match_id", "request", "actor", "attempt", "try")
        listed = {"/".join(str(row[key]) for key in keys): row for row in rows}
        times = Counter(number for number, _ in replies)
        twice = [number for number, often in times.items() if often > 1 or number in listed]
        return cls(matches, dict(replies), listed, twice)

    @property
    def statuses(self) -> Counter[str]:
        """How many matches ended how."""
        return Counter(str(match.status) for match in self.matches)

    @property
    def replies(self) -> list[dict[str, Any]]:
        """Every reply that came back, recorded or listed."""
        return [*self.recorded.values(), *(row["reply"] or {} for row in self.listed.values())]


class Sums(NamedTuple):
    """Tokens by where they are: in replies that we have, and in those that never reached us."""

    had: int
    lost: int


def audit(books: Books, account: Account, kept: Collection[str] = ()) -> list[Breach]:
    """Hold our books against the server's account, call by call.

    Args:
        kept: digests of the answers that a cache may hold.
    """
    return [*endings(books), *sendings(books, account), *words(books, account, kept)]


def endings(books: Books) -> Iterator[Breach]:
    """Every match is finished, or says why it is not."""
    for match in books.matches:
        done = match.status == "finished"
        if match.status not in {"finished", "forfeited", "failed"}:
            yield Breach("ending", f"{match.id} is {match.status}")
        elif done != (match.reason is None) or (done and match.payoffs is None):
            yield Breach("ending", f"{match.id} is {match.status} for {match.reason}")


def sendings(books: Books, account: Account) -> Iterator[Breach]:
    """Every request is in the books, once; and so is what was billed for it."""
    for number in books.twice:
        yield Breach("twice", f"{number} is recorded twice")
    for number, all_ in account.items():
        if len(all_) > 1:
            yield Breach("twice", f"{number} was sent {len(all_)} times")
        if number not in books.recorded and number not in books.listed:
            yield Breach("missing", f"{number} ({all_[0]['did']})")
        elif problem := unbilled(books, number, all_[0]):
            yield Breach("tokens", f"{number} ({all_[0]['did']}): {problem}")


def unbilled(books: Books, number: str, sending: dict[str, Any]) -> str | None:
    """What is wrong with the tokens of a call."""
    row = books.listed.get(number, {})
    reply = reply_of(books, number)
    billed, had = tokens_of(sending), tokens_of(reply.get("usage", {}))
    if sending["lied"] and reply and not reply.get("reported"):
        return f"{had} tokens are believed"
    if reply.get("reported"):
        fair = sending["lied"] and had >= billed
        return None if fair else f"{billed} billed, {had} reckoned"
    if had and had != billed:
        return f"{billed} billed, {had} recorded"
    is_open = row.get("state") in {"failed", "unresolved"} or reply.get("failure") == "timed_out"
    return None if had or not billed or is_open else f"{billed} billed, none recorded"


def reply_of(books: Books, number: str) -> dict[str, Any]:
    """The reply to a call; empty where there is none."""
    return books.recorded.get(number) or books.listed.get(number, {}).get("reply") or {}


def words(books: Books, account: Account, kept: Collection[str]) -> Iterator[Breach]:
    """What is recorded as a model's words is what the server sent as such."""
    for number, reply in books.recorded.items():
        sent = account.get(number, [{"did": "nothing", "said": None}])[0]
        did = sent["did"]
        if reply.get("cached"):
            if digest(reply["text"]) not in kept:
                yield Breach("invented", f"{number} (from the cache): {reply['text'][:200]!r}")
        elif "text" in reply:
            if digest(reply["text"]) != sent["said"] and did not in ALTERED:
                yield Breach("invented", f"{number} ({did}): {reply['text'][:200]!r}")
        elif reply["failure"] == "provider_error" or did not in OVERTAKEN | {
            "refusal", "filtered", "too_late",
        }:  # fmt: skip
            yield Breach("invented", f"{number} ({did}): {reply['failure']}")


def sums(books: Books, account: Account) -> list[Sums]:
    """By call, the tokens that the server billed."""
    each = []
    for number, (sending, *_) in account.items():
        had = tokens_of(reply_of(books, number).get("usage", {}))
        each.append(Sums(had, max(tokens_of(sending) - had, 0)))
    return each


def tokens_of(usage: dict[str, Any]) -> int:
    """Input and output together."""
    return int(usage.get("input_tokens", 0) + usage.get("output_tokens", 0))
