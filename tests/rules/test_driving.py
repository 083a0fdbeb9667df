"""Playing a table to its end, now or in time, and again from a record."""

import asyncio
import re
from collections.abc import Mapping
from typing import Any

import pytest

from cheaptalk.rules import (
    Action,
    CheaptalkError,
    DecisionRequest,
    IllegalAction,
    ReplayMismatch,
    StrategyError,
    Table,
    play,
    play_async,
    replay,
)
from tests.toys import Cards, Guess, Guessing, Score, own_card, random

INSTANCE = Cards(left=1, right=2)
GAME = Guessing(talk=False)


def illegal(asked: DecisionRequest) -> Action:
    return Guess(number=0)


def failing(asked: DecisionRequest) -> Action:
    raise KeyError("lost")


def test_strategies_play_to_the_end() -> None:
    table = play(
        GAME, INSTANCE, "seed", {"left": own_card, "right": own_card.with_settings(plus=1)}
    )
    assert table.over
    assert table.outcome == Score(left=2, right=2)


def test_one_seed_plays_one_match() -> None:
    players = {"left": random, "right": random}
    once, again = (play(GAME, INSTANCE, "seed", players) for _ in range(2))
    other = play(GAME, INSTANCE, "another seed", players)
    assert once.given == again.given
    assert once.given != other.given


def test_an_illegal_strategy_is_a_fault_of_its_code() -> None:
    with pytest.raises(
        StrategyError, match='"left" answered illegally in request 0, by illegal: the sum is no'
    ):
        play(GAME, INSTANCE, "seed", {"left": illegal, "right": random})


def test_a_failing_strategy_is_a_fault_of_its_code() -> None:
    with pytest.raises(
        StrategyError,
        match=r'"right" failed in request 0, by failing: KeyError in test_driving.py:\d+: .lost.$',
    ) as caught:
        play(GAME, INSTANCE, "seed", {"left": random, "right": failing})
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(
    ("players", "saying"),
    [
        ({"left": random}, '"right" has no player; pass a function for it'),
        ({"left": random, "rihgt": random}, 'no seat or role "rihgt" (did you mean "right"?)'),
        ({"left": random, "right": random, "up": random}, 'or role "up" (known: left, right)'),
    ],
)
def test_every_place_has_a_player_and_every_player_a_place(
    players: Mapping[str, Any], saying: str
) -> None:
    with pytest.raises(CheaptalkError, match=re.escape(saying)):
        play(GAME, INSTANCE, "seed", players)


def in_time(
    answers: Mapping[str, Any], order: list[str] | None = None, table: Table | None = None
) -> Table:
    """Play with answers that take time: an action, None for a forfeit, or an error to raise."""

    async def answer(asked: DecisionRequest) -> Action | None:
        await asyncio.sleep(0.001 * (2 if asked.actor == "left" else 1))
        if order is not None:
            order.append(asked.actor)
        reply = answers[asked.actor]
        if isinstance(reply, BaseException):
            raise reply
        return reply  # type: ignore[no-any-return]  # as scripted

    return asyncio.run(play_async(table or Table(GAME, INSTANCE, "seed"), answer))


def test_open_seats_are_asked_at_once() -> None:
    order: list[str] = []
    table = in_time({"left": Guess(number=3), "right": Guess(number=4)}, order)
    assert order == ["right", "left", "right", "left"]
    assert table.outcome == Score(left=2, right=0)
    assert [given.actor for given in table.given] == order


def test_no_answer_in_time_is_a_forfeit() -> None:
    table = in_time({"left": None, "right": Guess(number=4)})
    assert table.forfeited == {"left"}
    assert table.outcome is None


def test_an_error_of_one_seat_waits_for_the_others() -> None:
    table = Table(GAME, INSTANCE, "seed")
    slow = {"left": Guess(number=3), "right": RuntimeError("no line")}
    with pytest.raises(RuntimeError, match="no line"):
        in_time(slow, table=table)
    assert [given.actor for given in table.given] == ["left"]
    assert list(table.pending) == ["right"]


def test_a_table_is_played_on_where_it_stopped() -> None:
    table = Table(GAME, INSTANCE, "seed")
    table.answer("left", Guess(number=3))
    order: list[str] = []
    in_time({"left": Guess(number=1), "right": Guess(number=4)}, order, table)
    assert order == ["right", "right", "left"]
    assert table.outcome == Score(left=1, right=0)


def test_an_illegal_action_in_time_is_an_error() -> None:
    with pytest.raises(IllegalAction, match="no less than your card"):
        in_time({"left": Guess(number=0), "right": Guess(number=4)})


RECORD = [
    (0, "right", {"number": 3}),
    (0, "left", {"number": 4}),
    (1, "left", None),
]


def test_a_record_replays_to_the_next_question() -> None:
    table = replay(GAME, INSTANCE, "seed", RECORD)
    assert table.requests == 1
    assert list(table.pending) == ["right"]
    assert [given.action for given in table.given] == [Guess(number=3), Guess(number=4), None]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ((0, "right", {"number": 3}), "matches no open request: request 1 is to right"),
        ((1, "middle", {"number": 3}), 'answer 1 of "middle" matches no open request'),
        ((1, "left", {"number": 3}), "matches no open request: request 1 is to right"),
        ((1, "left", None), 'answer 1 of "left" matches no open request'),
        ((2, "right", {"number": 3}), 'answer 2 of "right" matches no open request'),
        ((1, "right", {"number": 1}), 'answer 1 of "right" is refused: the sum is no less'),
        ((1, "right", {"price": 1}), '"number": is missing; "price": is not part of the answer'),
    ],
)  # fmt: skip
def test_a_record_of_other_rules_is_refused_with_the_reason(
    more: tuple[int, str, dict[str, object] | None], why: str
) -> None:
    with pytest.raises(ReplayMismatch, match=why):
        replay(GAME, INSTANCE, "seed", [*RECORD, more])


def test_a_record_that_goes_on_after_the_end_is_refused() -> None:
    ended = [*RECORD, (1, "right", None)]
    assert replay(GAME, INSTANCE, "seed", ended).over
    with pytest.raises(ReplayMismatch, match="request 2 is to no actor"):
        replay(GAME, INSTANCE, "seed", [*ended, (2, "left", None)])
