"""The rules, theory, metrics and words of the pirate game."""

from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from cheaptalk.games.pirate_game import SPEC
from cheaptalk.games.pirate_game.events import Alone, Counted, Plan, PlanMade, Turn
from cheaptalk.games.pirate_game.rules import Ballot, PirateGame, Voyage
from cheaptalk.games.pirate_game.theory import (
    Fate,
    Majority,
    fates,
    optimal_plan,
    prices,
    votes_needed,
)
from cheaptalk.rules import IllegalAction, Instance, Result, Table, play
from cheaptalk.styles import style_in
from tests.games.tables import events, versions

MAJORITIES: tuple[Majority, ...] = ("half", "strict")
majorities = st.sampled_from(MAJORITIES)


def ballot(plan: tuple[int, ...], votes: str, passed: bool) -> Ballot:
    """A ballot with its votes as a row of + and -."""
    return Ballot(plan=plan, votes=tuple(vote == "+" for vote in votes), passed=passed)


TABLE_2 = Voyage(
    ballots=(
        ballot((100, *[0] * 9), "+---------", False),
        ballot((99, 0, 1, *[0] * 6), "+-++----+", False),
        ballot((50, 1, 1, 1, 1, 1, 1, 44), "++++++++", True),
    )
)
"""The game of GAMA-Bench's Table 2."""


def at_table(game: PirateGame) -> Table:
    return Table(game, Instance(), "test")


def propose(table: Table, *plan: int) -> None:
    """The plan of whoever is asked for one, for those who live."""
    (ask,) = table.pending.values()
    assert isinstance(ask.event, Turn)
    table.answer(ask.actor, Plan(proposal=dict(zip(ask.event.living, plan, strict=True))))


def cast(table: Table, votes: str) -> None:
    """The votes of all who are asked, in order of rank, as a row of + and -."""
    for ask, vote in zip(table.pending.values(), votes, strict=True):
        decision = "accept" if vote == "+" else "reject"
        table.answer(ask.actor, ask.action.model_validate({"decision": decision}))


def measured(name: str, outcome: Voyage, published: bool = False, **parameters: Any) -> float:
    value = SPEC.metrics[name].variant(published)(
        Result(PirateGame(**parameters), Instance(), outcome)
    )
    assert value is not None
    return value


def played(strategy: str, game: PirateGame | None = None, **settings: Any) -> Table:
    decide = SPEC.strategies[strategy].with_settings(**settings)
    return play(game or PirateGame(), Instance(), "test", {"player": decide})


# Rules


def test_a_plan_that_half_accept_pays_as_it_says() -> None:
    game = PirateGame(players=4)
    table = at_table(game)
    propose(table, 90, 5, 3, 2)
    cast(table, "--+")
    assert table.outcome == Voyage(ballots=(ballot((90, 5, 3, 2), "+--+", True),))
    assert game.payoffs(table.outcome) == {
        "player_1": 90, "player_2": 5, "player_3": 3, "player_4": 2,
    }  # fmt: skip


def test_under_a_strict_majority_half_is_not_enough() -> None:
    game = PirateGame(players=4, majority="strict")
    table = at_table(game)
    propose(table, 90, 5, 3, 2)
    cast(table, "--+")
    (ask,) = table.pending.values()
    assert ask.event == Turn(2, ("player_2", "player_3", "player_4"), 100)
    propose(table, 50, 49, 1)
    cast(table, "+-")
    assert isinstance(table.outcome, Voyage)
    assert game.payoffs(table.outcome) == {
        "player_1": 0, "player_2": 50, "player_3": 49, "player_4": 1,
    }  # fmt: skip


def test_who_goes_overboard_hears_nothing_more_and_the_last_keeps_the_gold() -> None:
    game = PirateGame(players=3, majority="strict")
    table = at_table(game)
    propose(table, 100, 0, 0)
    cast(table, "--")
    propose(table, 100, 0)
    cast(table, "-")
    assert isinstance(table.outcome, Voyage)
    assert game.payoffs(table.outcome) == {"player_1": 0, "player_2": 0, "player_3": 100}
    assert events(table, "player_1")[-1] == Counted(1, "player_1", 1, 3, False, 100)
    assert events(table, "player_3")[-1] == Alone(100)


