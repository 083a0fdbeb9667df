"""The self-play recipe against numbers recomputed from the records, and its missing parts."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.games.deal_or_no_deal.metrics import optimal_claims
from cheaptalk.games.deal_or_no_deal.rules import PLAYERS, DealOrNoDeal
from cheaptalk.games.deal_or_no_deal.strategies import honest, random
from cheaptalk.games.language import ngram_entropy, vocabulary
from cheaptalk.models import ModelCall
from cheaptalk.players import ImportedSeat
from cheaptalk.records import MatchRecord, Store
from cheaptalk.records.imports.importing import GameCollection, ImportedGame, import_matches
from cheaptalk.reports.charts.chart import Line
from cheaptalk.reports.recipes.findings import Findings, write_findings
from cheaptalk.statistics import mean_intervals
from tests.fakes import REFUSAL, Canned
from tests.judges.judged import always, judge_of
from tests.papers.studies import PERSON, count_linked, recorded_game, report, row_of, rows_of
from tests.papers.studies import play as play_study
from tests.reports.marks import across, named, up

GAME = "deal_or_no_deal"
STUDY = "steps"
INSTANCES = 6
"""Each pairing meets twice on each instance."""
Records = list[MatchRecord]
SPEC: dict[str, Any] = {
    "name": STUDY,
    "seed": 3,
    "games": [{"game": GAME, "grid": {"objective": ["comp", "coop", "self"]}}],
    "players": {
        "gpt-iteration-0": {"strategy": "noisy", "contradicting": 0.8, "impossible": 0.3},
        "gpt-iteration-3": {"strategy": "noisy", "contradicting": 0.4},
        "gpt-iteration-10": {"strategy": "noisy", "contradicting": 0.0, "lying": 0.0},
        "rival": {"strategy": "fair"},
    },
    "pairing": [
        *([f"gpt-iteration-{at}"] * 2 for at in (0, 3, 10)),
        *([f"gpt-iteration-{at}", "rival"] for at in (0, 3, 10)),
        ["gpt-iteration-0", "gpt-iteration-10"],
        ["rival", "rival"],
    ],
    "instances": INSTANCES,
    "repeats": 2,
}
WEIGHTS = {"semi-competitive": 0, "cooperative": 1, "strictly competitive": -1}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(play_study(tmp_path_factory.mktemp("steps"), SPEC)) as store:
        yield store


@pytest.fixture(scope="module")
def results(store: Store) -> Findings:
    return report(store, "self-play")


@pytest.fixture(scope="module")
def records(store: Store) -> Records:
    return list(store.records(STUDY, bodies=True))


def matches_of(
    records: Iterable[MatchRecord], row: Mapping[str, Any], other: str
) -> list[MatchRecord]:
    """Return the matches of a row's player with another player under the row's objective."""
    return [
        record
        for record in records
        if sorted(record.label(place) for place in PLAYERS) == sorted([row["player"], other])
        and record.parameters["objective"] == WEIGHTS[row["objective"]]
    ]


def payoff(record: MatchRecord, player: str) -> float:
    """Return the mean payoff of a player's seats."""
    assert record.payoffs
    payoffs = [record.payoffs[place] for place in PLAYERS if record.label(place) == player]
    return sum(payoffs) / len(payoffs)


def agreed(record: MatchRecord) -> bool:
    assert record.outcome
    return bool(record.outcome["ending"] == "agreement")


def texts(records: Iterable[MatchRecord]) -> list[str]:
    actions = [answer.action for record in records for answer in record.answers if answer.action]
    return [action["message"] for action in actions if action.get("message")]


def test_scores_are_mean_payoffs_by_partner(results: Findings, records: Records) -> None:
    rows = rows_of(results, "scores")
    assert len(rows) == 3 * 7
    assert [row["objective"] for row in rows[::7]] == list(WEIGHTS)
    assert [row["iteration"] for row in rows[:7]] == [0, 0, 3, 3, 10, 10, None]
    for row in rows:
        other = row["player"] if row["partner"] == "itself" else "rival"
        games = matches_of(records, row, other)
        assert row["own_n"] == len(games) == 2 * INSTANCES
        assert row["own_clusters"] == INSTANCES
        payoffs = [payoff(game, row["player"]) for game in games]
        assert row["own"] == pytest.approx(np.mean(payoffs))
        if row["partner"] == "itself":
            assert row["theirs"] is None
        else:
            assert row["theirs"] == pytest.approx(np.mean([payoff(game, other) for game in games]))


