"""Runs that share a study's work over a store in PostgreSQL."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from signal import SIGKILL
from socket import SHUT_RDWR, socket
from threading import Barrier, Event

import pytest
import sqlalchemy as sa

import cheaptalk as ct
from cheaptalk.records import Store
from cheaptalk.records.store import leases
from cheaptalk.records.store.backend import Share, Shares, StoreAway, StoreError, StoreLocked
from tests.fakes import PATIENCE, Canned, Server, essence, spec, study, with_model
from tests.postgres import LACKING, Databases, serving
from tests.postgres import Server as Database
from tests.studies.test_interrupting import Doorkeeper, wait_for

pytestmark = pytest.mark.skipif(LACKING is not None, reason=str(LACKING))
CHUNK = "cheaptalk.studies.runs.run.CHUNK"


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with serving() as running:
        yield running


@pytest.fixture(scope="module")
def new(database: Database) -> Databases:
    return Databases(database)


@pytest.fixture
def url(new: Databases) -> str:
    """Create a database and return its URL."""
    return new.new()


@pytest.fixture
def stores(url: str) -> Iterator[tuple[Store, Store]]:
    """Open a database twice, as two processes would."""
    with Store.open(url, create=True) as store, Store.open(url) as other:
        yield store, other


def test_concurrent_runs_share_matches_and_play_none_twice(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CHUNK, 2)
    made, both = study(instances=20), Barrier(2, timeout=PATIENCE)

    def run() -> ct.Progress:
        waited: list[int] = []

        def once_both_play(progress: ct.Progress) -> None:
            if progress.counts and not waited:
                waited.append(both.wait())

        return ct.run(made, url, progress=once_both_play)

    Store.open(url, create=True).close()
    with ThreadPoolExecutor(2) as pool:
        ended = [future.result() for future in [pool.submit(run), pool.submit(run)]]
    assert [(end.done, end.left, end.halted) for end in ended] == [(40, 0, None)] * 2
    assert sum(progress.counts.total() for progress in ended) == 40
    assert all(progress.counts.total() >= 2 for progress in ended)
    assert all(progress.elsewhere + progress.here == 40 for progress in ended)
    ct.run(made, tmp_path / "alone.sqlite")
    with Store.open(url) as shared, Store.open(tmp_path / "alone.sqlite") as alone:
        expected = {record.id: essence(record) for record in alone.records("small", bodies=True)}
        matches = {record.id: essence(record) for record in shared.records("small", bodies=True)}
    assert matches == expected


def test_matches_of_killed_run_are_taken_over(url: str, tmp_path: Path) -> None:
    door = Doorkeeper(few=4)
    Store.open(url, create=True).close()
    with Server(handler=door) as server, ThreadPoolExecutor(1) as pool:
        changes = with_model(server.url)
        changes["players"]["firm"] = {"strategy": "fixed_demand"}
        changes["pairing"].append(["fair", "firm"])
        written = spec(**changes)
        program = (
            "import sys, json, cheaptalk as ct\n"
            "study = ct.studies.parse_study(json.loads(sys.argv[1]), 'here')\n"
            "ct.run(study, sys.argv[2], concurrency=3)"
        )
        first = [sys.executable, "-c", program, json.dumps(written), url]
        with subprocess.Popen(first) as process:
            wait_for(server, 7)
            waiting, counts = Event(), list[int]()

            def on_progress(progress: ct.Progress) -> None:
                counts.append(progress.done)
                waiting.set()

            second = pool.submit(ct.run, study(**changes), url, progress=on_progress)
            assert waiting.wait(PATIENCE)
            assert not second.done()
            process.kill()
            process.wait()
            door.open.set()
            ended = second.result(PATIENCE)
    assert (ended.done, ended.left, ended.unresolved) == (9, 0, 3)
    assert counts == sorted(counts)
    assert counts[-1] == 9, "matches of the first run are counted once"
    assert len(server.calls) == len(set(server.calls)), "a call was sent twice under one number"
    keys = Counter(number.rpartition("/")[0] for number in server.calls)
    assert Counter(keys.values())[2] == 3, "only calls in flight are sent again"
    with Store.open(url) as store:
        cost = ct.records.study_cost(store, "small")
    assert (cost.calls, cost.unresolved) == (len(server.calls), 3)


def test_run_survives_database_restart(url: str, database: Database) -> None:
    models, begun, again = Canned(pause=0.01), Event(), Event()

    def slow_answer(call: ct.models.ModelCall, number: str) -> str:
        if len(models.calls) > 3 and not begun.is_set():
            begun.set()
            assert again.wait(PATIENCE)
        return usual(call, number)  # type: ignore[return-value]

    usual, models.answers = models.answers, slow_answer
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(ct.run, study(**with_model()), url, models=models, concurrency=2)
        assert begun.wait(PATIENCE)
        database.control("stop", "immediate")
        again.set()
        database.control("start")
        ended = run.result(PATIENCE)
    assert (ended.done, ended.failed, ended.halted) == (6, 0, None)
    with Store.open(url) as store:
        cost = ct.records.study_cost(store, "small")
    assert cost.calls == len(models.calls) == len(set(models.numbers))


@pytest.mark.parametrize("committed", [True, False])
def test_commit_is_not_repeated_after_lost_acknowledgement(
    url: str, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    lost: list[bool] = []
    with Store.open(url, create=True) as store, store.writing():
        usual = store.backend.transaction

        @contextmanager
        def transaction_losing_reply() -> Iterator[sa.Connection]:
            with usual() as connection:
                yield connection
                if not committed:
                    break_once()
            break_once()

        def break_once() -> None:
            if not lost:
                lost.append(True)
                raise StoreAway("the connection broke before the answer came")

        monkeypatch.setattr(store.backend, "transaction", transaction_losing_reply)
        worked: list[bool] = []

        def work(connection: sa.Connection) -> str:
            worked.append(True)
            connection.execute(sa.text("create table once (number integer)"))
            return "kept"

        assert store.backend.commit(work) == "kept"
    assert (len(worked), len(lost)) == (1 if committed else 2, 1)


SLOW = """
create table once (number integer);
create function slow() returns trigger language plpgsql as
    'begin perform pg_advisory_xact_lock(1, 1); return old; end';
