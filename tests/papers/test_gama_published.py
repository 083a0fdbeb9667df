"""GAMA-Bench's recorded games, which are optional data, reproduce the paper's printed numbers."""

import random
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.papers.gama.importer.importer import read_gama
from cheaptalk.records import MatchRecord, transcript
from cheaptalk.records.imports import ImportSummary, import_matches
from cheaptalk.reports.recipes.findings import Findings
from tests.papers.studies import report, row_of

FOLDER = Path(__file__).parents[2].parent / "shared" / "data" / "gama"
pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the recorded games are not beside the repository"
)
MODELS = {
    "gpt-3.5-0125": "gpt-3.5-turbo-0125",
    "gemini-1.0-pro": "gemini-1.0-pro",
    "llama-3.1-8b": "Meta-Llama-3.1-8B-Instruct",
    "mixtral-8x7b": "Mixtral-8x7B-Instruct-v0.1",
    "qwen-2-72b": "Qwen2-72B-Instruct",
}
"""The recorded players by column of Table 1."""
Imported = tuple[ct.Store, ImportSummary]
GPT = MODELS["gpt-3.5-0125"]
VOYAGE = ((8, 1.00), (6, 0.75), (94, 0.57))
"""Table 2: one voyage of GPT-3.5, as distance in coins and share of right votes by ballot."""
BY_FORMULA = {
    "sealed_bid_auction": (13.0, 31.6, 37.1, 3.1, 2.3),
    "battle_royale": (2.9, 1.7, 3.6, 1.3, 8.2),
    "pirate_game": (71.6, 58.0, 79.8, 69.4, 86.1),
    "overall": (41.2, 43.9, 52.1, 42.2, 47.5),
}
"""Scores by the paper's formulas where they differ from the code, as in the documentation."""


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    store = ct.Store.open(tmp_path_factory.mktemp("gama") / "games.sqlite", create=True)
    return store, import_matches(read_gama(FOLDER), store, "gama")


@pytest.fixture(scope="module")
def records(imported: Imported) -> list[MatchRecord]:
    return list(imported[0].records("gama", bodies=True))


@pytest.fixture(scope="module")
def results(imported: Imported) -> Findings:
    return report(imported[0], "gama", as_published=True, options={"printed": "beside"})


def equals_printed(frame: pl.DataFrame, keys: Sequence[str]) -> bool:
    """Return whether all numbers in these columns equal the printed ones to the printed digit."""
    return all(
        ((frame[key] - frame[printed]).abs() < 0.0501).all()
        for name in keys
        for key, printed in (
            (name, f"{name}_printed"),
            *[(f"{name}_error", f"{name}_printed_error")] * (f"{name}_error" in frame.columns),
        )
    )


def test_every_game_is_imported(imported: Imported, records: list[MatchRecord]) -> None:
    importing = imported[1]
    assert (importing.imported, importing.present, importing.skipped) == (200, 0, [])
    assert set(Counter(record.game for record in records).values()) == {25}
    players = Counter(frozenset(map(record.label, record.seats)) for record in records)
    assert players == {frozenset({model}): 40 for model in MODELS.values()}


def test_imported_games_replay(records: list[MatchRecord]) -> None:
    one_each = {(record.game, record.label("player_1")): record for record in records}
    assert len(one_each) == 8 * len(MODELS)
    for record in one_each.values():
        outcome = record.replay().outcome
        assert outcome is not None
        assert outcome.model_dump(mode="json") == record.outcome
        assert transcript(record)


def test_tables_1_and_4_match_printed_values(results: Findings) -> None:
    board = results.tables["table-1"]
    assert [column.key for column in board.columns if column.key in MODELS] == list(MODELS)
    groups = ["GPT-3.5", "Gemini-Pro", "LLaMA-3.1", "Mixtral", "Qwen-2"]
    shown = [column.group for column in board.columns if column.decimals is not None]
    assert [group for group, _ in groupby(shown) if group in groups] == groups
    runs = results.tables["table-4"]
    assert board.frame.height == runs.frame.height == 9
    assert equals_printed(board.frame, list(MODELS))
    assert equals_printed(runs.frame, [*(f"run {run}" for run in range(1, 6)), "average"])


