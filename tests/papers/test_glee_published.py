"""The GLEE recipe on a sample of published games, which is optional data.

The expected metrics are computed from the games' files, without the package's rules or metrics.
"""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cheaptalk.papers.glee.families import families
from cheaptalk.papers.glee.importer import read_glee
from cheaptalk.records import MatchRecord, Store, transcript
from cheaptalk.records.imports import ImportSummary, import_matches
from cheaptalk.reports.recipes.findings import Findings
from tests.papers.studies import report, row_of

SAMPLE = Path(__file__).parents[2].parent / "shared" / "data" / "glee"
pytestmark = pytest.mark.skipif(
    not SAMPLE.is_dir(), reason="the sample of published games is not beside the repository"
)

METRICS = ("self_gain_alice", "self_gain_bob", "efficiency", "fairness")
Metrics = dict[str, float | None]


def bargaining(config: dict[str, Any], rows: list[dict[str, str]]) -> tuple[Metrics, Metrics]:
    """Return a game's metrics by the paper and by its released code."""
    args = config["game_args"]
    deltas = [
        args.get(f"delta_{number}") or config[f"player_{number}_args"].get("delta")
        for number in (1, 2)
    ]
    name = config["player_1_args"]["public_name"].lower().replace(" ", "_")
    last = int(float(rows[-1]["round"]))
    if rows[-1]["decision"] != "accept":
        decay = deltas[1] ** (args["max_rounds"] - 1)
        paper: Metrics = {"self_gain_alice": 0, "self_gain_bob": 0, "efficiency": 0, "fairness": 1}
        code: Metrics = {
            "self_gain_alice": 0,
            "self_gain_bob": decay,
            "efficiency": decay,
            "fairness": 0,
        }
        return paper, code
    share = float(rows[-2][f"{name}_gain"]) / args["money_to_divide"]
    gains = [
        part * delta ** (last - 1) for part, delta in zip((share, 1 - share), deltas, strict=True)
    ]
    metrics: Metrics = {
        "self_gain_alice": gains[0],
        "self_gain_bob": gains[1],
        "efficiency": sum(gains),
        "fairness": 1 - 4 * (share - 0.5) ** 2,
    }
    return metrics, metrics


def negotiation(config: dict[str, Any], rows: list[dict[str, str]]) -> tuple[Metrics, Metrics]:
    args = config["game_args"]
    seller, buyer = args["seller_value"], args["buyer_value"]
    traded = rows[-1]["decision"] == "AcceptOffer"
    efficient = 1.0 if seller == buyer else float(traded == (buyer > seller))
    if not traded:
        metrics: Metrics = {
            "self_gain_alice": 0,
            "self_gain_bob": 0,
            "efficiency": efficient,
            "fairness": 1,
        }
        return metrics, metrics
    price = float(rows[-2]["product_price"]) / args["product_price_order"]
    fair = 1 - 4 * (price - (seller + buyer) / 2) ** 2
    paper: Metrics = {
        "self_gain_alice": price - seller,
        "self_gain_bob": buyer - price,
        "efficiency": efficient,
        "fairness": fair,
    }
    return paper, paper | {"fairness": max(fair, 0.0)}


def persuasion(config: dict[str, Any], rows: list[dict[str, str]]) -> tuple[Metrics, Metrics]:
    args = config["game_args"]
    value = max(args["v"], args["c"])
    good = [row["round_quality"] == "high-quality" for row in rows if row["player"] == "Nature"]
    bought = [row["decision"] == "yes" for row in rows if row["player"] != "Nature"][1::2]
    rounds = len(good)
    k = sum(high and buys for high, buys in zip(good, bought, strict=True))
    lemons = sum(buys for buys in bought) - k
    refused = rounds - sum(good) - lemons
    paper: Metrics = {
        "self_gain_alice": sum(bought) / rounds,
        "self_gain_bob": (k * (value - 1) - lemons) / rounds,
        "efficiency": k / sum(good) if any(good) else None,
        "fairness": refused / (rounds - sum(good)) if not all(good) else None,
    }
    return paper, paper | {"self_gain_bob": (k * (value - 1) - refused) / rounds}


FAMILIES = {"bargaining": bargaining, "negotiation": negotiation, "persuasion": persuasion}


def read_published() -> Iterator[tuple[str, str, bool, bool, tuple[Metrics, Metrics]]]:
    """Yield ID, family, whether Alice and Bob are people, and metrics of each game."""
    for file in sorted(SAMPLE.rglob("config.json")):
        config = json.loads(file.read_text(encoding="utf-8"))
        with (file.parent / "game.csv").open(encoding="utf-8", newline="") as text:
            rows = list(csv.DictReader(text))
        people = [config[f"player_{number}_type"] == "otree" for number in (1, 2)]
        family = config["game_type"]
        yield file.parent.name, family, *people, FAMILIES[family](config, rows)


GAMES = list(read_published()) if SAMPLE.is_dir() else []


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, ImportSummary]:
    store = Store.open(tmp_path_factory.mktemp("sample") / "games.sqlite", create=True)
    return store, import_matches(read_glee(SAMPLE, keep_names=True), store, "sample")


