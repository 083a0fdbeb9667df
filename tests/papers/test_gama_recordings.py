"""GAMA-Bench's recorded experiments in one store fill the paper's tables and are never pooled.

The invented games of divide the dollar score 100 minus the distance of the bids from 100.
"""

from pathlib import Path

import pytest

import cheaptalk as ct
from cheaptalk.papers.gama.importer.importer import read_gama
from cheaptalk.records.imports import import_matches
from cheaptalk.reports.recipes.findings import Findings
from tests.papers.gama_folders import Data, bar, dollar, write
from tests.papers.studies import report, row_of

MODEL = "Talker-7B"
SCORES = {
    "1": 60,
    "2": 50,
    "3": 40,
    "t0": 10,
    "t1": 20,
    "t5": 60,
    "cot1": 70,
    "role1": 55,
    "role3": 35,
    "savept1_0": 5,
    "m1": 15,
}
"""Scores by file tag; ``t5`` repeats the first run, as in the release."""
VERSIONS = {"v1": 60, "v2": 30, "v5": 90}
SETTINGS = {50: 80, 100: 60, 200: 70}
"""Scores by amount of gold."""


def scored_game(score: int, gold: int = 100, version: str = "v1") -> Data:
    """Return a game in which the bids add up to ``score`` percent of the gold."""
    data = dollar()
    total = gold * score // 100
    data["meta"] |= {"golds": gold, "version": version}
    for round_ in data["round_records"]:
        round_ |= {"responses": [total, 0, 0], "total_proposal": total}
    for player, bid in zip(data["player_data"], (total, 0, 0), strict=True):
        player |= {"records": [bid, bid], "utility": [bid, bid]}
    return data


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    folder = tmp_path_factory.mktemp("raw_results")
    for tag, score in SCORES.items():
        write(folder, f"divide_dollar/divide_dollar_v1_{tag}", scored_game(score))
    for version, score in VERSIONS.items():
        write(folder, f"divide_dollar/divide_dollar_{version}", scored_game(score, version=version))
    for number, (gold, score) in enumerate(SETTINGS.items(), start=1):
        write(folder, f"divide_dollar/divide_dollar_v1_g{number}", scored_game(score, gold))
    for mode in ("implicit", "explicit"):
        for tag, capacity in {"1": 0.6, "r0": 0.5, "r3": 0.6}.items():
            data = bar()
            data["meta"] |= {"mode": mode, "ratio": capacity, "name_exp": "bar_game"}
            write(folder, f"bar_game/{mode}/bar_game_{mode}_v1_{tag}", data)
    store = ct.Store.open(folder / "games.sqlite", create=True)
    importing = import_matches(read_gama(folder), store, "gama")
    assert (importing.imported, importing.skipped) == (len(SCORES) + 12, [])
    return report(store, "gama", as_published=True)


def test_leaderboard_contains_only_default_runs(results: Findings) -> None:
    board = results.tables["leaderboard"]
    assert board.frame["player"].to_list() == [MODEL]
    scores = row_of(results, "leaderboard", player=MODEL)
    assert (scores["divide_the_dollar"], scores["divide_the_dollar_n"]) == (50, 3)
    assert "Recorded experiments have separate tables: 12 players." in board.remarks
    runs = row_of(results, "scores-by-run", game="divide_the_dollar")
    assert [runs[f"run {run}"] for run in (1, 2, 3)] == [60, 50, 40]


def test_imported_models_are_language_models(games: Path, store: ct.Store) -> None:
    write(games, "divide_dollar_v1_1", scored_game(60))
    import_matches(read_gama(games), store, "gama")
    shown = report(store, "gama", "Leaderboard", options={"players": "llms"})
    assert shown.tables["table-1"].titles == ["Game", MODEL]


def test_experiments_have_separate_tables(results: Findings) -> None:
    warmth, prompts, reasoning = (
        row_of(results, f"{name}-{MODEL.lower()}", game="divide_the_dollar")
        for name in ("temperature", "prompt-version", "reasoning-strategy")
    )
    levels = ("default", "0", "0.2", "1")
    assert [warmth[f"temperature {level}"] for level in levels] == [50, 10, 20, 60]
    assert warmth["mean"] == pytest.approx((10 + 20 + 60) / 3)
    assert prompts["mean"] == pytest.approx((60 + 30 + 90) / 3)
    ways = ("default", "CoT step by step", "cooperative", "mathematician")
    shares = [reasoning[f"reasoning strategy {way}"] for way in ways]
    assert shares == pytest.approx([50, 70, 55, 35])


def test_settings_match_paper_table(results: Findings) -> None:
    player = f"score {MODEL} (experiment settings)"
    frame = results.tables["settings-divide-the-dollar"].frame
    assert frame["setting"].to_list()[:3] == ["golds 50", "golds 100", "golds 200"]
    assert frame[player].to_list()[:4] == [80, 60, 70, 70]
    bars = results.tables["settings-el-farol-bar"].frame
    assert bars["setting"].to_list()[:2] == ["capacity 0.5", "capacity 0.6"]
    assert not [name for name in bars.columns if name == f"score {MODEL}"]


def test_experiments_are_ranked_without_default_runs(games: Path, store: ct.Store) -> None:
    for tag in ("t0", "t1"):
        write(games, f"divide_dollar_v1_{tag}", scored_game(SCORES[tag]))
    import_matches(read_gama(games), store, "gama")
    board = report(store, "gama", "Leaderboard").tables["leaderboard"].frame
    assert board["player"].to_list() == [f"{MODEL} (temperature {value})" for value in (0.2, 0.0)]
