"""Import of GAMA-Bench's recorded games, which are optional data outside the repository."""

import random
from collections import Counter
from pathlib import Path
from statistics import mean, stdev

import pytest

from cheaptalk.papers.gama.importer.importer import read_gama
from cheaptalk.records import MatchRecord, Store, transcript
from cheaptalk.records.imports import Intake, import_matches
from cheaptalk.rules import get_game
from tests.papers.gama_scores import ORACLES, PREFIXES, RUNS, scores

FOLDER = Path(__file__).parents[2].parent / "shared" / "data" / "gama"
MODELS = tuple(PREFIXES)

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the recorded games are not beside the repository"
)

# Table 1: mean and spread over five runs, in the order of MODELS.
TABLE_1 = {
    "guessing_game": ((63.4, 3.4), (77.3, 6.2), (85.5, 3.0), (91.8, 0.4), (93.2, 1.3)),
    "bar_game_implicit": ((68.7, 2.7), (33.5, 10.3), (75.7, 2.2), (66.8, 5.8), (17.0, 25.5)),
    "divide_dollar": ((68.6, 2.4), (77.6, 3.6), (56.4, 8.4), (1.2, 2.8), (91.9, 2.4)),
    "public_goods": ((38.9, 8.1), (68.5, 7.6), (19.6, 1.0), (27.6, 11.7), (81.3, 5.9)),
    "diner_dilemma": ((2.8, 2.8), (3.1, 1.5), (59.3, 2.4), (76.4, 7.1), (0.0, 0.0)),
    "sealed_bid_auction": ((13.0, 1.5), (31.6, 12.2), (37.1, 3.1), (3.1, 1.6), (2.5, 0.7)),
    "battle_royale": ((28.6, 11.0), (16.5, 6.9), (35.9, 12.1), (12.6, 9.4), (81.7, 9.6)),
    "pirate_game": ((71.6, 7.7), (57.4, 14.3), (78.3, 10.0), (67.3, 7.6), (86.1, 6.4)),
}
OVERALL = ((44.4, 2.1), (45.7, 3.4), (56.0, 3.1), (43.4, 2.2), (56.7, 3.4))

# Scores by the paper's formulas where they differ, as in the documentation.
BY_FORMULA = {
    "sealed_bid_auction": (13.0, 31.6, 37.1, 3.1, 2.3),
    "battle_royale": (2.9, 1.7, 3.6, 1.3, 8.2),
    "pirate_game": (71.6, 58.0, 79.8, 69.4, 86.1),
}
OVERALL_BY_FORMULA = (41.2, 43.9, 52.1, 42.2, 47.5)

Scores = dict[tuple[str, str, int], float]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store.open(tmp_path_factory.mktemp("gama") / "games.sqlite", create=True)


@pytest.fixture(scope="module")
def importing(store: Store) -> Intake:
    return import_matches(read_gama(FOLDER), store, "gama")


@pytest.fixture(scope="module")
def records(store: Store, importing: Intake) -> list[MatchRecord]:
    return list(store.records("gama", bodies=True))


@pytest.fixture(scope="module")
def oracle() -> Scores:
    return scores(FOLDER)


def labels(record: MatchRecord) -> set[str]:
    return {str(seat["label"]) for seat in record.seats.values()}


def run_key(record: MatchRecord) -> tuple[str, str, int]:
    """Return GAMA's name of a record's game, its model and its run."""
    stem = record.instance_key.rpartition("/")[2]
    (game,) = (name for name in ORACLES if name in stem)
    (model,) = labels(record)
    return game, model, int(stem.rpartition("_")[2])


def compute_scores(records: list[MatchRecord], as_published: bool) -> Scores:
    return {
        run_key(record): score
        for record in records
        if (score := get_game(record.game).metrics["score"].variant(as_published)(record.result()))
        is not None
    }


