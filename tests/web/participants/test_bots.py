"""Bots complete a study's path through its pages."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

from cheaptalk.records import Store
from cheaptalk.records.people.payouts import balance_of
from cheaptalk.studies import parse_study
from cheaptalk.web import Crowd, Tally
from tests.web.participants.comers import PEOPLE, people_study
from tests.web.served import served_experiment

ITEM = {"name": "sum", "ask": "1 + 1?", "choices": ["one", "two", "three"], "correct": "two"}
PATH = [
    {"consent": {"text": "We play.", "statements": ["I am 18", "I agree"]}},
    "first_name",
    {"comprehension": {"items": [ITEM], "tries": 1}},
    {"games": {
        "max": 3, "can_stop": True, "lobby": {"minutes": 0.0001, "substitutes": True},
        "attention": {"after": [0, 0.01], "games": [1, 2]},
        "before": [{"instructions": {"pages": ["One."], "game": True, "code_word": "sdkot"}}],
    }},
    {"survey": [
        {"name": "fair", "ask": "Fair?", "scale": {}}, {"name": "feedback", "ask": "Why?",
        "lines": 3},
        {"name": "age", "ask": "Age?", "number": [18, 99]},
    ]},
    {"debrief": "Thanks."},
]  # fmt: skip


async def run_bots(
    folder: Path, answers: dict[str, str], people: int = 4, *, seed: int = 0, **changes: Any
) -> Tally:
    pairing = [["people", "bot"], ["people", "people"]]
    written = people_study(pairing, **({"path": PATH} | changes)).written()
    person = {"person": "browser", "deadline": 300, "away": "random"}
    written["players"] = written["players"] | {"people": person}
    study = parse_study(written, "here")  # the last bot may be without a partner
    async with served_experiment(folder, study) as site:
        url = f"{site.client.base_url}?PROLIFIC_PID={{id}}"
        crowd = Crowd(url, people, matches=2, seed=seed, answers=answers, rest=hurry)
        return await crowd.play()


async def hurry(_seconds: float) -> None:
    await asyncio.sleep(0.01)


async def test_bots_complete_a_study(tmp_path: Path) -> None:
    tally = await run_bots(tmp_path, {"sum": "two"})
    assert (tally.endings, tally.errors) == ({"complete": 4}, {})
    assert tally.matches == 8
    assert len(set(tally.codes.values())) == 4
    assert all(tally.codes.values())
    with Store.open(tmp_path / "s.sqlite") as store, store.reading() as connection:
        query = "select answer from responses where step = 'survey'"
        answers = [json.loads(row[0]) for row in connection.exec_driver_sql(query)]
        assert balance_of(store, 1).owed >= 4 * 100
    assert len(answers) == 4
    assert all(
        18 <= answer["age"] <= 99 and 1 <= answer["fair"] <= 7 and answer["feedback"]
        for answer in answers
    )


async def test_bot_with_a_wrong_answer_is_screened_out(tmp_path: Path) -> None:
    tally = await run_bots(tmp_path, {"sum": "three"}, people=2)
    assert tally.endings == Counter(screened_out=2)
    assert (tally.matches, tally.errors) == (0, {})


async def test_bots_stop_at_once_if_the_study_is_full(tmp_path: Path) -> None:
    full = {"recruitment": PEOPLE["recruitment"] | {"places": 1}}
    first = await run_bots(tmp_path, {"sum": "two"}, people=1, **full)
    late = await run_bots(tmp_path, {"sum": "two"}, people=2, seed=1, **full)
    assert first.endings == {"complete": 1}
    ((error, count),) = late.errors.items()
    assert (late.endings, count, late.pages) == ({}, 2, 2)
    assert error.startswith("409: ")
    assert "This study has enough participants" in error


async def test_bots_chat_in_one_of_two_treatments(tmp_path: Path) -> None:
    chat = {"when": "before", "lines": 2}
    treatments = {"silence": {"when": {"chat": None}}, "chat": {"when": {"chat": chat}}}
    games = {"treatments": treatments, "design": "fixed_order", "matching": "partner"}
    written = people_study([["people", "people"]], path=[{"games": games}]).written()
    written["games"] = [{"game": "ultimatum_game", "grid": {"chat": [None, chat]}}]
    async with served_experiment(tmp_path, parse_study(written, "here")) as site:
        url = f"{site.client.base_url}?PROLIFIC_PID={{id}}"
        tally = await Crowd(url, 8, matches=2, rest=hurry).play()
    assert (tally.endings, tally.errors) == ({"complete": 8}, {})
    with Store.open(tmp_path / "s.sqlite") as store:
        (study,) = store.studies()
        lines = {True: 0, False: 0}
        for record in store.records(study.name, bodies=True):
            lines["chat" in record.parameters] += len(record.chat)
    assert lines[True] > lines[False] == 0