def test_voters_are_asked_at_once_and_learn_only_how_many_accepted() -> None:
    table = at_table(PirateGame(players=3))
    propose(table, 10, 20, 70)
    plan = (("player_1", 10), ("player_2", 20), ("player_3", 70))
    assert [ask.event for ask in table.pending.values()] == [
        PlanMade(1, "player_1", plan, 20),
        PlanMade(1, "player_1", plan, 70),
    ]
    cast(table, "-+")
    assert events(table, "player_2")[-1] == Counted(1, "player_1", 2, 3, True, 20)


@pytest.mark.parametrize(
    ("proposal", "reason"),
    [
        ({"player_1": 100, "player_2": 0}, "leaves out player_3"),
        (
            {"player_1": 98, "player_2": 1, "player_3": 1, "player_4": 0},
            '"player_4" is not aboard; name exactly player_1, player_2, player_3',
        ),
        ({"player_1": 110, "player_2": -10, "player_3": 0}, "player_2 would get -10"),
        ({"player_1": 50, "player_2": 0, "player_3": 0}, "must add up to 100, not 50"),
        ({"player_1": 50, "Player 1": 50, "player_2": 0, "player_3": 0}, "names player_1 twice"),
    ],
)
def test_a_plan_that_is_none_is_refused_with_the_reason(
    proposal: dict[str, int], reason: str
) -> None:
    table = at_table(PirateGame(players=3))
    with pytest.raises(IllegalAction, match=reason):
        table.answer("player_1", Plan(proposal=proposal))


def test_pirates_may_be_named_as_they_are_called() -> None:
    game = PirateGame(players=3, names={"player_2": "Anne Bonny", "player_3": "Player 2"})
    table = at_table(game)
    plan = {"Player 1": 70, "anne bonny": 20, "PLAYER_3": 10}
    table.answer("player_1", Plan(proposal=plan))
    cast(table, "++")
    assert table.outcome == Voyage(ballots=(ballot((70, 20, 10), "+++", True),))


@pytest.mark.parametrize("coins", [True, 1.5, "twelve", None, "1.5"])
def test_coins_are_whole_numbers(coins: object) -> None:
    with pytest.raises(ValidationError):
        Plan.model_validate({"proposal": {"player_1": coins}})
    assert Plan.model_validate({"proposal": {"player_1": "12"}}).proposal == {"player_1": 12}


@pytest.mark.parametrize(
    "parameters",
    [{"players": 1}, {"players": 2.0}, {"players": True}, {"gold": 0}, {"gold": 1.5},
     {"majority": "most"}],
)  # fmt: skip
def test_impossible_parameters_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        PirateGame(**parameters)


# Theory


@pytest.mark.parametrize(
    ("majority", "plan"),
    [
        ("half", (96, 0, 1, 0, 1, 0, 1, 0, 1, 0)),
        ("strict", (94, 0, 1, 0, 1, 0, 1, 0, 2, 1)),
    ],
)
def test_ten_pirates_share_out_a_hundred_coins(majority: Majority, plan: tuple[int, ...]) -> None:
    assert optimal_plan(10, 100, majority) == plan
    table = played("equilibrium", PirateGame(majority=majority))
    assert isinstance(table.outcome, Voyage)
    (only,) = table.outcome.ballots
    assert only.plan == plan
    assert only.passed
    assert sum(only.votes) == votes_needed(10, majority)


def test_stewart_1999_large_crews_survive_at_powers_of_two() -> None:
    assert [n for n in range(2, 101) if not fates(n, 100, "half")[0].lives] == []
    few = [n for n in range(7, 99) if fates(n, 2, "half")[0].lives]
    assert few == [2 * 2 + 2**power for power in range(2, 7) if 2 * 2 + 2**power < 99]


@given(st.integers(2, 7), st.integers(1, 6), majorities)
def test_no_other_plan_is_better_for_the_proposer(
    living: int, gold: int, majority: Majority
) -> None:
    asked = prices(living, gold, majority)
    need = votes_needed(living, majority) - 1
    cheapest = min((sum(group) for group in combinations(asked, need)), default=0)
    plan = optimal_plan(living, gold, majority)
    if plan is None:
        assert cheapest > gold
    else:
        assert plan[0] == gold - cheapest
        assert sum(plan) == gold
        accepts = sum(share >= price for share, price in zip(plan[1:], asked, strict=True))
        assert accepts >= need


