"""Studies against the hostile server, and the audit that holds our books against the server's."""

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import cheaptalk as ct
from tests.fakes import Server
from tests.hostile import Account
from tests.hostile_faults import digest

ROOT = Path(__file__).parents[1]
DEADLINE = 2.0
"""Seconds that a call of the studies may take."""
OVERTAKEN = {"answer", "dripping", "huge_text", "other_model", "cut_text", "silence", "streamed"}
"""What a busy machine can make come after the deadline."""


def studies(url: str, folder: Path, deals: int, **changes: Any) -> list[Path]:
    """Four matches of Deal or No Deal for each deal, in both styles, and four of GLEE's games."""
    model = {"model": f"vllm/tiny@{url}", "deadline": DEADLINE}
    talk = {
        "games": [{"game": "deal_or_no_deal"}],
        "players": {"json": model, "tags": model | {"style": "tagged"}},
        "pairing": [["json", "json"], ["json", "tags"], ["tags", "json"], ["tags", "tags"]],
    }
    signals = {"signal": ["text", "binary"]}
    trade = {
        "games": [
            {"game": "bargaining", "fixed": {"horizon": 4}},
            {"game": "negotiation", "fixed": {"horizon": 4}},
            {"game": "persuasion", "fixed": {"horizon": 3}, "grid": signals},
        ],
        "players": {"json": model},
        "pairing": "self",
    }
    files = []
    for name, study in (("talk", talk), ("trade", trade)):
        files.append(folder / f"{name}.json")
        files[-1].write_text(json.dumps({"name": name, "deals": deals} | study | changes))
    return files


class Books(NamedTuple):
    """What a store holds of a study, by the numbers under which calls went over the wire.

    Attributes:
        matches: all of them.
        recorded: replies that are part of a match's record.
        listed: calls that are not: of failed matches, failed ones, and unresolved ones.
    """

    matches: list[ct.MatchRecord]
    recorded: dict[str, dict[str, Any]]
    listed: dict[str, dict[str, Any]]

    @classmethod
    def read(cls, path: Path) -> "Books":
        """Read a store, in which no reply may be recorded twice."""
        with ct.Store.open(path) as store:
            matches = list(store.records(bodies=True))
            rows = [row for match in matches for row in store.open_calls(match.id)]
        keys = ("match_id", "request", "seat", "attempt", "try")
        listed = {"/".join(str(row[key]) for key in keys): row for row in rows}
        recorded: dict[str, dict[str, Any]] = {}
        for match in matches:
            for given in match.answers:
                for attempt, call in enumerate(given.calls):
                    place = f"{match.id}/{given.request}/{given.seat}/{attempt}/{call['sending']}"
                    assert place not in recorded, f"{place} is recorded twice"
                    recorded[place] = call["reply"]
        return cls(matches, recorded, listed)

    @property
    def statuses(self) -> Counter[str]:
        """How many matches ended how."""
        return Counter(str(match.status) for match in self.matches)


class Sums(NamedTuple):
    """Tokens by where they are: in replies that we have, and in those that never reached us."""

    had: int
    lost: int


def audit(books: Books, account: Account) -> Sums:
    """Hold our books against the server's account, call by call."""
    check_ends(books)
    check_answers(books, account)
    each = check_tokens(books, account)
    had = sum(tokens for tokens, _ in each)
    assert sum(match.input_tokens + match.output_tokens for match in books.matches) <= had
    return Sums(had, sum(tokens for _, tokens in each))


def check_ends(books: Books) -> None:
    """Every match is finished, or says why it is not."""
    for match in books.matches:
        assert match.status in {"finished", "forfeited", "failed"}, match.id
        assert (match.status == "finished") == (match.reason is None), match.id
        assert match.status != "finished" or match.payoffs is not None, match.id


def check_answers(books: Books, account: Account) -> None:
    """What is recorded as a model's words is what the server sent as such, in one sending."""
    assert not books.recorded.keys() & books.listed.keys()
    for number, reply in books.recorded.items():
        (sending,) = account[number]
        if "text" in reply:
            assert digest(reply["text"]) == sending["said"], (number, sending["did"])
        else:
            assert reply["failure"] != "provider_error", number
            assert sending["did"] in {"refusal", "filtered", "too_late"} | OVERTAKEN, number


def check_tokens(books: Books, account: Account) -> list[Sums]:
    """Every token the server billed is in a reply of ours, or in a call that we list as open."""
    each = []
    for number, sendings in account.items():
        (sending,) = sendings
        assert number in books.recorded or number in books.listed, f"nobody knows of {number}"
        row = books.listed.get(number, {})
        reply = books.recorded.get(number) or row.get("reply") or {}
        billed, had = tokens_of(sending), tokens_of(reply.get("usage", {}))
        if had:
            assert had == billed, (number, sending["did"])
        elif billed:
            is_open = row.get("state") in {"failed", "unresolved"}
            assert is_open or reply.get("failure") == "timed_out", (number, sending["did"], row)
        each.append(Sums(had, billed - had))
    return each


def tokens_of(usage: dict[str, Any]) -> int:
    """Input and output together."""
    return int(usage.get("input_tokens", 0) + usage.get("output_tokens", 0))


class Run(NamedTuple):
    """A study played by the command line, in a process of its own.

    Attributes:
        file, store: the study, and where it is played into.
        program: the module that is the command line.
    """

    file: Path
    store: Path
    program: str = "tests.hurried"

    def begin(self, *options: str) -> "subprocess.Popen[str]":
        """Start it."""
        command = [sys.executable, "-m", self.program, "run", str(self.file)]
        return subprocess.Popen(
            [*command, "--store", str(self.store), "--allow-failures", *options],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def finish(self, *options: str, status: int = 0) -> str:
        """Run it until it ends with this exit status; what was printed."""
        with self.begin(*options) as process:
            said, _ = process.communicate()
        assert process.returncode == status, said
        return said

    def kill(self, server: Server, calls: int) -> None:
        """Run it and kill it when so many more calls have arrived."""
        wanted = len(server.calls) + calls
        with self.begin() as process:
            while len(server.calls) < wanted:
                assert process.poll() is None, "the study ended before it could be killed"
                time.sleep(0.005)
            process.kill()
