"""A preview shows what a match would send, word for word."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.models import ModelCall, Reply
from cheaptalk.models.scripted import ScriptedModels
from cheaptalk.players import ModelSeat
from cheaptalk.players.language_model import replies as forms
from cheaptalk.players.language_model.preview import MOCK_MODEL, messages, preview
from cheaptalk.rules import Chance, Decide, Game, Instance, Table, games, get_game, strategies


def game(name: str = "bargaining", **parameters: Any) -> Game:
    return get_game(name).rules.model_validate(parameters)


def others(rules: Game, mine: str) -> dict[str, Decide]:
    known = strategies(rules.name)
    found = {}
    for place, role in rules.seats.items():
        able = [one for one in known.values() if role in one.roles]
        found[place] = known["random"] if "random" in known else able[0]
    return {place: one.with_settings() for place, one in found.items() if place != mine}


def seat(**settings: Any) -> ModelSeat:
    return ModelSeat.model_validate({"model": "openai/gpt-4o"} | settings)


def sent(
    spec: ModelSeat, rules: Game, mine: str, rivals: Mapping[str, Decide], seed: str
) -> list[list[tuple[ModelCall, str]]]:
    """The calls of a whole match with a scripted model in the place, by answer."""
    table = Table(rules, rules.draw_instance(Chance(seed).apart("deal")), seed)
    player = spec.model_copy(update={"model": MOCK_MODEL}).player(rules)
    places = {one.name: one.seat for one in rules.actors}
    answers = []
    while table.pending:
        for name in tuple(table.pending):
            asked = table.request(name)
            if places[name] != mine:
                table.answer(name, rivals[places[name]](asked))
                continue
            calls, thinking = [], player.answer(asked)
            try:
                call = next(thinking)
                while isinstance(call, ModelCall):
                    reply: Reply = asyncio.run(ScriptedModels().call(call, "", 1))
                    calls.append((call, reply.text or ""))
                    call = thinking.send(reply)
            except StopIteration as end:
                answers.append(calls)
                table.answer(name, end.value.action)
    return answers


@pytest.mark.parametrize(
    "settings", [{}, {"history": "summary"}, {"history": {"last": 1}}, {"refine": {}}]
)
def test_a_preview_is_what_a_match_sends(settings: dict[str, Any]) -> None:
    rules, spec = game(horizon=6), seat(**settings)
    rivals = others(rules, "bob")
    matches = {str(seed): sent(spec, rules, "bob", rivals, str(seed)) for seed in range(20)}
    seed, whole = next((seed, calls) for seed, calls in matches.items() if len(calls) > 2)
    for turn, calls in enumerate(whole, start=1):
        found = preview(spec, rules, "bob", rivals, seed, turn)
        assert found is not None
        assert found.actor == "bob"
        assert [call.messages for call in found.calls] == [call.messages for call, _ in calls]
    assert preview(spec, rules, "bob", rivals, seed, len(whole) + 1) is None


def test_it_is_addressed_to_the_model_itself() -> None:
    rules = game()
    found = preview(seat(temperature=0.5), rules, "alice", others(rules, "alice"), "0")
    assert found is not None
    (call,) = found.calls
    assert call.model == "openai/gpt-4o"
    assert call.settings.temperature == 0.5
    assert call.form is not None
    assert call.form.example is None


@pytest.mark.parametrize("name", games())
def test_every_game_has_a_preview_of_a_refined_player(name: str) -> None:
    rules = game(name)
    mine = next(iter(rules.seats))
    found = preview(seat(refine={}, style=None), rules, mine, others(rules, mine), "0")
    assert found is not None
    assert found.calls[0].messages[0].role == "system"


def test_a_game_without_a_random_strategy_has_a_preview_of_its_first_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forms, "strategies", lambda name: {})
    rules = game()
    rivals = others(rules, "alice")
    found = preview(seat(tries=2), rules, "alice", rivals, "0")
    assert found is not None
    assert len(found.calls) == 2, "what is made up is no legal offer"
    assert preview(seat(), rules, "alice", rivals, "0", 2) is None


def test_calls_go_to_whoever_is_asked() -> None:
    rules = game("persuasion", myopic=True, horizon=3)
    rivals = others(rules, "bob")
    found = [preview(seat(), rules, "bob", rivals, "0", turn) for turn in (1, 2, 3)]
    assert len({one.actor for one in found if one is not None}) == 3
    assert all(len(one.calls[0].messages) == 2 for one in found if one is not None)


@pytest.mark.parametrize(
    "settings", [{}, {"persona": "You are in a hurry."}, {"history": "summary"}]
)
def test_the_chat_of_a_seat_is_what_a_model_there_would_be_sent(settings: dict[str, Any]) -> None:
    rules, spec = game(messages=False), seat(**settings)
    rivals = others(rules, "bob")
    shown = preview(spec, rules, "bob", rivals, "seed", 1)
    assert shown is not None
    table = Table(rules, rules.draw_instance(Chance("seed").apart("deal")), "seed")
    table.answer("alice", rivals["alice"](table.request("alice")))
    assert messages(table, "bob", spec) == shown.calls[0].messages
    with pytest.raises(ValueError, match='"alice" has no open request'):
        messages(table, "alice")


def test_the_chat_of_a_seat_holds_its_earlier_answers() -> None:
    table = Table(game(messages=False), Instance(), "seed")
    events = ct.games.bargaining.events
    table.answer("alice", events.Offer(alice_gain=7_500, bob_gain=2_500))
    table.answer("bob", events.Reply(decision="reject"))
    table.answer("bob", events.Offer(alice_gain=4_000, bob_gain=6_000))
    chat = messages(table, "alice")
    assert [one.role for one in chat] == ["system", "user", "assistant", "user"]
    assert "7500" in chat[2].content
    assert "$4,000" in chat[3].content
