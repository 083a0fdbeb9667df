"""The ultimatum game: strategy method, equilibrium and metrics."""

from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.games.ultimatum_game.rules import UltimatumGame
from tests.games.tables import events, metric, table_after, transcript

METHOD = UltimatumGame(pie=10)
REPLY = UltimatumGame(pie=10, strategy_method=False)


def divided(offer: int, minimum: int, game: UltimatumGame = METHOD) -> ct.Table:
    """Return the table after an offer and a minimum."""
    table = table_after(game)
    for seat, fields in (("proposer", {"offer": offer}), ("responder", {"minimum_offer": minimum})):
        table.answer(seat, table.pending[seat].action.model_validate(fields))
    return table


@pytest.mark.parametrize(
    ("offer", "minimum", "payoffs"), [(4, 4, (6, 4)), (4, 5, (0, 0)), (0, 0, (10, 0))]
)
def test_offers_are_accepted_from_the_minimum_on(
    offer: int, minimum: int, payoffs: tuple[int, int]
) -> None:
    table = divided(offer, minimum)
    assert tuple(METHOD.seat_payoffs(table.outcome).values()) == payoffs


def test_responder_states_the_minimum_before_the_offer_is_known() -> None:
    table = table_after(METHOD)
    table.answer("proposer", table.pending["proposer"].action.model_validate({"offer": 3}))
    assert "responder" in table.pending
    assert "offers you" not in transcript(table, "responder")
    assert not any(getattr(event, "offer", None) for event in events(table, "responder"))


def test_without_strategy_method_the_responder_answers_the_offer() -> None:
    table = table_after(REPLY, {"offer": 3}, {"decision": "accept"})
    assert REPLY.seat_payoffs(table.outcome) == {"proposer": 7, "responder": 3}
    assert metric("minimum_share", table.result()) is None


def test_equilibrium_is_subgame_perfect() -> None:
    """No deviation pays at any offer, and none of the proposer's offers is better."""
    decide = ct.get_game("ultimatum_game").strategies["equilibrium"]
    seats = {"proposer": decide, "responder": decide}
    played = ct.play(REPLY, ct.Instance(), "seed", seats)
    proposer = []
    for offer in range(REPLY.pie + 1):
        table = table_after(REPLY, {"offer": offer})
        answer: Any = decide(table.request("responder"))
        gains = {
            decision: table_after(REPLY, {"offer": offer}, {"decision": decision}).outcome
            for decision in ("accept", "reject")
        }
        responder = {
            key: REPLY.seat_payoffs(outcome)["responder"] for key, outcome in gains.items()
        }
        assert responder[answer.decision] == max(responder.values())
        proposer.append(REPLY.seat_payoffs(gains[answer.decision])["proposer"])
    assert REPLY.seat_payoffs(played.outcome)["proposer"] == max(proposer) == 9


def test_metrics_are_shares_of_the_sum() -> None:
    result = divided(3, 4).result()
    names = ("offer_share", "minimum_share", "acceptance", "efficiency")
    assert [metric(name, result) for name in names] == [0.3, 0.4, 0, 0]
