"""Effects of player factors in a study's report."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.reports.recipes.parts import Answer, Charts
from cheaptalk.reports.recipes.tables import ReportTable
from cheaptalk.reports.study.factors import factor_results
from cheaptalk.reports.study.scores import GameScores
from tests.reports.guessing import PLACES, scores
from tests.statistics.hall import wider_interval

pytestmark = pytest.mark.usefixtures("guessing")
FACTORS = {
    f"s/{model}/{style}": {"model": model, "style": style}
    for model in ("a", "b")
    for style in ("x", "y")
}


def crossed(
    model: float, interaction: float, *, instances: int = 40, rivals: tuple[str, ...] = ("r", "r")
) -> GameScores:
    """Return a crossed study in which model b gains more, and even more with style y."""
    rng = np.random.default_rng(3)
    rows = []
    for instance in range(instances):
        luck = rng.normal(0, 10)
        for label, levels in FACTORS.items():
            is_b, is_y = levels["model"] == "b", levels["style"] == "y"
            got = luck + rng.normal(0, 1) + model * is_b + interaction * is_b * is_y
            rows.append((label, instance, got, rivals[is_b]))
    return scores(rows)


def shown(game: GameScores) -> tuple[str, pl.DataFrame]:
    """Return the answer and the table."""
    answer, charts, table = factor_results(game, FACTORS)
    assert isinstance(answer, Answer)
    assert isinstance(charts, Charts)
    assert isinstance(table, ReportTable)
    return answer.text, table.frame


def test_main_effects_are_paired_by_instance() -> None:
    text, table = shown(crossed(1.0, 0.0, instances=80))
    row = table.row(by_predicate=pl.col("name") == "model b", named=True)
    assert row["effect"] / row["effect_error"] > 7.5
    assert (row["over"], row["effect_n"], row["effect_clusters"]) == ("a", 160, 80)
    assert row["effect"] == pytest.approx(1, abs=0.3)
    assert text.startswith("Model b raised the gain as Left by ")
    assert "Style y" not in text

    game = crossed(1.0, 0.5, instances=30)
    got = {
        (row["player_left"], row["instance"]): row["payoff_left"]
        for row in game.frame.iter_rows(named=True)
    }
    by_instance = np.array(
        [
            np.mean([got[f"s/b/{style}", f"{at}"] - got[f"s/a/{style}", f"{at}"] for style in "xy"])
            for at in range(30)
        ]
    )
    t = by_instance.mean() / (by_instance.std(ddof=1) / np.sqrt(30))
    row = shown(game)[1].row(by_predicate=pl.col("name") == "model b", named=True)
    assert row["effect"] == pytest.approx(by_instance.mean())
    assert row["effect"] / row["effect_error"] == pytest.approx(t)
    off = (by_instance - by_instance.mean()) / 30
    limits = wider_interval(off, by_instance.mean(), 29)
    assert (row["effect_low"], row["effect_high"]) == pytest.approx(limits)
    assert wider_interval(off, row["effect"], 29, 1 - row["p"])[0] == pytest.approx(0, abs=1e-6)


def constant(instances: int) -> GameScores:
    """Return a study in which model b always gains 2 more."""
    game = crossed(0.0, 0.0, instances=instances)
    gain = 2.0 * pl.col("player_left").str.contains("/b/")
    return GameScores("guessing", game.frame.with_columns(gain.alias("payoff_left")), PLACES)


def test_effect_signs_and_certainty_are_stated() -> None:
    text, table = shown(constant(30))
    assert text.startswith(
        "Model b raised the gain as Left by 2.000 compared with a in these 60 pairs (constant "
        "within each "
        "configuration; others can differ)."
    )
    assert "Style y" not in text
    assert table.filter(name="model b")["p"].item() == pytest.approx(0.5**29)
    assert shown(constant(4))[0].startswith("No player factor has a significant effect")

    text, table = shown(crossed(-3.0, 0.0))
    row = table.row(by_predicate=pl.col("name") == "model b", named=True)
    ends = f"95 % interval {-row['effect_high']:.3f} to {-row['effect_low']:.3f}"
    assert text.startswith(
        f"Model b lowered the gain as Left by {-row['effect']:.3f} compared with a ({ends}"
    )

    text, table = shown(crossed(500.0, 0.0, instances=2))
    assert text.startswith("No player factor has a significant effect.")
    assert table.filter(name="model b").select("p", "effect_low").row(0) == (None, None)

    text, _ = shown(crossed(0.0, 0.0))
    assert text.startswith("No player factor has a significant effect.")


def test_interactions_and_charts_follow_main_effects() -> None:
    _, charts, _ = factor_results(crossed(1.0, 0.0), FACTORS)
    assert isinstance(charts, Charts)
    (panel,) = charts.panels
    assert panel.y.names == ("model b over a", "style y over x", "model b x style y over a x x")

    text, table = shown(crossed(0.0, 4.0))
    row = table.row(by_predicate=pl.col("order") == 2, named=True)
    game = crossed(0.0, 4.0).scored.group_by("player_left").agg(pl.col("payoff_left").mean())
    mean = dict(game.iter_rows())
    by_hand = mean["s/b/y"] - mean["s/b/x"] - mean["s/a/y"] + mean["s/a/x"]
    assert row["effect"] == pytest.approx(by_hand)
    assert "The interaction of model b x style y changed" in text


def test_factors_need_comparable_players() -> None:
    text, table = shown(crossed(9.0, 0.0, rivals=("r", "other")))
    row = table.row(by_predicate=pl.col("name") == "model b", named=True)
    assert (row["effect"], row["effect_n"]) == (None, 0)
    assert "Model b and a are not comparable as Left: no two such players met the same" in text
    assert "Model b raised" not in text

    game = crossed(2.0, 0.0)
    names = {label: f"player {number}" for number, label in enumerate(FACTORS)}
    renamed = game.frame.with_columns(pl.col("player_left").replace(names))
    by_hand = {names[label]: levels for label, levels in FACTORS.items()}
    answer, _, effects = factor_results(GameScores("guessing", renamed, PLACES), by_hand)
    assert isinstance(answer, Answer)
    assert isinstance(effects, ReportTable)
    assert answer.text.startswith("Model b raised the gain as Left by ")
    assert effects.frame["effect"].to_list() == shown(game)[1]["effect"].to_list()

    assert list(factor_results(crossed(1.0, 0.0), {})) == []


def test_players_of_a_role_with_several_seats_are_paired(tmp_path: Path) -> None:
    """Regression: the report of such a study crashed, because seats aren't columns there."""
    study = ct.Study.model_validate(
        {
            "name": "shared",
            "instances": 6,
            "pairing": [["x", "rider"], ["x", "x"]],
            "games": [{"game": "public_goods", "fixed": {"players": 2, "rounds": 2}}],
            "players": {
                "x": {"strategy": "conditional_cooperator", "cross": {"first": [0.5, 1.0]}},
                "rider": {"strategy": "free_rider"},
            },
        }
    )
    with ct.Store.open(tmp_path / "shared.sqlite", create=True) as store:
        ct.run(study, store, workers=1)
        findings = ct.reports.findings(store, "shared", ct.reports.study_recipe(store, "shared"))
        frame = ct.frames.read_matches(store, "shared")["public_goods"]
    (row,) = findings.tables["public_goods-factors"].frame.rows(named=True)
    gains: dict[tuple[str, str, str], list[float]] = {}
    for match in frame.iter_rows(named=True):
        for seat, rival_seat in (("player_1", "player_2"), ("player_2", "player_1")):
            label, rival = match[f"player_{seat}"], match[f"player_{rival_seat}"]
            if label != "rider":
                key = match["instance"], rival, label
                gains.setdefault(key, []).append(match[f"payoff_{seat}"])
    mean = {key: sum(values) / len(values) for key, values in gains.items()}
    pairs = [
        mean[instance, rival, "x/1.0"] - mean[instance, rival, "x/0.5"]
        for instance, rival, label in mean
        if label == "x/0.5" and (instance, rival, "x/1.0") in mean
    ]
    assert row["effect_n"] == len(pairs) > 6
    assert row["effect"] == pytest.approx(sum(pairs) / len(pairs))
