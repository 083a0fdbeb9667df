"""Coverage of comparisons: scores, payoffs, and matches without a result."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.models import ModelCall, Reply
from cheaptalk.reports.recipes.tables import estimate
from cheaptalk.rules import games
from tests.conftest import Command
from tests.fakes import REFUSAL, Canned, Refusing, legal, study, with_model

ALIKE = "the outcome is the same in all 4 pairs of"


def compared(folder: Path, before: dict[str, Any], after: dict[str, Any]) -> ct.reports.Findings:
    with ct.Store.open(folder / "store.sqlite", create=True) as store:
        for name, changes in (("a", before), ("b", after)):
            ct.run(study(name=name, **changes), store)
        return ct.reports.compare(store, "a", "b")


@pytest.mark.usefixtures("toys")
@pytest.mark.parametrize(
    ("game", "roles"),
    [
        ("guessing", {"Left", "Right"}),  # two roles without a gain metric
        ("collecting", {"Giver", "Keeper"}),  # several seats share a role, and one does not
    ],
)
def test_payoffs_are_compared_for_each_role_without_a_gain(
    game: str, roles: set[str], tmp_path: Path
) -> None:
    changes = {"games": [{"game": game}], "players": {"a": {"strategy": "random"}}, "instances": 3}
    changes["pairing"] = "all"
    findings = compared(tmp_path, changes, changes | {"seed": 9})
    rows = findings.tables[f"compare-{game}"].frame.filter("gain")
    assert set(rows["role"]) == roles
    assert all(score.startswith("Payoff ") for score in rows["score"])


def test_role_metrics_are_gains() -> None:
    """Only roles without a metric are compared by payoff, so a role's metric must be a gain."""
    for game_spec in games().values():
        role_metrics = [metric for metric in game_spec.metrics.values() if metric.role]
        for metric in role_metrics:
            assert metric.name == f"self_gain_{metric.role}", game_spec.name


@pytest.mark.usefixtures("toys")
def test_score_shared_by_all_seats_is_one_difference(tmp_path: Path) -> None:
    changes: dict[str, Any] = {
        "games": [{"game": "guessing"}],
        "instances": 4,
        "players": {"x": {"strategy": "random"}, "y": {"strategy": "own_card"}},
        "pairing": [["x", "y"]],
    }
    findings = compared(tmp_path, changes, changes | {"seed": 9})
    frame = findings.tables["compare-guessing"].frame
    assert frame.select("who", "role", "score").rows() == [
        ("x / y", "Left / Right", "Hits"),
        ("x", "Left", "Payoff Left"),
        ("y", "Right", "Payoff Right"),
    ]
    assert "in 3 differences" in findings.answers["Guessing"]


@pytest.fixture(scope="module")
def store_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """Returns a store of a study whose model refuses in the given number of its six matches."""
    folder = tmp_path_factory.mktemp("refused")

    @cache
    def play(refused: int) -> Path:
        path = folder / f"{refused}.sqlite"
        with ct.Store.open(path, create=True) as store:
            ct.run(study(**with_model()), store, models=Refusing(refused))
        return path

    return play


def test_matches_without_a_result_are_not_counted_as_unchanged(
    cheaptalk: Command, store_of: Callable[[int], Path]
) -> None:
    options = ("small", "small", "--store", str(store_of(0)), "--other-store", str(store_of(2)))
    done = cheaptalk("compare", *options, "--json")
    answer = json.loads(done.out)["answers"]["Bargaining"]
    assert answer == (
        f"From “small” to “small”, {ALIKE} finished matches. In “small”, 2 of 6 matches were "
        "forfeited. Only pairs of finished matches are compared."
    )
    assert "2 of 6 matches were forfeited" in " ".join(cheaptalk("compare", *options).out.split())


def test_same_missing_results_in_both_studies_are_unchanged(
    store_of: Callable[[int], Path], tmp_path: Path
) -> None:
    with ct.Store.open(store_of(2)) as store:
        refused = {record.id for record in store.records("small") if not record.payoffs}

        def answered(call: ModelCall, number: str) -> Reply | str:
            return REFUSAL if number.partition("/")[0] in refused else legal(call)

        with ct.Store.open(tmp_path / "other.sqlite", create=True) as other:
            ct.run(study(**with_model()), other, models=Canned(answered))
            findings = ct.reports.compare(store, "small", "small", other_store=other)
    answer = findings.answers["Bargaining"]
    assert f"nothing changed: {ALIKE} matches." in answer
    assert answer.count("2 of 6 matches were forfeited") == 2


def test_unpaired_studies_missing_different_shares_get_a_caution(
    store_of: Callable[[int], Path], tmp_path: Path
) -> None:
    with ct.Store.open(tmp_path / "other.sqlite", create=True) as other:
        ct.run(study(**with_model(), seed=9), other, models=Refusing(0))
        with ct.Store.open(store_of(2)) as store:
            findings = ct.reports.compare(store, "small", "small", other_store=other)
    assert "differences may reflect which matches finished" in findings.answers["Bargaining"]


def test_unfinished_matches_are_reported(store_of: Callable[[int], Path], tmp_path: Path) -> None:
    with ct.Store.open(store_of(0)) as store:
        findings = ct.reports.compare(store, "small", "small", other_store=store_of(6))
    assert findings.lacking["Bargaining"] == (
        "no match of bargaining in small has finished: 6 of 6 matches were forfeited"
    )

    with ct.Store.open(tmp_path / "halted.sqlite", create=True) as halted:
        short = study(**with_model(), budget={"calls": 3})
        ct.run(short, halted, models=Refusing(0), concurrency=1)
        with ct.Store.open(store_of(0)) as store:
            findings = ct.reports.compare(store, "small", "small", other_store=halted)
    answer = findings.answers["Bargaining"]
    assert "planned matches of “small” have not started." in answer
    assert "nothing changed" not in answer


@pytest.mark.usefixtures("toys")
def test_inconclusive_difference_is_not_constant(tmp_path: Path) -> None:
    """Regression: a difference without an interval was reported as constant."""
    changes: dict[str, Any] = {"games": [{"game": "guessing"}], "instances": 2, "pairing": "all"}
    random, card = ({"players": {"a": {"strategy": way}}} for way in ("random", "own_card"))
    findings = compared(tmp_path, changes | random, changes | card)
    table = findings.tables["compare-guessing"]
    rows = table.frame.filter(pl.col("difference_low").is_null(), pl.col("difference") != 0)
    assert rows.height
    spreads = [estimate(row, "difference").spread(2) for row in rows.iter_rows(named=True)]
    assert "constant" not in spreads
