"""GAMA-Bench's tables in the paper's form, from a study with mock models."""

import json
from pathlib import Path

import pytest

from cheaptalk.models import ModelCall
from cheaptalk.reports.recipes.findings import Findings
from cheaptalk.reports.recipes.tables import ReportTable
from tests.fakes import Canned
from tests.papers.studies import play, report

MODEL = {"model": "vllm/gpt-3.5-turbo-0125", "temperature": 1}
PLAYERS = {
    "default": MODEL,
    "cold": MODEL | {"temperature": 0},
    "v2": MODEL | {"style": "v2"},
    "thinks": MODEL | {"chain_of_thought": "step_by_step"},
    "selfish": MODEL | {"persona": "selfish"},
    "other": {"model": "vllm/llama-3.1-70b-instruct"},
}


def guess(call: ModelCall, number: str) -> str:
    """Choose 20, or 0 at temperature 0."""
    chosen = 0 if call.settings.temperature == 0 else 20
    return json.dumps({"chosen_number": chosen, "tokens_contributed": chosen})


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """Findings on two games, one of them in several settings, with players in all treatments."""
    study = {
        "name": "treatments",
        "pairing": "self",
        "instances": 2,
        "players": PLAYERS,
        "games": [
            {
                "game": "guess_the_average",
                "fixed": {"players": 2, "rounds": 2},
                "grid": {"ratio": ["2/3", "4/3"], "told": ["nothing", "smart"]},
            },
            {"game": "public_goods", "fixed": {"players": 2, "rounds": 2}},
        ],
    }
    return report(play(tmp_path_factory.mktemp("gama"), study, Canned(guess)), "gama")


def texts(table: ReportTable) -> list[list[str]]:
    return [table.headings, *map(table.texts, table.rows)]


def test_treatments_follow_from_player_settings(results: Findings) -> None:
    """An unset prompt version is the recorded default, v1."""
    name = "Guess 2/3 of the Average"
    shown = {table: texts(results.tables[table])[:2] for table in ("table-5", "table-6", "table-7")}
    assert shown == {
        "table-5": [["Game", "0.0", "1.0", "Average"], [name, "100.0", "80.0", "90.0 (14.1)"]],
        "table-6": [
            ["Game", "V1 (Default)", "V2", "Average"],
            [name, "80.0", "80.0", "80.0 constant"],
        ],
        "table-7": [["Game", "Default", "CoT", "Selfish"], [name, "80.0", "80.0", "80.0"]],
    }
    assert "Overall" in [row[0] for row in texts(results.tables["table-5"])]
    assert "Overall" not in [row[0] for row in texts(results.tables["table-6"])]


def test_untreated_players_appear_in_tables_1_4_and_10(results: Findings) -> None:
    assert results.tables["table-1"].headings == ["Game", "GPT-3.5: 0125", "LLaMA-3.1: 70B"]
    assert {name for name in results.tables if name.startswith(("table-4", "table-10"))} == {
        "table-4",
        "table-10",
    }
    assert results.tables["table-10"].printed == "Table 10"
    assert results.tables["table-4"].titles == ["Game", "T1 (Default)", "T2", "Average"]


def test_table_8_contains_only_settings_varied_in_paper(results: Findings) -> None:
    assert texts(results.tables["table-8-guess-the-average"]) == [
        ["Player", "R: 2/3", "R: 4/3", "Average"],
        ["gpt-3.5-0125", "80.0", "20.0", "50.0 (42.4)"],
        ["llama-3.1-70b", "80.0", "20.0", "50.0 (42.4)"],
    ]


def test_paper_tables_contain_only_selected_players(tmp_path: Path) -> None:
    study = {
        "name": "some",
        "pairing": "self",
        "games": [{"game": "public_goods", "fixed": {"players": 2, "rounds": 1}}],
        "players": {"free": {"strategy": "equilibrium"}, "lot": {"strategy": "random"}},
    }
    path = play(tmp_path, study)
    selected = report(path, "gama", "Leaderboard", options={"players": "lot"})
    assert selected.tables["table-1"].titles == ["Game", "lot"]
    assert selected.tables["leaderboard"].frame.height == 2
