"""Reading a store: studies, matches, problems, calls, and pages of what fits."""

import re
import sqlite3
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import cheaptalk as ct
from cheaptalk.players import Kind
from cheaptalk.records import Cost, Status, Store, StoreError, pack, study_cost
from cheaptalk.records.record import UnreadBody
from cheaptalk.records.store import queries as browsing
from cheaptalk.records.store import schema
from cheaptalk.records.store.queries import MatchFilter, PlayedPairing, parameters_text
from cheaptalk.records.store.sqlite import SqliteBackend
from cheaptalk.records.store.store import COST_COLUMNS, adopt
from tests.fakes import study as small_study
from tests.records.stored import Shelf

PLACES = {"alice": "alice", "bob": "bob"}


def test_studies_are_listed_with_their_matches_counted(store: Store) -> None:
    shelf = Shelf(store)
    Shelf(store, "empty")
    shelf.add("a", "b")
    shelf.add("c", status=Status.FORFEITED, reason="forfeited by bob")
    first, second = store.studies()
    assert (first.name, first.spec) == ("shelf", {"name": "shelf"})
    assert first.counts == {"finished": 2, "forfeited": 1}
    assert (second.name, second.counts) == ("empty", {})
    assert first.created <= second.created
    assert store.study("empty") == second


def test_a_study_that_is_not_there_is_told_with_the_nearest(store: Store) -> None:
    Shelf(store)
    with pytest.raises(StoreError, match=r'no study "shell".*shelf.*in .*store'):
        store.study("shell")


def test_statuses_are_of_those_that_are_there(store: Store) -> None:
    shelf = Shelf(store)
    shelf.add("a", "b")
    shelf.add("c", status=Status.FAILED, reason="out of order")
    found = store.statuses(["a", "c", "unknown"])
    assert found == {"a": Status.FINISHED, "c": Status.FAILED}
    assert store.statuses([]) == {}


def test_records_come_in_the_order_of_storing_over_many_pages(store: Store) -> None:
    shelf = Shelf(store)
    ids = [f"{number * 7919 % 2300:04}" for number in range(2300)]
    shelf.add(*ids)
    assert [record.id for record in store.records("shelf")] == ids
    assert [record.id for record in islice(store.records(), 3)] == ids[:3]


def test_records_bring_their_bodies_on_demand(store: Store) -> None:
    shelf = Shelf(store)
    shelf.add("a")
    (bare,) = store.records("shelf")
    (whole,) = store.records("shelf", bodies=True)
    assert bare.packed is None
    with pytest.raises(UnreadBody, match=r'store.find\("a"\)'):
        _ = bare.body
    assert whole.body["seed"] == "a"
    assert (whole.game, whole.version, whole.parameters) == ("bargaining", 1, {"money": 100.0})
    assert (whole.instance_key, whole.repeat, whole.finished) == ("instance of a", 0, 5.0)
    assert whole.seats == {
        "alice": {"label": "fair", "spec": {"strategy": "fair"}},
        "bob": {"label": "firm", "spec": {"strategy": "firm"}},
    }
    assert whole.kinds["bob"] == {"ok": 1, "repaired": 1}


def test_records_may_be_picked_out(store: Store) -> None:
    shelf, other = Shelf(store), Shelf(store, "other")
    shelf.add("a", "b")
    other.add("c")
    adopt(store, other.study, ["b"])
    failed = schema.matches.c.id != "b"
    assert [record.id for record in store.records()] == ["a", "b", "c"]
    assert [record.id for record in store.records("other")] == ["b", "c"]
    assert [record.id for record in store.records("other", where=failed)] == ["c"]
    assert list(store.records("nobody's")) == []


def test_players_are_called_as_in_the_study_that_is_read(store: Store) -> None:
    shelf, later = Shelf(store), Shelf(store, "later")
    shelf.add("a")
    adopt(store, later.study, ["a"])
    store.register_roster(later.study, {shelf.seats["alice"]: "renamed"})
    called = {
        study: next(store.records(study)).label("alice") for study in ("shelf", "later", None)
    }
    assert called == {"shelf": "fair", "later": "renamed", None: "renamed"}


def test_games_are_those_of_the_study(store: Store) -> None:
    shelf, other = Shelf(store), Shelf(store, "other")
    selling = store.register_configurations({"key": ("negotiation", 1, {})})["key"]
    shelf.add("a")
    store.add(shelf.study, [shelf.match(id_, configuration_id=selling) for id_ in ("b", "c")])
    assert browsing.seats_of(store, "shelf") == {"bargaining": PLACES, "negotiation": PLACES}
    assert browsing.seats_of(store, "other") == {}
    assert other.study != shelf.study


