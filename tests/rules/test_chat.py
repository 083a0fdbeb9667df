"""Chat: lines between seats, which the rules never see."""

from typing import Any

import pytest
from pydantic import ValidationError

import cheaptalk as ct
from cheaptalk.rules import ChatLine, ChatTurn, HeardLine, IllegalAction, observed
from tests import toys

CARDS = toys.Cards(left=1, right=2)


def table_with(chat: Any, **parameters: Any) -> ct.Table:
    return ct.Table(toys.Guessing.model_validate({"chat": chat, **parameters}), CARDS, "seed")


def goods(chat: Any) -> ct.Table:
    game = ct.games.PublicGoods.model_validate({"players": 4, "rounds": 2, "chat": chat})
    return ct.Table(game, game.draw_instance(ct.Chance("1")), "1")


def texts(table: ct.Table, actor: str) -> list[str]:
    assert table.chat is not None
    return [heard.line.text for heard in table.chat.heard[actor]]


def test_lines_reach_only_the_senders_group() -> None:
    table = goods({"groups": [["player_1", "player_2"], ["player_3", "player_4"]]})
    table.say("player_1", "to our group")
    assert [texts(table, f"player_{n}") for n in (1, 2, 3, 4)] == [["to our group"]] * 2 + [[], []]
    table = goods({"groups": [["player_1", "player_2"]]})
    with pytest.raises(IllegalAction, match="takes no part"):
        table.say("player_3", "hello")


def test_chat_changes_nothing_but_the_chat() -> None:
    silent, table = table_with(None), table_with("during")
    for round_ in range(2):
        table.say("left", f"line {round_}")
        for copy in (silent, table):
            copy.answer("left", toys.SpokenGuess(number=3, message=""))
            copy.answer("right", toys.SpokenGuess(number=4, message=""))
    assert (table.heard, table.given) == (silent.heard, silent.given)
    assert table.outcome == silent.outcome


def test_chat_is_open_only_at_its_time() -> None:
    before, between = table_with("before"), table_with("between")
    for table in (before, between):
        table.say("left", "first")
        table.answer("left", toys.SpokenGuess(number=3, message=""))
        with pytest.raises(IllegalAction, match="the chat has ended"):
            table.say("right", "too late")
        table.answer("right", toys.SpokenGuess(number=3, message=""))
    between.say("right", "next round")
    with pytest.raises(IllegalAction, match="the chat has ended"):
        before.say("right", "next round")
    with pytest.raises(IllegalAction, match="this game has no chat"):
        table_with(None).say("left", "hello")


def test_lines_and_characters_are_limited() -> None:
    table = table_with({"when": "between", "lines": 1, "characters": 4})
    for text, reason in [
        ("", "is empty"),
        ("  ", "is empty"),
        ("12345", "5 characters; at most 4"),
    ]:
        with pytest.raises(IllegalAction, match=reason):
            table.say("left", text)
    table.say("left", "1234")
    with pytest.raises(IllegalAction, match="1 line, which is the maximum"):
        table.say("left", "more")
    for seat in ("left", "right"):
        table.answer(seat, toys.SpokenGuess(number=3, message=""))
    table.say("left", "more")


def test_an_actor_that_thinks_reads_a_line_after_its_answer() -> None:
    table = table_with("during")
    table.say("left", "early")
    table.say("left", "late", after=["right"])
    for seat in ("left", "right"):
        table.answer(seat, toys.SpokenGuess(number=3, message=""))
    assert table.chat is not None
    history = [
        item.text if isinstance(item, ChatLine) else type(item.event).__name__
        for item in observed(table.heard["right"], table.chat.heard["right"])
    ]
    assert history == ["YourCard", "early", "GuessNow", "late", "Guesses"]


def test_copies_and_replays_have_the_same_chat() -> None:
    table = table_with("during")
    table.say("left", "one")
    table.answer("left", toys.SpokenGuess(number=3, message=""))
    table.say("right", "two")
    table.answer("right", toys.SpokenGuess(number=3, message=""))
    table.say("right", "three")
    assert table.chat is not None
    given = [(r, a, x.model_dump() if x else None) for r, a, x in table.given]
    replayed = ct.rules.replay(table.game, CARDS, "seed", given, table.chat.lines)
    for copy in (table.clone(), replayed):
        assert copy.chat is not None
        assert (copy.chat.lines, copy.chat.heard) == (table.chat.lines, table.chat.heard)
    with pytest.raises(ct.rules.ReplayMismatch, match="line of chat is refused"):
        ct.rules.replay(table.game, CARDS, "seed", (), [ChatLine(0, "nobody", "boo")])


class Chatty:
    """A player that repeats what it heard last."""

    def __call__(self, request: ct.DecisionRequest) -> Any:
        self.knew = [heard.line.text for heard in request.chat]
        return {"number": 4, "message": ""}

    def talk(self, turn: ChatTurn) -> str | None:
        return f"{turn.actor} {turn.left}" if len(turn.chat) < 3 else None


class Quiet(Chatty):
    """A player without the method talk."""

    talk = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("when", "spoken"),
    [
        ("before", ["left 2", "right 2", "left 1"]),
        ("between", ["left 2", "right 2", "left 1"]),
        ("during", ["left 2", "right 2", "left 1", "right 1"]),
    ],
)
def test_scripts_with_talk_chat(when: str, spoken: list[str]) -> None:
    game = toys.Guessing.model_validate({"chat": {"when": when, "lines": 2}})
    table = ct.play(game, CARDS, "1", {"left": Chatty, "right": Chatty})
    assert table.chat is not None
    assert [line.text for line in table.chat.lines] == spoken
    silent = ct.play(game, CARDS, "1", {"left": Chatty(), "right": Quiet})
    assert silent.chat is not None
    assert {line.actor for line in silent.chat.lines} == {"left"}


def test_the_setting_is_checked_and_stored_only_if_set() -> None:
    assert "chat" not in ct.games.PublicGoods().model_dump()
    assert ct.games.Bargaining.model_validate({"chat": "during"}).chat == ct.rules.Chat(
        when="during"
    )
    for groups, problem in [
        ([["player_1", "player_99"]], "unknown seat"),
        ([["player_1", "player_2"], ["player_2", "player_3"]], "player_2 is in two groups"),
        ([["player_1"]], "at least two seats"),
    ]:
        with pytest.raises(ValidationError, match=problem):
            ct.games.PublicGoods.model_validate({"chat": {"groups": groups}})
    with pytest.raises(ValidationError, match="several actors"):
        ct.games.Persuasion.model_validate({"myopic": True, "chat": "during"})


def test_lines_are_heard_with_their_position() -> None:
    table = table_with("during")
    line = table.say("left", "hello")
    assert table.request("right").chat == [HeardLine(1, line)]