def test_agreement_and_pareto_shares_are_of_all_matches(
    results: Findings, records: Records
) -> None:
    for row in rows_of(results, "agreements", partner="itself"):
        games = matches_of(records, row, row["player"])
        assert row["agreement"] == pytest.approx(100 * np.mean([agreed(game) for game in games]))
        frame = pl.DataFrame({"at": [game.instance_key for game in games]}).with_columns(
            share=pl.Series([100.0 * agreed(game) for game in games])
        )
        share = {"share": (0.0, 100.0)}
        mean = mean_intervals(frame, ["share"], cluster=["at"], bounds=share).row(0, named=True)
        for part in ("low", "high", "error"):
            assert row[f"agreement_{part}"] == pytest.approx(mean[part])
        best = [
            agreed(game)
            and game.result().outcome.claims[0]
            in optimal_claims(game.result().instance.context, game.parameters["objective"])
            for game in games
        ]
        assert row["pareto_optimality"] == pytest.approx(100 * np.mean(best))


def test_table_2_shows_ends_of_training_with_change(results: Findings, records: Records) -> None:
    table = results.tables["before-after"]
    assert [(row["rate"], row["objective"]) for row in table.rows] == [
        (rate, objective) for rate in ("Agreement", "Pareto optimality") for objective in WEIGHTS
    ]
    assert table.caption == "Compared: self-play, iterations 0 and 10."
    change = row_of(results, "before-after", rate="Agreement", objective="cooperative")
    cell = {"objective": "cooperative", "partner": "itself"}
    rows = [row_of(results, "agreements", player=f"gpt-iteration-{at}", **cell) for at in (0, 10)]
    assert [change["before"], change["after"]] == [row["agreement"] for row in rows]
    assert change["change"] == pytest.approx(change["after"] - change["before"])
    by_instance: dict[str, list[float]] = {}
    for sign, row in zip((-1, 1), rows, strict=True):
        for game in matches_of(records, row, row["player"]):
            by_instance.setdefault(game.instance_key, []).append(sign * 100.0 * agreed(game))
    moved = np.array(list(map(sum, by_instance.values()))) / 2  # two matches of each iteration
    varied = moved.std(ddof=1) > 0
    error = pytest.approx(moved.std(ddof=1) / np.sqrt(INSTANCES)) if varied else None
    assert change["change_error"] == error


def test_correlations_include_and_exclude_disagreements(
    results: Findings, records: Records
) -> None:
    for row in rows_of(results, "correlations", objective="semi-competitive", partner="itself"):
        iterations, scores, kept = [], [], []
        for at in (0, 3, 10):
            label = f"gpt-iteration-{at}"
            for game in matches_of(records, row | {"player": label}, label):
                iterations.append(at)
                scores.append(payoff(game, label))
                kept.append(agreed(game))
        assert row["all"] == pytest.approx(np.corrcoef(iterations, scores)[0, 1])
        reached = np.array(kept)
        pair = np.array(iterations)[reached], np.array(scores)[reached]
        assert row["agreed"] == pytest.approx(np.corrcoef(*pair)[0, 1])
        assert (row["all_n"], row["agreed_n"]) == (6 * INSTANCES, reached.sum())
        assert row["all_low"] < row["all"] < row["all_high"]
    (flat,) = rows_of(results, "correlations", objective="strictly competitive", partner="itself")
    assert flat["all"] is None
    notes = results.tables["correlations"].notes
    assert notes[0].startswith('Strictly competitive, self-play, all matches: "score" is 0.0')


def test_inconsistency_is_share_of_moves(results: Findings, records: Records) -> None:
    for row in rows_of(results, "inconsistency"):
        games = matches_of(records, row, row["player"])
        metric = ct.get_game(GAME).metrics["inconsistency"].variant(False)
        moves = [game.result().outcome.turns for game in games]
        faulty = [
            (metric(game.result()) or 0) * turns for game, turns in zip(games, moves, strict=True)
        ]
        assert row["found"] == pytest.approx(100 * sum(faulty) / sum(moves))
        assert row["moves"] == row["found_n"] == sum(moves)
        assert row["source"] == "exact check"