@pytest.fixture(scope="module")
def store(imported: tuple[Store, ImportSummary]) -> Store:
    return imported[0]


@pytest.fixture(scope="module", params=[False, True], ids=["paper", "code"])
def results(store: Store, request: pytest.FixtureRequest) -> Findings:
    return report(store, "glee", as_published=request.param)


def test_every_game_is_imported_and_replays(imported: tuple[Store, ImportSummary]) -> None:
    store, importing = imported
    assert (importing.imported, importing.present, importing.skipped) == (68, 0, [])
    records = list(store.records("sample", bodies=True))
    for record in records:
        outcome = record.replay().outcome
        assert outcome is not None
        assert outcome.model_dump(mode="json") == record.outcome
        assert transcript(record)
    assert Counter(record.game for record in records) == {
        "bargaining": 24,
        "negotiation": 24,
        "persuasion": 20,
    }
    assert {record.label(role) for record in records for role in record.seats} == {
        "human",
        "gemini-1.5-flash",
        "gemini-1.5-pro",
        "llama3-405b-instruct-maas",
        "Meta-Llama-3-8B-Instruct",
        "Meta-Llama-3.1-8B-Instruct",
        "Qwen2-7B-Instruct",
    }


def all_messages(record: MatchRecord) -> list[str]:
    """Return all messages of a match, including undelivered ones."""
    moves: list[dict[str, Any]] = [answer.action or {} for answer in record.answers]
    moves += [unused["cells"] for unused in record.body["source"]["unused"]]
    return [move["message"] for move in moves if "message" in move]


def test_names_of_addressed_people_are_redacted(store: Store, tmp_path: Path) -> None:
    kept = {record.instance_key: record for record in store.records("sample", bodies=True)}
    with Store.open(tmp_path / "redacted.sqlite", create=True) as redacted:
        importing = import_matches(read_glee(SAMPLE), redacted, "redacted")
        changed = {
            record.instance_key: sum(text.count("[name]") for text in all_messages(record))
            for record in redacted.records("redacted", bodies=True)
            if all_messages(kept[record.instance_key]) != all_messages(record)
        }
    # Rounds that address a person by name; one game was published with the name redacted.
    assert changed == {
        "272E6C6F38BBD9B9": 1,
        "431AF58CE83924DD": 2,
        "447740CB14774C24": 1,
        "23E43CB8A35DF2D1": 20,
    }
    assert importing.redactions == sum(changed.values())


def test_metrics_of_all_games_match_files(results: Findings) -> None:
    rows = {
        row["instance"]: row
        for family in families(results.evidence)
        for row in family.frame.iter_rows(named=True)
    }
    assert len(rows) == len(GAMES) == 68
    for id_, _, _, _, metrics in GAMES:
        expected = metrics[results.evidence.as_published]
        assert {name: rows[id_][name] for name in METRICS} == pytest.approx(expected, abs=1e-9)


def mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def test_outcome_table_contains_means_by_family(results: Findings) -> None:
    sorts = {"person": {True}, "model": {False}, "all": {True, False}}
    seen = 0
    for row in results.tables["outcomes"].rows:
        games = [
            metrics[results.evidence.as_published]
            for _, family, alice, bob, metrics in GAMES
            if family == row["family"].lower()
            and alice in sorts[row["alice"]]
            and bob in sorts[row["bob"]]
        ]
        seen += len(games)
        for name in METRICS:
            assert row[name] == pytest.approx(mean([game[name] for game in games]), abs=1e-9)
            assert row[f"{name}.n"] == sum(game[name] is not None for game in games)
    assert seen == 2 * 68


def test_self_gain_of_bob_in_persuasion_follows_both_definitions(results: Findings) -> None:
    for row in results.tables["bob-gain"].rows:
        games = [
            metrics
            for _, family, alice, bob, metrics in GAMES
            if family == "persuasion"
            and (alice, bob) == (row["alice"] == "person", row["bob"] == "person")
        ]
        assert row["paper"] == pytest.approx(mean([paper["self_gain_bob"] for paper, _ in games]))
        assert row["code"] == pytest.approx(mean([code["self_gain_bob"] for _, code in games]))
    assert results.tables["bob-gain"].frame.height == 3


def test_table_3_includes_people_relative_to_gemini_flash(results: Findings) -> None:
    frame = results.tables["self-gain"].frame
    players = dict(frame.select("player", "kind").iter_rows())
    assert players["human"] == "person"
    reference = row_of(results, "self-gain", player="gemini-1.5-flash")
    assert {reference[name] for name in ("bargaining alice", "bargaining bob")} == {0}
    assert "Effects are relative to gemini-1.5-flash." in results.tables["self-gain"].caption


def test_unidentified_parts_are_explained(results: Findings) -> None:
    assert "cannot identify" in results.lacking["Effects of pairs"]
    assert "the recipe option splits=100" in results.lacking["Predictions"]
    assert {"outcomes", "anchoring", "impact", "distributions"} <= results.tables.keys()
