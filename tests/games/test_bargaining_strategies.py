"""Bargaining: the equilibrium and the scripted strategies."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.games.bargaining import SPEC, strategies
from cheaptalk.games.bargaining.events import NoAgreement, Offer, OfferMade, SpokenOffer, Turn
from cheaptalk.games.bargaining.rules import Bargaining, Division
from cheaptalk.games.bargaining.strategies import equilibrium_share
from cheaptalk.rules import Action, Decide, DecisionRequest, Instance, Table, play

INSTANCE = Instance()
discounts = st.floats(0.05, 1.0)


def game(**parameters: Any) -> Bargaining:
    return Bargaining.model_validate({"messages": False, **parameters})


def table(**parameters: Any) -> Table:
    return Table(game(**parameters), INSTANCE, "seed")


def division(name: str, other: str | None = None, **parameters: Any) -> Division:
    """How a match between two strategies ends; of one strategy with itself without another."""
    players = {"alice": SPEC.strategies[name], "bob": SPEC.strategies[other or name]}
    outcome = play(game(**parameters), INSTANCE, "seed", players).outcome
    assert isinstance(outcome, Division)
    return outcome


# Equilibrium.


def by_backward_induction(rounds: int, first: float, second: float) -> float:
    """The first proposer's share, by working out what each player can get from the end on."""
    worth = {"first": first, "second": second}
    stays = {"first": 0.0, "second": 0.0}  # what each gets if the last offer is rejected
    for stage in range(rounds, 0, -1):
        proposer, responder = ("first", "second") if stage % 2 else ("second", "first")
        enough = worth[responder] * stays[responder]
        stays = {proposer: 1 - enough, responder: enough}
    return stays["first"]


@given(st.integers(1, 60), discounts, discounts)
def test_the_equilibrium_is_what_backward_induction_finds(
    rounds: int, mine: float, rival: float
) -> None:
    share = equilibrium_share(1, rounds, mine, rival)
    assert share == pytest.approx(by_backward_induction(rounds, mine, rival), abs=1e-9)
    assert -1e-9 <= share <= 1 + 1e-9


@given(st.integers(1, 20), st.integers(0, 19), discounts, discounts)
def test_the_equilibrium_of_a_later_stage_is_that_of_a_shorter_game(
    rounds: int, passed: int, mine: float, rival: float
) -> None:
    share = equilibrium_share(1 + passed, rounds + passed, mine, rival)
    assert share == pytest.approx(equilibrium_share(1, rounds, mine, rival))


@given(st.floats(0.05, 0.95), st.floats(0.05, 0.95))
def test_long_games_approach_rubinstein_s_division(mine: float, rival: float) -> None:
    endless = equilibrium_share(1, None, mine, rival)
    assert endless == pytest.approx((1 - rival) / (1 - mine * rival))
    assert equilibrium_share(1, 400, mine, rival) == pytest.approx(endless, abs=1e-6)


@given(st.floats(0.05, 0.95), st.floats(0.05, 0.95))
def test_rubinstein_s_responder_is_left_what_waiting_is_worth(mine: float, rival: float) -> None:
    left = 1 - equilibrium_share(1, None, mine, rival)
    assert left == pytest.approx(rival * equilibrium_share(2, None, rival, mine))


@pytest.mark.parametrize(
    ("rounds", "mine", "rival", "share"),
    [
        (1, 0.9, 0.9, 1.0),
        (2, 0.9, 0.8, 0.2),
        (3, 0.9, 0.8, 1 - 0.8 * (1 - 0.9)),
        (None, 1.0, 1.0, 0.5),
        (None, 1.0, 0.9, 1.0),
        (None, 0.9, 1.0, 0.0),
    ],
)
def test_equilibria_worked_by_hand(
    rounds: int | None, mine: float, rival: float, share: float
) -> None:
    assert equilibrium_share(1, rounds, mine, rival) == pytest.approx(share)


@pytest.mark.parametrize("rounds", [1, 2, 3, 12, {"rounds": 99, "hidden": True}])
@pytest.mark.parametrize("pair", [(0.9, 0.9), (0.8, 0.95), (0.95, 0.8), (1, 0.9), (0.9, 1), (1, 1)])
def test_the_equilibrium_is_played_and_accepted_at_once(
    rounds: Any, pair: tuple[float, float]
) -> None:
    outcome = division("subgame_perfect", discounts=pair, horizon=rounds)
    assert outcome.stage == 1
    last = rounds if isinstance(rounds, int) else None
    share = equilibrium_share(1, last, *pair)
    assert outcome.alice_gain == pytest.approx(10_000 * share, abs=0.01)


@pytest.mark.parametrize("stage", [1, 2, 5, 6])
@pytest.mark.parametrize("greed", [-0.05, 0.05])
def test_no_single_other_offer_does_better_than_the_equilibrium(stage: int, greed: float) -> None:
    """The one-shot deviation principle, played out: the proposer of one stage asks differently."""
    proposer = "alice" if stage % 2 else "bob"
    gains = []
    for extra in (0.0, greed):
        players = dict.fromkeys(("alice", "bob"), refusing_until(stage, extra))
        here = play(game(horizon=6), INSTANCE, "seed", players)
        assert isinstance(here.outcome, Division)
        gains.append(here.game.payoffs(here.outcome)[proposer])
    assert gains[0] >= gains[1]