def test_language_metrics_pool_all_dialogues(results: Findings, records: Records) -> None:
    for row in rows_of(results, "diversity"):
        messages = texts(matches_of(records, row, row["player"]))
        assert row["vocabulary"] == vocabulary(messages)
        for n in (1, 2, 3):
            assert row[f"entropy_{n}"] == pytest.approx(ngram_entropy(messages, n))
        assert row["matches"] == 2 * INSTANCES
    for row in rows_of(results, "lengths"):
        turns = [game.result().outcome.turns for game in matches_of(records, row, row["player"])]
        assert row["length"] == pytest.approx(np.mean(turns))
    assert "tokens" not in results.tables["lengths"].frame.columns


def test_strict_competition_is_shown_by_opponent(results: Findings, records: Records) -> None:
    rows = rows_of(results, "competition")
    metric = ct.get_game(GAME).metrics["inverted_proposals"].of
    assert [row["series"] for row in rows[:2]] == ["self-play", "against rival"]
    assert rows[-1]["series"] == "rival"
    for row in rows:
        other = row["player"] if row["against"] == "itself" else "rival"
        games = matches_of(records, row, other)
        assert row["own"] == pytest.approx(np.mean([payoff(game, row["player"]) for game in games]))
        assert row["agreement"] == pytest.approx(100 * np.mean([agreed(game) for game in games]))
        shares = [metric(game.result()) for game in games]
        kept = [100 * share for share in shares if share is not None]
        if row["against"] == "itself":
            assert row["inverted_proposals"] == pytest.approx(np.mean(kept) if kept else None)
    (score,) = results.charts["competition-score-figure"].panels
    (agreement,) = results.charts["competition-agreement-figure"].panels
    assert list(named(score)) == ["against rival"]
    assert list(named(agreement)) == ["self-play", "against rival", "rival"]


def test_cross_play_is_separate_from_other_players(results: Findings, records: Records) -> None:
    rows = rows_of(results, "cross-play")
    assert len(rows) == 3 * (3 + 2)
    for row in rows:
        games = matches_of(records, row, row["opponent"])
        assert row["own_n"] == len(games) == 2 * INSTANCES
        assert row["own"] == pytest.approx(np.mean([payoff(game, row["player"]) for game in games]))
        share = 100 * np.mean([agreed(game) for game in games])
        assert row["agreement"] == pytest.approx(share)
    others = rows_of(results, "scores", series="with other players")
    assert {row["own_n"] for row in others} == {2 * INSTANCES}


def test_score_chart_has_line_per_series_and_reference(results: Findings) -> None:
    panels = results.charts["scores-figure"].panels
    assert [panel.title for panel in panels] == [objective.capitalize() for objective in WEIGHTS]
    series = named(panels[0])
    assert list(series) == ["self-play", "with other players", "rival"]
    assert across(series["self-play"]) == [0, 3, 10]
    rival = series["rival"]
    assert isinstance(rival, Line)
    assert (bool(rival.dash), len(set(up(rival)))) == (True, 1)
    assert "95 % interval" in series["self-play"].marks[0].text


def test_rows_link_to_their_matches(results: Findings, store: Store) -> None:
    for name in ("scores", "agreements", "lengths", "inconsistency", "competition"):
        table = results.tables[name]
        for row in table.rows:
            assert count_linked(store, table.leads(row)) == 2 * INSTANCES


def test_published_code_counts_fewer_optimal_divisions(store: Store, results: Findings) -> None:
    published = report(store, "self-play", "Agreements", as_published=True)
    where = {"player": "gpt-iteration-10", "partner": "itself", "objective": "semi-competitive"}
    computed, released = (row_of(shown, "agreements", **where) for shown in (results, published))
    assert released["agreement"] == computed["agreement"]
    assert released["pareto_optimality"] < computed["pareto_optimality"]


