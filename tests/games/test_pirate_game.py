"""The pirate game: rules, theory, metrics, strategies and prompts."""

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.games.pirate_game import SPEC, rules
from cheaptalk.games.pirate_game.strategies import fates, optimal_plan, prices
from cheaptalk.rules import IllegalAction, Instance, Result, Table, play
from tests.games.tables import events

MAJORITIES: tuple[rules.Majority, ...] = ("half", "strict")
majorities = st.sampled_from(MAJORITIES)


def ballot(plan: tuple[int, ...], votes: str, passed: bool) -> rules.Ballot:
    """Return a ballot from votes written as a row of + and -."""
    return rules.Ballot(plan=plan, votes=tuple(vote == "+" for vote in votes), passed=passed)


TABLE_2 = rules.Voyage(
    ballots=(
        ballot((100, *[0] * 9), "+---------", False),
        ballot((99, 0, 1, *[0] * 6), "+-++----+", False),
        ballot((50, 1, 1, 1, 1, 1, 1, 44), "++++++++", True),
    )
)
"""The game of GAMA-Bench's Table 2."""


def new_table(game: rules.PirateGame) -> Table:
    return Table(game, Instance(), "test")


def propose(table: Table, *plan: int) -> None:
    """Answer the pending request for a plan with the shares of the surviving pirates."""
    (ask,) = table.pending.values()
    assert isinstance(ask.event, rules.Turn)
    table.answer(ask.actor, rules.Plan(proposal=dict(zip(ask.event.living, plan, strict=True))))


def cast(table: Table, votes: str) -> None:
    """Answer the pending votes, written in order of rank as a row of + and -."""
    for ask, vote in zip(table.pending.values(), votes, strict=True):
        decision = "accept" if vote == "+" else "reject"
        table.answer(ask.actor, ask.action.model_validate({"decision": decision}))


def metric(name: str, outcome: rules.Voyage, published: bool = False, **parameters: Any) -> float:
    result = Result(rules.PirateGame(**parameters), Instance(), outcome)
    value = SPEC.metrics[name].variant(published)(result)
    assert value is not None
    return value


def play_match(strategy: str, game: rules.PirateGame | None = None, **settings: Any) -> Table:
    decide = SPEC.strategies[strategy].with_settings(**settings)
    return play(game or rules.PirateGame(), Instance(), "test", {"player": decide})


def test_plan_passes_with_half_of_votes_or_a_strict_majority() -> None:
    game, strict = rules.PirateGame(players=4), rules.PirateGame(players=4, majority="strict")
    table, other = new_table(game), new_table(strict)
    for each in (table, other):
        propose(each, 90, 5, 3, 2)
        cast(each, "--+")
    assert table.outcome == rules.Voyage(ballots=(ballot((90, 5, 3, 2), "+--+", True),))
    assert [*game.payoffs(table.outcome).values()] == [90, 5, 3, 2]
    (ask,) = other.pending.values()
    assert ask.event == rules.Turn(2, ("player_2", "player_3", "player_4"), 100)
    propose(other, 50, 49, 1)
    cast(other, "+-")
    assert [*strict.payoffs(other.result().outcome).values()] == [0, 50, 49, 1]


def test_overboard_pirates_observe_nothing_and_last_one_keeps_gold() -> None:
    game = rules.PirateGame(players=3, majority="strict")
    table = new_table(game)
    propose(table, 100, 0, 0)
    cast(table, "--")
    propose(table, 100, 0)
    cast(table, "-")
    assert [*game.payoffs(table.result().outcome).values()] == [0, 0, 100]
    assert events(table, "player_1")[-1] == rules.Counted(1, "player_1", 1, 3, False, 100)
    assert events(table, "player_3")[-1] == rules.Alone(100)
    fixed = play_match("fixed", rules.PirateGame(players=4, gold=10), offer=7, decision="reject")
    plans = [ballot.plan for ballot in fixed.result().outcome.ballots]
    assert plans == [(1, 3, 3, 3), (0, 5, 5), (3, 7)]


def test_invalid_plans_are_rejected_with_reason() -> None:
    cases: list[tuple[dict[str, int], str]] = [
        ({"player_1": 100, "player_2": 0}, "leaves out player_3"),
        (
            {"player_1": 98, "player_2": 1, "player_3": 1, "player_4": 0},
            '"player_4" is not aboard; name exactly player_1, player_2, player_3',
        ),
        ({"player_1": 110, "player_2": -10, "player_3": 0}, "player_2 would get -10"),
        ({"player_1": 50, "player_2": 0, "player_3": 0}, "must add up to 100, not 50"),
        ({"player_1": 50, "Player 1": 50, "player_2": 0, "player_3": 0}, "names player_1 twice"),
    ]
    for proposal, reason in cases:
        table = new_table(rules.PirateGame(players=3))
        with pytest.raises(IllegalAction, match=reason):
            table.answer("player_1", rules.Plan(proposal=proposal))


