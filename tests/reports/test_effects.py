"""Effects of parameters in a study's report."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.reports.study.effects import effects
from cheaptalk.reports.study.scores import GameScores
from tests.fakes import spec

PLAYERS = {"fair": {"strategy": "subgame_perfect"}, "firm": {"strategy": "conceder"}}
"""Players whose outcomes depend on who moves first."""


def scores(folder: Path, *games: dict[str, Any]) -> GameScores:
    """Return the scores of a study's only game."""
    study = ct.studies.parse_study(spec(instances=3, players=PLAYERS, games=[*games]), "x")
    ct.run(study, folder / "s.sqlite")
    with ct.Store.open(folder / "s.sqlite") as store:
        (frame,) = ct.frames.read_matches(store, study.name).values()
        return GameScores("bargaining", frame, {"alice": "alice", "bob": "bob"})


def shown(game: GameScores) -> pl.DataFrame:
    """Return the table of effects."""
    parts = list(effects(game))
    return parts[1].frame if parts else pl.DataFrame()  # type: ignore[union-attr]  # a table


def test_effect_in_a_balanced_design_is_the_difference_of_means(tmp_path: Path) -> None:
    grid = {"horizon": [2, 4, 6], "discounts": [[0.9, 0.9], [0.5, 0.9]]}
    game = scores(tmp_path, {"game": "bargaining", "fixed": {"money": 100}, "grid": grid})
    table = shown(game)
    (row,) = table.filter(score="Efficiency", parameter="discounts").rows(named=True)
    means = game.scored.group_by("game_discounts_alice").agg(pl.col("efficiency").mean())
    mean = {f"{discount}, 0.9": value for discount, value in means.iter_rows()}
    assert row["effect"] == pytest.approx(mean[row["level"]] - mean[row["over"]])
    assert abs(row["effect"]) > 0.01
    assert row["effect_n"] == len(game.scored) / 2
    assert table.filter(score="Efficiency", parameter="horizon").height == 2
    assert set(table["score"]) == {score.title for score in game.scores if not score.is_payoff}


def test_effects_need_variation_and_hold_pairings_fixed(tmp_path: Path) -> None:
    both = {"game": "bargaining", "fixed": {"horizon": 3, "money": 100}}
    restricted = {**both, "fixed": {"horizon": 3, "money": 10_000}, "pairing": [["fair", "firm"]]}
    game = scores(tmp_path, both, restricted)
    raw = game.scored.group_by("game_money").agg(pl.col("self_gain_alice").mean())
    assert raw["self_gain_alice"].n_unique() == 2
    (row,) = shown(game).filter(score="Self gain Alice").rows(named=True)
    assert (row["parameter"], row["effect"]) == ("money", pytest.approx(0, abs=1e-9))

    cases = [{"money": 100, "horizon": 2}, {"money": 200, "horizon": 4}]
    together = scores(tmp_path, {"game": "bargaining", "cases": cases})
    assert shown(together).is_empty()
    (tmp_path / "s.sqlite").unlink()
    alone = scores(tmp_path, {"game": "bargaining", "fixed": cases[0]})
    assert list(effects(alone)) == []