def test_a_match_is_found_by_the_beginning_of_its_id(store: Store) -> None:
    Shelf(store).add("abc1", "abd2", "a_c3")
    assert store.find("abc").body["seed"] == "abc1"
    assert store.find("abd2").id == "abd2"
    assert store.find("a_").id == "a_c3"
    with pytest.raises(StoreError, match='several match ids begin with "ab"; give more characters'):
        store.find("ab")
    with pytest.raises(StoreError, match=r'no match id begins with "b" in .*store'):
        store.find("b")


def test_problems_are_counted_the_most_frequent_first(store: Store) -> None:
    shelf, other = Shelf(store), Shelf(store, "other")
    shelf.add("a")
    shelf.add("b", status=Status.FORFEITED, reason="forfeited by bob")
    shelf.add("c", "d", status=Status.FAILED, reason="out of order")
    other.add("e", status=Status.FAILED, reason="elsewhere")
    problems = store.problems("shelf")
    assert list(problems.items()) == [("out of order", 2), ("forfeited by bob", 1)]


def call(match: str, attempt: int, state: str, **more: Any) -> dict[str, Any]:
    return {
        "match_id": match, "request": 1, "actor": "bob", "attempt": attempt, "try": 1,
        "state": state, "call": {"model": "m"}, "reply": None, "sent": 2.5, "received": None,
        "batch": None,
    } | more  # fmt: skip


def test_calls_outside_of_records_are_listed(store: Store) -> None:
    rows = [
        call("b", 0, "unresolved"), call("a", 0, "answered", reply={"text": "Yes."}),
        call("a", 1, "sent"), call("a", 2, "unresolved"),
    ]  # fmt: skip
    assert store.with_open_calls() == set()
    with store.transaction() as connection:
        connection.execute(sa.insert(schema.calls), rows)
    assert store.open_calls("a") == [
        {"id": number} | row | {"bought_by": None}
        for number, row in enumerate(rows, 1)
        if row["match_id"] == "a"
    ]
    assert [(lost["match_id"], lost["attempt"]) for lost in store.unresolved()] == [
        ("b", 0), ("a", 1), ("a", 2),
    ]  # fmt: skip
    assert store.open_calls("c") == []
    assert store.with_open_calls() == {"a", "b"}


@pytest.mark.parametrize("view", ["v_matches", "v_costs"])
def test_views_have_every_count_of_calls_tokens_and_dollars(store: Store, view: str) -> None:
    with store.reading() as connection:
        columns = {one["name"] for one in sa.inspect(connection).get_columns(view)}
    assert set(COST_COLUMNS) <= columns


# A file that is not sound


def test_a_sound_file_passes_and_a_damaged_one_is_told_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with Store.open(path, create=True) as store:
        Shelf(store).add(*map(str, range(1_500)))
        assert store.check() is None
    data = bytearray(path.read_bytes())
    middle = len(data) // 2 // 4096 * 4096
    data[middle : middle + 4096] = b"\xff" * 4096
    path.write_bytes(data)
    with Store.open(path) as store:
        said = store.check()
    assert said is not None
    assert said.startswith(f"{path} is damaged (")
    assert said.endswith("); restore a copy of it")
    assert "\n" not in said


@pytest.mark.file
def test_a_value_that_is_broken_off_is_told(store: Store) -> None:
    Shelf(store).add("a")
    for value, cause in (("{", "is damaged"), (b'{"\xff": 1}', "Could not decode")):
        with closing(sqlite3.connect(store.path)) as connection:
            text = value.encode() if isinstance(value, str) else value
            connection.execute("UPDATE matches SET kinds = CAST(? AS TEXT)", [text])
            connection.commit()
        with pytest.raises(StoreError, match=cause) as caught:
            list(store.records())
        assert str(store.path) in str(caught.value)
        assert "restore a copy" in str(caught.value)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (sqlite3.OperationalError("attempt to write a readonly database"), "permissions"),
        (sqlite3.OperationalError("unable to open database file"), "permissions"),
        (sqlite3.OperationalError("disk I/O error"), "committed data is kept"),
        (sqlite3.OperationalError("database table is busy"), "wait for it to end"),
    ],
    ids=["readonly", "unopened", "io", "busy"],
)
def test_an_error_of_the_database_is_told_with_its_cure(error: Exception, said: str) -> None:
    with pytest.raises(StoreError) as caught, SqliteBackend(Path("a.sqlite")).explaining():
        raise error
    assert str(caught.value).startswith(f"a.sqlite: {error}: ")
    assert said in str(caught.value)


def test_an_error_without_a_known_cure_is_passed_on_in_its_own_words() -> None:
    with (
        pytest.raises(StoreError, match=r"^a\.sqlite: disk quota: x$"),
        SqliteBackend(Path("a.sqlite")).explaining(),
    ):
        raise sqlite3.OperationalError("disk quota: x")


# Page by page


class Seen:
    """Two games in one study: bargaining both ways round, and a negotiation."""

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
    """The matches of bargaining that fit; as many as are counted."""
    fits = MatchFilter("bargaining", PLACES, **wanted)
    found = [record.id for record in browsing.page(store, "shelf", fits).records]
    assert browsing.count(store, "shelf", fits) == len(found)
    return found


