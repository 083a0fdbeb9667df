"""Frames of matches: a row for each match, with its parameters, scores and answers."""

import json
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.frames import MetricError, read_matches, read_rounds
from cheaptalk.rules import Metric, Result
from tests.fakes import install_game
from tests.played import EVIL, WELL, play


def records_of(path: Path) -> list[ct.MatchRecord]:
    with ct.Store.open(path) as store:
        return list(store.records(bodies=True))


@pytest.mark.parametrize("as_published", [False, True])
def test_rows_agree_with_records_and_metrics_of_the_game(well: Path, as_published: bool) -> None:
    frames = read_matches(well, "well", as_published=as_published, moves=True)
    rows = {row["match_id"]: row for frame in frames.values() for row in frame.rows(named=True)}
    records = records_of(well)
    assert len(rows) == len(records) == 8 * 4 * 8
    for record in records:
        row = rows[record.id]
        assert row["status"] == "finished"
        assert (row["instance"], row["repeat"]) == (record.instance_key, record.repeat)
        for role in ("alice", "bob"):
            assert row[f"player_{role}"] == record.label(role)
            assert row[f"payoff_{role}"] == record.payoffs[role]  # type: ignore[index]
            assert row[f"answers_{role}_ok"] == record.kinds[role]["ok"]
            assert row[f"answers_{role}_refused"] == 0
            own = [
                answer.action for answer in record.answers if record.seat_of(answer.actor) == role
            ]
            texts = [action["message"] for action in own if action and action.get("message")]
            assert row[f"moves_{role}"] == len(own)
            assert row[f"messages_{role}"] == len(texts)
            assert row[f"words_{role}"] == sum(len(text.split()) for text in texts)
            assert row[f"decisions_{role}"] == sum("decision" in (action or ()) for action in own)
        assert json.loads(row["first_move"]) == record.answers[0].action
        result = Result(record.rules, record.table().instance, record.replay().outcome)
        for metric in ct.get_game(record.game).metrics.values():
            assert row[metric.name] == metric.variant(as_published)(result)


def test_parameters_pairings_and_instances_are_columns(well: Path) -> None:
    used = {label: entry["strategies"] for label, entry in WELL["players"].items()}
    assert used["luck"]["persuasion"] == used["hard & fast"]["negotiation"] == "random"
    frames = read_matches(well, "well")
    for frame in frames.values():
        assert set(frame["pairing"]) == {f"{first} / {second}" for first in used for second in used}
    assert frames["persuasion"]["game_myopic"].dtype == pl.Boolean
    assert set(frames["negotiation"]["game_buyer_factor"]) == {0.8, 1.5}
    horizons = {*frames["bargaining"]["game_horizon_rounds"]}
    assert horizons == {3, 9}
    frame = frames["bargaining"]
    assert frame["configuration"].n_unique() == 4
    clusters = frame.group_by("configuration", "instance").agg(
        pl.col("pairing").n_unique(), pl.len()
    )
    assert clusters.height == 16
    assert set(clusters["pairing"]) == {4}
    assert set(clusters["len"]) == {8}


def test_finished_matches_are_scored_and_all_answers_counted(badly: Path) -> None:
    frames = read_matches(badly, "badly")
    for name, frame in frames.items():
        scores = [*ct.get_game(name).metrics, "payoff_alice", "payoff_bob"]
        scored = frame.select(pl.any_horizontal(pl.col(scores).is_not_null())).to_series()
        assert (scored == (frame["status"] == "finished")).all()
    statuses = {status for frame in frames.values() for status in frame["status"]}
    assert statuses == {"finished", "forfeited", "failed"}
    assert EVIL in set(frames["bargaining"]["player_alice"])
    for record in records_of(badly):
        row = frames[record.game].row(by_predicate=pl.col("match_id") == record.id, named=True)
        counted = {
            (role, kind): row[f"answers_{role}_{kind}"]
            for role in record.seats
            for kind in ("ok", "repaired", "unparsable")
        }
        recorded = Counter(
            (answer.actor.partition("_")[0], answer.kind.value) for answer in record.answers
        )
        assert {key: number for key, number in counted.items() if number} == dict(recorded)


