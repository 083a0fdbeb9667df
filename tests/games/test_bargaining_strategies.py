"""Bargaining: equilibrium and scripted strategies."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.games.bargaining import SPEC, strategies
from cheaptalk.games.bargaining.rules import (
    Bargaining,
    Division,
    Offer,
    OfferMade,
    SpokenOffer,
    Turn,
)
from cheaptalk.games.bargaining.strategies import equilibrium_share
from cheaptalk.rules import Action, Decide, DecisionRequest, Instance, Table, play

INSTANCE = Instance()
discounts = st.floats(0.05, 1.0)


def game(**parameters: Any) -> Bargaining:
    return Bargaining.model_validate({"messages": False, **parameters})


def new_table(**parameters: Any) -> Table:
    return Table(game(**parameters), INSTANCE, "seed")


def division(name: str, other: str | None = None, **parameters: Any) -> Division:
    """Return the outcome of a match between two strategies, by default against itself."""
    players = {"alice": SPEC.strategies[name], "bob": SPEC.strategies[other or name]}
    outcome = play(game(**parameters), INSTANCE, "seed", players).outcome
    assert isinstance(outcome, Division)
    return outcome


# Equilibrium.


def backward_induction_share(rounds: int, first: float, second: float) -> float:
    """Return the first proposer's share, computed backwards from the last stage."""
    worth = {"first": first, "second": second}
    continuation = {"first": 0.0, "second": 0.0}  # shares if the last offer is rejected
    for stage in range(rounds, 0, -1):
        proposer, responder = ("first", "second") if stage % 2 else ("second", "first")
        enough = worth[responder] * continuation[responder]
        continuation = {proposer: 1 - enough, responder: enough}
    return continuation["first"]


@given(st.integers(1, 60), discounts, discounts)
def test_equilibrium_matches_backward_induction(rounds: int, discount: float, rival: float) -> None:
    share = equilibrium_share(1, rounds, discount, rival)
    assert share == pytest.approx(backward_induction_share(rounds, discount, rival), abs=1e-9)
    assert -1e-9 <= share <= 1 + 1e-9


@given(st.integers(1, 20), st.integers(0, 19), discounts, discounts)
def test_later_stage_equilibrium_equals_that_of_shorter_game(
    rounds: int, passed: int, discount: float, rival: float
) -> None:
    share = equilibrium_share(1 + passed, rounds + passed, discount, rival)
    assert share == pytest.approx(equilibrium_share(1, rounds, discount, rival))


@given(st.floats(0.05, 0.95), st.floats(0.05, 0.95))
def test_long_games_approach_rubinstein_division(discount: float, rival: float) -> None:
    endless = equilibrium_share(1, None, discount, rival)
    assert endless == pytest.approx((1 - rival) / (1 - discount * rival))
    assert equilibrium_share(1, 400, discount, rival) == pytest.approx(endless, abs=1e-6)


@given(st.floats(0.05, 0.95), st.floats(0.05, 0.95))
def test_rubinstein_responder_is_indifferent_to_waiting(discount: float, rival: float) -> None:
    responder_share = 1 - equilibrium_share(1, None, discount, rival)
    assert responder_share == pytest.approx(rival * equilibrium_share(2, None, rival, discount))


def test_equilibrium_share_matches_hand_calculation() -> None:
    cases = [
        (1, 0.9, 0.9, 1.0),
        (2, 0.9, 0.8, 0.2),
        (3, 0.9, 0.8, 1 - 0.8 * (1 - 0.9)),
        (None, 1.0, 1.0, 0.5),
        (None, 1.0, 0.9, 1.0),
        (None, 0.9, 1.0, 0.0),
    ]
    for rounds, discount, rival, share in cases:
        assert equilibrium_share(1, rounds, discount, rival) == pytest.approx(share)


def test_equilibrium_players_agree_in_first_stage() -> None:
    cases: list[Any] = [1, 2, 3, 12, {"rounds": 99, "hidden": True}]
    for rounds in cases:
        for pair in ((0.9, 0.9), (0.8, 0.95), (0.95, 0.8), (1, 0.9), (0.9, 1), (1, 1)):
            outcome = division("subgame_perfect", discounts=pair, horizon=rounds)
            assert outcome.stage == 1
            last = rounds if isinstance(rounds, int) else None
            share = equilibrium_share(1, last, *pair)
            assert outcome.alice_gain == pytest.approx(10_000 * share, abs=0.01)