def test_judges_are_compared_with_exact_check(tmp_path: Path) -> None:
    spec = SPEC | {"name": "judged", "instances": 2, "repeats": 1, "games": [{"game": GAME}]}
    parts = ("Judges", "Inconsistent messages")
    with Store.open(play_study(tmp_path, spec)) as store:
        lacking = report(store, "self-play", "Judges").lacking["Judges"]
        assert "no judge has used the rubric hallucination" in lacking
        ct.judge(store, "judged", judge_of(), models=always("false value"))
        results = report(store, "self-play", *parts)
        agreement = ct.judges.agreements(store, "judged")[0]
        sheet = tmp_path / "sheet.csv"
        ct.judges.write_sheet(store, "judged", judge_of().rubric, sheet, sample=20)
        filled = sheet.read_text(encoding="utf-8").replace(",,\n", ",consistent,\n")
        sheet.write_text(filled.replace(",,\r\n", ",consistent,\r\n"), encoding="utf-8")
        ct.judges.import_labels(store, "judged", judge_of().rubric, sheet, by="hand")
        by_hand = report(store, "self-play", *parts)
    (row,) = rows_of(results, "judges")
    assert row["judge"] == "hallucination by vllm/judge"
    assert row["alike"] == pytest.approx(100 * agreement.precision.part / agreement.items)
    assert (row["recall"], row["items"]) == (100, agreement.items)
    assert row["kappa"] == pytest.approx(0, abs=1)
    assert sum(verdict["items"] for verdict in rows_of(results, "verdicts")) == agreement.items
    assert [row["reference"] for row in rows_of(by_hand, "judges")] == [
        "exact check",
        "hallucination by hand",
        "exact check",
    ]
    assert rows_of(by_hand, "inconsistency") == rows_of(results, "inconsistency")
    by_judge = rows_of(results, "inconsistency", source="hallucination by vllm/judge")
    by_check = rows_of(results, "inconsistency", source="exact check")
    assert [check["found"] for check in by_judge] == [100] * 4
    assert [check["moves"] for check in by_judge] == [check["moves"] for check in by_check]


def with_people(number: int) -> Iterator[ImportedGame]:
    """Yield games of two iterations with honest people."""
    for at in range(number):
        skilled = at % 2 == 1
        model = ImportedSeat(imported="mine", model=f"gpt-iteration-{4 * skilled}")
        first = honest if skilled else random, model
        yield recorded_game(f"people/{at}", DealOrNoDeal(objective=1.0), first, (honest, PERSON))


def test_people_have_separate_series(tmp_path: Path) -> None:
    with Store.open(tmp_path / "people.sqlite", create=True) as store:
        import_matches(GameCollection("mine", with_people(24)), store, "people")
        results = report(store, "self-play", "Scores", "Before and after", "Length")
        records = list(store.records("people", bodies=True))
    rows = rows_of(results, "scores")
    assert [(row["player"], row["series"]) for row in rows] == [
        ("gpt-iteration-0", "with people"),
        ("gpt-iteration-4", "with people"),
    ]
    games = [game for game in records if game.label(PLAYERS[0]) == "gpt-iteration-4"]
    assert rows[1]["own"] == pytest.approx(np.mean([payoff(game, "human") for game in games]))
    change = next(results.tables["before-after"].rows)
    assert (change["rate"], change["series"]) == ("Agreement", "with people")
    for end, iteration in (("before", 0), ("after", 4)):
        label = f"gpt-iteration-{iteration}"
        shares = [agreed(game) for game in records if game.label(PLAYERS[0]) == label]
        assert change[end] == pytest.approx(100 * np.mean(shares))
    assert results.tables["before-after"].caption.endswith("with people, iterations 0 and 4.")
    lead = results.tables["scores"].leads(rows[0])
    assert lead is not None
    assert (lead.query["player"], lead.query["player_player"]) == ("gpt-iteration-0", "human")
    assert "no player met a copy of itself" in results.lacking["Length"]


def test_games_between_people_count_as_self_play(tmp_path: Path) -> None:
    games = (replace(game, seats=dict.fromkeys(PLAYERS, PERSON)) for game in with_people(4))
    import_matches(GameCollection("mine", games), tmp_path / "people.sqlite", "people")
    results = report(tmp_path / "people.sqlite", "self-play", "Scores", "Vocabulary and entropy")
    (row,) = rows_of(results, "scores")
    assert (row["player"], row["partner"], row["own_n"]) == ("human", "itself", 4)
    assert rows_of(results, "diversity")[0]["matches"] == 4