def test_scores_by_formula_are_those_of_the_documentation(
    imported: Imported, results: Findings
) -> None:
    by_formula = report(imported[0], "gama", "Leaderboard")
    for number, model in enumerate(MODELS.values()):
        scores, published = (
            row_of(shown, "leaderboard", player=model) for shown in (by_formula, results)
        )
        for game in ("guess_the_average", "el_farol_bar", "divide_the_dollar", "public_goods"):
            assert scores[game] == pytest.approx(published[game])
        for game, expected in BY_FORMULA.items():
            assert scores[game] == pytest.approx(expected[number], abs=0.051), (model, game)


def test_ranking_has_intervals(results: Findings) -> None:
    wide = results.tables["leaderboard"].frame
    order = ("qwen-2-72b", "llama-3.1-8b", "gemini-1.0-pro", "gpt-3.5-0125", "mixtral-8x7b")
    assert wide["player"].to_list() == [MODELS[key] for key in order]
    assert wide["rank"].to_list() == [1, 2, 3, 4, 5]
    assert wide["rank_high"][0] == wide["rank_low"][1] + 1 == 2  # 56.7 and 56.0: no clear order
    assert wide["rank_low"][2] == 3
    assert wide["first"].sum() == pytest.approx(1)


def test_table_2_voyage_is_reproduced(results: Findings) -> None:
    ballots = results.tables["pirate-ballots"].frame.filter(who=GPT)
    shown = ballots.select("plan_distance", "vote_accuracy").rows()
    assert shown == [pytest.approx(ballot, abs=0.005) for ballot in VOYAGE]
    voyage = results.tables["table-2"]
    texts = ["Round 3", "-", "-", "50✓", *["1✓"] * 6, "44✓", "94", "0.57"]
    assert voyage.texts(voyage.frame.row(2, named=True)) == texts


def test_mean_number_matches_comparison_with_people(results: Findings) -> None:
    """Section 4.3: 34.59 in the run that the paper shows, beside 36.73 and 36.2 of people."""
    frame = results.tables["numbers-and-people"].frame
    run = row_of(results, "scores-by-run", game="guess_the_average", player=GPT)["run 1"]
    assert 100 - run == pytest.approx(34.59, abs=0.005)
    assert frame.filter(player="people")["first_round"].to_list() == [36.73, 36.2]
    assert row_of(results, "numbers-and-people", player=GPT)["first_round"] == pytest.approx(50)


def test_recorded_valuations_match_python_generator(records: list[MatchRecord]) -> None:
    """Drawn without replacement with the seeds 42 to 61."""
    drawn = [
        random.Random(seed).sample(range(0, 201, 10), 10)  # noqa: S311 - the draws to be compared
        for seed in range(42, 62)
    ]
    for record in records:
        if record.game == "sealed_bid_auction":
            assert record.replay().instance.model_dump(mode="json")["valuations"] == drawn


def test_moves_outside_standard_rules_are_imported(records: list[MatchRecord]) -> None:
    """Three contributions exceed the tokens; 14 shots target oneself or an eliminated player."""
    actions = [answer.action or {} for record in records for answer in record.answers]
    assert sum(action.get("tokens_contributed", 0) > 20 for action in actions) == 3
    assert max(action.get("bid_amount", 0) for action in actions) == 187
    wasted = 0
    for record in records:
        out: set[str] = set()
        for shot in (record.outcome or {}).get("shots", ()):
            wasted += shot["target"] in out | {shot["shooter"]}
            out |= {shot["target"]} if shot["hit"] else set()
    assert wasted == 14
    words = [
        word["chosen_dish"]
        for record in records
        for word in record.body["source"]["unused"].get("counted_as_costly", [])
    ]
    assert Counter(words) == {"costly_dish": 327, "cheap_dish": 104, "costly_or_cheap": 2}
