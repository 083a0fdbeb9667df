"""Wide exports: their numbers equal those of the long tables, and every question is described."""

import csv
import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import sqlalchemy as sa

import cheaptalk as ct
from cheaptalk.records import Store
from cheaptalk.records.store import schema
from cheaptalk.rules import CheaptalkError
from tests.participants import Answered, People

STUDY = "people"
SCALE = {"labels": [{"en": "never", "de": "nie"}, "often"]}
WHY = 'He said "no",\nand left'
PROTOCOL = {
    "path": [
        {"survey": [
            {"name": "age", "ask": {"en": "Age?", "de": "Alter?"}, "number": [18, 99]},
            {"name": "children", "ask": "Children?", "number": {"decimals": 0}},
            {"name": "mood", "ask": "Mood?", "slider": {}},
            {"name": "ending", "ask": "How much?", "lines": 2},
        ]},
        {"games": {"max": 2, "after": [
            {"survey": {"name": "after", "once": False, "items": [
                {"name": "fair", "ask": "Fair?", "scale": SCALE},
            ]}},
        ]}},
    ],
    "pay": {"currency": "EUR"},
}  # fmt: skip


@pytest.fixture
def match(store: Store) -> str:
    """The id of a match, played by a script and in the study of the participants."""
    game = {"game": "trust_game", "fixed": {"endowment": 12}}
    players: dict[str, Any] = {"a": {"strategy": "reciprocal"}}
    ct.run(ct.Study(name=STUDY, games=[game], players=players, instances=1), store)
    with store.transaction() as connection:
        spec = store.study(STUDY).spec | {"people": PROTOCOL}
        connection.execute(sa.update(schema.studies).values(spec=spec))
    (record,) = store.records(STUDY, past=True)
    return record.id


@pytest.fixture
def people(store: Store, match: str) -> People:
    """Two participants of one match; the first played a second game without a match."""
    group = People(store, STUDY)
    answers: list[Answered] = [
        ("survey", {"age": 30.0, "children": 2.0, "mood": 60.0, "ending": WHY}, None),
        ("after@1", {"fair": 2}, None),
        ("after@2", {"fair": 1}, None),
    ]
    play = {"game": "trust_game", "match_id": match, "state": "finished", "cents": 30}
    games: list[dict[str, Any]] = [{**play, "seat": "investor", "payoff": 7.5},
             {"game": "trust_game", "state": "timed_out"}]  # fmt: skip
    group.come("end", "complete", answers, games, base=100, game_1=30)
    group.come("after", None, [("survey", {"age": 41, "ending": "=1"}, None)],
               [{**play, "seat": "trustee", "payoff": 2.0}])  # fmt: skip
    return group


