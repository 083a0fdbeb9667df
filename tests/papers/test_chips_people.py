"""The chip recipe on a study with participants: survey, themes and learning, without a file."""

import json
from pathlib import Path
from statistics import fmean

import pytest

import cheaptalk as ct
from cheaptalk.games.chip_trading import SPEC
from cheaptalk.models import ModelCall
from cheaptalk.records import MatchRecord, Store
from tests.fakes import Canned
from tests.papers.chip_games import STUDY, records
from tests.papers.studies import play, report
from tests.participants import People
from tests.reports.marks import boxes

CONSENT, STRATEGY = ("consent", {"ok": "yes"}, None), "I meant to gain."


@pytest.fixture(scope="module")
def store_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve participants in groups of three with two games each, one who left, one who declined.

    Each group plays the game that ended first as its second game.
    """
    path = play(tmp_path_factory.mktemp("chip-people"), STUDY)
    games = games_by_end(path)
    with Store.open(path) as store:
        people = People(store, "chips")
        for group in range(4):
            for seat in (1, 2, 3):
                number = 3 * group + seat
                text = STRATEGY if number % 3 else "I was fair."
                survey = ("survey", {"satisfaction": 1 + number % 10, "strategy": text}, None)
                matches = (games[group + 4], games[group])
                plays = [
                    {
                        "game": "chip_trading",
                        "state": "finished",
                        "match_id": match.id,
                        "seat": f"player_{seat}",
                    }
                    for match in matches
                ]
                people.come("end", "complete", [CONSENT, survey], plays, base=400)
        people.come("consent", "declined", [("consent", {"ok": "no"}, None)])
        left_game = {"game": "chip_trading", "state": "left"}
        people.come("game", "partner_left", [CONSENT], [left_game])
    return path


def games_by_end(path: Path) -> list[MatchRecord]:
    """Return the games of two colours in the order in which they ended."""
    return sorted(records(path, 2, *["zero"] * 3), key=lambda record: (record.finished, record.id))


def ratio(record: MatchRecord) -> float:
    value = SPEC.metrics["surplus_ratio"].of(record.result())
    assert value is not None
    return value


def test_learning_compares_games_in_playing_order(store_path: Path) -> None:
    row = report(store_path, "chips").tables["learning"].frame.row(0, named=True)
    games = games_by_end(store_path)
    assert (row["variant"], row["people"]) == ("2 colours", 12)
    assert row["first_ratio"] == pytest.approx(fmean(map(ratio, games[4:])))
    assert row["second_ratio"] == pytest.approx(fmean(map(ratio, games[:4])))
    assert row["learnt_ratio.clusters"] == 4


def test_survey_scales_are_averaged(store_path: Path) -> None:
    row = report(store_path, "chips").tables["survey"].frame.row(0, named=True)
    assert row["scale"] == "Satisfaction"
    assert row["2 colours"] == pytest.approx(fmean(1 + number % 10 for number in range(1, 13)))
    assert row["2 colours.n"] == 12


def test_themes_are_judge_verdicts_on_free_answers(store_path: Path) -> None:
    def detect(call: ModelCall, number: str = "") -> str:
        present = STRATEGY in call.messages[-1].content
        return json.dumps({"reason": "So.", "category": "present" if present else "absent"})

    def deny(call: ModelCall, number: str = "") -> str:
        return json.dumps({"reason": "So.", "category": "absent"})

    lacking = report(store_path, "chips").lacking["Themes"]
    assert "cheaptalk judge run chips --rubric theme-profit --model MODEL" in lacking
    with Store.open(store_path) as store:
        for model, answer, sample in (("vllm/one", deny, 3), ("vllm/two", detect, None)):
            judge = ct.judges.judge_of("theme-profit", {"model": model})
            ct.judge(store, "chips", judge, models=Canned(answer), sample=sample)
    results = report(store_path, "chips")
    frame = results.tables["themes"].frame
    assert frame.select("variant", "people", "theme.profit people").rows() == [
        ("all", 12, 8),
        ("2 colours", 12, 8),
    ]
    success = results.tables["answers-and-success"].frame
    assert success["answer"].to_list() == ["Satisfaction", "Profit"]
    assert "Themes" not in results.lacking


def test_participants_without_finished_game_are_excluded(tmp_path: Path) -> None:
    path = play(tmp_path, STUDY)
    with Store.open(path) as store:
        survey = ("survey", {"satisfaction": 4}, None)
        left_game = {"game": "chip_trading", "state": "left"}
        People(store, "chips").come("end", "complete", [survey], [left_game])
    lacking = report(path, "chips").lacking
    for part in ("Learning between games", "Survey", "Themes", "Survey answers and performance"):
        assert lacking[part] == "no participant has finished a game of chip_trading"


def test_participants_are_counted_by_stage(store_path: Path) -> None:
    results = report(store_path, "chips")
    assert results.answers["Participants"] == "14 participants arrived, and 12 (86 %) completed."
    stages = results.tables["people-by-stage"].frame.select("stage", "people").rows()
    assert stages == [
        ("came", 14),
        ("consented", 13),
        ("began", 12),
        ("finished", 12),
        ("completed", 12),
    ]
    chart = results.charts["people-by-stage"].panels[0]
    assert [bar.x[1] for bar in boxes(chart)] == [14, 13, 12, 12, 12]