def refusing_until(stage: int, extra: float) -> Decide:
    """Refuse all before a stage, ask for something extra there, and play the equilibrium after."""

    def decide(asked: DecisionRequest) -> Action:
        event: Turn | OfferMade = asked.event
        if event.stage < stage:
            refusal = strategies.answer(False)
            return strategies.offer(asked, 1.0) if isinstance(event, Turn) else refusal
        if event.stage == stage and isinstance(event, Turn) and extra:
            share = equilibrium_share(stage, 6, 0.9, 0.9) + extra
            return strategies.offer(asked, max(0.0, min(1.0, share)))
        return strategies.subgame_perfect(asked)

    return decide


def test_a_rival_of_unknown_discount_is_taken_to_be_like_oneself() -> None:
    here = table(discounts=(0.8, 0.95), complete_information=False, horizon=3)
    offer = strategies.subgame_perfect(here.request("alice"))
    assert isinstance(offer, Offer)
    assert offer.alice_gain == pytest.approx(10_000 * equilibrium_share(1, 3, 0.8, 0.8), abs=0.01)


# Strategies.


def test_equal_split_agrees_with_itself_at_once() -> None:
    assert division("equal_split") == Division(stage=1, alice_gain=5_000, bob_gain=5_000)


def test_a_fixed_demand_is_never_given_up() -> None:
    assert division("fixed_demand") == Division()
    assert division("fixed_demand", "equal_split") == Division()


def test_fixed_demands_that_fit_are_agreed_on() -> None:
    demand = SPEC.strategies["fixed_demand"]
    players = {"alice": demand.with_settings(share=0.7), "bob": demand.with_settings(share=0.3)}
    outcome = play(game(), INSTANCE, "seed", players).outcome
    assert outcome == Division(stage=1, alice_gain=7_000, bob_gain=3_000)


def demands(name: str) -> list[float]:
    """Alice's demands stage by stage against a rival who concedes nothing."""
    players: dict[str, Decide] = {
        "alice": SPEC.strategies[name],
        "bob": SPEC.strategies["fixed_demand"].with_settings(share=1),
    }
    here = play(game(horizon=11), INSTANCE, "seed", players)
    return [
        given.action.alice_gain / 10_000
        for given in here.given
        if given.actor == "alice" and isinstance(given.action, Offer)
    ]


def test_concessions_run_from_start_to_end_at_their_own_pace() -> None:
    even, late, early = demands("linear"), demands("boulware"), demands("conceder")
    for curve in (even, late, early):
        assert curve[0] == pytest.approx(0.9)
        assert curve[-1] == pytest.approx(0.5)
        assert curve == sorted(curve, reverse=True)
    assert even == pytest.approx([0.9, 0.82, 0.74, 0.66, 0.58, 0.5])
    for held, evenly, given_way in list(zip(late, even, early, strict=True))[1:-1]:
        assert held > evenly > given_way


def test_a_concession_is_accepted_once_it_meets_the_demand() -> None:
    outcome = division("linear", horizon=12)
    assert outcome.stage == 12
    assert outcome.alice_gain == pytest.approx(5_000)


def test_random_play_accepts_as_often_as_it_is_set_to() -> None:
    random = SPEC.strategies["random"]
    for acceptance, stage in ((0.0, None), (1.0, 1)):
        players = dict.fromkeys(("alice", "bob"), random.with_settings(acceptance=acceptance))
        outcome = play(game(), INSTANCE, "seed", players).outcome
        assert isinstance(outcome, Division)
        assert outcome.stage == stage


@pytest.mark.parametrize("name", ["subgame_perfect", "linear"])
def test_a_question_of_another_game_is_an_error(name: str) -> None:
    asked = table().request("alice")
    strange = asked._replace(ask=asked.ask._replace(event=NoAgreement()))
    with pytest.raises(TypeError, match="not a request of bargaining"):
        SPEC.strategies[name](strange)


@pytest.mark.parametrize("name", SPEC.strategies)
@pytest.mark.parametrize("money", [0.01, 1.01, 100, 1_000_000, 1e12])
def test_every_strategy_offers_legally_at_any_stake(name: str, money: float) -> None:
    for number in range(5):
        players = dict.fromkeys(("alice", "bob"), SPEC.strategies[name])
        here = play(game(money=money, horizon=4), INSTANCE, f"seed {number}", players)
        assert isinstance(here.outcome, Division)


def test_spoken_offers_carry_a_message_and_others_none() -> None:
    players = dict.fromkeys(("alice", "bob"), SPEC.strategies["equal_split"])
    spoken = play(Bargaining(), INSTANCE, "seed", players).given[0].action
    assert isinstance(spoken, SpokenOffer)
    assert spoken.message == "Half for each of us."
