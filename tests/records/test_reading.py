"""Reading a store: studies, matches, problems, calls, and filtered pages."""

import re
import sqlite3
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import cheaptalk as ct
from cheaptalk.players import Kind
from cheaptalk.records import Status, Store, StoreError
from cheaptalk.records.record import UnreadBody
from cheaptalk.records.store import queries as browsing
from cheaptalk.records.store import schema
from cheaptalk.records.store.queries import MatchFilter, PlayedPairing
from cheaptalk.records.store.sqlite import SqliteBackend
from cheaptalk.records.store.store import COST_COLUMNS, adopt
from tests.records.stored import Shelf, call_row, insert_calls

PLACES = {"alice": "alice", "bob": "bob"}


def test_studies_are_listed_with_match_counts(store: Store) -> None:
    shelf = Shelf(store)
    Shelf(store, "empty")
    shelf.add("a", "b")
    shelf.add("c", status=Status.FORFEITED, reason="forfeited by bob")
    first, second = store.studies()
    assert (first.name, first.spec) == ("shelf", {"name": "shelf"})
    assert first.counts == {"finished": 2, "forfeited": 1}
    statuses = store.statuses(["a", "c", "unknown"])
    assert statuses == {"a": Status.FINISHED, "c": Status.FORFEITED}
    assert (second.name, second.counts) == ("empty", {})
    assert first.created <= second.created
    assert store.study("empty") == second


def test_records_are_read_in_storage_order(store: Store) -> None:
    shelf = Shelf(store)
    ids = [f"{number * 7919 % 300:04}" for number in range(300)]
    shelf.add(*ids)
    assert [record.id for record in store.records("shelf")] == ids
    assert [record.id for record in islice(store.records(), 3)] == ids[:3]


def test_bodies_are_loaded_on_request(store: Store) -> None:
    shelf = Shelf(store)
    shelf.add("a")
    (bare,) = store.records("shelf")
    (full,) = store.records("shelf", bodies=True)
    assert bare.packed is None
    with pytest.raises(UnreadBody, match=r'store.find\("a"\)'):
        _ = bare.body
    assert full.body["seed"] == "a"
    assert (full.game, full.version, full.parameters) == ("bargaining", 1, {"money": 100.0})
    assert (full.instance_key, full.repeat, full.finished) == ("instance of a", 0, 5.0)
    assert full.seats == {
        "alice": {"label": "fair", "spec": {"strategy": "fair"}},
        "bob": {"label": "firm", "spec": {"strategy": "firm"}},
    }
    assert full.kinds["bob"] == {"ok": 1, "repaired": 1}


def test_records_can_be_filtered(store: Store) -> None:
    shelf, other = Shelf(store), Shelf(store, "other")
    shelf.add("a", "b")
    other.add("c")
    adopt(store, other.study, ["b"])
    studies = [browsing.studies_of(store, id_) for id_ in ("a", "b", "gone")]
    assert studies == [["shelf"], ["shelf", "other"], []]
    failed = schema.matches.c.id != "b"
    assert [record.id for record in store.records()] == ["a", "b", "c"]
    assert [record.id for record in store.records("other")] == ["b", "c"]
    assert [record.id for record in store.records("other", where=failed)] == ["c"]
    assert list(store.records("nobody's")) == []


def test_player_labels_depend_on_the_study(store: Store) -> None:
    shelf, later = Shelf(store), Shelf(store, "later")
    shelf.add("a")
    adopt(store, later.study, ["a"])
    store.register_roster(later.study, {shelf.seats["alice"]: "renamed"})
    called = {
        study: next(store.records(study)).label("alice") for study in ("shelf", "later", None)
    }
    assert called == {"shelf": "fair", "later": "renamed", None: "renamed"}


def test_seats_are_listed_by_game_of_a_study(store: Store) -> None:
    shelf, other = Shelf(store), Shelf(store, "other")
    selling = store.register_configurations({"key": ("negotiation", 1, {})})["key"]
    shelf.add("a")
    store.add(shelf.study, [shelf.match(id_, configuration_id=selling) for id_ in ("b", "c")])
    assert browsing.seats_of(store, "shelf") == {"bargaining": PLACES, "negotiation": PLACES}
    assert browsing.seats_of(store, "other") == {}
    assert other.study != shelf.study


