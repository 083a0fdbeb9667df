"""The El Farol bar: the rules, what players read, the score, theory and the scripted players."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from cheaptalk.games.el_farol_bar import SPEC
from cheaptalk.games.el_farol_bar.events import Decision, RoundResult
from cheaptalk.games.el_farol_bar.rules import ElFarolBar
from cheaptalk.games.el_farol_bar.theory import probability_of_at_most, room, symmetric_equilibrium
from cheaptalk.games.rounds import RoundsPlayed
from cheaptalk.rules import Instance
from cheaptalk.styles import style_in
from tests.games.tables import events, played, reads, result_of, scored, table_of, versions

INSTANCE = Instance()


def game(**parameters: Any) -> ElFarolBar:
    return ElFarolBar.model_validate({"players": 5, "rounds": 1, **parameters})


def going(count: int, players: int = 10) -> list[Decision]:
    """A round in which the first so many players go."""
    return ["go" if player < count else "stay" for player in range(players)]


def match(*names: str, **parameters: Any) -> RoundsPlayed[Any]:
    made = ElFarolBar.model_validate({"rounds": 6, **parameters})
    return played(made, *(SPEC.strategies[name] for name in names))


# Rules.


@pytest.mark.parametrize("went", range(11))
def test_going_pays_up_to_and_with_the_capacity(went: int) -> None:
    result = result_of(game(players=10), going(went))
    pay = 10.0 if went <= 6 else 0.0
    assert result.outcome.gains == ((pay,) * went + (5.0,) * (10 - went),)


@given(st.integers(2, 200), st.integers(0, 20))
def test_exactly_the_capacity_is_no_crowd(players: int, twentieths: int) -> None:
    capacity = twentieths / 20
    fitting = players * twentieths // 20
    assert room(players, capacity) == fitting
    bar = game(players=players, capacity=capacity)
    assert set(bar.gains(1, going(fitting, players), INSTANCE)) <= {10.0, 5.0}
    if fitting < players:
        assert set(bar.gains(1, going(fitting + 1, players), INSTANCE)) <= {0.0, 5.0}


def test_payoffs_are_utilities_added_up() -> None:
    bar = game(players=2, rounds=3, capacity=0.5, fun=3, crowded=-2, home=0.5)
    result = result_of(bar, ("go", "go"), ("go", "stay"), ("stay", "stay"))
    assert bar.payoffs(result.outcome) == {"player_1": 1.5, "player_2": -1.0}
    assert bar.payoff_bounds() == {"player": (-6.0, 9.0)}


@pytest.mark.parametrize(
    ("parameters", "saying"),
    [
        ({"capacity": 1.01}, "less than or equal to 1"),
        ({"capacity": -0.1}, "greater than or equal to 0"),
        ({"capacity": math.nan}, "less than or equal to 1"),
        ({"home": 10}, "home must be above crowded and below fun, not 10"),
        ({"home": 0}, "home must be above crowded and below fun, not 0"),
        ({"fun": -1}, "home must be above crowded and below fun"),
        ({"fun": math.inf}, "finite number"),
        ({"feedback": "none"}, "'implicit' or 'explicit'"),
    ],
)
def test_impossible_parameters_are_refused(parameters: dict[str, Any], saying: str) -> None:
    with pytest.raises(ValidationError, match=saying):
        game(**parameters)


@pytest.mark.parametrize("decision", ["GO", "yes", "", None, True, 1])
def test_only_go_and_stay_are_decisions(decision: object) -> None:
    with pytest.raises(ValidationError):
        table_of(game(), (decision, "go", "go", "go", "go"))


# What players are told.


def test_implicit_who_stays_learns_only_its_own_choice_and_gain() -> None:
    reports = [events(table_of(game(), going(went, 5)), "player_5")[-2] for went in (0, 1, 3, 4)]
    assert reports == [RoundResult(1, "stay", 5.0, None, 5, 3)] * 4


def test_who_goes_learns_everything() -> None:
    for feedback in ("implicit", "explicit"):
        table = table_of(game(feedback=feedback), going(4, 5))
        assert events(table, "player_1")[-2] == RoundResult(1, "go", 0.0, 4, 5, 3)


def test_explicit_who_stays_learns_everything_too() -> None:
    table = table_of(game(feedback="explicit"), going(3, 5))
    assert events(table, "player_5")[-2] == RoundResult(1, "stay", 5.0, 3, 5, 3)


def test_the_words_of_a_report() -> None:
    table = table_of(game(), going(4, 5))
    assert reads(table, "player_5").endswith(
        "Results of round 1:\nYou stayed at home. You got 5.\n\n"
        "The game is over. In all you collected 5."
    )
    assert (
        "Results of round 1:\n4 of the 5 players went to the bar and 1 stayed at home. The bar has "
        "room for 3, so going was less fun than staying at home.\n"
        "You went to the bar. You got 0.\n"
    ) in reads(table, "player_1")


@pytest.mark.parametrize("style", versions(SPEC))
def test_every_version_tells_the_same_facts(style: str) -> None:
    bar = game(players=7, rounds=13, capacity=1 / 3, fun=91, crowded=-4, home=26)
    words = style_in(SPEC, style)
    table = table_of(bar, going(3, 7))
    briefing, turn, result = words.story(table.heard["player_1"], bar, "player_1")
    for fact in ("13", "33.3333%", "91", "-4", "26", "Player 1"):
        assert fact in briefing
    for text in (briefing, turn):
        assert "33.3333%" in text
        assert "2 of 7" in text or "2 of the 7" in text
    assert all(fact in result for fact in ("3", "4", "2", "-4"))
    at_home = words.tell(events(table, "player_7")[-1], bar, "player_7")
    assert "26" in at_home
    assert not any(number in at_home for number in "34")


@pytest.mark.parametrize("style", versions(SPEC))
@pytest.mark.parametrize(("capacity", "pay", "never"), [(0, "-4", "91"), (1, "91", "-4")])
def test_a_bar_for_nobody_or_everybody_is_told_as_such(
    style: str, capacity: float, pay: str, never: str
) -> None:
    bar = game(capacity=capacity, fun=91, crowded=-4, home=26)
    briefing = style_in(SPEC, style).tell(bar.briefings(INSTANCE)[0], bar, "player_1")
    assert pay in briefing
    assert never not in briefing


@pytest.mark.parametrize("style", versions(SPEC))
def test_an_empty_bar_is_better_where_it_has_room(style: str) -> None:
    told = set()
    for capacity in (0, 0.5):
        bar = game(players=2, capacity=capacity, feedback="explicit")
        table = table_of(bar, ("stay", "stay"))
        told.add(style_in(SPEC, style).tell(events(table, "player_1")[-2], bar, "player_1"))
    assert len({text.replace("1", "0") for text in told}) == 2


def test_a_rounded_capacity_is_told_in_heads() -> None:
    bar = game(players=3, capacity=0.6666666666)
    table = table_of(bar, ("go", "go", "stay"))
    assert "at most 66.6667% of the players, that is at most 1 of the 3, go" in reads(
        table, "player_1"
    )
    assert bar.gains(1, ("go", "go", "stay"), INSTANCE) == [0, 0, 5]


@pytest.mark.parametrize("style", versions(SPEC))
def test_no_question_says_how_to_play(style: str) -> None:
    bar = game()
    text = style_in(SPEC, style).tell(bar.questions(1, INSTANCE)[0], bar, "player_1")
    assert "?" in text
    assert "think" not in text
    assert "expect" not in text


@pytest.mark.parametrize("style", versions(SPEC))
def test_every_version_says_what_one_will_learn(style: str) -> None:
    words = style_in(SPEC, style)
    told = {
        words.tell(bar.briefings(INSTANCE)[0], bar, "player_1")
        for bar in (game(feedback="implicit"), game(feedback="explicit"))
    }
    assert len(told) == 2


# Score.


@pytest.mark.parametrize(("went", "score"), [(10, 100 / 3), (6, 100), (0, 0), (3, 50), (9, 50)])
def test_fixed_attendance_scores(went: int, score: float) -> None:
    assert scored(SPEC, *[going(went)] * 20) == pytest.approx(score)


def expected_score(probability: float) -> float:
    """The mean score of ten players who each go with a probability, by the binomial."""
    miss = math.fsum(
        math.comb(10, went)
        * probability**went
        * (1 - probability) ** (10 - went)
        * abs(went / 10 - 0.6)
        for went in range(11)
    )
    return (0.6 - miss) / 0.6 * 100


@pytest.mark.parametrize(("probability", "score"), [(0.6, 79.9), (0.5, 75.4)])
def test_independent_players_score_as_the_binomial_says(probability: float, score: float) -> None:
    assert round(expected_score(probability), 1) == score
    chance = SPEC.strategies["random"].with_settings(probability=probability)
    outcome = played(ElFarolBar(rounds=4_000), chance)
    assert scored(SPEC, *outcome.choices) == pytest.approx(score, abs=1.0)


@pytest.mark.parametrize(
    ("capacity", "went", "score"),
    [(0, 0, 100), (0, 10, 0), (1, 10, 100), (1, 0, 0), (0.2, 10, 0), (0.2, 4, 75), (0.8, 0, 0)],
)
def test_appendix_e_scores_by_capacity(capacity: float, went: int, score: float) -> None:
    assert scored(SPEC, going(went), capacity=capacity) == pytest.approx(score)


@pytest.mark.parametrize("capacity", [0, 0.2, 0.4, 0.6, 0.8, 1])
def test_table_8_a_bar_that_is_just_full_scores_100(capacity: float) -> None:
    full = going(room(10, capacity))
    assert scored(SPEC, full, full, capacity=capacity) == pytest.approx(100)


def test_attendance_crowding_and_welfare() -> None:
    result = result_of(game(rounds=2), going(5, 5), going(1, 5))
    measured = {name: metric.of(result) for name, metric in SPEC.metrics.items()}
    assert measured == {
        "score": pytest.approx((0.6 - 0.4) / 0.6 * 100),
        "attendance": pytest.approx(0.6),
        "crowding": 0.5,
        "welfare": pytest.approx((0 + 30 / 5) / 2),
    }


# Theory.


@given(st.integers(2, 60), st.floats(0, 1), st.floats(0.05, 0.95))
def test_in_the_symmetric_equilibrium_nobody_minds_either_way(
    players: int, capacity: float, home: float
) -> None:
    probability = symmetric_equilibrium(players, capacity, 1.0, 0.0, home)
    places = room(players, capacity)
    going_pays = probability_of_at_most(places - 1, players - 1, probability)
    if places == 0:
        assert (probability, going_pays) == (0.0, 0.0)
    elif places == players:
        assert probability == 1.0
        assert going_pays > home
    else:
        assert going_pays == pytest.approx(home, abs=1e-9)


def test_the_equilibrium_nears_the_capacity_as_players_grow_many() -> None:
    near = [symmetric_equilibrium(n, 0.6, 10.0, 0.0, 5.0) for n in (10, 100, 1_000)]
    assert [round(probability, 4) for probability in near] == [0.6069, 0.6007, 0.6001]


@given(st.integers(2, 12), st.integers(0, 10))
def test_pure_equilibria_have_exactly_as_many_go_as_there_is_room_for(
    players: int, tenths: int
) -> None:
    bar = game(players=players, capacity=tenths / 10)

    def stable(went: int) -> bool:
        now = bar.gains(1, going(went, players), INSTANCE)
        leave = went == 0 or bar.gains(1, going(went - 1, players), INSTANCE)[-1] <= now[0]
        join = went == players or bar.gains(1, going(went + 1, players), INSTANCE)[0] <= now[-1]
        return leave and join

    assert [went for went in range(players + 1) if stable(went)] == [room(players, tenths / 10)]


# Players.


def test_equilibrium_and_capacity_players_go_as_often_as_they_should() -> None:
    for name, share in (("equilibrium", 0.6069), ("capacity", 0.6)):
        rows = match(name, rounds=2_000).choices
        went = sum(row.count("go") for row in rows) / 20_000
        assert went == pytest.approx(share, abs=0.01)


def test_best_responders_all_go_and_never_come_back_where_nobody_sees() -> None:
    assert [row.count("go") for row in match("best_response").choices] == [10, 0, 0, 0, 0, 0]
    explicit = match("best_response", feedback="explicit")
    assert [row.count("go") for row in explicit.choices] == [10, 0, 10, 0, 10, 0]


def test_predictors_remember_the_rounds_they_saw() -> None:
    crowd = SPEC.strategies["fixed"].with_settings(choices=("go", "stay", "stay"))
    made = game(players=3, rounds=6, feedback="explicit")
    for memory, expected in ((1, "go stay go go stay go"), (3, "go stay stay go go go")):
        predictor = SPEC.strategies["predictor"].with_settings(memory=memory)
        rows = played(made, crowd, crowd, predictor).choices
        assert " ".join(row[2] for row in rows) == expected


def test_reinforcement_learns_to_stay_where_the_bar_is_always_full() -> None:
    always = SPEC.strategies["fixed"]
    learner = SPEC.strategies["reinforcement"]
    full = played(game(players=3, rounds=400), always, always, learner)
    late = [row[2] for row in full.choices[200:]]
    assert late.count("stay") > 190
    empty = played(game(players=3, rounds=400, capacity=1), always, always, learner)
    assert [row[2] for row in empty.choices[200:]].count("go") > 100