def read(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def test_wide_tables_agree_with_long_tables(store: Store, people: People, tmp_path: Path) -> None:
    ct.export(store, STUDY, tmp_path / "out")
    tables = {file.stem: read(file) for file in (tmp_path / "out").glob("*.csv")}
    wide = {row["participant"]: row for row in tables["wide"]}
    first, second = wide["p1"], wide["p2"]
    cents: dict[str, int] = defaultdict(int)
    for row in tables["payments"]:
        cents[row["participant"]] += int(row["cents"])
    assert {code: int(row["cents_total"]) for code, row in wide.items()} == {"p1": 130, "p2": 0}
    assert cents["p1"] == 130
    for play in tables["plays"]:
        prefix = f"game{play['number']}_"
        own = {name.removeprefix(prefix): value
               for name, value in wide[play["participant"]].items()}  # fmt: skip
        for name in ("payoff", "cents", "state", "match_id", "seat", "assigned_at", "ended_at"):
            assert own[name] == play[name]
    for response in tables["responses"]:
        around = {"ending": "survey_ending", "fair": f"game{response['game_number']}_fair"}
        column = around.get(response["item"], response["item"])
        answers = (response["answer"], response["value"])
        assert wide[response["participant"]][column] in answers
    assert (first["survey_ending"], second["survey_ending"]) == (WHY, "'=1")
    assert (first["game1_partners"], second["game1_partners"]) == ("p2", "p1")
    assert (first["games"], first["games_finished"], first["game2_match_id"]) == ("2", "1", "")
    (record,) = store.records(STUDY, bodies=True, past=True)
    actions = {answer.actor: answer.action for answer in record.answers}
    sent = (actions["investor"] or {})["amount_sent"]
    assert first["game1_decision1_amount_sent"] == str(sent)
    assert float(first["game1_trust"]) == sent / 12
    assert second["game1_decision1_amount_sent"] == ""
    assert float(first["seconds_survey"]) == 10.0
    long = tables["long"]
    assert [(row["participant"], row["number"], row["fair"]) for row in long] == [
        ("p1", "1", "2"), ("p1", "2", "1"), ("p2", "1", ""),
    ]  # fmt: skip


def test_whole_numbers_stay_integers(store: Store, people: People, tmp_path: Path) -> None:
    frame = ct.frames.read_wide(store, STUDY)
    for name in ("children", "mood", "cents_total"):
        assert frame[name].dtype == pl.Int64
    assert frame["children"].to_list() == [2, None]
    people.come("survey", None, [("survey", {"children": 1.5}, None)])
    assert ct.frames.read_wide(store, STUDY)["children"].to_list() == [2.0, None, 1.5]
    for form in ("wide", "otree", "csv"):
        ct.export(store, STUDY, tmp_path / form, form)
        for file in (tmp_path / form).glob("*.csv"):
            assert not re.search(r"(?<=,)-?[0-9]+\.0(?=[,\n])", file.read_text(encoding="utf-8"))


def test_treatments_without_a_design_are_named(store: Store, people: People) -> None:
    frame = ct.frames.read_wide(store, STUDY)
    assert frame["game1_treatment"].to_list() == ["Trust game: a / a"] * 2
    assert frame["started_at"].dtype == pl.Datetime("us", "UTC")
    assert ct.frames.read_wide(store, STUDY, "game").height == 3


def test_codebook_describes_columns_and_questions(
    store: Store, people: People, tmp_path: Path
) -> None:
    for form, table in (("wide", "wide"), ("otree", "all_apps_wide")):
        folder = tmp_path / form
        ct.export(store, STUDY, folder, form)
        book = json.loads((folder / "codebook.json").read_text(encoding="utf-8"))
        described = [row["column"] for row in book if row["table"] == table]
        assert list(dict.fromkeys(described)) == list(read(folder / f"{table}.csv")[0])
        assert all(row["meaning"] and row["missing"] for row in book)
    entries = {row["column"]: row for row in json.loads(
        (tmp_path / "wide" / "codebook.json").read_text(encoding="utf-8")
    ) if row["table"] == "wide"}  # fmt: skip
    assert entries["age"]["question"] == {"en": "Age?", "de": "Alter?"}
    assert (entries["age"]["type"], entries["age"]["range"]) == ("number", ">= 18, <= 99")
    assert entries["game1_fair"]["labels"] == [
        {"value": 1, "en": "never", "de": "nie"}, {"value": 2, "en": "often"},
    ]  # fmt: skip
    assert entries["cents_total"]["unit"] == "cents of EUR"
    text = (tmp_path / "wide" / "codebook.md").read_text(encoding="utf-8")
    assert "1 = never (de: nie); 2 = often" in text


def test_otree_layout_has_apps_and_rounds(store: Store, people: People, tmp_path: Path) -> None:
    ct.export(store, STUDY, tmp_path / "out", "otree")
    rows = read(tmp_path / "out" / "all_apps_wide.csv")
    names = list(rows[0])
    assert names[:3] == [
        "participant.id_in_session", "participant.code", "participant.label",
    ]  # fmt: skip
    first, second = rows
    assert first["participant.payoff"] == "0.3"
    assert first["survey.1.player.age"] == "30"
    assert first["trust_game.1.player.fair"] == "2"
    assert [row["trust_game.1.player.id_in_group"] for row in rows] == ["1", "2"]
    assert [row["trust_game.1.player.payoff"] for row in rows] == ["7.5", "2"]
    assert first["trust_game.1.group.id_in_subsession"] == "1"
    assert first["trust_game.1.subsession.game_endowment"] == "12"
    assert (first["trust_game.2.subsession.round_number"], second["trust_game.2.player.fair"]) == (
        "2", "",
    )  # fmt: skip
    places = [names.index(f"trust_game.1.{name}") for name in (
        "player.payoff", "group.id_in_subsession", "subsession.round_number",
    )]  # fmt: skip
    assert places == sorted(places)


def test_study_without_participants_has_no_wide_export(store: Store, tmp_path: Path) -> None:
    store.register_study("empty", {"players": {}})
    with pytest.raises(CheaptalkError, match="empty has no participants"):
        ct.export(store, "empty", tmp_path / "out", "wide")
    assert not (tmp_path / "out").exists()
