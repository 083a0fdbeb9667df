"""The chip recipe on a study with people: their survey, themes and learning, with no file."""

import json
from pathlib import Path
from statistics import fmean

import pytest

import cheaptalk as ct
from cheaptalk.games.chip_trading import SPEC
from cheaptalk.models import ModelCall
from cheaptalk.records import MatchRecord, Store
from tests.fakes import Canned
from tests.papers.chip_games import made, play, records
from tests.participants import People
from tests.reports.marks import boxes

CONSENT, STRATEGY = ("consent", {"ok": "yes"}, None), "I meant to gain."


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve people in groups of three, each with two games; one who left and one who declined.

    The game that ended first was played second.
    """
    path = play(tmp_path_factory.mktemp("chip-people"))
    games = in_order(path)
    with Store.open(path) as store:
        people = People(store, "chips")
        for group in range(4):
            for seat in (1, 2, 3):
                number = 3 * group + seat
                text = STRATEGY if number % 3 else "I was fair."
                survey = ("survey", {"satisfaction": 1 + number % 10, "strategy": text}, None)
                matches = (games[group + 4], games[group])
                plays = [
                    {"game": "chip_trading", "state": "finished", "match_id": match.id,
                     "seat": f"player_{seat}"}
                    for match in matches
                ]  # fmt: skip
                people.come("end", "complete", [CONSENT, survey], plays, base=400)
        people.come("consent", "declined", [("consent", {"ok": "no"}, None)])
        left = {"game": "chip_trading", "state": "left"}
        people.come("game", "partner_left", [CONSENT], [left])
    return path


def in_order(path: Path) -> list[MatchRecord]:
    """Games of two colours in the order in which they ended."""
    return sorted(records(path, 2, *["zero"] * 3), key=lambda one: (one.finished, one.id))


def ratio(record: MatchRecord) -> float:
    value = SPEC.metrics["surplus_ratio"].of(record.result())
    assert value is not None
    return value


def test_learning_is_between_games_in_the_order_of_play(played: Path) -> None:
    row = made(played).tables["learning"].frame.row(0, named=True)
    games = in_order(played)
    assert (row["variant"], row["people"]) == ("2 colours", 12)
    assert row["first_ratio"] == pytest.approx(fmean(map(ratio, games[4:])))
    assert row["second_ratio"] == pytest.approx(fmean(map(ratio, games[:4])))
    assert row["learnt_ratio.clusters"] == 4


def test_scales_are_the_numbers_of_the_survey(played: Path) -> None:
    row = made(played).tables["survey"].frame.row(0, named=True)
    assert row["scale"] == "Satisfaction"
    assert row["2 colours"] == pytest.approx(fmean(1 + number % 10 for number in range(1, 13)))
    assert row["2 colours.n"] == 12


def test_themes_are_what_a_judge_said_of_the_free_answers(played: Path) -> None:
    def says(call: ModelCall, number: str = "") -> str:
        found = STRATEGY in call.messages[-1].content
        return json.dumps({"reason": "So.", "category": "present" if found else "absent"})

    def never(call: ModelCall, number: str = "") -> str:
        return json.dumps({"reason": "So.", "category": "absent"})

    lacking = made(played).lacking["Themes"]
    assert "cheaptalk judge run chips --rubric theme-profit --model MODEL" in lacking
    with Store.open(played) as store:
        for model, answer, sample in (("vllm/one", never, 3), ("vllm/two", says, None)):
            judge = ct.judges.judge_of("theme-profit", {"model": model})
            ct.judge(store, "chips", judge, models=Canned(answer), sample=sample)
    found = made(played)
    frame = found.tables["themes"].frame
    assert frame.select("variant", "people", "theme.profit people").rows() == [
        ("all", 12, 8), ("2 colours", 12, 8),
    ]  # fmt: skip
    success = found.tables["answers-and-success"].frame
    assert success["answer"].to_list() == ["Satisfaction", "Profit"]
    assert "Themes" not in found.lacking


def test_people_who_finished_no_game_answered_nothing_that_can_be_told(tmp_path: Path) -> None:
    path = play(tmp_path)
    with Store.open(path) as store:
        survey = ("survey", {"satisfaction": 4}, None)
        left = {"game": "chip_trading", "state": "left"}
        People(store, "chips").come("end", "complete", [survey], [left])
    lacking = made(path).lacking
    for part in ("Learning between games", "Survey", "Themes", "Survey answers and performance"):
        assert lacking[part] == "no participant has finished a game of chip_trading"


def test_the_participants_are_counted_from_coming_to_completing(played: Path) -> None:
    found = made(played)
    assert found.answers["Participants"] == "14 participants arrived, and 12 (86 %) completed."
    stages = found.tables["people-by-stage"].frame.select("stage", "people").rows()
    assert stages == [
        ("came", 14), ("consented", 13), ("began", 12), ("finished", 12), ("completed", 12),
    ]  # fmt: skip
    chart = found.charts["people-by-stage"].panels[0]
    assert [game_spec.x[1] for game_spec in boxes(chart)] == [14, 13, 12, 12, 12]