def test_matches_of_other_rules_versions_have_payoffs_but_no_metrics(tmp_path: Path) -> None:
    path = play(tmp_path, WELL | {"instances": 1, "repeats": 1})
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("update configurations set version = 7 where game = 'negotiation'")
    frames, rounds = read_matches(path, "well"), read_rounds(path, "well")
    other = frames["negotiation"]
    assert set(other["rules_version"]) == {7}
    assert other["fairness"].null_count() == other.height
    assert other["payoff_alice"].null_count() == 0
    assert frames["bargaining"]["fairness"].null_count() == 0
    assert rounds["negotiation"].is_empty()
    assert rounds["negotiation"].schema["offered_price_factor"] == pl.Float64
    assert rounds["bargaining"].height


def boom(result: Result) -> float:
    """Fail."""
    raise ZeroDivisionError("no surplus")


def answers(result: Result) -> float:
    """The number of answers."""
    return float(len(result.given()))


def with_metrics(monkeypatch: pytest.MonkeyPatch, *metrics: Metric) -> None:
    game_spec = ct.get_game("bargaining")
    changed = replace(game_spec, metrics={metric.name: metric for metric in metrics})
    install_game(monkeypatch, changed)


def test_custom_metrics_can_read_answers(well: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_metrics(monkeypatch, Metric("answers", answers))
    frame = read_matches(well, "well")["bargaining"]
    counted = frame.select(pl.sum_horizontal("answers_alice_ok", "answers_bob_ok")).to_series()
    assert (frame["answers"] == counted).all()


def test_metric_errors_name_metric_and_match(well: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_metrics(monkeypatch, Metric("boom", boom))
    with pytest.raises(MetricError, match=r"metric boom of bargaining failed on match \w+: Zero"):
        read_matches(well, "well")
    with_metrics(monkeypatch, Metric("share", answers, bounds=ct.rules.SHARE))
    pattern = r"share of bargaining is \d+, which is not between 0 and 1, in match \w+; fix its bou"
    with pytest.raises(MetricError, match=pattern):
        read_matches(well, "well")
    for name in ("status", "words_bob"):
        with_metrics(monkeypatch, Metric(name, answers))
        with pytest.raises(MetricError, match=f'the metric name "{name}" is reserved'):
            read_matches(well, "well")


def test_misspelt_names_are_corrected(well: Path) -> None:
    with pytest.raises(ct.records.StoreError, match='did you mean "well"'):
        read_matches(well, "wel")
    with pytest.raises(ct.CheaptalkError, match=r'"honest" \(did you mean "honesty"\?\)'):
        read_matches(well, "well", only=["efficiency", "honest"])
    assert list(read_matches(well, "well", games=["persuasion"])) == ["persuasion"]
    with pytest.raises(
        ct.rules.UnknownName, match=r'of well: "persuason" \(did you mean "persuasion"'
    ):
        read_matches(well, "well", games=["persuasion", "persuason"])


def test_only_requested_metrics_are_computed(well: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    complete = read_matches(well, "well")
    for game, frame in read_matches(well, "well", only=[]).items():
        assert frame.equals(complete[game].drop(ct.get_game(game).metrics))
    few = read_matches(well, "well", only=["efficiency", "honesty"])
    for game, frame in few.items():
        metrics = [name for name in ("efficiency", "honesty") if name in ct.get_game(game).metrics]
        others = ct.get_game(game).metrics.keys() - set(metrics)
        assert frame.equals(complete[game].drop(others))
    assert "honesty" in few["persuasion"].columns
    with_metrics(monkeypatch, Metric("boom", boom), Metric("answers", answers))
    assert "answers" in read_matches(well, "well", only=["answers"])["bargaining"].columns
