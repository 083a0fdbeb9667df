"""The recipe reproduces GAMA-Bench's printed numbers from its recorded games.

The games are optional data outside the repository.
"""

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.papers.gama.importer.importer import read_gama
from cheaptalk.records.imports import import_matches
from cheaptalk.reports.recipes.findings import Findings, findings
from tests.papers.gama_scores import ORACLES, PREFIXES, RUNS, scores
from tests.papers.test_import_gama_published import FOLDER, OVERALL, TABLE_1

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the recorded games are not beside the repository"
)

GAMES = dict(
    zip(
        ORACLES,
        (
            "guess_the_average",
            "el_farol_bar",
            "divide_the_dollar",
            "public_goods",
            "diners_dilemma",
            "sealed_bid_auction",
            "battle_royale",
            "pirate_game",
        ),
        strict=True,
    )
)
GPT = "gpt-3.5-turbo-0125"
# Table 2: one voyage of GPT-3.5, as distance in coins and share of right votes by ballot.
VOYAGE = ((8, 1.00), (6, 0.75), (94, 0.57))
# Table 4: the overall score of GPT-3.5 in each of its five runs.
RUNS_OVERALL = (45.9, 41.7, 47.1, 43.4, 44.1)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> ct.Store:
    store = ct.Store.open(tmp_path_factory.mktemp("gama") / "games.sqlite", create=True)
    import_matches(read_gama(FOLDER), store, "gama")
    return store


@pytest.fixture(scope="module")
def results(store: ct.Store) -> Findings:
    return findings(store, "gama", "gama", as_published=True, draws=200)


def row(frame: pl.DataFrame, **wanted: str) -> dict[str, Any]:
    chosen = [pl.col(name) == value for name, value in wanted.items()]
    values: dict[str, Any] = frame.row(by_predicate=pl.all_horizontal(chosen), named=True)
    return values


def matches_printed(row: dict[str, Any], key: str, cell: tuple[float, float]) -> bool:
    """Return whether mean and spread equal the cell to the printed digit."""
    return (row[key], row[f"{key}.spread"]) == pytest.approx(cell, abs=0.05 + 1e-9)


def test_table_1_is_reproduced(results: Findings) -> None:
    wide = results.tables["leaderboard"].frame
    for place, model in enumerate(PREFIXES):
        scores = row(wide, player=model)
        assert matches_printed(scores, "overall", OVERALL[place]), model
        for game, cells in TABLE_1.items():
            assert matches_printed(scores, GAMES[game], cells[place]), (model, game)


@pytest.fixture(scope="module")
def with_printed(store: ct.Store) -> Findings:
    return findings(
        store, "gama", "gama", as_published=True, draws=100, options={"printed": "beside"}
    )


def equals_printed(frame: pl.DataFrame, keys: Sequence[str]) -> bool:
    """Return whether all numbers in these columns equal the printed ones to the printed digit."""
    both = (
        (frame[key], frame[f"{key.replace('.error', '')}.printed{ending}"])
        for key in keys
        for ending in [".error" * key.endswith(".error")]
    )
    return all(((computed - expected).abs() < 0.0501).all() for computed, expected in both)


def test_tables_1_and_4_match_printed_values(with_printed: Findings) -> None:
    board = with_printed.tables["table-1"]
    models = ["gpt-3.5-0125", "gemini-1.0-pro", "llama-3.1-8b", "mixtral-8x7b", "qwen-2-72b"]
    assert [column.key for column in board.columns if column.key in models] == models
    assert [column.group for column in board.columns[1:11:2]] == [
        "GPT-3.5",
        "Gemini-Pro",
        "LLaMA-3.1",
        "Mixtral",
        "Qwen-2",
    ]
    assert board.frame.height == 9
    assert equals_printed(board.frame, [*models, *(f"{model}.error" for model in models)])
    runs = with_printed.tables["table-4"]
    assert runs.frame.height == 9
    assert equals_printed(runs.frame, [*(f"run {run}" for run in RUNS), "average", "average.error"])


def test_ranking_matches_paper_with_rank_intervals(results: Findings) -> None:
    wide = results.tables["leaderboard"].frame
    best = sorted(zip(PREFIXES, OVERALL, strict=True), key=lambda pair: -pair[1][0])
    assert wide["player"].to_list() == [model for model, _ in best]
    assert wide["rank"].to_list() == [1, 2, 3, 4, 5]
    assert (wide["rank.low"] <= wide["rank"]).all()
    assert (wide["rank.high"] >= wide["rank"]).all()
    assert wide["rank.high"][0] == wide["rank.low"][1] + 1 == 2  # 56.7 and 56.0: no clear order
    assert wide["rank.low"][2] == 3
    assert wide["first"].sum() == pytest.approx(1)


def test_run_scores_match_oracle(results: Findings) -> None:
    frame = results.tables["scores-by-run"].frame
    for (game, model, run), score in scores(FOLDER).items():
        model_scores = row(frame, game=GAMES[game], player=model)
        assert model_scores[f"run {run}"] == pytest.approx(score, abs=1e-9), (game, model, run)


def test_table_4_is_reproduced(results: Findings) -> None:
    overall = row(results.tables["scores-by-run"].frame, game="overall", player=GPT)
    assert [overall[f"run {run}"] for run in RUNS] == pytest.approx(RUNS_OVERALL, abs=0.0501)


def test_table_2_voyage_is_reproduced(results: Findings) -> None:
    ballots = results.tables["pirate-ballots"].frame.filter(who=GPT)
    shown = ballots.select("plan_distance", "vote_accuracy").rows()
    assert shown == [pytest.approx(ballot, abs=0.005) for ballot in VOYAGE]
    third = ballots.row(2, named=True)
    assert (third["pirate 2"], third["pirate 3"]) == (None, "50\u00a0✓")
    assert third["pirate 10"] == "44\u00a0✓"
    voyage = results.tables["table-2"]
    assert voyage.texts(voyage.frame.row(2, named=True)) == [
        "Round 3",
        "-",
        "-",
        "50✓",
        *["1✓"] * 6,
        "44✓",
        "94",
        "0.57",
    ]


def test_mean_number_matches_comparison_with_people(results: Findings) -> None:
    """Section 4.3: 34.59 in the run that the paper shows, beside 36.73 and 36.2 of people."""
    frame = results.tables["numbers-and-people"].frame
    run = row(results.tables["scores-by-run"].frame, game="guess_the_average", player=GPT)["run 1"]
    assert 100 - run == pytest.approx(34.59, abs=0.005)
    assert frame.filter(player="people")["first_round"].to_list() == [36.73, 36.2]
    assert row(frame, player=GPT)["first_round"] == pytest.approx(50)


def test_missing_experiments_are_listed(results: Findings) -> None:
    assert set(results.lacking) == {
        "Temperatures",
        "Prompt versions",
        "Reasoning strategies",
        "Other player settings",
        "Game settings",
        "Choices in mixed groups",
        "Information about other players",
        "Payoffs in mixed groups",
    }