@given(st.integers(2, 8), st.integers(1, 9), majorities)
def test_a_pirate_asks_for_more_than_it_gets_if_the_plan_fails(
    living: int, gold: int, majority: Majority
) -> None:
    later = fates(living - 1, gold, majority)
    for price, fate in zip(prices(living, gold, majority), later, strict=True):
        assert price == (fate.gold + 1 if fate.lives else 0)


def test_two_pirates_alone() -> None:
    assert fates(2, 100, "half") == (Fate(True, 100), Fate(True, 0))
    assert fates(2, 100, "strict") == (Fate(False, 0), Fate(True, 100))


# Metrics


def test_score_of_table_2_gama_bench() -> None:
    assert [measured("plan_distance", Voyage(ballots=(one,)), players=n, published=False)
            for one, n in zip(TABLE_2.ballots, (10, 9, 8), strict=True)] == [8, 6, 94]  # fmt: skip
    assert [
        round(measured("vote_accuracy", Voyage(ballots=(one,)), players=n), 2)
        for one, n in zip(TABLE_2.ballots, (10, 9, 8), strict=True)
    ] == [1.00, 0.75, 0.57]
    assert measured("vote_accuracy", TABLE_2) == 19 / 24
    assert measured("score", TABLE_2) == pytest.approx(80.583, abs=5e-4)


@pytest.mark.parametrize(
    ("strategy", "settings", "score"),
    [("textbook", {}, 100), ("fixed", {"offer": 10}, 57), ("equal_split", {}, 57)],
)
def test_scores_of_fixed_strategies(strategy: str, settings: dict[str, Any], score: float) -> None:
    outcome = played(strategy, **settings).outcome
    assert isinstance(outcome, Voyage)
    assert measured("score", outcome) == pytest.approx(score)


def test_the_published_score_never_credits_the_refusal_of_one_coin() -> None:
    plan = (91, *[1] * 9)
    outcome = Voyage(ballots=(ballot(plan, "+-+-+-+-+-", True),))
    assert measured("vote_accuracy", outcome) == 1
    assert measured("score", outcome) == pytest.approx(97.5)
    assert measured("score", outcome, published=True) == pytest.approx(69.72, abs=5e-3)


@pytest.mark.parametrize(
    ("gold", "ballots", "score"),
    [
        (4, [((4, *[0] * 9), "+---------"), ((4, *[0] * 8), "+----+++-"),
             ((1, 1, 1, 1, 0, 0, 0, 0), "++++---+")], 73.8),
        (400, [((400, *[0] * 9), "+---------"), ((200, 99, 0, 0, 0, 0, 0, 100, 1), "++----+++")],
         83.6),
    ],
)  # fmt: skip
def test_the_published_score_of_other_gold_is_that_of_table_8_gama_bench(
    gold: int, ballots: list[tuple[tuple[int, ...], str]], score: float
) -> None:
    """The two voyages as they were recorded."""
    voyage = Voyage(ballots=tuple(ballot(plan, votes, False) for plan, votes in ballots))
    assert measured("score", voyage, published=True, gold=gold) == pytest.approx(score, abs=0.05)


def test_the_rule_of_thumb_is_not_backward_induction() -> None:
    """The next in rank would get 96 coins if the plan failed, and should refuse 96."""
    plan = (4, 96, *[0] * 8)
    accepting = Voyage(ballots=(ballot(plan, "++--------", False),))
    refusing = Voyage(ballots=(ballot(plan, "+---------", False),))
    assert measured("vote_accuracy", accepting) == 1
    assert measured("optimal_votes", accepting) == pytest.approx(8 / 9)
    assert measured("optimal_votes", refusing) == 1


@given(st.integers(2, 6), st.integers(1, 20), st.data())
def test_scores_lie_between_0_and_100(players: int, gold: int, data: st.DataObject) -> None:
    table = play(
        PirateGame(players=players, gold=gold),
        Instance(),
        str(data.draw(st.integers(0, 9))),
        {"player": SPEC.strategies["random"]},
    )
    assert isinstance(table.outcome, Voyage)
    for published in (False, True):
        assert 0 <= measured("score", table.outcome, published, players=players, gold=gold) <= 100


