"""Studies that reuse the instances, configurations and turn order of an earlier study."""

from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.records import Store, VersionMismatch
from cheaptalk.studies import plan_in_store
from tests.fakes import Canned, broken, study

GAMES = [{"game": "persuasion", "fixed": {"horizon": 6}, "grid": {"myopic": [True, False]}}]
PLAIN = {"strategies": {"persuasion": {"alice": "honest", "bob": "trusting"}}}


def run_earlier(store: Store, **changes: Any) -> list[ct.MatchRecord]:
    """Run a study named ``earlier`` and return its records."""
    usual = {"name": "earlier", "games": GAMES, "players": {"plain": PLAIN}, "pairing": "self"}
    ct.run(study(**(usual | {"instances": 3, "seed": 5} | changes)), store)
    return list(store.records("earlier", bodies=True))


def plan_later(store: Store, **changes: Any) -> ct.studies.Plan:
    players = {"luck": {"strategy": "random"}, "plain": PLAIN}
    usual = {"name": "later", "games": [], "instances_from": "earlier", "seed": 99}
    return plan_in_store(study(**usual | {"players": players, "pairing": "all"} | changes), store)


def planned_instance(record: ct.MatchRecord) -> tuple[str, str, str]:
    """Return the configuration, instance and seed of a match."""
    return str(record.parameters), str(record.body["instance"]), record.body["seed"]


def test_all_pairings_play_instances_of_earlier_study(store: Store) -> None:
    before = {planned_instance(record) for record in run_earlier(store)}
    planned = plan_later(store)
    assert len(planned.matches) == len(before) * 4 == 24
    ct.run(planned, store)
    after = [planned_instance(record) for record in store.records("later", bodies=True)]
    assert set(after) == before
    assert all(after.count(instance) == 4 for instance in before)


def test_repeats_of_earlier_study_keep_their_seeds(store: Store) -> None:
    seeds = {record.body["seed"] for record in run_earlier(store, instances=1, repeats=3)}
    planned = plan_later(store, pairing="self")
    assert len(planned.matches) == 2 * 2 * 3
    assert {match.seed for match in planned.matches} == seeds
    keys = {(match.configuration.digest, match.planned_instance.key) for match in planned.matches}
    assert len(keys) == 2, "repeats on one instance do not share its key"


def test_unfinished_matches_provide_no_instances(store: Store) -> None:
    made = study(name="earlier", players={"tiny": {"model": "vllm/tiny"}}, pairing="self")
    ct.run(made, store, models=Canned(lambda call, number: broken(retry=False)))
    with pytest.raises(
        ct.studies.StudyError, match='instances_from: "earlier" has no finished match in'
    ):
        plan_later(store)


def test_unknown_earlier_study_raises_error_with_suggestion(store: Store) -> None:
    run_earlier(store)
    with pytest.raises(ct.studies.StudyError) as caught:
        plan_later(store, instances_from="earler")
    problem = f'no study "earler" (did you mean "earlier"?) in {store.name}'
    assert str(caught.value) == f"instances_from: {problem}"
    with pytest.raises(ct.studies.StudyError, match='no store with the study "earlier"'):
        plan_in_store(study(games=[], instances_from="earlier"), None)


def test_instances_of_another_rules_version_raise_error(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run_earlier(store)[0]
    monkeypatch.setattr(first.rules.__class__, "version", 99)
    message = f"match {first.id} was played under version 1 of the rules"
    with pytest.raises(VersionMismatch, match=message):
        plan_later(store)
