"""Chip trading: rules, payoffs and prompts."""

from typing import Any

import pytest
from pydantic import ValidationError

from cheaptalk.games.chip_trading import rules
from cheaptalk.rules import IllegalAction, RulesError, Table
from tests.games.tables import events

GAME = rules.ChipTrading(colours=("green", "red", "blue"))
ORDER = ("player_2", "player_1", "player_3")
HANDS = rules.Hands(
    order=ORDER,
    values={
        "player_1": {"red": 20, "blue": 90},
        "player_2": {"red": 70, "blue": 50},
        "player_3": {"red": 40, "blue": 30},
    },
)


def new_table(**parameters: Any) -> Table:
    return Table(rules.ChipTrading(**parameters), HANDS, "test")


def trade(give_amount: int, give: str, want_amount: int, want: str) -> rules.Proposal:
    return rules.Proposal(give=give, give_amount=give_amount, want=want, want_amount=want_amount)


def play_turn(table: Table, proposal: rules.Proposal, willing: str = "") -> None:
    """Play a turn; ``willing`` holds the numbers of the players who accept."""
    (proposer,) = table.pending
    table.answer(proposer, proposal)
    for seat in tuple(table.pending):
        decision = "accept" if seat[-1] in willing else "decline"
        table.answer(seat, rules.Response.model_validate({"decision": decision}))


def pending_event(table: Table, seat: str) -> Any:
    """Return the event of a seat's pending request."""
    return table.pending[seat].event


# Instances.


def test_instance_of_another_game_is_rejected() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"order": ("player_1", "player_2")}, "have different players"),
        ({"order": ("player_1", "player_2", "player_2")}, "have different players"),
        ({"values": {"player_1": {"red": 10, "blue": 10}}}, "have different players"),
        ({"values": {player: {"red": 10} for player in ORDER}}, "colours or values"),
        ({"values": {player: {"red": 10, "blue": 15} for player in ORDER}}, "colours or values"),
    ]
    for changed, message in cases:
        with pytest.raises(RulesError, match=message):
            Table(GAME, HANDS.model_copy(update=changed), "test")


# Turns.


def test_players_propose_in_dealt_order_every_round() -> None:
    table = new_table(rounds=2)
    for number, proposer in enumerate(ORDER * 2, start=1):
        assert list(table.pending) == [proposer]
        event = pending_event(table, proposer)
        assert (event.turn, event.turns) == (number, 6)
        play_turn(table, trade(1, "red", 1, "blue"))
    assert table.over


def test_trade_exchanges_chips_and_notifies_all_players() -> None:
    table = new_table()
    play_turn(table, trade(4, "blue", 3, "red"), willing="3")
    expected = rules.TurnEnded(1, "player_2", trade(4, "blue", 3, "red"), "player_3")
    assert all(table.heard[seat][-1].event == expected for seat in GAME.seats)
    assert pending_event(table, "player_1").stocks == (
        ("player_1", (("green", 10), ("red", 10), ("blue", 10))),
        ("player_2", (("green", 10), ("red", 13), ("blue", 6))),
        ("player_3", (("green", 10), ("red", 7), ("blue", 14))),
    )


def test_partner_is_drawn_and_other_acceptor_stays_hidden() -> None:
    partners = []
    for number in range(200):
        table = Table(rules.ChipTrading(rounds=1), HANDS, f"seed {number}")
        play_turn(table, trade(1, "blue", 1, "red"), willing="13")
        ended = table.heard["player_2"][-1].event
        assert isinstance(ended, rules.TurnEnded)
        assert ended.partner is not None
        partners.append(ended.partner)
        once = Table(rules.ChipTrading(rounds=1), HANDS, f"seed {number}")
        play_turn(once, trade(1, "blue", 1, "red"), willing=ended.partner[-1])
        for seat in GAME.seats:
            assert events(once, seat) == events(table, seat)
    assert 70 < partners.count("player_1") < 130


# Legality.


def test_illegal_proposals_are_rejected_with_reason() -> None:
    cases = [
        (trade(11, "red", 1, "blue"), "you hold only 10 red chips"),
        (trade(1, "red", 1, "red"), "must differ in colour"),
        (trade(1, "pink", 1, "red"), '"pink" is not a colour; the colours are green, red, blue'),
        (trade(1, "red", 1, "pink"), '"pink" is not a colour'),
    ]
    for proposal, message in cases:
        table = new_table()
        with pytest.raises(IllegalAction, match=message):
            table.answer("player_2", proposal)


def test_proposals_accept_any_case_and_textual_amounts() -> None:
    fields = {"give": " Red", "give_amount": "3", "want": "BLUE", "want_amount": 2}
    assert rules.Proposal.model_validate(fields) == trade(3, "red", 2, "blue")
    with pytest.raises(ValidationError, match="red occurs more than once"):
        rules.ChipTrading.model_validate({"colours": ["green", "red", "RED"]})


def test_player_without_chips_can_only_decline() -> None:
    table = new_table()
    play_turn(table, trade(1, "green", 10, "blue"), willing="3")
    table.answer("player_1", trade(1, "red", 1, "blue"))
    assert not pending_event(table, "player_3").able
    assert pending_event(table, "player_2").able
    with pytest.raises(IllegalAction, match=r"you do not hold 1 blue chip$"):
        table.answer("player_3", rules.Response(decision="accept"))
    table.answer("player_3", rules.Response(decision="decline"))


# Outcomes.


def test_payoffs_are_gains_floored_at_zero() -> None:
    table = new_table(rounds=1)
    play_turn(table, trade(4, "blue", 5, "red"), willing="3")
    play_turn(table, trade(1, "red", 1, "blue"))
    play_turn(table, trade(1, "red", 1, "blue"))
    assert isinstance(table.outcome, rules.Trading)
    assert table.outcome.gains() == {"player_1": 0, "player_2": 5 * 70 - 4 * 50, "player_3": -80}
    payoffs = GAME.payoffs(table.outcome)
    assert payoffs == {"player_1": 0, "player_2": 1.5, "player_3": 0}
    ends: list[Any] = [events(table, seat)[-1] for seat in GAME.seats]
    assert [(end.gain, end.paid) for end in ends] == [(0, 0), (150, 150), (-80, 0)]
