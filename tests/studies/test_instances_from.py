"""Studies that take their instances, with configurations and turn order, from an earlier one."""

import json
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.models import Reply
from cheaptalk.players import PersonCall
from cheaptalk.records import Store, VersionMismatch
from cheaptalk.studies import lay_out
from tests.fakes import Canned, broken, study

GAMES = [{"game": "persuasion", "fixed": {"horizon": 6}, "grid": {"myopic": [True, False]}}]
PLAIN = {"strategies": {"persuasion": {"alice": "honest", "bob": "trusting"}}}
LUCK = {"strategy": "random"}


def earlier(store: Store, **changes: Any) -> list[ct.MatchRecord]:
    """Play a study named ``earlier``; its records."""
    usual = {"name": "earlier", "games": GAMES, "players": {"plain": PLAIN}, "pairing": "self"}
    ct.run(study(**(usual | {"instances": 3, "seed": 5} | changes)), store, ask_person=nod)
    return list(store.records("earlier", bodies=True))


async def nod(call: PersonCall) -> Reply:
    """A person who answers the first thing that is legal."""
    choices = {name: spec["enum"][0] for name, spec in call.form["properties"].items()}
    return Reply(text=json.dumps(choices))


def later(store: Store, **changes: Any) -> ct.studies.Plan:
    usual = {"name": "later", "games": [], "instances_from": "earlier", "pairing": "all",
    "seed": 99,
             "players": {"luck": LUCK, "plain": PLAIN}}  # fmt: skip
    return lay_out(study(**(usual | changes)), store)


def planned_instance(record: ct.MatchRecord) -> tuple[str, str, str]:
    """What a match was played on: configuration, instance and seed."""
    return str(record.parameters), str(record.body["instance"]), record.body["seed"]


def test_everyone_meets_on_the_instances_of_the_earlier_study(store: Store) -> None:
    before = {planned_instance(record) for record in earlier(store)}
    planned = later(store)
    assert len(planned.matches) == len(before) * 4 == 24
    ct.run(planned, store)
    after = [planned_instance(record) for record in store.records("later", bodies=True)]
    assert set(after) == before
    assert all(after.count(one) == 4 for one in before)


def test_the_instances_of_matches_that_people_played_are_taken_too(store: Store) -> None:
    people = {
        "players": {"ann": {"person": "terminal"}, "plain": PLAIN},
        "pairing": [["plain", "ann"]],
        "games": [{"game": "persuasion", "fixed": {"horizon": 6, "signal": "binary"}}],
    }
    played = earlier(store, **people)
    assert {record.seats["bob"]["spec"]["person"] for record in played} == {"terminal"}
    ct.run(later(store, pairing="self"), store)
    again = [planned_instance(record) for record in store.records("later", bodies=True)]
    assert sorted(again) == sorted([planned_instance(record) for record in played] * 2)


def test_repeats_of_the_earlier_study_are_matches_of_their_own_with_their_luck(
    store: Store,
) -> None:
    seeds = {record.body["seed"] for record in earlier(store, instances=1, repeats=3)}
    planned = later(store, pairing="self")
    assert len(planned.matches) == 2 * 2 * 3
    assert {match.seed for match in planned.matches} == seeds
    keys = {(match.configuration.digest, match.planned_instance.key) for match in planned.matches}
    assert len(keys) == 2, "repeats on one instance do not share its key"


def test_matches_that_have_not_ended_lend_no_instances(store: Store) -> None:
    made = study(name="earlier", players={"tiny": {"model": "vllm/tiny"}}, pairing="self")
    ct.run(made, store, models=Canned(lambda call, number: broken(retry=False)))
    with pytest.raises(ct.StudyError, match='instances_from: "earlier" has no finished match in'):
        later(store)


def test_a_study_that_is_not_there_is_told_with_the_nearest(store: Store) -> None:
    earlier(store)
    with pytest.raises(ct.StudyError) as caught:
        later(store, instances_from="earler")
    assert str(caught.value) == (
        f'instances_from: no study "earler" (did you mean "earlier"?) in {store.name}'
    )
    with pytest.raises(ct.StudyError, match='no store with the study "earlier"'):
        lay_out(study(games=[], instances_from="earlier"), None)


def test_instances_of_other_rules_are_not_taken(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = earlier(store)[0]
    monkeypatch.setattr(first.rules.__class__, "version", 99)
    with pytest.raises(VersionMismatch) as caught:
        later(store)
    assert str(caught.value).startswith(f"match {first.id} was played under version 1 of the rules")
