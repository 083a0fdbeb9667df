"""Studies in which people, models and scripts play: a run plays the matches without people."""

import json

import pytest

import cheaptalk as ct
from cheaptalk.models import Reply
from cheaptalk.players import PersonCall
from cheaptalk.records import Store


def mixed(**person: object) -> ct.Study:
    return ct.Study(
        name="mixed",
        games=[{"game": "persuasion", "fixed": {"horizon": 2, "myopic": False}}],
        players={"people": {"person": "browser", **person}, "luck": "random"},
        pairing=[["luck", "people"], ["luck", "luck"]],
        instances=3,
    )


async def first_choice(call: PersonCall) -> Reply:
    fields = call.form["properties"].items()
    return Reply(text=json.dumps({name: field["enum"][0] for name, field in fields}))


def test_run_plays_the_matches_without_people(store: Store) -> None:
    progress = ct.run(mixed(), store)
    assert (progress.done, progress.left, progress.rest, progress.people_left) == (3, 0, 0, 3)
    assert {*ct.read_matches(store, "mixed")["persuasion"]["player_bob"]} == {"luck"}
    only_people = mixed().model_copy(update={"pairing": [["luck", "people"]]})
    with pytest.raises(ct.studies.StudyError, match="people play with: cheaptalk serve"):
        ct.run(only_people, store)


def test_later_run_keeps_the_matches_of_people(store: Store) -> None:
    ct.run(mixed(), store, ask_person=first_choice)
    changed = mixed(deadline=60)  # so that the recorded matches are not in the plan
    assert ct.studies.changes(changed, store).set_aside == 0
    progress = ct.run(changed, store)
    assert (progress.set_aside, progress.rest, progress.people_left) == (0, 0, 0)
    scripted = mixed().model_copy(
        update={"players": {"luck": mixed().players["luck"]}, "pairing": "all"}
    )
    assert ct.run(scripted, store).set_aside == 0
    assert len(store.with_people("mixed")) == 3
    assert ct.read_matches(store, "mixed")["persuasion"].height == 6
