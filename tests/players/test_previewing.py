"""Previews contain exactly the messages that a match would send."""

from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.players import ModelSeat
from cheaptalk.players.language_model import replies as forms
from cheaptalk.players.language_model.preview import messages, preview
from cheaptalk.rules import Decide, Game, Instance, Table, games, get_game, strategies
from tests.fakes import study


def game(name: str = "bargaining", **parameters: Any) -> Game:
    return get_game(name).rules.model_validate(parameters)


def opponents(rules: Game, excluded: str) -> dict[str, Decide]:
    known = strategies(rules.name)
    chosen = {}
    for place, role in rules.seats.items():
        able = [strategy for strategy in known.values() if role in strategy.roles]
        chosen[place] = known["random"] if "random" in known else able[0]
    return {name: strategy.with_settings() for name, strategy in chosen.items() if name != excluded}


def seat(**settings: Any) -> ModelSeat:
    return ModelSeat.model_validate({"model": "openai/gpt-4o"} | settings)


@pytest.mark.parametrize("history", ["all", "summary", {"last": 1}, None])
def test_preview_equals_what_a_match_sends(history: Any, store: ct.Store) -> None:
    settings = {"history": history} if history else {"refine": {}}
    players = {"fair": "random", "model": {"model": "script/legal"} | settings}
    spec = study(players=players, pairing=[["fair", "model"]], instances=3)
    ct.run(spec, store)
    rivals = opponents(game(horizon=2), "bob")
    for record in store.records("small", bodies=True):
        answers = [answer for answer in record.answers if answer.actor == "bob"]
        seed = record.body["seed"]
        for turn, answer in enumerate(answers, start=1):
            previewed = preview(seat(**settings), record.rules, "bob", rivals, seed, turn)
            assert previewed is not None
            assert previewed.actor == "bob"
            sent = [call["call"]["messages"] for call in answer.calls]
            assert [[m.model_dump() for m in call.messages] for call in previewed.calls] == sent
        after = preview(seat(**settings), record.rules, "bob", rivals, seed, len(answers) + 1)
        assert after is None


def test_preview_uses_the_model_and_its_settings() -> None:
    rules = game()
    previewed = preview(seat(temperature=0.5), rules, "alice", opponents(rules, "alice"), "0")
    assert previewed is not None
    (call,) = previewed.calls
    assert call.model == "openai/gpt-4o"
    assert call.settings.temperature == 0.5
    assert call.form is not None
    assert call.form.example is None


def test_every_game_previews_a_refined_player() -> None:
    for name in games():
        rules = game(name)
        first = next(iter(rules.seats))
        previewed = preview(seat(refine={}, style=None), rules, first, opponents(rules, first), "0")
        assert previewed is not None
        assert previewed.calls[0].messages[0].role == "system"


def test_game_without_random_strategy_previews_its_first_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forms, "strategies", lambda name: {})
    rules = game()
    rivals = opponents(rules, "alice")
    previewed = preview(seat(tries=2), rules, "alice", rivals, "0")
    assert previewed is not None
    assert len(previewed.calls) == 2, "a made-up answer is not a legal offer"
    assert preview(seat(), rules, "alice", rivals, "0", 2) is None


def test_calls_go_to_the_deciding_actor() -> None:
    rules = game("persuasion", myopic=True, horizon=3)
    rivals = opponents(rules, "bob")
    previews = [preview(seat(), rules, "bob", rivals, "0", turn) for turn in (1, 2, 3)]
    assert len({view.actor for view in previews if view is not None}) == 3
    assert all(len(view.calls[0].messages) == 2 for view in previews if view is not None)


def test_seat_messages_equal_the_preview() -> None:
    cases: list[dict[str, Any]] = [{"persona": "You are in a hurry."}, {"history": "summary"}]
    for settings in cases:
        rules, spec = game(messages=False), seat(**settings)
        rivals = opponents(rules, "bob")
        shown = preview(spec, rules, "bob", rivals, "seed", 1)
        assert shown is not None
        table = Table(rules, rules.instance_of("seed"), "seed")
        table.answer("alice", rivals["alice"](table.request("alice")))
        assert messages(table, "bob", spec) == shown.calls[0].messages
        with pytest.raises(ValueError, match='"alice" has no open request'):
            messages(table, "alice")


def test_seat_messages_include_earlier_answers() -> None:
    table = Table(game(messages=False), Instance(), "seed")
    events = ct.games.bargaining.events
    table.answer("alice", events.Offer(alice_gain=7_500, bob_gain=2_500))
    table.answer("bob", events.Reply(decision="reject"))
    table.answer("bob", events.Offer(alice_gain=4_000, bob_gain=6_000))
    chat = messages(table, "alice")
    assert [message.role for message in chat] == ["system", "user", "assistant", "user"]
    assert "7500" in chat[2].content
    assert "$4,000" in chat[3].content
