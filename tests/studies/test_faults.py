"""Studies against a hostile server: no call is lost, duplicated or invented."""

from collections import Counter
from pathlib import Path

import pytest

import cheaptalk as ct
from cheaptalk.records.ledger.spending import uncounted
from tests.attack.books import Books, audit, sums
from tests.attack.faults import FAULTS
from tests.attack.server import Hostile
from tests.attack.studies import DEADLINE, Run, studies
from tests.attack.wires import WIRES
from tests.fakes import Server

pytestmark = pytest.mark.hostile
INSTANCES = 8
SHARE = 0.3


def make_handler(delay: float = 0.0, share: float = SHARE) -> Hostile:
    return Hostile(share, delay=delay, late=2 * DEADLINE)


def test_scripted_model_plays_all_games_legally(tmp_path: Path) -> None:
    with Server(handler=make_handler(share=0)) as server:
        for file in studies(WIRES["chat"].model(server.root), tmp_path, 4):
            Run(file, tmp_path / "store.sqlite").finish()
    matches = Books.read(tmp_path / "store.sqlite").matches
    kinds = {kind for match in matches for counts in match.kinds.values() for kind in counts}
    assert {str(match.status) for match in matches} == {"finished"}
    assert kinds == {"ok"}
    agreed = [match for match in matches if (match.outcome or {}).get("ending") == "agreement"]
    assert len({tuple(seat["label"] for seat in match.seats.values()) for match in agreed}) == 4


def test_all_matches_end_with_a_reason_and_all_tokens_are_recorded(tmp_path: Path) -> None:
    hostile, store = make_handler(), tmp_path / "store.sqlite"
    with Server(handler=hostile) as server:
        for file in studies(WIRES["chat"].model(server.root), tmp_path, INSTANCES):
            Run(file, store).finish()
    books = Books.read(store)
    assert audit(books, hostile.account) == []
    assert books.statuses.total() == 8 * INSTANCES
    assert set(hostile.done) == {"answer", *FAULTS} - WIRES["chat"].lacks
    assert any(row.lost for row in sums(books, hostile.account)), "no lost reply was billed"
    kinds: Counter[str] = Counter()
    for match in books.matches:
        for counts in match.kinds.values():
            kinds.update(counts)
    assert {"ok", "repaired"} <= set(kinds)
    failures = {reply.get("failure") for reply in books.recorded.values()}
    assert {"refused", "filtered"} <= failures, "refusals are recorded and retried"
    assert "provider_error" not in kinds


@pytest.mark.kill
def test_records_match_server_after_kills_and_resumes(tmp_path: Path) -> None:
    hostile, store = make_handler(delay=0.05), tmp_path / "store.sqlite"
    with Server(handler=hostile) as server:
        files = studies(WIRES["chat"].model(server.root), tmp_path, INSTANCES)
        for number in range(5):
            Run(files[number % 2], store).kill(server, 7 * number)
        for file in files:
            Run(file, store).finish()
    books = Books.read(store)
    assert audit(books, hostile.account) == []
    assert books.statuses.total() == 8 * INSTANCES
    assert {row["state"] for row in books.listed.values()} >= {"unresolved", "failed"}
    each = sums(books, hostile.account)
    assert sum(row.had for row in each) > sum(row.lost for row in each) > 0


def test_budgets_halt_a_study_and_resume_without_them_finishes(tmp_path: Path) -> None:
    at_once, instances = 4, INSTANCES // 2
    hostile, unlimited = make_handler(), tmp_path / "unlimited.sqlite"
    with Server(handler=hostile) as server:
        model = WIRES["chat"].model(server.root)
        Run(studies(model, tmp_path, instances)[1], unlimited).finish()
        budgets = {cap: sum(used(unlimited, hostile, cap)) // 2 for cap in ("calls", "tokens")}
        for cap, allowed in budgets.items():
            store = tmp_path / f"{cap}.sqlite"
            hostile.sendings.clear()
            _, capped = studies(model, tmp_path, instances, budget={cap: allowed})
            output = Run(capped, store).finish("--concurrency", str(at_once), status=1)
            each = used(store, hostile, cap)
            assert f"halted: the budget of {allowed:,} {cap}" in output
            kept_back = (at_once + 1 + count_uncounted(store)) * max(each)
            assert allowed - kept_back <= sum(each) <= allowed + at_once * max(each)
            assert "live" in Books.read(store).statuses
            Run(studies(model, tmp_path, instances)[1], store).resume(3)
            books = Books.read(store)
            assert audit(books, hostile.account) == []
            assert books.statuses.total() == 4 * instances


def used(path: Path, hostile: Hostile, cap: str) -> list[int]:
    """Return each call's usage of a cap, as reported by its reply."""
    if cap == "calls":
        return [len(attempts) for attempts in hostile.sendings.values()]
    return [row.had for row in sums(Books.read(path), hostile.account)]


def count_uncounted(path: Path) -> int:
    """Count calls whose reply has no usage; a budget reserves an amount for each."""
    with ct.Store.open(path) as store:
        studies = [store.study_id(study.name) for study in store.studies()]
        return sum(1 for study in studies for _ in uncounted(store, study))