def test_match_is_found_by_id_prefix(store: Store) -> None:
    Shelf(store).add("abc1", "abd2", "a_c3")
    assert store.find("abc").body["seed"] == "abc1"
    assert store.find("abd2").id == "abd2"
    assert store.find("a_").id == "a_c3"
    with pytest.raises(StoreError, match='several match ids begin with "ab"; give more characters'):
        store.find("ab")
    with pytest.raises(StoreError, match=r'no match id begins with "b" in .*store'):
        store.find("b")


def test_problems_are_sorted_by_frequency(store: Store) -> None:
    shelf, other = Shelf(store), Shelf(store, "other")
    shelf.add("a")
    shelf.add("b", status=Status.FORFEITED, reason="forfeited by bob")
    shelf.add("c", "d", status=Status.FAILED, reason="out of order")
    other.add("e", status=Status.FAILED, reason="elsewhere")
    problems = store.problems("shelf")
    assert list(problems.items()) == [("out of order", 2), ("forfeited by bob", 1)]


def test_open_calls_are_listed(store: Store) -> None:
    rows = [
        call_row("b", 0, "unresolved"), call_row("a", 0, "answered", reply={"text": "Yes."}),
        call_row("a", 1), call_row("a", 2, "unresolved"),
    ]  # fmt: skip
    assert store.with_open_calls() == set()
    insert_calls(store, *rows)
    unset: dict[str, Any] = {"reply": None, "received": None, "batch": None, "bought_by": None}
    assert store.open_calls("a") == [
        {"id": number} | unset | row for number, row in enumerate(rows, 1) if row["match_id"] == "a"
    ]
    assert [(lost["match_id"], lost["request"]) for lost in store.unresolved()] == [
        ("b", 0), ("a", 1), ("a", 2),
    ]  # fmt: skip
    assert store.open_calls("c") == []
    assert store.with_open_calls() == {"a", "b"}


def test_views_contain_all_cost_columns(store: Store) -> None:
    for view in ("v_matches", "v_costs"):
        with store.reading() as connection:
            columns = {column["name"] for column in sa.inspect(connection).get_columns(view)}
        assert set(COST_COLUMNS) <= columns


# Damaged files


def test_check_reports_a_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with Store.open(path, create=True) as store:
        Shelf(store).add(*map(str, range(1_500)))
        assert store.check() is None
    data = bytearray(path.read_bytes())
    middle = len(data) // 2 // 4096 * 4096
    data[middle : middle + 4096] = b"\xff" * 4096
    path.write_bytes(data)
    with Store.open(path) as store:
        problem = store.check()
        with pytest.raises(StoreError, match="database disk image is malformed: ") as caught:
            list(store.records(bodies=True))
        assert "restore a copy" in str(caught.value)
    assert path.read_bytes() == data
    assert problem is not None
    assert problem.startswith(f"{path} is damaged (")
    assert problem.endswith("); restore a copy of it")
    assert "\n" not in problem


def test_database_errors_are_explained() -> None:
    for error, cure in [
        (sqlite3.OperationalError("attempt to write a readonly database"), "permissions"),
        (sqlite3.OperationalError("unable to open database file"), "permissions"),
        (sqlite3.OperationalError("disk I/O error"), "committed data is kept"),
        (sqlite3.OperationalError("database table is busy"), "wait for it to end"),
    ]:
        with pytest.raises(StoreError) as caught, SqliteBackend(Path("a.sqlite")).explaining():
            raise error
        assert str(caught.value).startswith(f"a.sqlite: {error}: ")
        assert cure in str(caught.value)
    with (
        pytest.raises(StoreError, match=r"^a\.sqlite: disk quota: x$"),
        SqliteBackend(Path("a.sqlite")).explaining(),
    ):
        raise sqlite3.OperationalError("disk quota: x")


# Filters and pages


class TwoGames:
    """A study of two games: bargaining with both seatings, and a negotiation."""

    def __init__(self, store: Store) -> None:
        shelf = self.shelf = Shelf(store)
        swapped = {"alice": shelf.seats["bob"], "bob": shelf.seats["alice"]}
        rich = store.register_configurations(
            {"rich": ("bargaining", 1, {"money": 900.0, "horizon": {"rounds": 3}})}
        )["rich"]
        selling = store.register_configurations({"sale": ("negotiation", 1, {})})["sale"]
        odd = shelf.match("6", Status.FORFEITED, "forfeited by bob", seats=swapped)
        odd.ended.kinds = {"alice": {"ok": 1}, "bob": {"illegal": 1}}
        store.add(
            shelf.study,
            [
                *(shelf.match(str(number)) for number in range(4)),
                shelf.match("4", configuration_id=rich),
                shelf.match("5", seats=swapped),
                odd,
                shelf.match("7", configuration_id=selling),
            ],
        )


