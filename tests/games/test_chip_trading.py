"""Chip trading: rules, payoffs and words."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from cheaptalk.games.chip_trading import SPEC
from cheaptalk.games.chip_trading.events import (
    Briefing,
    Exchange,
    GameOver,
    Hands,
    Offered,
    Proposal,
    Response,
    Trading,
    TurnEnded,
)
from cheaptalk.games.chip_trading.rules import ChipTrading
from cheaptalk.rules import Chance, IllegalAction, RulesError, Table, play
from cheaptalk.styles import JsonCodec, Unparsable
from tests.games.tables import events, reads

GAME = ChipTrading(colours=("green", "red", "blue"))
ORDER = ("player_2", "player_1", "player_3")
HANDS = Hands(
    order=ORDER,
    values={
        "player_1": {"red": 20, "blue": 90},
        "player_2": {"red": 70, "blue": 50},
        "player_3": {"red": 40, "blue": 30},
    },
)


def at_table(**parameters: Any) -> Table:
    return Table(ChipTrading(**parameters), HANDS, "test")


def trade(give_amount: int, give: str, want_amount: int, want: str) -> Proposal:
    return Proposal(give=give, give_amount=give_amount, want=want, want_amount=want_amount)


def turn(table: Table, proposal: Proposal, willing: str = "") -> None:
    """A whole turn; ``willing`` are the numbers of the players who accept."""
    (proposer,) = table.pending
    table.answer(proposer, proposal)
    for seat in tuple(table.pending):
        decision = "accept" if seat[-1] in willing else "decline"
        table.answer(seat, Response.model_validate({"decision": decision}))


def question(table: Table, seat: str) -> Any:
    """What a seat is told with its open question."""
    return table.pending[seat].event


# The instance.


@given(st.text(max_size=5), st.integers(2, 6), st.integers(2, 5))
def test_a_instance_orders_all_players_and_draws_from_the_grid(
    seed: str, players: int, colours: int
) -> None:
    game = ChipTrading(players=players, colours=("a", "b", "c", "d", "e")[:colours])
    hands = game.draw_instance(Chance(seed))
    assert sorted(hands.order) == sorted(game.seats)
    assert list(hands.values) == list(game.seats)
    for values in hands.values.values():
        assert list(values) == ["b", "c", "d", "e"][: colours - 1]
        assert set(values.values()) <= set(range(10, 101, 10))


def test_orders_and_values_are_all_equally_likely() -> None:
    instances = [GAME.draw_instance(Chance(str(number))) for number in range(3_000)]
    first = [instance.order[0] for instance in instances]
    reds = [instance.values["player_1"]["red"] for instance in instances]
    assert all(900 < first.count(place) < 1_100 for place in GAME.seats)
    assert all(240 < reds.count(value) < 360 for value in GAME.values)


def test_values_of_players_and_colours_are_drawn_apart() -> None:
    small = GAME.draw_instance(Chance("x"))
    large = ChipTrading(players=4, colours=("green", "red", "blue", "purple")).draw_instance(
        Chance("x")
    )
    for place, values in small.values.items():
        assert values.items() <= large.values[place].items()


@pytest.mark.parametrize(
    ("changed", "saying"),
    [
        ({"order": ("player_1", "player_2")}, "have different players"),
        ({"order": ("player_1", "player_2", "player_2")}, "have different players"),
        ({"values": {"player_1": {"red": 10, "blue": 10}}}, "have different players"),
        ({"values": {place: {"red": 10} for place in ORDER}}, "colours or values"),
        ({"values": {place: {"red": 10, "blue": 15} for place in ORDER}}, "colours or values"),
    ],
)
def test_a_instance_of_another_game_is_refused(changed: dict[str, Any], saying: str) -> None:
    with pytest.raises(RulesError, match=saying):
        Table(GAME, HANDS.model_copy(update=changed), "test")


# Turns.


def test_players_propose_in_the_order_dealt_round_after_round() -> None:
    table = at_table(rounds=2)
    for number, proposer in enumerate(ORDER * 2, start=1):
        assert list(table.pending) == [proposer]
        asked = question(table, proposer)
        assert (asked.turn, asked.turns) == (number, 6)
        turn(table, trade(1, "red", 1, "blue"))
    assert table.over


def test_the_others_are_asked_at_once() -> None:
    table = at_table()
    table.answer("player_2", trade(1, "red", 1, "blue"))
    assert list(table.pending) == ["player_1", "player_3"]


def test_a_trade_moves_chips_both_ways_and_all_see_it() -> None:
    table = at_table()
    turn(table, trade(4, "blue", 3, "red"), willing="3")
    expected = TurnEnded(1, "player_2", trade(4, "blue", 3, "red"), "player_3")
    assert all(table.heard[seat][-1].event == expected for seat in GAME.seats)
    assert question(table, "player_1").stocks == (
        ("player_1", (("green", 10), ("red", 10), ("blue", 10))),
        ("player_2", (("green", 10), ("red", 13), ("blue", 6))),
        ("player_3", (("green", 10), ("red", 7), ("blue", 14))),
    )


def test_nothing_moves_where_nobody_accepts() -> None:
    table = at_table()
    before = question(table, "player_2").stocks
    turn(table, trade(4, "blue", 3, "red"))
    expected = TurnEnded(1, "player_2", trade(4, "blue", 3, "red"), None)
    assert events(table, "player_1")[-1] == expected
    assert question(table, "player_1").stocks == before


def test_one_of_those_who_accept_is_drawn_and_the_other_not_told_of() -> None:
    partners = []
    for number in range(200):
        table = Table(ChipTrading(rounds=1), HANDS, f"seed {number}")
        turn(table, trade(1, "blue", 1, "red"), willing="13")
        ended = table.heard["player_2"][-1].event
        assert isinstance(ended, TurnEnded)
        assert ended.partner is not None
        partners.append(ended.partner)
        once = Table(ChipTrading(rounds=1), HANDS, f"seed {number}")
        turn(once, trade(1, "blue", 1, "red"), willing=ended.partner[-1])
        for seat in GAME.seats:
            assert events(once, seat) == events(table, seat)
    assert 70 < partners.count("player_1") < 130


def test_what_chips_are_worth_is_shown_to_their_holder_alone() -> None:
    table = at_table()
    assert question(table, "player_2").worth == 10 * (50 + 70 + 50)
    table.answer("player_2", trade(2, "blue", 3, "red"))
    one, three = question(table, "player_1"), question(table, "player_3")
    assert (one.worth, one.after) == (1600, 1600 + 180 - 60)
    assert (three.worth, three.after) == (1200, 1200 + 60 - 120)


# What is legal.


@pytest.mark.parametrize(
    ("proposal", "saying"),
    [
        (trade(11, "red", 1, "blue"), "you hold only 10 red chips"),
        (trade(1, "red", 1, "red"), "must differ in colour"),
        (trade(1, "pink", 1, "red"), '"pink" is not a colour; the colours are green, red, blue'),
        (trade(1, "red", 1, "pink"), '"pink" is not a colour'),
    ],
)
def test_an_illegal_proposal_is_refused_with_the_reason(proposal: Proposal, saying: str) -> None:
    table = at_table()
    with pytest.raises(IllegalAction, match=saying):
        table.answer("player_2", proposal)


def test_all_chips_of_a_colour_and_more_than_anybody_holds_can_be_proposed() -> None:
    table = at_table()
    turn(table, trade(10, "red", 31, "blue"))
    assert table.requests == 2


def test_who_cannot_pay_can_only_decline() -> None:
    table = at_table()
    turn(table, trade(1, "green", 10, "blue"), willing="3")
    table.answer("player_1", trade(1, "red", 1, "blue"))
    assert not question(table, "player_3").able
    assert question(table, "player_2").able
    with pytest.raises(IllegalAction, match=r"you do not hold 1 blue chip$"):
        table.answer("player_3", Response(decision="accept"))
    table.answer("player_3", Response(decision="decline"))


@pytest.mark.parametrize("amount", [0, -1, 1.5, True, "twelve", None, 10**7])
def test_amounts_are_whole_numbers_from_one(amount: Any) -> None:
    for field in ("give_amount", "want_amount"):
        fields = {"give": "red", "give_amount": 1, "want": "blue", "want_amount": 1}
        with pytest.raises(ValidationError):
            Proposal.model_validate(fields | {field: amount})


def test_a_proposal_is_read_with_colours_in_capitals_and_amounts_as_text() -> None:
    table = at_table()
    reply = 'I offer {"give": " Red", "give_amount": "3", "want": "BLUE", "want_amount": 2}.'
    assert JsonCodec().read(reply, table.pending["player_2"]) == trade(3, "red", 2, "blue")


def test_a_reply_with_two_proposals_is_not_guessed_at() -> None:
    table = at_table()
    codec = JsonCodec()
    reply = codec.write(trade(1, "red", 1, "blue")) + codec.write(trade(2, "red", 1, "blue"))
    with pytest.raises(Unparsable, match="more than one answer"):
        codec.read(reply, table.pending["player_2"])


# The end.


def finished() -> Table:
    """One round: player 2 gains and player 3 loses by a trade, then nothing more."""
    table = at_table(rounds=1)
    turn(table, trade(4, "blue", 5, "red"), willing="3")
    turn(table, trade(1, "red", 1, "blue"))
    turn(table, trade(1, "red", 1, "blue"))
    return table


def test_the_outcome_holds_values_and_every_answer() -> None:
    outcome = finished().outcome
    assert isinstance(outcome, Trading)
    assert outcome.worths["player_3"] == {"green": 50, "red": 40, "blue": 30}
    assert outcome.turns[0] == Exchange(
        proposer="player_2",
        proposal=trade(4, "blue", 5, "red"),
        willing=("player_3",),
        partner="player_3",
    )
    assert outcome.turns[1].partner is None


def test_payoffs_are_what_chips_have_gained_and_never_below_nothing() -> None:
    table = finished()
    assert isinstance(table.outcome, Trading)
    assert table.outcome.gains() == {"player_1": 0, "player_2": 5 * 70 - 4 * 50, "player_3": -80}
    payoffs = GAME.payoffs(table.outcome)
    assert payoffs == {"player_1": 0, "player_2": 1.5, "player_3": 0}
    ends = [events(table, seat)[-1] for seat in GAME.seats]
    assert all(isinstance(end, GameOver) for end in ends)
    assert [(end.gain, end.paid) for end in ends] == [  # type: ignore[attr-defined]
        (0, 0), (150, 150), (-80, 0),
    ]  # fmt: skip


def test_gains_are_what_final_chips_are_worth_minus_the_first() -> None:
    for number in range(20):
        seed = str(number)
        game = ChipTrading(players=4, colours=("green", "red", "blue", "purple"))
        table = play(
            game, game.draw_instance(Chance(seed)), seed, {"player": SPEC.strategies["random"]}
        )
        end = table.heard["player_1"][-1].event
        assert isinstance(end, GameOver)
        assert isinstance(table.outcome, Trading)
        stocks = {player: dict(stock) for player, stock in end.stocks}
        for player, gain in table.outcome.gains().items():
            worths = table.outcome.worths[player]
            assert gain == sum((stocks[player][one] - 10) * worths[one] for one in worths)
        for colour in game.colours:
            assert sum(stock[colour] for stock in stocks.values()) == 40
        assert min(min(stock.values()) for stock in stocks.values()) >= 0


def test_the_bounds_are_all_the_chips_of_the_others() -> None:
    assert GAME.payoff_bounds() == {"player": (0.0, 2 * 10 * (0.5 + 1 + 1))}


# Parameters.


@pytest.mark.parametrize(
    "parameters",
    [
        {"players": 1},
        {"players": 2.0},
        {"players": "3"},
        {"colours": ["green"]},
        {"colours": ["green", "red", "Red "]},
        {"colours": ["green", ""]},
        {"chips": 0},
        {"rounds": 0},
        {"values": []},
        {"values": [10, 10]},
        {"values": [0, 10]},
        {"values": [0.5]},
        {"common_value": 0},
        {"common_value": True},
    ],
)
def test_impossible_parameters_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ChipTrading.model_validate(parameters)


def test_doubles_are_named() -> None:
    with pytest.raises(ValidationError, match="red occurs more than once"):
        ChipTrading.model_validate({"colours": ["green", "red", "RED"]})


# Words.


def test_the_briefing_tells_one_s_own_values_and_no_one_else_s() -> None:
    text = reads(at_table(), "player_1")
    assert "a red chip is worth $0.20 and a blue chip is worth $0.90" in text
    assert "the players are Player 2, Player 1 and Player 3" in text
    assert "minus the $16.00 that they were worth to you at the start" in text
    assert "$0.70" in text.partition("drawn at random from")[2]
    assert "$0.70" not in text.partition("drawn at random from")[0]
    assert events(at_table(), "player_1")[0] == Briefing(
        "player_1", ORDER, "green", (("green", 50), ("red", 20), ("blue", 90)), GAME.values, 10, 3
    )


def test_the_order_of_colours_is_the_game_s_whatever_the_instance_s() -> None:
    values = {player: dict(sorted(one.items())) for player, one in HANDS.values.items()}
    other = Table(GAME, Hands(order=ORDER, values=values), "test")
    assert reads(other, "player_1") == reads(at_table(), "player_1")


def test_questions_show_all_chips_and_what_an_answer_would_mean() -> None:
    table = at_table(rounds=2)
    turn(table, trade(4, "blue", 1, "red"), willing="1")
    assert "Round 1 of 2, turn 2 of 6." in reads(table, "player_1")
    assert "Player 1 (you): 10 green, 9 red, 14 blue" in reads(table, "player_1")
    assert "Yours are worth $19.40 to you. It is your turn" in reads(table, "player_1")
    table.answer("player_1", trade(1, "red", 2, "blue"))
    text = reads(table, "player_3")
    assert "Player 2 gave 4 blue chips to Player 1 for 1 red chip." in text
    assert "Player 1 proposes to give 1 red chip for 2 blue chips." in text
    assert "worth $12.00 to you. After this trade they would be worth $11.80. Do you" in text


def test_who_cannot_pay_is_told_so() -> None:
    table = at_table()
    table.answer("player_2", trade(1, "red", 11, "blue"))
    text = reads(table, "player_1")
    assert "You do not hold 11 blue chips, so you can only decline." in text
    assert "Do you accept?" not in text


def test_the_end_in_words() -> None:
    table = finished()
    assert "lost $0.80 in worth to you. Your payoff is $0.00." in reads(table, "player_3")
    assert "gained $1.50 in worth to you. Your payoff is $1.50." in reads(table, "player_2")
    assert "Player 2 (you): 10 green, 15 red, 6 blue" in reads(table, "player_2")


def test_two_players_read_of_each_other() -> None:
    game = ChipTrading(players=2, colours=("white", "black"), rounds=1, values=(10, 30))
    table = Table(game, game.draw_instance(Chance("x")), "test")
    text = reads(table, "player_1")
    assert "worth $0.50 to both of you" in text
    assert "drawn at random from $0.10 and $0.30, all equally likely" in text
    assert "There is one round, and in it every player has one turn" in text
    assert "Both of you see what is proposed, whether you trade and how many" in text
    (proposer,) = table.pending
    (other,) = set(game.seats) - {proposer}
    turn(table, trade(1, "white", 1, "black"))
    assert f"for 1 black chip, and {game.called(other)} declined." in reads(table, proposer)
    assert "others" not in text
    assert "drawn at random to trade" not in text


def test_one_who_has_few_chips_is_told_how_many() -> None:
    table = at_table()
    turn(table, trade(9, "red", 1, "blue"), willing="1")
    turn(table, trade(1, "red", 1, "blue"))
    turn(table, trade(1, "red", 1, "blue"))
    with pytest.raises(IllegalAction, match=r"you hold only 1 red chip$"):
        table.answer("player_2", trade(2, "red", 1, "blue"))
    turn(table, trade(1, "red", 1, "blue"), willing="1")
    for _ in range(2):
        turn(table, trade(1, "red", 1, "blue"))
    with pytest.raises(IllegalAction, match=r"you hold no red chips$"):
        table.answer("player_2", trade(1, "red", 1, "blue"))


def test_colours_take_their_article_and_a_single_value_is_no_draw() -> None:
    game = ChipTrading(colours=("amber", "ash", "blue"), values=(50,))
    text = reads(Table(game, game.draw_instance(Chance("x")), "test"), "player_1")
    assert "An amber chip is worth $0.50 to everybody." in text
    assert "an ash chip is worth $0.50 and a blue chip is worth $0.50. To each of the" in text
    assert "others they are worth the same" in text
    assert "drawn at random from" not in text


def test_a_question_is_answered_by_its_own_seat_only() -> None:
    table = at_table()
    table.answer("player_2", trade(1, "red", 1, "blue"))
    assert all(isinstance(ask.event, Offered) for ask in table.pending.values())
    with pytest.raises(ValueError, match="has no open request"):
        table.answer("player_2", Response(decision="accept"))
