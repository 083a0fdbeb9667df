"""The participants part of reports: its counts, and when it appears."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.records import Store
from cheaptalk.reports.charts.kinds import histogram
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.findings import Findings, findings, write_findings
from cheaptalk.reports.study.report import study_recipe
from cheaptalk.reports.study.scores import GameScores
from tests.participants import People
from tests.reports.marks import boxes

STUDY = "people"


@pytest.fixture
def played(store: Store) -> Store:
    """A study of one match."""
    run(store, "equal_split")
    return store


def run(store: Store, strategy: str, instances: int = 1) -> None:
    players, games = {"one": strategy}, [{"game": "bargaining"}]
    study = ct.Study(name=STUDY, games=games, players=players, pairing="self", instances=instances)
    ct.run(study, store)


def report_findings(store: Store) -> Findings:
    return findings(store, STUDY, study_recipe(store, STUDY), draws=100)


def test_report_covers_participants_if_there_are_any(played: Store, tmp_path: Path) -> None:
    assert "People" not in [entry.part.title for entry in report_findings(played).parts]
    people = People(played, STUDY)
    for number in range(4):
        done = {"treatment": f"t{min(number, 1)}", "state": "finished"}
        people.come("end", "complete", [], [done], base=100, **({"game": 50} if number else {}))
    people.come("lobby", None)
    result = report_findings(played)
    assert result.answers["People"].startswith(
        "5 participants arrived, and 4 (80 %) completed. The assignment to 2 treatments shows no "
        "significant imbalance (largest difference 2, p = 0.317). 4 participants earned $1.38 on "
        "average (95 % interval "
    )
    stages = result.charts["people-by-stage"].panels[0]
    assert stages.y.names == ("Arrived", "Started a game", "Finished a game", "Completed")
    assert [box.x[1] for box in boxes(stages)] == [5, 4, 4, 4]
    pay = {row["title"]: row for row in result.tables["pay"].rows}
    assert [pay["Bonus"][key] for key in ("people", "total", "out")] == [3, 1.5, 0.0]
    assert pay["Total"]["mean"] == 5.5 / 4
    write_findings(result, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Endings" in page
    assert "Lovelace" not in page


def test_report_shows_effects_of_treatment_and_position(played: Store) -> None:
    people = People(played, STUDY)
    for number in range(40):
        order = ("mild", "hard") if number % 2 else ("hard", "mild")
        plays = [
            {
                "treatment": name,
                "sequence": " > ".join(order),
                "state": "finished",
                "payoff": 10.0 * (name == "mild") + 3.0 * position + number % 5,
            }
            for position, name in enumerate(order)
        ]
        people.come("end", "complete", [], plays)
    people.come(
        "end", "withdrawn", [], [{"treatment": "mild", "sequence": "mild > hard", "state": "left"}]
    )
    result = report_findings(played)
    assert "in 2 orders; 20 participants per order played all games" in result.answers["People"]
    orders = [(row["sequence"], row["people"]) for row in result.tables["people-by-order"].rows]
    assert orders == [("hard > mild", 20), ("mild > hard", 21)]
    means = {
        (r["treatment"], r["position"]): r["payoff"]
        for r in result.tables["payoffs-by-position"].rows
    }
    assert means["mild", "1"] == pytest.approx(12)
    assert means["hard", "2"] == pytest.approx(5)
    effects = {row["level"]: row for row in result.tables["effects-of-position"].rows}
    assert {level: pytest.approx(row["effect"]) for level, row in effects.items()} == {
        "mild": 10.0,
        "2": 3.0,
    }
    assert effects["2"]["effect.clusters"] == 40


def test_intervals_of_scores_are_clustered_by_participant(store: Store) -> None:
    """Two participants with several matches each: their matches are not independent."""
    run(store, "random", 12)
    before = GameScores("bargaining", *game_of(store)).players["alice"].row(0, named=True)
    matches = Evidence(store, STUDY).frames["bargaining"].sort("payoff_alice")["match_id"].to_list()
    people = People(store, STUDY)
    for half in (matches[:6], matches[6:]):
        people.come(
            "end",
            "complete",
            [],
            [{"treatment": "t", "state": "finished", "match_id": match} for match in half],
        )
    after = GameScores("bargaining", *game_of(store)).players["alice"].row(0, named=True)
    assert after["payoff_alice"] == before["payoff_alice"]
    assert after["payoff_alice.error"] > 1.3 * before["payoff_alice.error"]
    assert after["payoff_alice.freedom"] == pytest.approx(1)
    assert after["payoff_alice.wanted"] is not None


def game_of(store: Store) -> tuple[pl.DataFrame, Mapping[str, str]]:
    evidence = Evidence(store, STUDY)
    return evidence.frames["bargaining"], evidence.seats["bargaining"]


def test_participants_without_play_or_pay_are_counted(played: Store) -> None:
    People(played, STUDY).come("consent")
    result = report_findings(played)
    assert result.answers["People"] == "1 participant arrived, and 0 (0 %) completed."
    assert not {"people-by-treatment", "pay"} & result.tables.keys()


def test_histogram_bars_have_equal_width() -> None:
    cases: list[tuple[list[float], float | None, Any]] = [
        ([1, 1, 3], 1, [(0.55, 1.45, 2), (2.55, 3.45, 1)]),
        ([0.0, 0.05, 0.19], None, [(0.0005, 0.0095, 1), (0.0505, 0.0595, 1), (0.1905, 0.1995, 1)]),
        ([37.5], None, [(37.5005, 37.5095, 1)]),
    ]
    for values, width, bars in cases:
        chart = histogram("Pay", values, "dollars", "people", width=width)
        drawn = [(*box.x, box.y[1]) for box in boxes(chart)]
        assert drawn == [pytest.approx(bar) for bar in bars]