def test_pairings_are_who_met_whom_with_the_matches_counted(store: Store) -> None:
    Seen(store)
    found = browsing.overview(store, "shelf").pairings
    assert found == [
        PlayedPairing("bargaining", {"alice": "fair", "bob": "firm"}, {"finished": 5}),
        PlayedPairing(
            "bargaining", {"alice": "firm", "bob": "fair"}, {"finished": 1, "forfeited": 1}
        ),
        PlayedPairing("negotiation", {"alice": "fair", "bob": "firm"}, {"finished": 1}),
    ]
    assert found[0].query == {"player_alice": "fair", "player_bob": "firm"}


def test_a_search_finds_what_fits_and_nothing_else(store: Store) -> None:
    Seen(store)
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


def test_pages_follow_each_other_to_the_end(store: Store) -> None:
    Seen(store)
    fits = MatchFilter("bargaining", PLACES)
    pages: list[list[str]] = []
    after = None
    while not pages or after:
        page = browsing.page(store, "shelf", fits, after=after, size=3)
        pages.append([record.id for record in page.records])
        after = page.after
    assert pages == [["0", "1", "2"], ["3", "4", "5"], ["6"]]
    assert browsing.page(store, "shelf", fits, size=7).after is None


def test_one_match_is_read_whole_and_as_called_in_its_study(store: Store) -> None:
    Seen(store)
    other = Shelf(store, "other")
    other.add("elsewhere")
    assert browsing.match(store, "4").body["seed"] == "4"
    assert browsing.match(store, "4", "shelf").label("alice") == "fair"
    for study, where in ((None, store.title), ("shelf", "shelf")):
        with pytest.raises(StoreError, match=re.escape(f'no match "gone" in {where}')):
            browsing.match(store, "gone", study)
    with pytest.raises(StoreError, match='no match "elsewhere" in shelf'):
        browsing.match(store, "elsewhere", "shelf")


def test_some_matches_come_in_the_order_asked_for(store: Store) -> None:
    Seen(store)
    asked = ["5", "gone", "0", "7", "2"]
    for batch in (2, 200):
        found = list(browsing.read_matches(store, "shelf", asked, batch))
        assert [record.id for record in found] == ["5", "0", "7", "2"]
        assert found[0].body["seed"] == "5"


def test_a_match_knows_the_studies_it_is_part_of(store: Store) -> None:
    Seen(store)
    adopt(store, Shelf(store, "other").study, ["3"])
    assert browsing.studies_of(store, "3") == ["shelf", "other"]
    assert browsing.studies_of(store, "4") == ["shelf"]
    assert browsing.studies_of(store, "gone") == []


def test_the_cost_of_a_study_is_what_its_matches_took(store: Store) -> None:
    shelf = Shelf(store)
    store.add(shelf.study, [shelf.match("a", calls=3, tokens=(50, 7))])
    cost = study_cost(store, "shelf")
    assert (cost.calls, cost.tokens) == (3, 57)
    assert study_cost(store, "nobody's") == Cost()


def test_parameters_are_searched_as_name_and_value() -> None:
    text = parameters_text({"money": 100.0, "horizon": {"rounds": 3}, "messages": True})
    assert text == 'money=100.0 horizon={"rounds": 3} messages=true'


def test_a_damaged_body_is_told_with_its_match(store: Store) -> None:
    shelf = Shelf(store)
    shelf.add("a", "b")
    torn = pack({"seed": "a seed that is long enough to be torn"})[:-9]
    with store.transaction() as connection:
        connection.execute(
            sa.update(schema.matches).where(schema.matches.c.id == "a").values(body=torn)
        )
    first, second = store.records(bodies=True)
    with pytest.raises(
        StoreError, match=r"the record of match a is damaged .*; then restore a copy"
    ):
        first.body  # noqa: B018 - reading it is what is tested
    assert second.body["seed"] == "b"


def test_the_status_of_a_study_counts_matches_in_progress_apart(store: Store) -> None:
    shelf = Shelf(store)
    shelf.add("a", "b")
    shelf.add("c", status=Status.FORFEITED, reason="forfeited by bob")
    shelf.add("d", "e", status=Status.LIVE)
    shelf.add("f", status=Status.FAILED, reason="no server")
    (status,) = ct.studies.statuses(store)
    assert status.ended == 3
    assert "6 of 6 matches stored: 2 in progress, 2 finished, 1 forfeited, 1 failed" in repr(status)


def test_the_matches_of_a_search_can_be_read_as_transcripts(store: Store) -> None:
    ct.run(small_study(), store)
    matches = [*ct.records.find_matches(store, "small")]
    assert len(matches) == 2
    assert all(match.replay().result is not None for match in matches)