def test_errors_and_tokens_are_counted_for_models(tmp_path: Path) -> None:
    """The model's first answer is ill-formed in two of its three matches."""
    seen: set[str] = set()

    def answer(call: ModelCall, number: str) -> str:
        match = number.split("/")[0]
        fresh = match not in seen
        seen.add(match)
        if fresh and len(seen) < 3:
            return "no JSON at all"
        return json.dumps({"message": "Deal or no deal?"})

    spec = {
        "name": "clumsy",
        "games": [{"game": GAME, "fixed": {"turns": 4}}],
        "players": {"m": {"model": "vllm/m"}, "n": {"strategy": "honest"}},
        "pairing": [["m", "m"], ["n", "n"]],
        "instances": 3,
    }
    path = play_study(tmp_path, spec, Canned(answer))
    results = report(path, "self-play", "Errors and aborts", "Length")
    model, scripted = rows_of(results, "errors-aborts")
    assert model["erred"] == pytest.approx(100 * 2 / 3)
    assert (scripted["erred"], scripted["aborted"]) == (0, 0)
    tokens = {row["player"]: row["tokens"] for row in results.tables["lengths"].rows}
    assert tokens["m"] > 0
    assert tokens["n"] is None


def test_unreadable_and_silent_dialogues_are_explained(tmp_path: Path) -> None:
    spec = {
        "name": "idle",
        "games": [{"game": GAME, "fixed": {"turns": 4}}],
        "players": {"m": {"model": "vllm/m"}},
        "pairing": "self",
    }
    idle = play_study(tmp_path, spec, Canned(lambda *_: json.dumps({"message": "Well..."})))
    ct.judge(idle, "idle", judge_of(), models=always("consistent"))
    lacking = report(idle, "self-play", "Judges").lacking["Judges"]
    assert lacking.startswith("the exact check has no verdicts on the judged moves")
    mute = play_study(tmp_path / "mute", spec, Canned(lambda *_: REFUSAL))
    silent = report(mute, "self-play", "Vocabulary and entropy", "Errors and aborts")
    assert silent.lacking["Vocabulary and entropy"] == "the self-play dialogues contain no messages"
    assert [row["aborted"] for row in rows_of(silent, "errors-aborts")] == [100]


def test_row_with_several_opponents_has_no_link(tmp_path: Path) -> None:
    players = {name: name for name in ("honest", "fair", "greedy")}
    games = [{"game": GAME, "fixed": {"objective": "comp"}}]
    spec = {"name": "three", "games": games, "players": players}
    table = report(play_study(tmp_path, spec), "self-play", "Scores").tables["scores"]
    leads = {row["partner"]: table.leads(row) for row in table.rows}
    assert leads["others"] is None
    assert leads["itself"] is not None


TRAINING = {"Before and after", "Correlation of score and iteration"}
TINY: list[tuple[dict[str, Any], set[str]]] = [
    ({}, TRAINING | {"Strict competition"}),
    (
        {
            "players": {
                "a-iteration-1": {"strategy": "greedy"},
                "a-iteration-2": {"strategy": "greedy", "share": 0.9},
            },
            "instances": 3,
        },
        {"Strict competition"},
    ),
    (
        {
            "players": {"b": {"strategy": "honest"}, "a": {"strategy": "greedy"}},
            "pairing": [["a", "b"]],
            "games": [{"game": GAME, "fixed": {"objective": -1}}],
        },
        TRAINING | {"Inconsistent messages", "Length", "Vocabulary and entropy"},
    ),
    (
        {
            "games": [{"game": GAME, "fixed": {"objective": 0.5}}],
            "players": {"a-iteration-1": "honest", "b-iteration-2": "fair"},
        },
        TRAINING | {"Strict competition"},
    ),
]
"""Changes of a tiny study, and the parts that it lacks besides cross-play and judges."""


def test_small_studies_show_available_parts(tmp_path: Path) -> None:
    tiny = {"name": "tiny", "games": [{"game": GAME}], "players": {"a": "honest"}}
    for number, (changed, lacking) in enumerate(TINY):
        spec = tiny | {"pairing": "self"} | changed
        results = report(play_study(tmp_path / f"{number}", spec), "self-play")
        write_findings(results, tmp_path / "tiny.html")
        assert set(results.lacking) == lacking | {"Cross-play", "Judges", "Participants and pay"}
        assert {"scores", "agreements", "errors-aborts"} <= set(results.tables)
        page = (tmp_path / "tiny.html").read_text(encoding="utf-8")
        assert "NaN" not in str(results)
        assert all(reason in page for reason in results.lacking.values())
