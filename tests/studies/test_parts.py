"""Parts of a study: a few matches or one game first, and the rest later."""

from collections import Counter
from pathlib import Path

import pytest

import cheaptalk as ct
from cheaptalk.records import Status, Store
from cheaptalk.studies import Plan, StudyError, plan, plan_in_store, restrict_plan
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
    "games": GRID,
    "players": ROSTER | {"honest": {"strategy": "honest"}},
    "pairing": [[label, other] for label in ROSTER for other in ROSTER],
    "instances": 2,
}


def games(planned: Plan) -> Counter[str]:
    return Counter(match.configuration.game.name for match in planned.matches)


def test_limited_part_covers_games_configurations_and_players() -> None:
    planned = plan(study(**SEVERAL))
    assert games(restrict_plan(planned, None, limit=4)) == {"bargaining": 2, "persuasion": 2}
    matches = restrict_plan(planned, None, limit=8).matches
    bargains = [match for match in matches if match.configuration.game.name == "bargaining"]
    assert len({match.configuration.digest for match in bargains}) == 3
    assert {player.label for match in bargains[:3] for player in match.seating} == set(ROSTER)
    assert len({match.seating for match in bargains}) == len(bargains)
    assert {match.planned_instance.key for match in bargains} == {"0"}, "all on one instance"


def test_large_limit_includes_each_match_once() -> None:
    planned = plan(study(**SEVERAL, repeats=2))
    for full in (planned, plan(study(**SEVERAL | {"pairing": {"sample": 11}}))):
        limited = restrict_plan(full, None, limit=1_000).matches
        assert sorted(limited.ids()) == sorted(full.matches.ids())


def test_parts_complete_the_study_without_repeats(store: Store, tmp_path: Path) -> None:
    alike = study(**SEVERAL)
    ended = list[str]()
    for limit, rest in ((5, 51), (3, 48), (1_000, 0)):
        chosen = restrict_plan(plan_in_store(alike, store), store, limit=limit)
        progress = ct.run(chosen, store)
        assert (progress.before, progress.left, progress.rest) == (0, 0, rest)
        ended += [match.id for match in chosen.matches]
        assert store.study("small").planned == 56, "of the whole study"
    assert len(ended) == len(set(ended)) == 56
    assert ct.run(alike, store).before == 56
    with Store.open(tmp_path / "full.sqlite", create=True) as other:
        ct.run(alike, other)
        full, parts = (
            {record.id: essence(record) for record in opened.records("small", bodies=True)}
            for opened in (other, store)
        )
    assert parts == full


def test_part_can_be_limited_to_one_game(store: Store) -> None:
    planned = plan(study(**SEVERAL))
    selected = restrict_plan(planned, store, games=["persuasion"])
    assert games(selected) == {"persuasion": 2}
    assert ct.run(selected, store).rest == 54
    again = ct.run(restrict_plan(planned, store, games=["persuasion"]), store)
    assert (again.planned, again.before, again.rest) == (2, 2, 54)
    with pytest.raises(StudyError, match='the study has no game "persuasio" '):
        restrict_plan(planned, store, games=["persuasio"])


def test_part_adopts_remaining_matches_of_other_studies(store: Store) -> None:
    ct.run(study(**SEVERAL, name="first"), store)
    planned = plan(study(**SEVERAL, name="second"))
    ct.run(restrict_plan(planned, store, games=["bargaining"]), store)
    seen = {record.label(place) for record in store.records("second") for place in record.seats}
    assert seen == {*ROSTER, "honest"}


def test_live_match_is_finished_first_without_repeated_calls(store: Store) -> None:
    planned = plan_in_store(study(**with_model()), store)
    last = planned.matches[-1]
    ct.run(Plan.of(planned.study, [last]), store, models=Canned(), cap=ct.studies.Cap(calls=1))
    assert store.statuses([last.id]) != {last.id: Status.FINISHED}
    models = Canned()
    progress = ct.run(restrict_plan(planned, store, limit=1), store, models=models)
    assert (progress.done, progress.rest) == (1, 5)
    (record,) = store.records("small", bodies=True)
    assert record.id == last.id
    assert len(models.calls) == record.calls - 1


def test_part_of_changed_study_supersedes_all_old_matches(store: Store) -> None:
    ct.run(study(instances=2), store)
    changed = restrict_plan(plan_in_store(study(instances=2, seed=1), store), store, limit=1)
    progress = ct.run(changed, store)
    assert (progress.set_aside, progress.done, progress.rest) == (4, 1, 3)
    assert store.study("small").counts == {"finished": 1}


def test_part_includes_its_replacements(store: Store) -> None:
    replacing = study(**with_model(), unanswered={"refused": "replace"})
    progress = ct.run(
        restrict_plan(plan_in_store(replacing, store), store, limit=2), store, models=Refusing(1)
    )
    assert (progress.done, progress.rest) == (3, 4)
    assert store.study("small").planned == 7
