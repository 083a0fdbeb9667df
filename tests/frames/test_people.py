"""Frames of participants: their answers, progress and assignment to treatments."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from scipy import stats

import cheaptalk as ct
from cheaptalk.frames import (
    balance,
    funnel,
    read_participants,
    read_payments,
    read_plays,
    read_responses,
    read_survey_answers,
)
from cheaptalk.records import Store
from tests.participants import People

STUDY = "people"
CONSENT = ("consent", {"consent": "yes"}, None)
WORD = ("instructions", {"word": "sdkot"}, True)
WRONG_WORD = ("instructions", {"word": "?"}, False)
RIGHT, WRONG = ("comprehension", {"money": "9"}, True), ("comprehension", {"money": "4"}, False)
PLAYED = {"state": "finished", "match_id": "m", "seat": "alice", "payoff": 2.5, "cents": 30}
"""Steps of participants on the path."""


READERS = (read_participants, read_plays, read_responses, read_payments, read_survey_answers)


@pytest.fixture
def people(store: Store) -> People:
    """Ten participants who stop at ten points of the path."""
    group = People(store, STUDY)
    survey = ("survey", {"satisfaction": 7, "strategy": "I kept it."}, None)
    quiz, failed = ("quiz@1", {"rate": "5"}, True), ("quiz@1", {"rate": "7"}, False)
    passed = [CONSENT, WORD, RIGHT]
    group.come("consent")
    group.come("consent", "declined", [("consent", {"consent": "no"}, None)])
    group.come("instructions", "failed_attention", [CONSENT, WRONG_WORD])
    group.come("comprehension", "failed_attention", [CONSENT, WORD, WRONG, WRONG])
    group.come("comprehension", None, [CONSENT, WORD, WRONG])
    group.come("lobby", "timed_out", passed, [{"state": "timed_out"}])
    group.come("game", None, [CONSENT, WORD, WRONG, RIGHT], [{"state": "playing", "match_id": "n"}])
    group.come("quiz", "failed_attention", [*passed, failed], [{"state": "erased"}])
    group.come("end", "complete", [*passed, quiz, survey], [PLAYED], base=100, game_1=30)
    group.come("end", "complete", [CONSENT, WORD, WRONG, RIGHT, quiz, survey], [PLAYED], base=100)
    return group


def test_funnel_counts_stages_and_checks(store: Store, people: People) -> None:
    result = funnel(store, STUDY)
    assert result.stages.rows() == [
        ("came", 10, 1.0), ("consented", 8, 0.8), ("code_word", 7, 0.7),
        ("comprehension_first", 3, 0.3), ("comprehension", 5, 0.5), ("began", 4, 0.4),
        ("finished", 3, 0.3), ("quiz", 2, 0.2), ("completed", 2, 0.2),
    ]  # fmt: skip
    assert result.steps.select("step", "people", "answered", "under_way", "stopped").rows() == [
        ("consent", 10, 9, 1, 1), ("instructions", 8, 8, 0, 1), ("comprehension", 7, 7, 1, 1),
        ("game", 1, 0, 1, 0), ("lobby", 1, 0, 0, 1), ("quiz", 3, 3, 0, 1),
        ("survey", 2, 2, 0, 0),
    ]  # fmt: skip
    assert result.endings.select("ending", "people").rows() == [
        ("complete", 2), ("declined", 1), ("failed_attention", 3), ("timed_out", 1), (None, 3),
    ]  # fmt: skip
    for number, correct in ((7, True), (7, False), (9, True), (10, None)):
        people.prompt(number, correct)
    checks = funnel(store, STUDY).checks
    assert checks.columns == ["check", "answered", "first", "passed", "failed", "failing"]
    assert checks.rows() == [
        ("code_word", 8, 7, 7, 1, 1 / 8), ("comprehension", 7, 3, 5, 2, 2 / 7),
        ("quiz", 3, 2, 2, 1, 1 / 3), ("attention", 2, 1, 1, 1, 1 / 2),
    ]  # fmt: skip


def test_all_comprehension_steps_must_be_passed(store: Store) -> None:
    people = People(store, STUDY)
    second = ("comprehension-2", {"chips": "3"}, True)
    people.come("lobby", None, [CONSENT, RIGHT, second])
    people.come("comprehension-2", None, [CONSENT, RIGHT])
    check = funnel(store, STUDY).checks.row(0, named=True)
    assert (check["answered"], check["passed"]) == (2, 1)


def test_frames_contain_codes_but_no_names(store: Store, people: People) -> None:
    people.come("lobby", None, [("first_name", {"name": "Ada Lovelace"}, None)])
    frames = (
        read_participants(store, STUDY),
        read_responses(store, STUDY),
        read_plays(store, STUDY),
    )
    assert read_participants(store, STUDY)["participant"].to_list() == [
        f"p{n}" for n in range(1, 12)
    ]
    assert all("Ada" not in frame.write_json() for frame in frames)
    last = read_responses(store, STUDY).row(-1, named=True)
    assert (last["step"], last["item"], last["answer"]) == ("first_name", None, None)


def test_responses_are_long_and_surveys_wide(store: Store, people: People) -> None:
    rows = read_responses(store, STUDY).filter(participant="p9", step="survey")
    assert rows.select("item", "answer", "value", "number", "correct").rows() == [
        ("satisfaction", "7", 7.0, 4, None), ("strategy", "I kept it.", None, 4, None),
    ]  # fmt: skip
    people.come("end", "complete", [
        ("survey", {"satisfaction": 3, "age": 30}, None), ("after", {"age": "none"}, None),
        ("survey", {"satisfaction": 4, "remarks": None}, None),
    ])  # fmt: skip
    answers = read_survey_answers(store, STUDY)
    assert answers.columns == [
        "participant", "satisfaction", "strategy", "survey_age", "after_age", "remarks"
    ]  # fmt: skip
    assert answers.rows() == [
        ("p9", 7.0, "I kept it.", None, None, None), ("p10", 7.0, "I kept it.", None, None, None),
        ("p11", 4.0, None, 30.0, "none", None),
    ]  # fmt: skip
    assert answers.schema["remarks"] == pl.String, "nobody answered, so it is no scale"


def test_plays_and_payments_have_rows_by_participant(store: Store, people: People) -> None:
    last = read_plays(store, STUDY).row(-1, named=True)
    assert (last["participant"], last["number"], last["match_id"]) == ("p10", 1, "m")
    assert (last["payoff"], last["cents"]) == (2.5, 30)
    assert read_payments(store, STUDY).select("participant", "kind", "key", "cents").rows() == [
        ("p9", "base", "base", 100), ("p9", "bonus", "game_1", 30), ("p10", "base", "base", 100),
    ]  # fmt: skip


def test_study_without_participants_gives_empty_frames(store: Store) -> None:
    store.register_study(STUDY, {"players": {}})
    People(store, "another").come("consent", None, [CONSENT], [PLAYED], base=5)
    for read in READERS:
        assert read(store, STUDY).is_empty()
    for frame in (*funnel(store, STUDY), *balance(store, STUDY)):
        assert frame.is_empty()
    with pytest.raises(ct.records.StoreError, match="no study"):
        funnel(store, "gone")


@pytest.fixture
def varied(tmp_path: Path) -> Iterator[tuple[Store, dict[tuple[int, bool], str]]]:
    """A study of four treatments (two parameters with two levels), with a match of each."""
    with Store.open(tmp_path / "varied.sqlite", create=True) as store:
        ct.run(ct.Study(
            name=STUDY,
            games=[{
                "game": "bargaining",
                "grid": {"money": [100, 10_000], "messages": [True, False]},
            }],
            players={"one": "equal_split", "two": "boulware"}, pairing=[["one", "two"]],
        ), store)  # fmt: skip
        ids = {
            (record.parameters["money"], record.parameters["messages"]): record.id
            for record in store.records(STUDY)
        }
        yield store, ids


def test_balance_counts_participants_by_treatment_level_and_crossing(
    varied: tuple[Store, dict[tuple[int, bool], str]],
) -> None:
    store, ids = varied
    people = People(store, STUDY)
    for at, ((money, messages), count) in enumerate(
        zip(sorted(ids, key=str), (9, 3, 4, 4), strict=True)
    ):
        for number in range(count):
            match = ids[money, messages] if number else None
            state = ("left", "finished", "playing", "finished")[min(number, 3)]
            people.come("game", None, [], [
                {"treatment": f"t{at}", "state": state, "match_id": match},
                {"treatment": f"t{at}", "state": state, "match_id": match},
            ])  # fmt: skip
    result = balance(store, STUDY)
    assert result.treatments.rows() == [
        ("t0", "bargaining", 9, 7, 1, "money 100, messages no"),
        ("t1", "bargaining", 3, 1, 1, "money 100, messages yes"),
        ("t2", "bargaining", 4, 2, 1, "money 10,000, messages no"),
        ("t3", "bargaining", 4, 2, 1, "money 10,000, messages yes"),
    ]  # fmt: skip
    levels = result.levels.filter(parameter="money")
    assert sorted(zip(levels["assigned"], levels["finished"], strict=True)) == [(8, 4), (12, 8)]
    assert levels["level"].to_list() == ["100", "10,000"]
    crossed = result.crossings.select("level", "other_level", "treatments", "assigned")
    assert sorted(crossed["assigned"].to_list()) == [3, 4, 4, 9]
    assert crossed["treatments"].to_list() == [1] * 4
    tests = {row["of"]: row for row in result.tests.iter_rows(named=True)}
    assert set(tests) == {"treatment", "money", "messages", "money x messages"}
    assert tests["treatment"]["largest"] == 6
    assert tests["treatment"]["p"] == pytest.approx(stats.chisquare([9, 3, 4, 4]).pvalue)
    assert tests["money"]["largest"] == (12 - 8) / 2
    assert tests["money"]["p"] == pytest.approx(stats.chisquare([12, 8]).pvalue)


def test_level_with_more_treatments_expects_more_participants(
    varied: tuple[Store, dict[tuple[int, bool], str]],
) -> None:
    store, ids = varied
    people = People(store, STUDY)
    for money, messages in sorted(ids, key=str)[:3]:
        for _ in range(4):
            match = {"match_id": ids[money, messages], "state": "finished"}
            people.come("end", "complete", [], [{"treatment": f"{money} {messages}"} | match])
    tests = {row["of"]: row for row in balance(store, STUDY).tests.iter_rows(named=True)}
    assert tests["money"]["people"] == 12
    assert (tests["money"]["p"], tests["money"]["largest"]) == (1.0, 0.0)


def test_treatment_shared_by_two_games_has_the_settings_of_each(tmp_path: Path) -> None:
    persuasion = {
        "game": "persuasion",
        "fixed": {"horizon": 2},
        "grid": {"myopic": [True, False]},
    }
    games = [{"game": "bargaining", "grid": {"money": [100, 10_000]}}, persuasion]
    with Store.open(tmp_path / "shared.sqlite", create=True) as store:
        ct.run(ct.Study(
            name=STUDY, games=games, players={"one": "random"}, pairing="self",
        ), store)  # fmt: skip
        matches: dict[str, list[str]] = {}
        for record in store.records(STUDY):
            matches.setdefault(record.game, []).append(record.id)
        people = People(store, STUDY)
        for at, treatment in ((0, "t"), (-1, "u")):
            people.come("end", "complete", [], [
                {"treatment": treatment, "game": game, "match_id": ids[at], "state": "finished"}
                for game, ids in matches.items()
            ])  # fmt: skip
        rows = balance(store, STUDY).treatments.sort("treatment", "game").rows(named=True)
    assert [(row["treatment"], row["game"], row["settings"].split()[0]) for row in rows] == [
        (treatment, game, parameter)
        for treatment in "tu"
        for game, parameter in (("bargaining", "money"), ("persuasion", "myopic"))
    ]
