"""Playing a table with functions or coroutines, and replaying it from a record."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.rules import play_async
from tests.toys import Cards, Guess, Guessing, Score, own_card, random

INSTANCE = Cards(left=1, right=2)
GAME = Guessing(talk=False)


def illegal(request: ct.DecisionRequest) -> ct.Action:
    return Guess(number=0)


def failing(request: ct.DecisionRequest) -> ct.Action:
    raise KeyError("lost")


def test_strategies_play_to_end() -> None:
    table = ct.play(
        GAME, INSTANCE, "seed", {"left": own_card, "right": own_card.with_settings(plus=1)}
    )
    assert table.over
    assert table.outcome == Score(left=2, right=2)


def test_players_answer_with_fields_of_an_action() -> None:
    async def answer(request: ct.DecisionRequest) -> Any:
        return own_card(request).model_dump()

    for player in (answer, lambda request: own_card(request).model_dump()):
        assert ct.play(GAME, INSTANCE, "seed", {"left": player, "right": own_card}).over


def test_strategies_are_played_by_name() -> None:
    game = ct.games.Persuasion(horizon=1)
    instance = game.draw_instance(ct.Chance("1"))
    entry = {"strategy": "random"}
    assert ct.play(game, instance, "1", {"alice": "honest", "bob": entry}).over
    with pytest.raises(ct.CheaptalkError, match="honest can't play bob; use one of trusting"):
        ct.play(game, instance, "1", {"alice": "honest", "bob": "honest"})


@pytest.mark.parametrize(
    ("players", "message"),
    [
        (
            {"left": illegal, "right": random},
            '"left" answered illegally in request 0, by illegal: the sum is no',
        ),
        (
            {"left": random, "right": failing},
            r'"right" failed in request 0, by failing: KeyError in test_driving.py:\d+: .lost.$',
        ),
        ({"left": random}, '"right" has no player; pass a strategy\'s name or a function'),
        (
            {"left": lambda _: {"number": 99}, "right": random},
            "by lambda: .number.: should be less",
        ),
        ({"left": random, "rihgt": random}, r'"rihgt" \(did you mean "right"\?\)'),
        ({"left": random, "right": random, "up": random}, r'"up" \(known: left, right\)'),
    ],
)
def test_unusable_players_raise_error(players: Mapping[str, Any], message: str) -> None:
    with pytest.raises(ct.CheaptalkError, match=message):
        ct.play(GAME, INSTANCE, "seed", players)


def test_seed_determines_match() -> None:
    players = {"left": random, "right": random}
    first, second = (ct.play(GAME, INSTANCE, "seed", players) for _ in range(2))
    other = ct.play(GAME, INSTANCE, "another seed", players)
    assert first.given == second.given
    assert first.given != other.given


def play_with_delays(
    answers: Mapping[str, Any], order: list[str] | None = None, table: ct.Table | None = None
) -> ct.Table:
    """Play with delayed answers: an action, None for a forfeit, or an exception to raise."""

    async def answer(request: ct.DecisionRequest) -> ct.Action | None:
        await asyncio.sleep(0.001 * (2 if request.actor == "left" else 1))
        if order is not None:
            order.append(request.actor)
        reply = answers[request.actor]
        if isinstance(reply, BaseException):
            raise reply
        return reply  # type: ignore[no-any-return]  # as scripted

    return asyncio.run(play_async(table or ct.Table(GAME, INSTANCE, "seed"), answer))


def test_open_requests_are_answered_concurrently() -> None:
    order: list[str] = []
    table = play_with_delays({"left": Guess(number=3), "right": Guess(number=4)}, order)
    assert order == ["right", "left", "right", "left"]
    assert table.outcome == Score(left=2, right=0)
    assert [given.actor for given in table.given] == order


def test_error_of_one_seat_waits_for_others() -> None:
    table = ct.Table(GAME, INSTANCE, "seed")
    slow = {"left": None, "right": RuntimeError("no line")}
    with pytest.raises(RuntimeError, match="no line"):
        play_with_delays(slow, table=table)
    assert [given.actor for given in table.given] == ["left"]
    assert list(table.pending) == ["right"]
    table = play_with_delays({"left": None, "right": Guess(number=4)})
    assert table.forfeited == {"left"}
    assert table.outcome is None
    with pytest.raises(ct.rules.IllegalAction, match="no less than your card"):
        play_with_delays({"left": Guess(number=0), "right": Guess(number=4)})


def test_table_is_resumed_from_its_state() -> None:
    table = ct.Table(GAME, INSTANCE, "seed")
    table.answer("left", Guess(number=3))
    order: list[str] = []
    play_with_delays({"left": Guess(number=1), "right": Guess(number=4)}, order, table)
    assert order == ["right", "right", "left"]
    assert table.outcome == Score(left=1, right=0)


RECORD = [
    (0, "right", {"number": 3}),
    (0, "left", {"number": 4}),
    (1, "left", None),
]


def test_record_replays_to_next_request() -> None:
    table = ct.replay(GAME, INSTANCE, "seed", RECORD)
    assert table.requests == 1
    assert list(table.pending) == ["right"]
    assert [given.action for given in table.given] == [Guess(number=3), Guess(number=4), None]
    ended = [*RECORD, (1, "right", None)]
    assert ct.replay(GAME, INSTANCE, "seed", ended).over
    with pytest.raises(ct.rules.ReplayMismatch, match="request 2 is to no actor"):
        ct.replay(GAME, INSTANCE, "seed", [*ended, (2, "left", None)])


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ((0, "right", {"number": 3}), "matches no open request: request 1 is to right"),
        ((1, "middle", {"number": 3}), 'answer 1 of "middle" matches no open request'),
        ((1, "left", None), 'answer 1 of "left" matches no open request'),
        ((2, "right", {"number": 3}), 'answer 2 of "right" matches no open request'),
        ((1, "right", {"number": 1}), 'answer 1 of "right" is refused: the sum is no less'),
        ((1, "right", {"price": 1}), '"number": is missing; "price": is not part of the answer'),
    ],
)
def test_mismatched_record_is_rejected_with_reason(answer: Any, error: str) -> None:
    with pytest.raises(ct.rules.ReplayMismatch, match=error):
        ct.replay(GAME, INSTANCE, "seed", [*RECORD, answer])