def test_a_strict_majority_has_no_score() -> None:
    result = Result(PirateGame(majority="strict"), Instance(), TABLE_2)
    assert SPEC.metrics["score"].of(result) is None
    assert measured("ballots", TABLE_2) == 3
    assert measured("overboard", TABLE_2) == 2


# Strategies


@pytest.mark.parametrize(("majority", "gold"), list(product(MAJORITIES, (1, 4, 400))))
def test_every_strategy_plays_every_purse(majority: Majority, gold: int) -> None:
    for name in SPEC.strategies:
        game = PirateGame(players=7, gold=gold, majority=majority)
        table = played(name, game)
        assert isinstance(table.outcome, Voyage)
        assert sum(game.payoffs(table.outcome).values()) == gold


def test_the_equilibrium_pirate_refuses_what_its_turn_would_bring() -> None:
    game = PirateGame()
    players = {f"player_{rank}": SPEC.strategies["equilibrium"] for rank in range(2, 11)}
    generous = SPEC.strategies["fixed"].with_settings(offer=11)
    table = play(game, Instance(), "test", players | {"player_1": generous})
    assert isinstance(table.outcome, Voyage)
    assert table.outcome.ballots[0].votes == (True, False, *[True] * 8)


def test_a_fixed_pirate_offers_what_there_is() -> None:
    table = played("fixed", PirateGame(players=4, gold=10), offer=7, decision="reject")
    assert isinstance(table.outcome, Voyage)
    assert [one.plan for one in table.outcome.ballots] == [
        (1, 3, 3, 3), (0, 5, 5), (3, 7),
    ]  # fmt: skip


# Words


@pytest.mark.parametrize("version", versions(SPEC))
@pytest.mark.parametrize("majority", MAJORITIES)
def test_every_version_tells_the_same_facts(version: str, majority: Majority) -> None:
    game = PirateGame(players=4, gold=77, majority=majority, names={"player_2": "Anne Bonny"})
    table = at_table(game)
    style = style_in(SPEC, version)
    (ask,) = table.pending.values()
    asked = style.ask(ask, game)
    assert "77 coins" in asked
    assert 'Anne Bonny ("player_2")' in asked
    assert "exactly 77 coins" in asked
    assert '{"proposal": {"player_1": <whole number>, "player_2": <whole number>, ...}}' in asked
    propose(table, 70, 1, 2, 4)
    (briefing,) = style.story(table.heard["player_3"], game, "player_3")
    for fact in ("77 coins", "4 pirates" if version != "v4" else "4 players"):
        assert fact in briefing
    assert "Player 1, Anne Bonny, Player 3, Player 4" in briefing
    assert ("more than half" in briefing) == (majority == "strict")
    turn = style.ask(table.pending["player_3"], game)
    for fact in ("Player 1: 70, Anne Bonny: 1, Player 3: 2, Player 4: 4", "2 coins"):
        assert fact in turn
    assert '{"decision": "accept" or "reject"}' in turn
    cast(table, "---")
    texts = style.story(table.heard["player_3"], game, "player_3")
    assert "1 of" in texts[-1]
    assert "Player 1" in texts[-1]


@pytest.mark.parametrize("version", versions(SPEC))
def test_a_voter_reads_what_happens_if_the_plan_fails(version: str) -> None:
    game = PirateGame(players=3, majority="strict")
    table = at_table(game)
    style = style_in(SPEC, version)
    propose(table, 98, 1, 1)
    ends = {
        seat: style.tell(table.pending[seat].event, game, seat) for seat in ("player_2", "player_3")
    }
    assert "you" in ends["player_2"].rpartition("Player 1")[2]
    assert "Player 2" in ends["player_3"].rpartition("Player 1")[2]
    cast(table, "--")
    asked = style.ask(table.pending["player_2"], game)
    assert '{"proposal": {"player_2": <whole number>, "player_3": <whole number>}}' in asked
    assert "player_1" not in asked
    propose(table, 98, 2)
    last = style.tell(table.pending["player_3"].event, game, "player_3")
    assert "all the" in last or "whole treasure" in last