def test_one_shot_deviations_do_not_pay() -> None:
    """Let the proposer of one stage demand a different share (one-shot deviation principle)."""
    for stage in (1, 2, 5, 6):
        for greed in (-0.05, 0.05):
            proposer = "alice" if stage % 2 else "bob"
            gains = []
            for extra in (0.0, greed):
                players = dict.fromkeys(("alice", "bob"), deviating_player(stage, extra))
                table = play(game(horizon=6), INSTANCE, "seed", players)
                assert isinstance(table.outcome, Division)
                gains.append(table.game.payoffs(table.outcome)[proposer])
            assert gains[0] >= gains[1]


def deviating_player(stage: int, extra: float) -> Decide:
    """Return a player that never agrees before a stage, deviates there, then plays equilibrium."""

    def decide(request: DecisionRequest) -> Action:
        event: Turn | OfferMade = request.event
        if event.stage < stage:
            refusal = strategies.answer(False)
            return strategies.offer(request, 1.0) if isinstance(event, Turn) else refusal
        if event.stage == stage and isinstance(event, Turn) and extra:
            share = equilibrium_share(stage, 6, 0.9, 0.9) + extra
            return strategies.offer(request, max(0.0, min(1.0, share)))
        return strategies.subgame_perfect(request)

    return decide


def test_unknown_rival_discount_defaults_to_own_discount() -> None:
    table = new_table(discounts=(0.8, 0.95), complete_information=False, horizon=3)
    offer = strategies.subgame_perfect(table.request("alice"))
    assert isinstance(offer, Offer)
    assert offer.alice_gain == pytest.approx(10_000 * equilibrium_share(1, 3, 0.8, 0.8), abs=0.01)


# Strategies.


def test_equal_split_agrees_with_itself_in_first_stage() -> None:
    assert division("equal_split") == Division(stage=1, alice_gain=5_000, bob_gain=5_000)


def test_fixed_demand_never_concedes() -> None:
    assert division("fixed_demand") == Division()
    assert division("fixed_demand", "equal_split") == Division()


def test_compatible_fixed_demands_are_accepted() -> None:
    demand = SPEC.strategies["fixed_demand"]
    players = {"alice": demand.with_settings(share=0.7), "bob": demand.with_settings(share=0.3)}
    outcome = play(game(), INSTANCE, "seed", players).outcome
    assert outcome == Division(stage=1, alice_gain=7_000, bob_gain=3_000)


def demands(name: str) -> list[float]:
    """Return Alice's demands by stage against a rival that never concedes."""
    players: dict[str, Decide] = {
        "alice": SPEC.strategies[name],
        "bob": SPEC.strategies["fixed_demand"].with_settings(share=1),
    }
    table = play(game(horizon=11), INSTANCE, "seed", players)
    return [
        given.action.alice_gain / 10_000
        for given in table.given
        if given.actor == "alice" and isinstance(given.action, Offer)
    ]


def test_concession_curves_run_from_start_to_end_demand() -> None:
    even, late, early = demands("linear"), demands("boulware"), demands("conceder")
    for curve in (even, late, early):
        assert curve[0] == pytest.approx(0.9)
        assert curve[-1] == pytest.approx(0.5)
        assert curve == sorted(curve, reverse=True)
    assert even == pytest.approx([0.9, 0.82, 0.74, 0.66, 0.58, 0.5])
    for late_demand, even_demand, early_demand in list(zip(late, even, early, strict=True))[1:-1]:
        assert late_demand > even_demand > early_demand


def test_offer_is_accepted_once_demand_falls_to_it() -> None:
    outcome = division("linear", horizon=12)
    assert outcome.stage == 12
    assert outcome.alice_gain == pytest.approx(5_000)


def test_random_player_follows_acceptance_probability() -> None:
    random = SPEC.strategies["random"]
    for acceptance, stage in ((0.0, None), (1.0, 1)):
        players = dict.fromkeys(("alice", "bob"), random.with_settings(acceptance=acceptance))
        outcome = play(game(), INSTANCE, "seed", players).outcome
        assert isinstance(outcome, Division)
        assert outcome.stage == stage


def test_strategies_make_legal_offers_at_any_stake() -> None:
    for name in SPEC.strategies:
        for money in (0.01, 1.01, 100, 1_000_000, 1e12):
            for number in range(5):
                players = dict.fromkeys(("alice", "bob"), SPEC.strategies[name])
                table = play(game(money=money, horizon=4), INSTANCE, f"seed {number}", players)
                assert isinstance(table.outcome, Division)


def test_spoken_offers_carry_message() -> None:
    players = dict.fromkeys(("alice", "bob"), SPEC.strategies["equal_split"])
    spoken = play(Bargaining(), INSTANCE, "seed", players).given[0].action
    assert isinstance(spoken, SpokenOffer)
    assert spoken.message == "Half for each of us."