def test_plans_can_use_display_names() -> None:
    game = rules.PirateGame(players=3, names={"player_2": "Anne Bonny", "player_3": "Player 2"})
    table = new_table(game)
    plan = {"Player 1": 70, "anne bonny": 20, "PLAYER_3": 10}
    table.answer("player_1", rules.Plan(proposal=plan))
    cast(table, "++")
    assert table.outcome == rules.Voyage(ballots=(ballot((70, 20, 10), "+++", True),))


def test_optimal_plan_of_ten_pirates() -> None:
    cases: list[tuple[rules.Majority, tuple[int, ...]]] = [
        ("half", (96, 0, 1, 0, 1, 0, 1, 0, 1, 0)),
        ("strict", (94, 0, 1, 0, 1, 0, 1, 0, 2, 1)),
    ]
    for majority, plan in cases:
        assert optimal_plan(10, 100, majority) == plan
        table = play_match("equilibrium", rules.PirateGame(majority=majority))
        (final_ballot,) = table.result().outcome.ballots
        assert final_ballot.plan == plan
        assert final_ballot.passed
        assert sum(final_ballot.votes) == rules.votes_needed(10, majority)


def test_stewart_1999_large_crews_survive_at_powers_of_two() -> None:
    assert [n for n in range(2, 101) if not fates(n, 100, "half")[0].lives] == []
    few = [n for n in range(7, 99) if fates(n, 2, "half")[0].lives]
    assert few == [2 * 2 + 2**power for power in range(2, 7) if 2 * 2 + 2**power < 99]


@given(st.integers(2, 7), st.integers(1, 6), majorities)
def test_optimal_plan_is_best_for_proposer(
    living: int, gold: int, majority: rules.Majority
) -> None:
    vote_prices = prices(living, gold, majority)
    need = rules.votes_needed(living, majority) - 1
    cheapest = min((sum(group) for group in combinations(vote_prices, need)), default=0)
    plan = optimal_plan(living, gold, majority)
    if plan is None:
        assert cheapest > gold
    else:
        assert plan[0] == gold - cheapest
        assert sum(plan) == gold
        accepts = sum(share >= price for share, price in zip(plan[1:], vote_prices, strict=True))
        assert accepts >= need


def test_score_of_table_2_gama_bench() -> None:
    distances, accuracies = (8, 6, 94), (1.00, 0.75, 0.57)
    for case, distance, accuracy in zip(TABLE_2.ballots, distances, accuracies, strict=True):
        voyage, players = rules.Voyage(ballots=(case,)), len(case.plan)
        assert metric("plan_distance", voyage, players=players) == distance
        assert round(metric("vote_accuracy", voyage, players=players), 2) == accuracy
    strict = Result(rules.PirateGame(majority="strict"), Instance(), TABLE_2)
    assert SPEC.metrics["score"].of(strict) is None
    assert (metric("ballots", TABLE_2), metric("overboard", TABLE_2)) == (3, 2)
    assert metric("vote_accuracy", TABLE_2) == 19 / 24
    assert metric("score", TABLE_2) == pytest.approx(80.583, abs=5e-4)


def test_scores_of_fixed_strategies() -> None:
    fixed: dict[str, Any] = {"offer": 10}
    for strategy, settings, score in (
        ("textbook", {}, 100),
        ("fixed", fixed, 57),
        ("equal_split", {}, 57),
    ):
        outcome = play_match(strategy, **settings).result().outcome
        assert metric("score", outcome) == pytest.approx(score)


def test_published_score_ignores_rejections_of_one_coin() -> None:
    plan = (91, *[1] * 9)
    outcome = rules.Voyage(ballots=(ballot(plan, "+-+-+-+-+-", True),))
    assert metric("vote_accuracy", outcome) == 1
    assert metric("score", outcome) == pytest.approx(97.5)
    assert metric("score", outcome, published=True) == pytest.approx(69.72, abs=5e-3)


def test_published_scores_match_table_8_gama_bench() -> None:
    """The ballots are those of two recorded voyages."""
    cases = [
        (4, {"+---------": (4,), "+----+++-": (4,), "++++---+": (1, 1, 1, 1)}, 73.8),
        (400, {"+---------": (400,), "++----+++": (200, 99, 0, 0, 0, 0, 0, 100, 1)}, 83.6),
    ]
    for gold, plans, score in cases:
        ballots = tuple(
            ballot((*plan, *[0] * (len(votes) - len(plan))), votes, False)
            for votes, plan in plans.items()
        )
        voyage = rules.Voyage(ballots=ballots)
        assert metric("score", voyage, published=True, gold=gold) == pytest.approx(score, abs=0.05)


def test_vote_accuracy_differs_from_backward_induction() -> None:
    """The next in rank would get 96 coins if the plan failed, and should refuse 96."""
    plan = (4, 96, *[0] * 8)
    accepting = rules.Voyage(ballots=(ballot(plan, "++--------", False),))
    refusing = rules.Voyage(ballots=(ballot(plan, "+---------", False),))
    assert metric("vote_accuracy", accepting) == 1
    assert metric("optimal_votes", accepting) == pytest.approx(8 / 9)
    assert metric("optimal_votes", refusing) == 1
