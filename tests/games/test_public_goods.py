"""Public goods: the rules, what players read, the score, theory and the scripted players."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from cheaptalk.games.public_goods import SPEC
from cheaptalk.games.public_goods.events import RoundResult
from cheaptalk.games.public_goods.rules import PublicGoods
from cheaptalk.games.public_goods.strategies import dominant_contribution
from cheaptalk.games.rounds import UNLIMITED, RoundsPlayed
from cheaptalk.rules import IllegalAction, Instance
from cheaptalk.styles import style_in
from tests.games.tables import events, played, reads, result_of, scored, table_of, versions

INSTANCE = Instance()
PUBLISHED = (10, 5, 1, 5, 0, 10, 10, 20, 20, 10)
"""The first round of a recorded game of Gemini 1.0 Pro."""


def game(**parameters: Any) -> PublicGoods:
    return PublicGoods.model_validate({"players": 4, "rounds": 1, **parameters})


def match(*names: str, **parameters: Any) -> RoundsPlayed[Any]:
    made = PublicGoods.model_validate({"rounds": 4, **parameters})
    return played(made, *(SPEC.strategies[name] for name in names))


# Rules.


def test_a_recorded_round_pays_what_its_players_were_told() -> None:
    result = result_of(game(players=10), PUBLISHED)
    told = (28.2, 33.2, 37.2, 33.2, 38.2, 28.2, 28.2, 18.2, 18.2, 28.2)
    assert result.outcome.gains[0] == pytest.approx(told)


@given(st.lists(st.integers(0, 20), min_size=2, max_size=6), st.floats(0, 8))
def test_the_pot_is_multiplied_and_shared(row: list[int], factor: float) -> None:
    made = game(players=len(row), factor=factor)
    gains = made.gains(1, row, INSTANCE)
    kept = sum(20 - given for given in row)
    assert math.fsum(gains) == pytest.approx(kept + factor * sum(row))
    shares = [gain - (20 - given) for gain, given in zip(gains, row, strict=True)]
    assert max(shares) == pytest.approx(min(shares))


def test_payoffs_add_up_the_tokens_after_each_round() -> None:
    made = game(rounds=2)
    result = result_of(made, (20, 20, 20, 20), (20, 0, 0, 0))
    assert made.payoffs(result.outcome) == {
        "player_1": 40.0 + 10.0,
        "player_2": 40.0 + 30.0,
        "player_3": 40.0 + 30.0,
        "player_4": 40.0 + 30.0,
    }


@pytest.mark.parametrize("factor", [0, 0.5, 1, 2, 4, 6])
def test_bounds_are_reached(factor: float) -> None:
    made = game(factor=factor)
    rows = [(own, other, other, other) for own in (0, 20) for other in (0, 20)]
    gains = [made.gains(1, row, INSTANCE)[0] for row in rows]
    assert made.payoff_bounds() == {"player": (min(gains), max(gains))}


@pytest.mark.parametrize("tokens", [-1, 21])
def test_nobody_gives_what_it_does_not_have(tokens: int) -> None:
    with pytest.raises(IllegalAction, match=f"must be from 0 to 20, not {tokens}"):
        table_of(game(), (tokens, 0, 0, 0))


@pytest.mark.parametrize("tokens", [-5, 35, UNLIMITED, -UNLIMITED])
def test_without_limits_anything_is_taken_as_the_published_code_takes_it(tokens: int) -> None:
    made = game(limits=False)
    result = result_of(made, (tokens, 10, 10, 0))
    assert result.outcome.gains[0][3] == pytest.approx(20 + 2 * (tokens + 20) / 4)
    low, high = made.payoff_bounds()["player"]
    assert all(low <= payoff <= high for payoff in made.payoffs(result.outcome).values())


@pytest.mark.parametrize(
    ("parameters", "saying"),
    [
        ({"tokens": 0}, "greater than or equal to 1"),
        ({"tokens": 20.5}, "valid integer"),
        ({"tokens": True}, "true is not a number"),
        ({"factor": -1}, "greater than or equal to 0"),
        ({"factor": math.nan}, "Input should be"),
        ({"factor": math.inf}, "less than or equal to 10000"),
        ({"ratio": 2}, "unknown key"),
    ],
)
def test_impossible_parameters_are_refused(parameters: dict[str, Any], saying: str) -> None:
    with pytest.raises(ValidationError, match=saying):
        game(**parameters)


@pytest.mark.parametrize("tokens", [True, 1.5, "ten", "1.5", None])
def test_what_is_no_whole_number_is_refused(tokens: object) -> None:
    with pytest.raises(ValidationError):
        table_of(game(), (tokens, 0, 0, 0))


# Words.


def test_everybody_is_told_all_contributions_and_holdings() -> None:
    table = table_of(game(), (0, 5, 10, 20))
    holdings = (37.5, 32.5, 27.5, 17.5)
    for number, (gave, after) in enumerate(zip((0, 5, 10, 20), holdings, strict=True), start=1):
        assert events(table, f"player_{number}")[-2] == RoundResult(
            1, (0, 5, 10, 20), gave, 35, 17.5, 20, after, holdings
        )
    assert reads(table, "player_4").endswith(
        "Results of round 1:\nContributed by each player, from Player 1 on: 0, 5, 10, 20\n"
        "You contributed: 20\nTokens in the pot: 35\n"
        "Your part of the multiplied pot: 17.5\n"
        "Your tokens after the round: 17.5 (2.5 fewer than the 20 that you began with)\n"
        "Tokens of each player after the round: 37.5, 32.5, 27.5, 17.5\n\n"
        "The game is over. You have 17.5 tokens."
    )


@pytest.mark.parametrize("style", versions(SPEC))
def test_every_version_tells_the_same_facts(style: str) -> None:
    made = game(players=4, rounds=13, tokens=44, factor=1.234567)
    words = style_in(SPEC, style)
    table = table_of(made, (0, 5, 11, 44))
    briefing, turn, result = words.story(table.heard["player_3"], made, "player_3")
    for fact in ("13 ", "44", "1.234567", "Player 3"):
        assert fact.strip() in briefing
    assert "44" in turn
    share = 1.234567 * 60 / 4
    facts = ["0, 5, 11, 44", "60", f"{share - 11:.2f}", f"{44 - 11 + share:.2f}", f"{share:.2f}"]
    assert all(fact in result for fact in facts)


@pytest.mark.parametrize("style", versions(SPEC))
@pytest.mark.parametrize(
    ("gave", "saying"),
    [(0, "15 more than the 20"), (20, "5 fewer than the 20"), (15, "as many as the 20")],
)
def test_a_change_of_tokens_is_told_in_words(style: str, gave: int, saying: str) -> None:
    made = game()
    table = table_of(made, (gave, 30 - gave, 0, 0) if gave >= 10 else (0, 20, 10, 0))
    assert saying in style_in(SPEC, style).tell(events(table, "player_1")[-2], made, "player_1")


@pytest.mark.parametrize("style", versions(SPEC))
def test_a_single_round_has_no_next_one(style: str) -> None:
    made = game(rounds=1)
    words = style_in(SPEC, style)
    told = words.tell(made.briefings(INSTANCE)[0], made, "player_1")
    assert "next" not in told
    longer = game(rounds=2)
    assert "next" in words.tell(longer.briefings(INSTANCE)[0], longer, "player_1")


# Score.


@pytest.mark.parametrize(("tokens", "score"), [(0, 100), (5, 75), (20, 0)])
def test_fixed_contributions_score(tokens: int, score: float) -> None:
    assert scored(SPEC, *[[tokens] * 10] * 20) == pytest.approx(score)


@pytest.mark.parametrize(
    ("factor", "score", "published"),
    [(0, 75, 75), (0.5, 75, 75), (4, 75, 75), (4.01, 25, 75), (8, 25, 75)],
)
def test_appendix_e_scores_turn_above_a_factor_of_n_and_the_code_s_do_not(
    factor: float, score: float, published: float
) -> None:
    result = result_of(game(factor=factor, rounds=2), (0, 10, 10, 0), (0, 0, 0, 20))
    metric = SPEC.metrics["score"]
    assert metric.of(result) == pytest.approx(score)
    assert metric.variant(as_published=True)(result) == pytest.approx(published)


def test_contributions_of_all_and_of_the_last_round() -> None:
    result = result_of(game(rounds=2), (20, 20, 20, 20), (0, 0, 0, 20))
    assert SPEC.metrics["contribution"].of(result) == pytest.approx(0.625)
    assert SPEC.metrics["last_round"].of(result) == pytest.approx(0.25)


@pytest.mark.parametrize("factor", [0.5, 1, 2, 6])
def test_efficiency_is_one_when_all_do_what_is_best_for_all(factor: float) -> None:
    best = 20 if factor > 1 else 0
    result = result_of(game(factor=factor), (best,) * 4)
    assert SPEC.metrics["efficiency"].of(result) == pytest.approx(1)
    worst = result_of(game(factor=factor), (20 - best,) * 4)
    assert SPEC.metrics["efficiency"].of(worst) == pytest.approx(min(factor, 1 / factor))


# Theory.


@given(
    st.lists(st.integers(0, 10), min_size=1, max_size=5),
    st.sampled_from([0, 0.5, 1, 1.5, 2, 3, 4, 5, 7]),
)
def test_the_dominant_contribution_is_best_against_everything(
    others: list[int], factor: float
) -> None:
    made = game(players=len(others) + 1, tokens=10, factor=factor)
    gains = [made.gains(1, [own, *others], INSTANCE)[0] for own in range(11)]
    dominant = dominant_contribution(made.players, factor, 10)
    if dominant is None:
        assert max(gains) == pytest.approx(min(gains))
    else:
        assert max(gains) - gains[dominant] < 1e-9
        assert gains.index(max(gains)) == dominant


# Players.


def test_equilibrium_players_give_by_the_factor() -> None:
    for factor, gives in ((2, 0), (9.99, 0), (10, 20), (10.01, 20)):
        assert match("equilibrium", factor=factor).choices == ((gives,) * 10,) * 4


@pytest.mark.parametrize("factor", [0, 0.5, 1, 2, 4, 10.5])
def test_table_8_equilibrium_players_score_100(factor: float) -> None:
    rows = match("equilibrium", factor=factor).choices
    assert scored(SPEC, *rows, factor=factor) == pytest.approx(100)


def test_conditional_cooperators_follow_the_others() -> None:
    steady = SPEC.strategies["fixed"].with_settings(choices=(20, 10, 5, 0))
    follower = SPEC.strategies["conditional_cooperator"]
    made = game(players=3, rounds=4)
    rows = played(made, steady, SPEC.strategies["free_rider"], follower).choices
    assert [row[2] for row in rows] == [20, 10, 5, 2]  # half of what the first gave before


def test_conditional_cooperators_drift_down_when_they_match_in_part() -> None:
    partial = SPEC.strategies["conditional_cooperator"].with_settings(first=0.5, matching=0.5)
    rows = played(game(rounds=4), partial).choices
    assert [row[0] for row in rows] == [10, 5, 2, 1]


def test_one_free_rider_ends_the_giving_of_the_grim() -> None:
    betrayer = SPEC.strategies["fixed"].with_settings(choices=(20, 20, 19, 20))
    made = game(players=3, rounds=4)
    rows = played(made, betrayer, SPEC.strategies["grim"], SPEC.strategies["grim"]).choices
    assert [row[1:] for row in rows] == [(20, 20), (20, 20), (20, 20), (0, 0)]
    assert match("grim").choices == ((20,) * 10,) * 4


def test_a_free_rider_among_cooperators_has_most() -> None:
    made = game(players=3, rounds=4)
    rider, giver = SPEC.strategies["free_rider"], SPEC.strategies["cooperator"]
    payoffs = made.payoffs(played(made, rider, giver, giver))
    assert payoffs["player_1"] == pytest.approx(4 * (20 + 80 / 3))
    assert payoffs["player_2"] == payoffs["player_3"] == pytest.approx(4 * 80 / 3)


def test_random_contributions_cover_the_range() -> None:
    rows = match("random", players=50, rounds=20, tokens=3).choices
    assert {tokens for row in rows for tokens in row} == {0, 1, 2, 3}
