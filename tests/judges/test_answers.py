"""Judges of participants' survey answers."""

import json
from pathlib import Path

import pytest
import sqlalchemy as sa

import cheaptalk as ct
from cheaptalk.judges import answer_verdicts, first_item, import_labels, judge_of, write_sheet
from cheaptalk.records import Store, examine
from cheaptalk.records.judgements import answers_id, forget_answers, ledger_id
from cheaptalk.records.store import schema
from tests.conftest import Command
from tests.fakes import Canned
from tests.judges.judged import judge_colours
from tests.judges.test_labelling import read_rows, write_rows
from tests.participants import People

STUDY = "chips"
TRADED = {"game": "chip_trading", "state": "finished"}
BY = judge_of("theme-colours", {"model": "vllm/judge"})


@pytest.fixture
def people(store: Store) -> People:
    """Five participants: three traders' answers, one of another game, and a blank one."""
    participants = People(store, STUDY)
    for text, game in (
        ("I kept my green chips.", TRADED),
        ("I was fair.", TRADED),
        ("green", {"game": "bargaining", "state": "finished"}),
        ("  ", TRADED),
        ("I kept my green chips.", TRADED),
    ):
        survey = {"strategy": text, "comments": "Nice green page.", "satisfaction": 7}
        participants.come("end", "complete", [("survey", survey, None)], [game])
    return participants


def test_survey_answers_of_players_are_judged(store: Store, people: People) -> None:
    subject, item = first_item(store, STUDY, BY)
    assert (subject, item.name) == ("answers:p1", "strategy")
    models = Canned(judge_colours)
    state = ct.judge(store, STUDY, BY, models=models)
    assert (state.matches, state.done, state.verdicts) == (3, 3, {"present": 2, "absent": 1})
    verdicts = answer_verdicts(store, STUDY)
    assert verdicts.select("rubric", "model", "participant", "item", "verdict", "score").rows() == [
        ("theme-colours", "vllm/judge", "p1", "strategy", "present", 1.0),
        ("theme-colours", "vllm/judge", "p2", "strategy", "absent", 0.0),
        ("theme-colours", "vllm/judge", "p5", "strategy", "present", 1.0),
    ]
    assert ct.records.judging_cost(store, STUDY).sendings == 3
    again = ct.judge(store, STUDY, BY, models=models)
    assert (again.before, len(models.calls)) == (3, 3)
    assert again.nothing == "everything was judged before"
    assert ct.judges.estimate_judging(store, STUDY, BY).before == 3
    assert ct.judges.verdict_frame(store, STUDY).is_empty()
    assert not examine(store).damages


def test_forgetting_answers_deletes_verdicts_and_calls(store: Store, people: People) -> None:
    ct.judge(store, STUDY, BY, models=Canned(judge_colours))
    with store.transaction() as connection:
        kept = {"try": 1, "state": "failed", "call": {}, "sent": 1.0, "attempt": 0, "request": 0}
        connection.execute(
            sa.insert(schema.calls),
            [
                kept | {"match_id": ledger_id("d", answers_id(code)), "actor": "strategy"}
                for code in ("p1", "p2")
            ],
        )
        forget_answers(connection, "p1")
    assert answer_verdicts(store, STUDY)["participant"].to_list() == ["p2", "p5"]
    assert store.with_open_calls() == {ledger_id("d", answers_id("p2"))}


def test_missing_answers_raise_error(store: Store, people: People) -> None:
    rubric = BY.rubric
    cases = {
        "the rubric is for answers to thoughts, but the study's surveys ask strategy, "
        "comments, satisfaction": {"answers": ["thoughts"]},
        "no participant of persuasion wrote a free answer": {"games": ["persuasion"]},
    }
    for expected, change in cases.items():
        with pytest.raises(ct.CheaptalkError, match=expected):
            first_item(store, STUDY, judge_of(rubric.model_copy(update=change), "vllm/judge"))
    store.register_study("empty", {"players": {}})
    with pytest.raises(ct.CheaptalkError, match="no participant answered a survey"):
        first_item(store, "empty", BY)


def test_answers_can_be_coded_by_hand(store: Store, people: People, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    assert write_sheet(store, STUDY, "theme-colours", sheet) == 3
    write_rows(sheet, [row | {"verdict": "present"} for row in read_rows(sheet)])
    for taken in ((3, 0, 0), (0, 3, 0)):
        assert import_labels(store, STUDY, "theme-colours", sheet, by="Ann") == taken
    verdicts = answer_verdicts(store, STUDY)
    assert set(verdicts.select("model", "verdict").rows()) == {("Ann", "present")}


def test_judge_command_codes_answers_and_shows_results(cheaptalk: Command, tmp_path: Path) -> None:
    path = tmp_path / "people.sqlite"
    with Store.open(path, create=True) as store:
        survey = ("survey", {"strategy": "Profit."}, None)
        People(store, STUDY).come("end", "complete", [survey], [TRADED])
    command = ["judge", "run", STUDY, "--rubric", "theme-profit", "--store", str(path)]
    done = cheaptalk(*command, "--model", "script/legal")
    assert done.status == 0, done.err
    assert "in 1 of 1 participant" in done.out
    shown = cheaptalk("judge", "run", STUDY, "--results-only", "--store", str(path))
    assert "theme-profit" in shown.out
    result = json.loads(
        cheaptalk("judge", "run", STUDY, "--results-only", "--json", "--store", str(path)).out
    )
    assert [row["len"] for row in result["answers"]] == [1]
