"""A part of a study: a few matches or one game first, and the rest later."""

from collections import Counter
from pathlib import Path

import pytest

import cheaptalk as ct
from cheaptalk.records import Status, Store
from cheaptalk.studies import Plan, StudyError, lay_out, part, plan
from tests.fakes import Canned, Refusing, essence, study, with_model

ROSTER = {
    "fair": {"strategy": "equal_split"},
    "firm": {"strategy": "fixed_demand"},
    "luck": {"strategy": "random"},
}
GRID = [
    {"game": "bargaining", "grid": {"horizon": [2, 4, 6]}},
    {"game": "persuasion", "fixed": {"horizon": 2}, "pairing": [["honest", "luck"]]},
]
SEVERAL = {
    "games": GRID, "players": ROSTER | {"honest": {"strategy": "honest"}},
    "pairing": [[one, other] for one in ROSTER for other in ROSTER], "instances": 2,
}  # fmt: skip


def some(limit: int) -> Plan:
    return part(plan(study(**SEVERAL)), None, limit=limit)


def games(planned: Plan) -> Counter[str]:
    return Counter(match.configuration.game.name for match in planned.matches)


def test_a_few_matches_are_spread_over_games_configurations_players_and_instances() -> None:
    assert games(some(4)) == {"bargaining": 2, "persuasion": 2}
    bargains = [one for one in some(8).matches if one.configuration.game.name == "bargaining"]
    assert len({one.configuration.digest for one in bargains}) == 3
    assert {seated.label for one in bargains[:3] for seated in one.seating} == set(ROSTER)
    assert len({one.seating for one in bargains}) == len(bargains)
    assert {one.planned_instance.key for one in bargains} == {"0"}, "all on one instance"


def test_all_matches_are_parts_once() -> None:
    whole = plan(study(**SEVERAL, repeats=2))
    everything = part(whole, None, limit=1_000)
    assert sorted(one.id for one in everything.matches) == sorted(one.id for one in whole.matches)
    sampled = plan(study(**SEVERAL | {"pairing": {"sample": 11}}))
    ids = {one.id for one in part(sampled, None, limit=1_000).matches}
    assert ids == {one.id for one in sampled.matches}


def test_parts_add_up_and_nothing_is_played_twice(store: Store) -> None:
    alike = study(**SEVERAL)
    ended = list[str]()
    for limit, rest in ((5, 51), (3, 48), (1_000, 0)):
        chosen = part(lay_out(alike, store), store, limit=limit)
        progress = ct.run(chosen, store)
        assert (progress.before, progress.left, progress.rest) == (0, 0, rest)
        ended += [one.id for one in chosen.matches]
        assert store.study("small").planned == 56, "of the whole study"
    assert len(ended) == len(set(ended)) == 56
    assert ct.run(alike, store).before == 56


def test_a_game_alone_is_played_and_counted_with_what_it_has(store: Store) -> None:
    whole = plan(study(**SEVERAL))
    one = part(whole, store, games=["persuasion"])
    assert games(one) == {"persuasion": 2}
    assert ct.run(one, store).rest == 54
    again = ct.run(part(whole, store, games=["persuasion"]), store)
    assert (again.planned, again.before, again.rest) == (2, 2, 54)
    with pytest.raises(StudyError, match='the study has no game "persuasio" '):
        part(whole, store, games=["persuasio"])


def test_what_another_study_has_played_of_the_rest_is_known_by_its_players(store: Store) -> None:
    ct.run(study(**SEVERAL, name="first"), store)
    whole = plan(study(**SEVERAL, name="second"))
    ct.run(part(whole, store, games=["bargaining"]), store)
    seen = {record.label(place) for record in store.records("second") for place in record.seats}
    assert seen == {*ROSTER, "honest"}


def test_what_was_begun_is_ended_first_and_asks_nothing_twice(store: Store) -> None:
    whole = lay_out(study(**with_model()), store)
    last = whole.matches[-1]
    ct.run(Plan.of(whole.study, [last]), store, models=Canned(), cap=ct.studies.Cap(calls=1))
    assert store.statuses([last.id]) != {last.id: Status.FINISHED}
    models = Canned()
    progress = ct.run(part(whole, store, limit=1), store, models=models)
    assert (progress.done, progress.rest) == (1, 5)
    (record,) = store.records("small", bodies=True)
    assert record.id == last.id
    assert len(models.calls) == record.calls - 1


def test_a_part_of_a_changed_study_sets_aside_what_the_whole_would(store: Store) -> None:
    ct.run(study(instances=2), store)
    changed = part(lay_out(study(instances=2, seed=1), store), store, limit=1)
    progress = ct.run(changed, store)
    assert (progress.set_aside, progress.done, progress.rest) == (4, 1, 3)
    assert store.study("small").counts == {"finished": 1}


def test_what_is_dealt_afresh_in_a_part_is_played_with_it(store: Store) -> None:
    replacing = study(**with_model(), unanswered={"refused": "replace"})
    progress = ct.run(part(lay_out(replacing, store), store, limit=2), store, models=Refusing(1))
    assert (progress.done, progress.rest) == (3, 4)
    assert store.study("small").planned == 7


def test_matches_of_parts_are_those_of_the_whole(store: Store, tmp_path: Path) -> None:
    whole = lay_out(study(**SEVERAL), store)
    ct.run(part(whole, store, limit=7), store)
    parts = {one.id: essence(one) for one in store.records("small", bodies=True)}
    with Store.open(tmp_path / "whole.sqlite", create=True) as other:
        ct.run(study(**SEVERAL), other)
        alone = {one.id: essence(one) for one in other.records("small", bodies=True)}
    assert parts == {id_: alone[id_] for id_ in parts}