def matches_printed(values: list[float], cell: tuple[float, float]) -> bool:
    """Return whether mean and spread equal the cell to the printed digit."""
    return (mean(values), stdev(values)) == pytest.approx(cell, abs=0.05 + 1e-9)


def overall(by_run: Scores, model: str) -> list[float]:
    """Return the mean score over the games for each run."""
    return [mean(by_run[game, model, run] for game in ORACLES) for run in RUNS]


def test_every_game_is_imported(importing: Intake, records: list[MatchRecord]) -> None:
    assert (importing.imported, importing.present, importing.skipped) == (200, 0, [])
    assert set(Counter(record.game for record in records).values()) == {25}
    assert Counter(frozenset(labels(record)) for record in records) == {
        frozenset({model}): 40 for model in MODELS
    }


def test_every_match_replays_and_has_transcript(records: list[MatchRecord]) -> None:
    for record in records:
        table = record.replay()
        assert table.outcome is not None
        assert table.outcome.model_dump(mode="json") == record.outcome
        assert transcript(record)


def test_oracle_reproduces_table_1(oracle: Scores) -> None:
    for game, cells in TABLE_1.items():
        for model, cell in zip(MODELS, cells, strict=True):
            assert matches_printed([oracle[game, model, run] for run in RUNS], cell), (game, model)
    for model, cell in zip(MODELS, OVERALL, strict=True):
        assert matches_printed(overall(oracle, model), cell), model


def test_as_published_scores_match_oracle(records: list[MatchRecord], oracle: Scores) -> None:
    computed = compute_scores(records, as_published=True)
    assert computed.keys() == oracle.keys()
    for game_run, score in oracle.items():
        assert computed[game_run] == pytest.approx(score, abs=1e-9), game_run


def test_default_scores_follow_paper_formulas(records: list[MatchRecord], oracle: Scores) -> None:
    computed = compute_scores(records, as_published=False)
    for game in ORACLES:
        for number, model in enumerate(MODELS):
            scores = [computed[game, model, run] for run in RUNS]
            if game in BY_FORMULA:
                assert mean(scores) == pytest.approx(BY_FORMULA[game][number], abs=0.051)
            else:
                assert scores == pytest.approx([oracle[game, model, run] for run in RUNS])
    overalls = [mean(overall(computed, model)) for model in MODELS]
    assert overalls == pytest.approx(OVERALL_BY_FORMULA, abs=0.051)


def test_recorded_valuations_match_python_generator(records: list[MatchRecord]) -> None:
    """Drawn without replacement with the seeds 42 to 61."""
    drawn = [
        random.Random(seed).sample(range(0, 201, 10), 10)  # noqa: S311 - the draws to be compared
        for seed in range(42, 62)
    ]
    auctions = [record for record in records if record.game == "sealed_bid_auction"]
    assert len(auctions) == 25
    for record in auctions:
        assert record.replay().instance.model_dump(mode="json")["valuations"] == drawn


def test_moves_outside_standard_rules_are_imported(records: list[MatchRecord]) -> None:
    """Three contributions exceed the tokens; 14 shots target oneself or an eliminated player."""
    actions = [answer.action or {} for record in records for answer in record.answers]
    assert sum(action.get("tokens_contributed", 0) > 20 for action in actions) == 3
    assert max(action.get("bid_amount", 0) for action in actions) == 187
    wasted = 0
    for record in records:
        if record.game == "battle_royale":
            shots = record.replay().outcome
            assert shots is not None
            out: set[str] = set()
            for shot in shots.model_dump()["shots"]:
                wasted += shot["target"] in out | {shot["shooter"]}
                out |= {shot["target"]} if shot["hit"] else set()
    assert wasted == 14


def test_unknown_orders_are_counted_as_costly(records: list[MatchRecord]) -> None:
    words = [
        word["chosen_dish"]
        for record in records
        for word in record.body["source"]["unused"].get("counted_as_costly", [])
    ]
    assert Counter(words) == {"costly_dish": 327, "cheap_dish": 104, "costly_or_cheap": 2}