def ids(store: Store, **wanted: Any) -> list[str]:
    """Return the bargaining matches that pass a filter, and check their count."""
    fits = MatchFilter("bargaining", PLACES, **wanted)
    matches = [record.id for record in browsing.page(store, "shelf", fits).records]
    assert browsing.count(store, "shelf", fits) == len(matches)
    return matches


def test_pages_of_filtered_matches_and_pairings(store: Store) -> None:
    TwoGames(store)
    pairings = browsing.overview(store, "shelf").pairings
    assert pairings == [
        PlayedPairing("bargaining", {"alice": "fair", "bob": "firm"}, {"finished": 5}),
        PlayedPairing(
            "bargaining", {"alice": "firm", "bob": "fair"}, {"finished": 1, "forfeited": 1}
        ),
        PlayedPairing("negotiation", {"alice": "fair", "bob": "firm"}, {"finished": 1}),
    ]
    assert pairings[0].query == {"player_alice": "fair", "player_bob": "firm"}
    everything = ["0", "1", "2", "3", "4", "5", "6"]
    assert ids(store) == everything
    assert ids(store, status="forfeited") == ["6"]
    assert ids(store, player="fair") == everything
    assert ids(store, player="nobody") == []
    assert ids(store, players={"alice": "firm"}) == ["5", "6"]
    assert ids(store, players={"alice": "firm", "bob": "firm"}) == []
    assert ids(store, kind="illegal") == ["6"]
    assert ids(store, kind="repaired") == everything[:-1]
    assert ids(store, kinds={"alice": "illegal"}) == []
    assert ids(store, kinds={"bob": Kind.ILLEGAL}) == ["6"]
    assert ids(store, parameters="MONEY=900") == ["4"]
    assert ids(store, parameters="rounds money=900.0") == ["4"]
    assert ids(store, parameters="money=900 money=100") == []
    assert ids(store, configurations=("rich",)) == ["4"]
    assert ids(store, configurations=("rich", "game")) == everything
    assert ids(store, configurations=("sale",)) == []
    assert ids(store, status="finished", players={"bob": "fair"}) == ["5"]
    fits = MatchFilter("bargaining", PLACES)
    pages: list[list[str]] = []
    after = None
    while not pages or after:
        page = browsing.page(store, "shelf", fits, after=after, size=3)
        pages.append([record.id for record in page.records])
        after = page.after
    assert pages == [["0", "1", "2"], ["3", "4", "5"], ["6"]]
    assert browsing.page(store, "shelf", fits, size=7).after is None
    wanted = ["5", "gone", "0", "7", "2"]
    for batch in (2, 200):
        records = list(browsing.read_records(store, "shelf", wanted, batch))
        assert [record.id for record in records] == ["5", "0", "7", "2"]
        assert records[0].body["seed"] == "5"


def test_match_is_read_with_body_and_labels(store: Store) -> None:
    TwoGames(store)
    other = Shelf(store, "other")
    other.add("elsewhere")
    assert browsing.match(store, "4").body["seed"] == "4"
    assert browsing.match(store, "4", "shelf").label("alice") == "fair"
    for study, where in ((None, store.title), ("shelf", "shelf")):
        with pytest.raises(StoreError, match=re.escape(f'no match "gone" in {where}')):
            browsing.match(store, "gone", study)
    with pytest.raises(StoreError, match='no match "elsewhere" in shelf'):
        browsing.match(store, "elsewhere", "shelf")


def test_status_counts_matches_in_progress_separately(store: Store) -> None:
    shelf = Shelf(store)
    shelf.add("a", "b")
    shelf.add("c", status=Status.FORFEITED, reason="forfeited by bob")
    shelf.add("d", "e", status=Status.LIVE)
    shelf.add("f", status=Status.FAILED, reason="no server")
    (status,) = ct.studies.statuses(store)
    assert status.done == 3
    assert "6 of 6 matches stored: 2 in progress, 2 finished, 1 forfeited, 1 failed" in repr(status)
