"""The trust game: one role or both roles, equilibrium and metrics."""

from typing import Any

import cheaptalk as ct
from cheaptalk.games.trust_game.rules import TrustGame
from tests.games.tables import events, metric, table_after

GAME = TrustGame()
BOTH = TrustGame(both_roles=True)


def answer(table: ct.Table, seat: str, **fields: int) -> None:
    table.answer(seat, table.pending[seat].action.model_validate(fields))


def test_payoffs_follow_from_points_sent_and_returned() -> None:
    table = table_after(GAME, {"amount_sent": 6}, {"amount_returned": 8})
    assert GAME.seat_payoffs(table.outcome) == {"investor": 10 - 6 + 8, "trustee": 10 + 18 - 8}
    names = ("trust", "trustworthiness", "return_ratio", "efficiency")
    values = [metric(name, table.result()) for name in names]
    assert values == [0.6, 8 / 18, 8 / 18 * 3, 32 / 40]


def test_nothing_is_returned_if_nothing_was_sent() -> None:
    table = table_after(GAME, {"amount_sent": 0})
    assert table.over
    assert GAME.seat_payoffs(table.outcome) == {"investor": 10, "trustee": 10}
    assert metric("trustworthiness", table.result()) is None


def test_both_roles_are_played_without_knowing_the_partner_s_decisions() -> None:
    table = table_after(BOTH)
    answer(table, "investor", amount_sent=10)
    assert not any(getattr(event, "sent", None) for event in events(table, "trustee"))
    answer(table, "trustee", amount_sent=2)
    answer(table, "investor", amount_returned=6)
    assert not table.over
    assert not hasattr(events(table, "trustee")[-1], "exchanges")
    answer(table, "trustee", amount_returned=0)
    investor = (10 - 10 + 0) + (10 + 6 - 6)
    trustee = (10 - 2 + 6) + (10 + 30 - 0)
    assert BOTH.seat_payoffs(table.outcome) == {"investor": investor, "trustee": trustee}
    assert metric("trust", table.result()) == 0.6
    assert metric("trustworthiness", table.result()) == (0 + 1) / 2


def test_one_of_both_roles_is_skipped_if_nothing_was_sent() -> None:
    table = table_after(BOTH)
    answer(table, "investor", amount_sent=0)
    answer(table, "trustee", amount_sent=5)
    assert list(table.pending) == ["investor"]
    answer(table, "investor", amount_returned=15)
    assert BOTH.seat_payoffs(table.outcome) == {"investor": 10 + 10, "trustee": 20 + 10}


def test_equilibrium_is_subgame_perfect() -> None:
    """Returning nothing is best after every investment, and so sending nothing is best."""
    decide = ct.get_game("trust_game").strategies["equilibrium"]
    investor = [GAME.seat_payoffs(table_after(GAME, {"amount_sent": 0}).outcome)["investor"]]
    for sent in range(1, GAME.endowment + 1):
        table = table_after(GAME, {"amount_sent": sent})
        kept: Any = decide(table.request("trustee"))
        outcomes = [
            table_after(GAME, {"amount_sent": sent}, {"amount_returned": returned}).outcome
            for returned in range(3 * sent + 1)
        ]
        trustee = [GAME.seat_payoffs(outcome)["trustee"] for outcome in outcomes]
        assert trustee[kept.amount_returned] == max(trustee)
        investor.append(GAME.seat_payoffs(outcomes[kept.amount_returned])["investor"])
    sent = decide(table_after(GAME).request("investor")).amount_sent  # type: ignore[attr-defined]
    assert investor[sent] == max(investor)


def test_fair_trustee_equalises_payoffs() -> None:
    strategies = ct.get_game("trust_game").strategies
    for trust in (0.2, 0.5, 1):
        investor = strategies["reciprocal"].with_settings(trust=trust)
        seats = {"investor": investor, "trustee": strategies["fair"]}
        payoffs = GAME.seat_payoffs(ct.play(GAME, ct.Instance(), "seed", seats).outcome)
        assert payoffs["investor"] == payoffs["trustee"]
