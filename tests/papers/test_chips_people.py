"""The chip recipe on a study with participants: survey, themes and learning, without a file."""

from pathlib import Path
from shutil import copy
from statistics import fmean

import pytest

import cheaptalk as ct
from cheaptalk.models import ModelCall
from cheaptalk.records import Store
from tests.fakes import Canned
from tests.judges.judged import verdict_text
from tests.papers.chip_games import games_by_end, ratio
from tests.papers.studies import report, row_of
from tests.participants import People
from tests.reports.marks import boxes

CONSENT, STRATEGY = ("consent", {"ok": "yes"}, None), "I meant to gain."


@pytest.fixture(scope="module")
def store_path(chips_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve participants in groups of three with two games each, one who left, one who declined.

    Each group plays the game that ended first as its second game.
    """
    path = Path(copy(chips_path, tmp_path_factory.mktemp("chip-people")))
    games = games_by_end(path, 2)
    with Store.open(path) as store:
        people = People(store, "chips")
        for group in range(4):
            for seat in (1, 2, 3):
                number = 3 * group + seat
                text = STRATEGY if number % 3 else "I was fair."
                survey = ("survey", {"satisfaction": 1 + number % 10, "strategy": text}, None)
                matches = (games[group + 4], games[group])
                played = {"game": "chip_trading", "state": "finished", "seat": f"player_{seat}"}
                plays = [played | {"match_id": match.id} for match in matches]
                people.come("end", "complete", [CONSENT, survey], plays, base=400)
        people.come("consent", "declined", [("consent", {"ok": "no"}, None)])
        left_game = {"game": "chip_trading", "state": "left"}
        people.come("game", "partner_left", [CONSENT], [left_game])
    return path


def test_learning_compares_games_in_playing_order(store_path: Path) -> None:
    results = report(store_path, "chips", "Learning between games", "Survey")
    row = row_of(results, "learning")
    games = games_by_end(store_path, 2)
    assert (row["variant"], row["people"]) == ("2 colours", 12)
    assert row["first_ratio"] == pytest.approx(fmean(map(ratio, games[4:])))
    assert row["second_ratio"] == pytest.approx(fmean(map(ratio, games[:4])))
    assert row["learnt_ratio_clusters"] == 4
    survey = row_of(results, "survey", scale="Satisfaction")
    assert survey["2 colours"] == pytest.approx(fmean(1 + number % 10 for number in range(1, 13)))


def test_themes_are_judge_verdicts_on_free_answers(store_path: Path) -> None:
    def detect(call: ModelCall, number: str = "") -> str:
        return verdict_text("present" if STRATEGY in call.messages[-1].content else "absent")

    lacking = report(store_path, "chips", "Themes").lacking["Themes"]
    assert "cheaptalk judge run chips --rubric theme-profit --model MODEL" in lacking
    with Store.open(store_path) as store:
        for model, answer, sample in (
            ("vllm/one", lambda *_: verdict_text("absent"), 3),
            ("vllm/two", detect, None),
        ):
            judge = ct.judges.judge_of("theme-profit", {"model": model})
            ct.judge(store, "chips", judge, models=Canned(answer), sample=sample)
    results = report(store_path, "chips", "Themes", "Survey answers and performance")
    columns = ("variant", "people", "theme.profit people")
    themes = results.tables["themes"].frame.select(columns).rows()
    assert themes == [("all", 12, 8), ("2 colours", 12, 8)]
    success = results.tables["answers-and-success"].frame
    assert success["answer"].to_list() == ["Satisfaction", "Profit"]
    assert "Themes" not in results.lacking


def test_participants_without_finished_game_are_excluded(chips_path: Path, tmp_path: Path) -> None:
    path = Path(copy(chips_path, tmp_path))
    with Store.open(path) as store:
        survey = ("survey", {"satisfaction": 4}, None)
        left_game = {"game": "chip_trading", "state": "left"}
        People(store, "chips").come("end", "complete", [survey], [left_game])
    parts = ("Learning between games", "Survey", "Themes", "Survey answers and performance")
    lacking = report(path, "chips", *parts).lacking
    for part in parts:
        assert lacking[part] == "no participant has finished a game of chip_trading"


def test_participants_are_counted_by_stage(store_path: Path) -> None:
    results = report(store_path, "chips", "Participants")
    assert results.answers["Participants"] == "14 participants arrived, and 12 (86 %) completed."
    stages = dict(results.tables["people-by-stage"].frame.select("stage", "people").iter_rows())
    assert stages == {"came": 14, "consented": 13, "began": 12, "finished": 12, "completed": 12}
    chart = results.charts["people-by-stage"].panels[0]
    assert [bar.x[1] for bar in boxes(chart)] == [14, 13, 12, 12, 12]