create constraint trigger slow after insert on once deferrable initially deferred
    for each row execute function slow();
create trigger slow after delete on shares for each row execute function slow();
"""
WAITING = sa.text(
    "select count(*) from pg_stat_activity where wait_event_type = 'Lock' "
    "and datname = current_database()"
)


@contextmanager
def slowed(store: Store) -> Iterator[Callable[[], int]]:
    """Delay commits on ``once`` and ``shares``; yield a counter of waiting connections."""
    with store.transaction() as connection:
        connection.exec_driver_sql(SLOW)
    with store.engine.connect() as connection:
        quick = connection.execution_options(isolation_level="AUTOCOMMIT")
        quick.execute(sa.text("select pg_advisory_lock(1, 1)"))
        try:
            yield lambda: quick.scalar(WAITING) or 0
        finally:
            quick.execute(sa.text("select pg_advisory_unlock(1, 1)"))


def wait_until(condition: Callable[[], object]) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.01)


def test_pending_commit_is_not_repeated_after_broken_connection(url: str) -> None:
    broken: list[socket] = []

    def work(connection: sa.Connection) -> None:
        driver = connection.connection.driver_connection
        assert driver is not None
        broken.append(socket(fileno=os.dup(driver.fileno())))
        connection.execute(sa.text("insert into once values (1)"))

    with Store.open(url, create=True) as store, store.writing(), ThreadPoolExecutor(1) as pool:
        with slowed(store) as waiting:
            kept = pool.submit(store.backend.commit, work)
            wait_until(lambda: waiting() == 1)
            broken[0].shutdown(SHUT_RDWR)
            wait_until(lambda: waiting() == 2)
        kept.result(PATIENCE)
        with store.reading() as connection:
            assert connection.scalar(sa.text("select count(*) from once")) == 1
    broken[0].close()


def test_new_run_finds_all_shares_while_last_run_leaves(stores: tuple[Store, Store]) -> None:
    store, other = stores

    def offer(shares: Shares) -> None:
        shares.offer("kind", lambda: [Share("kind", 0, 1, 1)])

    def join() -> Share | None:
        with other.sharing("this") as shares:
            offer(shares)
            return shares.take("kind")

    with ThreadPoolExecutor(2) as pool, ExitStack() as last:
        offer(last.enter_context(store.sharing("this")))
        with slowed(store) as waiting:
            closing = pool.submit(last.close)
            wait_until(lambda: waiting() == 1)
            joining = pool.submit(join)
            wait_until(lambda: waiting() == 2 or joining.done())
        closing.result(PATIENCE)
        assert joining.result(PATIENCE) is not None


def test_leases_survive_crash_of_a_server_process(stores: tuple[Store, Store]) -> None:
    store, other = stores
    with store.sharing("this"), other.sharing("this") as shares:
        with suppress(sa.exc.OperationalError), other.engine.connect() as connection:
            os.kill(connection.scalar(sa.text("select pg_backend_pid()")) or 0, SIGKILL)
        assert shares.take("none") is None
        store.register_study("mine", {})
        assert other.held()


def test_lease_continues_on_a_new_connection(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "BEAT", 0.01)
    with Store.open(url, create=True) as store, store.sharing("this") as lease:
        assert isinstance(lease, leases.Lease)
        kept, lease._connection = lease._connection, None
        wait_until(lambda: lease._connection is not None)
        store.register_study("mine", {})
        assert store.held()
        assert kept is not None
        kept.close()


def test_shared_writer_waits_for_a_long_transaction(
    stores: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cheaptalk.records.store.postgres.LOCK_TIMEOUT", "1ms")
    store, other = stores
    with store.sharing("this"), other.sharing("this"), ThreadPoolExecutor(1) as pool:
        with store.transaction() as connection:
            registration = pool.submit(other.register_study, "mine", {})
            wait_until(lambda: connection.scalar(WAITING) == 1)
            connection.execute(sa.text("select pg_sleep(0.1)"))
        assert registration.result(PATIENCE) == 1


def test_reading_lease_holders_does_not_keep_dead_lease(stores: tuple[Store, Store]) -> None:
    store, other = stores
    with store.sharing("this") as killed, other.engine.connect() as looking:
        assert isinstance(killed, leases.Lease)
        killed._drop()
        wait_until(lambda: not leases.holders(looking))
        with other.sharing("that") as shares:
            assert shares.first


def test_lost_lease_prevents_writes(url: str) -> None:
    with Store.open(url, create=True) as store:
        with store.writing():
            store.register_study("mine", {})
            with Store.open(url) as other, other.transaction() as connection:
                connection.execute(sa.delete(leases.leases))
            with pytest.raises(StoreError, match=r"the lease of this process expired.*resume"):
                store.register_study("lost", {})
        assert [summary.name for summary in store.studies()] == ["mine"]


def test_unrenewed_lease_expires(
    stores: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "BEAT", PATIENCE)
    monkeypatch.setattr(leases, "LEASE", 0.01)
    store, other = stores
    with store.writing(), other.writing(wait=PATIENCE):
        monkeypatch.setattr(leases, "LEASE", PATIENCE)
        other.register_study("the next one's", {})
        with pytest.raises(StoreError, match="the lease of this process expired"):
            store.register_study("lost", {})


def test_run_of_other_work_or_another_version_is_rejected(
    stores: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    process = rf"another cheaptalk process \(process {os.getpid()} on .*\)"
    store, other = stores
    with store.sharing("this"):
        for work in (None, "other"):
            message = f"{process} is writing to the store; wait"
            with pytest.raises(StoreLocked, match=message), other.sharing(work):
                pass
        with other.sharing("this") as shares:
            assert not shares.first
        monkeypatch.setattr(leases, "__version__", "9.9")
        with pytest.raises(StoreError, match=r"but this is 9\.9"), other.sharing("this"):
            pass


def test_stop_order_reaches_all_shared_runs(stores: tuple[Store, Store]) -> None:
    store, other = stores
    with store.sharing("this") as first, other.sharing("this") as second:
        assert (first.first, second.first) == (True, False)
        other.backend.mailbox.write_state("by the second")
        store.backend.mailbox.write_state("by the first")
        assert store.backend.mailbox.read_state() == "by the first"
        first.halt("stopped")
        other.register_study("writing renews the lease", {})
        assert second.halted == "stopped"


def test_concurrent_runs_can_create_the_store(url: str, tmp_path: Path) -> None:
    (tmp_path / "small.json").write_text(json.dumps(spec(instances=20)))
    command = [sys.executable, "-m", "cheaptalk", "run", "small.json", "--store", url, "--json"]
    with ThreadPoolExecutor(2) as pool:
        running = [
            pool.submit(subprocess.run, command, cwd=tmp_path, capture_output=True, text=True)
            for _ in range(2)
        ]
        ended = [future.result(PATIENCE) for future in running]
    assert [(process.returncode, process.stderr) for process in ended] == [(0, "")] * 2
    reports = [json.loads(process.stdout) for process in ended]
    assert sum(report["played"].get("finished", 0) for report in reports) == 40
    assert {report["left"] for report in reports} == {0}


def test_check_for_writers_does_not_block_them(
    stores: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cheaptalk.records.store.postgres.MOMENT", 0.0)
    store, other = stores
    assert not other.held()
    with store.writing():
        assert other.held()
        with pytest.raises(StoreLocked, match="is writing to the store"):
            ct.studies.check_free(other)
    with store.sharing("this"):
        assert other.held()
        ct.studies.check_free(other)


def test_part_of_a_study_is_not_shared(url: str) -> None:
    """The matches of a part depend on those played before it was selected."""
    with Store.open(url, create=True) as store:
        planned = ct.studies.plan_in_store(study(instances=20), store)
        selected = ct.studies.restrict_plan(planned, store, limit=6)

        def look(progress: ct.Progress) -> None:
            with Store.open(url) as other, pytest.raises(StoreLocked), other.sharing("this"):
                pass

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("cheaptalk.records.store.postgres.MOMENT", 0.0)
            assert ct.run(selected, store, progress=look).done == 6
