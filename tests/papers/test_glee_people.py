"""The GLEE recipe on a study with participants: checks, configurations and gains."""

from collections.abc import Iterator
from statistics import fmean
from typing import Any

import pytest

from cheaptalk.papers.glee.coverage import planned
from cheaptalk.papers.glee.human_study import FAMILIES, variants
from cheaptalk.records import Store
from cheaptalk.reports.recipes.findings import Findings
from tests.papers.glee_study import FLASH
from tests.papers.studies import play, report
from tests.participants import Answered, People, mark_as_person

STUDY = "people"
BARGAINING, NEGOTIATION = FAMILIES[:2]
OTHER: dict[str, Any] = BARGAINING.main | {"money": 100, "messages": False}
"""Differs from the main configuration in two parameters, and is not among the drawn ones."""


def word(correct: bool) -> Answered:
    return ("instructions", {"word": "w"}, correct)


def quiz(game: int, correct: bool) -> Answered:
    return (f"quiz@{game}", {"answer": "5"}, correct)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Matches of a person's label with a script, and seven participants at the checks."""
    cases = [BARGAINING.main, variants(BARGAINING)[0], OTHER]
    seats = {"pairing": [["human", FLASH], [FLASH, "human"], [FLASH, FLASH]]}
    trade = {"game": "negotiation", "cases": [NEGOTIATION.main], "pairing": [["human", FLASH]]}
    study = {
        "name": STUDY,
        "seed": 1,
        "instances": 2,
        "games": [{"game": "bargaining", "cases": cases} | seats, trade],
        "players": {
            "human": {"strategies": {"bargaining": "random", "negotiation": "boulware"}},
            FLASH: {"strategies": {"bargaining": "boulware", "negotiation": "random"}},
        },
    }
    with Store.open(play(tmp_path_factory.mktemp("glee"), study)) as store:
        mark_as_person(store, "human")
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


@pytest.fixture(scope="module")
def results(store: Store) -> Findings:
    parts = ("Configurations played by people", "Attention checks", "Players' gains")
    return report(store, "glee", *parts, options={"printed": "beside"})


def test_checks_count_participants_and_failures_by_family(results: Findings) -> None:
    rows = [
        tuple(row[key] for key in ("check", "answered", "failed", "kept", "seconds"))
        for row in results.tables["attention-checks"].rows
        if row["answered"] is not None
    ]
    assert rows == [
        ("Code word", 6, 1, 5, 10.0),
        ("Quiz, bargaining", 4, 1, 3, 20.0),
        ("Quiz, negotiation", 1, 1, 0, 30.0),
        ("Quiz", 4, 2, 2, 20.0),
        ("Both", 6, 3, 3, 30.0),
    ]
    assert results.answers["Attention checks"] == (
        "3 of 6 participants (50.0 %) failed a check, and 3 passed."
    )


def test_printed_dropouts_add_up(results: Findings) -> None:
    printed = {row["check"]: row for row in results.tables["attention-checks"].rows}
    assert printed["Both"]["kept.printed"] == 4652 - printed["Both"]["failed.printed"] == 3405
    failed = [printed[check]["failed.printed"] for check in ("Code word", "Quiz", "Both")]
    assert failed == [412, 835, 412 + 835]
    by_family = [
        printed[f"Quiz, {family}"]["failed.printed"]
        for family in ("bargaining", "negotiation", "persuasion")
    ]
    assert sum(by_family) == 835
    assert printed["Code word"]["failing.printed"] == round(100 * 412 / 4652, 1)
    assert printed["Quiz"]["failing.printed"] == round(100 * 835 / (4652 - 412), 1)


def test_times_are_grouped_by_step_and_game(results: Findings) -> None:
    rows = {row["step"]: row for row in results.tables["people-times"].rows}
    assert [*rows] == ["Instructions", "Quiz", "Game of bargaining", "Game of negotiation"]
    assert (rows["Instructions"]["people"], rows["Instructions"]["median"]) == (6, 10)
    assert (rows["Game of bargaining"]["people"], rows["Game of bargaining"]["median"]) == (4, 60)


def test_plan_matches_counts_of_table_7(results: Findings) -> None:
    printed = {
        (game, row["type"]): (row[f"{game} configurations.printed"], row[f"{game} games.printed"])
        for row in results.tables["table-7"].rows
        for game in ("bargaining", "negotiation", "persuasion")
    }
    for (game, type_), (configurations, games) in printed.items():
        plans = [plan for (key, _), plan in planned().items() if (key, plan.type) == (game, type_)]
        assert sum(sum(plan.roles) for plan in plans) == configurations
        assert {plan.games for plan in plans} == {games}


def test_played_configurations_are_counted_by_type(results: Findings) -> None:
    rows = {
        (row["family"], row["type"]): tuple(
            row[key] for key in ("played", "planned", "least", "games_planned", "games")
        )
        for row in results.tables["people-configurations"].rows
    }
    assert rows["Bargaining", "main"] == (2, 2, 2, 50, 4)
    assert rows["Bargaining", "variant"] == (2, 40, 0, 25, 4)
    assert rows["Bargaining", "random"] == (0, 36, 0, 15, 0)
    assert rows["Bargaining", "other"] == (2, None, 2, None, 4)
    assert rows["Negotiation", "main"] == (1, 2, 0, 50, 2)
    assert ("Negotiation", "other") not in rows
    main = results.tables["table-7"].frame.row(0, named=True)
    assert (main["bargaining configurations"], main["bargaining games"]) == (2, 2)


def test_table_3_compares_people_with_reference_player(results: Findings) -> None:
    rows = {row["player"]: row for row in results.tables["table-3"].rows}
    assert {"human", FLASH} <= rows.keys()
    assert rows[FLASH]["bargaining alice"] == 0
    frame = results.evidence.scored("bargaining")
    mean = {
        alice: frame.filter(pairing=f"{alice} / {FLASH}")["self_gain_alice"].to_list()
        for alice in ("human", FLASH)
    }
    ahead = fmean(mean["human"]) - fmean(mean[FLASH])
    assert rows["human"]["bargaining alice"] == pytest.approx(100 * ahead)
