"""The viewer with games of many seats."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import cheaptalk as ct
from tests.played import CROWD, play
from tests.web.test_viewer import Viewer

Keep = Callable[[ct.MatchRecord], bool]


@pytest.fixture
def crowd(toys: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    """A viewer of matches of many seats, which are played once."""
    path = tmp_path_factory.getbasetemp() / "crowd.sqlite"
    if not path.exists():
        play(path.parent, CROWD)
    with ct.Store.open(path) as store:
        yield Viewer(store)


def givers(record: ct.MatchRecord) -> list[str]:
    return [record.label(seat) for seat, role in record.roles.items() if role == "giver"]


def test_filters_by_seat_and_by_role(crowd: Viewer) -> None:
    filters: list[tuple[str, Callable[[Any], object]]] = [
        ("giving?player_giver=kind", lambda r: "kind" in givers(r)),
        ("giving?player_giver_10=kind", lambda r: givers(r)[9:] == ["kind"]),
        (
            "giving?player_giver_1=luck&without=giver_3",
            lambda r: givers(r)[0] == "luck" and len(r.seats) == 2,
        ),
        ("giving?kind_giver=ok&player_giver=free", lambda r: "free" in givers(r)),
        ("giving?kind_giver_10=ok", lambda r: len(r.seats) == 10),
        ("giving?kind_giver=refused", lambda r: False),
        ("collecting?player_keeper=free", lambda r: r.label("keeper") == "free"),
        ("collecting?player_giver=free", lambda r: "free" in givers(r)),
    ]
    for query, keep in filters:
        game = query.partition("?")[0]
        records = [record for record in crowd.store.records("crowd") if record.game == game]
        expected = [record.id for record in records if keep(record)]
        assert crowd.matches(f"/studies/crowd/{query}") == expected


def test_pairings_link_to_their_matches(crowd: Viewer) -> None:
    for game in ["giving", "collecting"]:
        seen: list[str] = []
        for row in crowd.page("/studies/crowd").tables[f"crowd-{game}"][1:]:
            link = next(cell.link for cell in row if cell.link)
            seen += crowd.matches(link)
        records = [record.id for record in crowd.store.records("crowd") if record.game == game]
        assert sorted(seen) == sorted(records)


def test_filters_list_seats_of_small_games_and_roles_of_large_ones(crowd: Viewer) -> None:
    def choices(path: str) -> list[str]:
        elements = crowd.page(path).elements
        return [field["name"] or "" for tag, field in elements if tag == "select"]

    few = ["player_giver_1", "player_giver_2", "player_keeper", "player", "status", "kind"]
    assert choices("/studies/crowd/collecting") == few
    assert choices("/studies/crowd/giving") == ["player_giver", "status", "kind"]


def test_seat_filters_are_kept_by_the_form(crowd: Viewer) -> None:
    page = crowd.page("/studies/crowd/giving?player_giver_1=free&player_giver_2=luck")
    hidden = {
        field["name"]: field["value"] for _, field in page.elements if field.get("type") == "hidden"
    }
    assert hidden == {"player_giver_1": "free", "player_giver_2": "luck"}
    assert "10 matches with Giver 1 free, Giver 2 luck found" in " ".join(page.text.split())


def test_match_of_ten_summarises_its_seating(crowd: Viewer) -> None:
    record = next(r for r in crowd.store.records("crowd") if len(set(givers(r))) == 3)
    text = " ".join(crowd.page(f"/matches/{record.id}?study=crowd").text.split())
    assert "free x 3 / luck x 4 / kind x 3" in text
    assert "Giver 1 to Giver 3" in text
    assert "Giver 4 to Giver 7" in text
    assert "All 10: request 0 How many coins do you put into the pot?" in text
