"""Pooling of studies from one or several stores."""

from pathlib import Path

import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.records import Store, StoreLike

SMALL = {"game": "bargaining", "fixed": {"horizon": 3}}


def study(name: str, seed: int = 0, **changes: object) -> ct.Study:
    players = {"fair": "equal_split", "hard": "boulware"}
    return ct.Study.model_validate(
        {"name": name, "seed": seed, "games": [SMALL], "players": players, "instances": 2} | changes
    )


def payoffs(store: StoreLike, name: str) -> pl.DataFrame:
    frame = ct.read_matches(store, name)["bargaining"]
    return frame.select("match_id", "player_alice", "payoff_alice", "payoff_bob").sort("match_id")


def test_matches_of_two_stores_are_those_of_one_study(store: Store, tmp_path: Path) -> None:
    first, (second, both) = store, (tmp_path / f"{name}.sqlite" for name in ("b", "both"))
    ct.run(study("earlier", seed=5), second)  # so that row numbers differ between the stores
    ct.run(study("one"), first)
    ct.run(study("two", players={"fair": "equal_split", "soft": "conceder"}), second)
    name = ct.records.pool([(first, "one"), (second, "two")], both)
    assert name == "one+two"
    parts = pl.concat([payoffs(first, "one"), payoffs(second, "two")])
    assert payoffs(both, name).equals(parts.unique().sort("match_id"))
    assert payoffs(both, name).height == 14  # fair against fair is in both studies
    frame = ct.read_matches(both, name)["bargaining"]
    assert frame["instance"].n_unique() == 2  # the same seed, so the same instances
    with ct.Store.open(both) as pooled:
        for record in pooled.records(name, bodies=True):
            assert ct.records.transcript(record)
    assert all(check.ok for check in ct.doctor.examine_store(both, deep=True))


def test_players_that_differ_get_different_labels(tmp_path: Path) -> None:
    store, both = tmp_path / "a.sqlite", tmp_path / "both.sqlite"
    ct.run(study("one"), store)
    ct.run(study("two", players={"fair": "equal_split", "hard": "conceder"}), store)
    ct.records.pool([(store, "one"), (store, "two")], both, "both")
    labels = {*ct.read_matches(both, "both")["bargaining"]["player_alice"]}
    assert labels == {"fair", "hard", "hard (two)"}


def test_population_is_a_factor(tmp_path: Path) -> None:
    store, both = tmp_path / "a.sqlite", tmp_path / "both.sqlite"
    ct.run(study("one"), store)
    factors = {"fair": {"tone": "kind"}}
    ct.run(study("two", seed=1, factors=factors), store)
    ct.records.pool([(store, "one"), (store, "two")], both, "both")
    with ct.Store.open(both) as opened:
        spec = opened.study("both").spec
    assert spec["factors"]["fair"] == {"population": "scripts", "tone": "kind"}
    assert [source["study"] for source in spec["pooled"]] == ["one", "two"]


def test_studies_that_score_differently_cannot_be_pooled(tmp_path: Path) -> None:
    store, both = tmp_path / "a.sqlite", tmp_path / "both.sqlite"
    ct.run(study("one"), store)
    ct.run(study("two", unanswered={"illegal": "drop"}), store)
    with pytest.raises(ct.records.StoreError, match="one and two cannot be pooled: they treat"):
        ct.records.pool([(store, "one"), (store, "two")], both)
    assert not both.exists()
