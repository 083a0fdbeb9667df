"""A judge that is killed repeatedly: one verdict per item, every token accounted for."""

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
    """Return a verdict that depends only on the record; some need a second request."""
    drawn = luck(messages[1]["content"], "verdict")
    if len(messages) == 2 and drawn > 0.9:
        return "I had rather not say."
    category = CATEGORIES[int(drawn * len(CATEGORIES))]
    return json.dumps({"reason": f"By {drawn:.3f}.", "quote": "", "category": category})


class Run:
    """``cheaptalk judge run`` in a subprocess."""

    def __init__(self, url: str, store: Path) -> None:
        model = {"model": f"vllm/judge@{url}", "deadline": DEADLINE}
        self.judge = judge_of(model)
        words = f"-m tests.attack.hurried judge run {STUDY} --rubric hallucination --concurrency 8"
        options = ["--model", json.dumps(model), "--store", str(store)]
        self.command = [sys.executable, *words.split(), *options]

    def begin(self) -> "subprocess.Popen[str]":
        """Start the process."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            self.command, cwd=ROOT, stdout=pipe, stderr=subprocess.STDOUT, text=True
        )

    def kill(self, server: Server, calls: int) -> None:
        """Start the process and kill it after this many more calls."""
        wanted = len(server.calls) + calls
        with self.begin() as process:
            while len(server.calls) < wanted:
                assert process.poll() is None, "the judge ended before it could be killed"
                time.sleep(0.005)
            process.kill()

    def finish(self) -> str:
        """Run the command until all items are judged, and return its last output.

        Items without a valid reply count as judged: they have no verdict, and the run ends with
        exit status 1.
        """
        for _ in range(10):
            with self.begin() as process:
                output, _ = process.communicate()
            assert process.returncode in (0, 1), output
            if "continue with: cheaptalk judge run talk" not in output:
                assert (process.returncode == 1) == ("without a valid verdict" in output), output
                return output
        raise AssertionError(output)


def read_books(store: Store, judge: str) -> Books:
    """Return a judge's calls in the store, by call number."""
    replies: list[tuple[str, dict[str, Any]]] = []
    for judgement in read_judgements(store, judge=judge):
        request, slash, seat = judgement.item.partition("/")
        assert slash
        for attempt, call in enumerate(judgement.calls):
            place = ledger_id(judge, judgement.match_id), request, seat, attempt, call["sending"]
            replies.append(("/".join(map(str, place)), call["reply"]))
    matches = list(store.records(STUDY, bodies=True))
    rows = [row for match in matches for row in store.open_calls(ledger_id(judge, match.id))]
    return Books.of(matches, replies, rows)


def test_killed_judge_judges_items_once_and_accounts_for_all_tokens(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with Store.open(path, create=True) as store:
        play(store, instances=12)
    honest = [fault for fault in FAULTS if fault not in LIES]
    hostile = Hostile(0.2, honest, delay=0.05, late=2 * DEADLINE, answerer=verdict)
    with Server(handler=hostile) as server:
        run = Run(server.url, path)
        for calls in (5, 20, 20):
            run.kill(server, calls)
        output = run.finish()
    judge = run.judge
    with Store.open(path) as store:
        books = read_books(store, judge.digest)
        made = Counter((judgement.match_id, judgement.item) for judgement in read_judgements(store))
        kinds = {judgement.kind for judgement in read_judgements(store)}
    items = {
        (match.id, item.name) for match in books.matches for item in items_of(match, judge.rubric)
    }
    assert made == Counter(items)
    assert {Kind.OK, Kind.REPAIRED} <= kinds
    assert "12 of 12 matches" in output
    assert audit(books, hostile.account) == []
    each = sums(books, hostile.account)
    had = sum(entry.had for entry in each)
    billed = [tokens_of(sending) for all_ in hostile.account.values() for sending in all_]
    assert had == sum(tokens_of(reply.get("usage", {})) for reply in books.replies)
    assert had + sum(entry.lost for entry in each) == sum(billed)
    assert {row["state"] for row in books.listed.values()} >= {"unresolved", "failed"}
    shown = re.search(r"for the study so far: ([\d,]+) calls, ([\d,]+) tokens", output)
    assert shown is not None
    assert int(shown[2].replace(",", "")) == had
