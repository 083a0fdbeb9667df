"""The GLEE recipe on a study with people: their checks, what they played, and what they gained."""

from collections.abc import Iterator
from statistics import fmean
from typing import Any

import pytest
import sqlalchemy as sa

import cheaptalk as ct
from cheaptalk.papers.glee.coverage import planned
from cheaptalk.papers.glee.human_study import FAMILIES, variants
from cheaptalk.records import Store
from cheaptalk.records.store import schema
from cheaptalk.reports.recipes.findings import Findings, findings
from tests.papers.glee_study import FLASH
from tests.participants import Answered, People

STUDY = "people"
BARGAINING, NEGOTIATION = FAMILIES[:2]
OTHER: dict[str, Any] = BARGAINING.main | {"money": 100, "messages": False}
"""It differs from the main configuration in two parameters, and is not among those drawn."""


def word(correct: bool) -> Answered:
    return ("instructions", {"word": "w"}, correct)


def quiz(game: int, correct: bool) -> Answered:
    return (f"quiz@{game}", {"answer": "5"}, correct)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Matches of a person's label with a script, and seven people at the checks around them."""
    cases = [BARGAINING.main, variants(BARGAINING)[0], OTHER]
    seats = {"pairing": [["human", FLASH], [FLASH, "human"], [FLASH, FLASH]]}
    with Store.open(tmp_path_factory.mktemp("glee") / "s.sqlite", create=True) as store:
        ct.run(ct.studies.parse_study({
            "name": STUDY, "seed": 1, "instances": 2,
            "games": [
                {"game": "bargaining", "cases": cases} | seats,
                {"game": "negotiation", "cases": [NEGOTIATION.main], "pairing": [["human", FLASH]]},
            ],
            "players": {
                "human": {"strategies": {"bargaining": "random", "negotiation": "boulware"}},
                FLASH: {"strategies": {"bargaining": "boulware", "negotiation": "random"}},
            },
        }, "here"), store)  # fmt: skip
        made_a_person(store, "human")
        people = People(store, STUDY)
        played = {"state": "finished", "ended": 62.0}
        bargained = played | {"game": "bargaining"}
        traded = played | {"game": "negotiation"}
        people.come("instructions", "failed_attention", [word(False)])
        for correct in (True, True, False):
            game = bargained if correct else bargained | {"state": "erased"}
            people.come("quiz", None, [word(True), quiz(1, correct)], [game])
        people.come("quiz", None, [word(True), quiz(1, True), quiz(2, False)], [bargained, traded])
        people.come("game", None, [word(True)], [{"state": "playing"}])
        people.come("consent", "declined")
        yield store


def made_a_person(store: Store, label: str) -> None:
    """Let a label's matches be those of a person in the browser."""
    own = sa.select(schema.rosters.c.player_id).where(schema.rosters.c.label == label)
    with store.transaction() as connection:
        connection.execute(
            sa.update(schema.players)
            .where(schema.players.c.id.in_(own))
            .values(spec={"person": "browser"})
        )


@pytest.fixture(scope="module")
def found(store: Store) -> Findings:
    return findings(store, STUDY, "glee", draws=100, options={"printed": "beside"})


def test_checks_count_people_by_family_and_who_failed_any(found: Findings) -> None:
    rows = [
        tuple(row[key] for key in ("check", "answered", "failed", "kept", "seconds"))
        for row in found.tables["attention-checks"].rows
        if row["answered"] is not None
    ]
    assert rows == [
        ("Code word", 6, 1, 5, 10.0), ("Quiz, bargaining", 4, 1, 3, 20.0),
        ("Quiz, negotiation", 1, 1, 0, 30.0), ("Quiz", 4, 2, 2, 20.0), ("Both", 6, 3, 3, 30.0),
    ]  # fmt: skip
    assert found.answers["Attention checks"] == (
        "3 of 6 participants (50.0 %) failed a check, and 3 passed."
    )


def test_printed_dropouts_stand_beside_ours(found: Findings) -> None:
    printed = {row["check"]: row for row in found.tables["attention-checks"].rows}
    assert printed["Both"]["kept.printed"] == 4652 - printed["Both"]["failed.printed"] == 3405
    failed = [printed[check]["failed.printed"] for check in ("Code word", "Quiz", "Both")]
    assert failed == [412, 835, 412 + 835]
    by_family = [printed[f"Quiz, {one}"]["failed.printed"]
                 for one in ("bargaining", "negotiation", "persuasion")]  # fmt: skip
    assert sum(by_family) == 835
    assert printed["Code word"]["failing.printed"] == round(100 * 412 / 4652, 1)
    assert printed["Quiz"]["failing.printed"] == round(100 * 835 / (4652 - 412), 1)


def test_times_are_by_step_and_by_game(found: Findings) -> None:
    rows = {row["step"]: row for row in found.tables["people-times"].rows}
    assert [*rows] == ["Instructions", "Quiz", "Game of bargaining", "Game of negotiation"]
    assert (rows["Instructions"]["people"], rows["Instructions"]["median"]) == (6, 10)
    assert (rows["Game of bargaining"]["people"], rows["Game of bargaining"]["median"]) == (4, 60)


def test_the_plan_has_the_counts_of_table_7(found: Findings) -> None:
    printed = {
        (game, row["type"]): (row[f"{game} configurations.printed"], row[f"{game} games.printed"])
        for row in found.tables["table-7"].rows
        for game in ("bargaining", "negotiation", "persuasion")
    }
    for (game, type_), (configurations, games) in printed.items():
        own = [one for (of, _), one in planned().items() if (of, one.type) == (game, type_)]
        assert sum(sum(one.roles) for one in own) == configurations
        assert {one.games for one in own} == {games}


def test_what_people_played_is_told_by_type_and_role(found: Findings) -> None:
    rows = {
        (row["family"], row["type"]): tuple(
            row[key] for key in ("played", "planned", "least", "games_planned", "games")
        )
        for row in found.tables["people-configurations"].rows
    }
    assert rows["Bargaining", "main"] == (2, 2, 2, 50, 4)
    assert rows["Bargaining", "variant"] == (2, 40, 0, 25, 4)
    assert rows["Bargaining", "random"] == (0, 36, 0, 15, 0)
    assert rows["Bargaining", "other"] == (2, None, 2, None, 4)
    assert rows["Negotiation", "main"] == (1, 2, 0, 50, 2)
    assert ("Negotiation", "other") not in rows
    main = found.tables["table-7"].frame.row(0, named=True)
    assert (main["bargaining configurations"], main["bargaining games"]) == (2, 2)


def test_table_3_has_people_beside_the_reference_player(found: Findings) -> None:
    rows = {row["player"]: row for row in found.tables["table-3"].rows}
    assert {"human", FLASH} <= rows.keys()
    assert rows[FLASH]["bargaining alice"] == 0
    frame = found.evidence.scored("bargaining")
    mean = {
        alice: frame.filter(pairing=f"{alice} / {FLASH}")["alice_gain"].to_list()
        for alice in ("human", FLASH)
    }
    ahead = fmean(mean["human"]) - fmean(mean[FLASH])
    assert rows["human"]["bargaining alice"] == pytest.approx(100 * ahead)
