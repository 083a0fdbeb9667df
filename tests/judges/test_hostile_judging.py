"""A judge that is killed over and over: every verdict once, every token of the server's found."""

import json
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cheaptalk.judges import items_of
from cheaptalk.players import Kind
from cheaptalk.records import Store
from cheaptalk.records.judgements import ledger_id, read_judgements
from tests.attack.books import Books, audit, sums, tokens_of
from tests.attack.faults import FAULTS, LIES
from tests.attack.server import Hostile, luck
from tests.attack.studies import DEADLINE, ROOT
from tests.fakes import Server
from tests.judges.judged import STUDY, judge_of, play

pytestmark = [pytest.mark.hostile, pytest.mark.kill]
CATEGORIES = judge_of().rubric.labels


def verdict(messages: list[dict[str, str]]) -> str:
    """A verdict that the record alone decides; now and then it takes a second question."""
    drawn = luck(messages[1]["content"], "verdict")
    if len(messages) == 2 and drawn > 0.9:
        return "I had rather not say."
    category = CATEGORIES[int(drawn * len(CATEGORIES))]
    return json.dumps({"reason": f"By {drawn:.3f}.", "quote": "", "category": category})


class Run:
    """``cheaptalk judge run`` in a process of its own."""

    def __init__(self, url: str, store: Path) -> None:
        model = {"model": f"vllm/judge@{url}", "deadline": DEADLINE}
        self.judge = judge_of(model)
        self.command = [
            sys.executable, "-m", "tests.attack.hurried", "judge", "run", STUDY,
            "--rubric", "hallucination", "--model", json.dumps(model),
            "--store", str(store), "--concurrency", "8",
        ]  # fmt: skip

    def begin(self) -> "subprocess.Popen[str]":
        """Start it."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            self.command, cwd=ROOT, stdout=pipe, stderr=subprocess.STDOUT, text=True
        )

    def kill(self, server: Server, calls: int) -> None:
        """Run it and kill it when so many more calls have arrived."""
        wanted = len(server.calls) + calls
        with self.begin() as process:
            while len(server.calls) < wanted:
                assert process.poll() is None, "the judge ended before it could be killed"
                time.sleep(0.005)
            process.kill()

    def finish(self) -> str:
        """Run it until nothing is left to go on with; what it said last.

        Items of which every reply was spoilt are judged, too: they have no verdict, and the run
        says so with its exit status.
        """
        for _ in range(10):
            with self.begin() as process:
                said, _ = process.communicate()
            assert process.returncode in (0, 1), said
            if "continue with: cheaptalk judge run talk" not in said:
                assert (process.returncode == 1) == ("without a valid verdict" in said), said
                return said
        raise AssertionError(said)


def read(store: Store, judge: str) -> Books:
    """What the store holds of a judge's calls, by the numbers under which they went out."""
    replies: list[tuple[str, dict[str, Any]]] = []
    for one in read_judgements(store, judge=judge):
        request, slash, seat = one.item.partition("/")
        assert slash
        for attempt, call in enumerate(one.calls):
            place = ledger_id(judge, one.match_id), request, seat, attempt, call["sending"]
            replies.append(("/".join(map(str, place)), call["reply"]))
    matches = list(store.records(STUDY, bodies=True))
    rows = [row for match in matches for row in store.open_calls(ledger_id(judge, match.id))]
    return Books.of(matches, replies, rows)


def test_killed_thrice_every_item_is_judged_once_and_every_token_is_found(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with Store.open(path, create=True) as store:
        play(store, instances=12)
    honest = [fault for fault in FAULTS if fault not in LIES]
    hostile = Hostile(0.2, honest, delay=0.05, late=2 * DEADLINE, answerer=verdict)
    with Server(handler=hostile) as server:
        run = Run(server.url, path)
        for calls in (5, 20, 20):
            run.kill(server, calls)
        said = run.finish()
    judge = run.judge
    with Store.open(path) as store:
        books = read(store, judge.digest)
        made = Counter((one.match_id, one.item) for one in read_judgements(store))
        kinds = {one.kind for one in read_judgements(store)}
    items = {
        (match.id, item.name) for match in books.matches for item in items_of(match, judge.rubric)
    }
    assert made == Counter(items)
    assert {Kind.OK, Kind.REPAIRED} <= kinds
    assert "12 of 12 matches" in said
    assert audit(books, hostile.account) == []
    each = sums(books, hostile.account)
    had = sum(one.had for one in each)
    billed = [tokens_of(sending) for all_ in hostile.account.values() for sending in all_]
    assert had == sum(tokens_of(reply.get("usage", {})) for reply in books.replies)
    assert had + sum(one.lost for one in each) == sum(billed)
    assert {row["state"] for row in books.listed.values()} >= {"unresolved", "failed"}
    shown = re.search(r"for the study so far: ([\d,]+) calls, ([\d,]+) tokens", said)
    assert shown is not None
    assert int(shown[2].replace(",", "")) == had
