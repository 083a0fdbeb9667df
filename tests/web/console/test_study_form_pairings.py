"""Pairings of people in the study form."""

from cheaptalk.web.console.designs.study_form import form_of
from tests.web.console.test_study_form import player, study_from


def test_people_pairing_seats_each_person_with_other_players() -> None:
    fair = "{bargaining: equal_split, guess_the_average: best_response}"
    players = (
        player(0, "person", label="ann")
        | player(1, "person", label="bob", away="random", deadline="60")
        | player(2, "strategies", label="fair", settings=fair)
    )
    sizes = {"games.1.game": "guess_the_average", "games.1.values.players": "3"}
    study = study_from(players | sizes | {"pairing": "people", "swap": "true"})
    assert [grid.pairing for grid in study.games] == [
        [["ann", "fair"], ["bob", "fair"]],
        [{"ann": 1, "fair": 2}, {"bob": 1, "fair": 2}],
    ]
    assert study.swap
    assert study.players["bob"].written()["away"] == {"strategy": "random"}
    alike = study_from(players | {"pairing": "people"})
    assert alike.pairing == [["ann", "fair"], ["bob", "fair"]]
    assert form_of(alike.written()).text("pairing") == "people"


def test_self_pairing_seats_only_people_unless_all_are_chosen() -> None:
    players = player(0, "person", label="ann") | player(1, "strategy", "random", label="luck")
    larger = {"games.0.game": "guess_the_average", "games.0.values.players": "3"}
    for texts, seated in (({}, [["ann", "ann"]]), (larger, [{"ann": 3}])):
        study = study_from(players | texts | {"pairing": "self"})
        assert study.pairing == seated
        assert form_of(study.written()).text("pairing") == "self"
    chosen = study_from(players | {"pairing": "self_all"})
    assert chosen.pairing == "self"
    assert form_of(chosen.written()).text("pairing") == "self_all"
