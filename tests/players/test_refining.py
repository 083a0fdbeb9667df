"""A refined player writes down candidates, then chooses one of them."""

import json
from typing import Any

import pytest

from cheaptalk.games.chip_trading.rules import Proposal, Response
from cheaptalk.models import Failure, Reply
from cheaptalk.players import Answer, Kind, LanguageModel, ModelSeat
from cheaptalk.players.language_model.replies import refinable
from cheaptalk.rules import Chance, DecisionRequest, Table, get_game
from tests.players.thinking import ask_model


def table() -> Table:
    game = get_game("chip_trading").rules()
    return Table(game, game.draw_instance(Chance("7").apart("deal")), "7")


def player(**settings: Any) -> LanguageModel:
    data = {"model": "vllm/tiny", "refine": {"candidates": 3}} | settings
    return ModelSeat.model_validate(data).player(get_game("chip_trading").rules())


def first_request() -> DecisionRequest:
    at = table()
    (ask,) = at.pending.values()
    return at.request(ask.actor)


def trade(amount: int, want: str = "red") -> dict[str, Any]:
    return {"give": "green", "give_amount": amount, "want": want, "want_amount": 2}


def candidate_list(*trades: dict[str, Any]) -> str:
    return json.dumps({"candidates": trades})


THREE = candidate_list(trade(1), trade(2), trade(3))


def test_refining_uses_two_calls_for_candidates_and_choice() -> None:
    model = player(chain_of_thought="Think hard.")
    (first, second), answer = ask_model(model, first_request(), THREE, '{"choice": 2}')
    assert answer == Answer(Proposal(**trade(2)), Kind.OK)
    assert "First write down 3 different candidates" in first.messages[-1].content
    roles = [message.role for message in second.messages]
    assert roles == ["system", "user", "assistant", "user"]
    assert second.messages[2].content.splitlines() == [
        f"{place}. {Proposal(**trade(place)).model_dump_json()}" for place in (1, 2, 3)
    ]
    assert "First write down" not in second.messages[1].content
    assert "Which one is your answer?" in second.messages[3].content
    for call in (first, second):
        assert call.messages[-1].content.endswith("\n\nThink hard.")
        assert (call.game, call.seat) == ("chip_trading", first_request().actor)
    forms = [call.form.json_schema["properties"] for call in (first, second) if call.form]
    several, choice = forms[0]["candidates"], forms[1]["choice"]
    assert (several["minItems"], several["maxItems"]) == (3, 3)
    assert (choice["minimum"], choice["maximum"]) == (1, 3)


def test_candidates_can_be_requested_in_separate_calls() -> None:
    model = player(refine={"candidates": 2, "apart": True})
    replies = [json.dumps(trade(4)), json.dumps(trade(5)), '{"choice": 1}']
    (first, second, choice), answer = ask_model(model, first_request(), *replies)
    assert answer == Answer(Proposal(**trade(4)), Kind.OK)
    assert "candidate 1 of 2" in first.messages[-1].content
    assert "candidate 2 of 2" in second.messages[-1].content
    assert len(first.messages) == len(second.messages) == 2, "neither knows of the other"
    assert len(choice.messages[2].content.splitlines()) == 2


def test_identical_candidates_skip_the_choice() -> None:
    calls, answer = ask_model(
        player(), first_request(), candidate_list(trade(1), trade(1), trade(1))
    )
    assert len(calls) == 1
    assert answer == Answer(Proposal(**trade(1)), Kind.OK)


def test_invalid_candidate_list_is_retried() -> None:
    for reply, message in [
        (candidate_list(trade(1), trade(99), trade(2)), "candidate 2: "),
        (candidate_list(trade(1)), "at least 3"),
        (candidate_list(*[trade(amount) for amount in (1, 2, 3, 4)]), "at most 3"),
        (json.dumps(trade(1)), "candidates"),
        ("Well.", "no JSON object"),
    ]:
        calls, answer = ask_model(player(), first_request(), reply, THREE, '{"choice": 3}')
        again = calls[1].messages[-1].content
        assert again.startswith("Your last answer does not count: ")
        assert message in again
        assert answer == Answer(Proposal(**trade(3)), Kind.REPAIRED)


def test_choice_must_be_one_of_the_candidates() -> None:
    for reply in [
        '{"choice": 0}',
        '{"choice": 4}',
        json.dumps(trade(4)),
        '{"choice": 1} {"choice": 2}',
    ]:
        _, answer = ask_model(player(), first_request(), THREE, reply, '{"choice": 3}')
        assert answer.kind is Kind.REPAIRED
        final = ask_model(player(tries=1), first_request(), THREE, reply)[1]
        assert final == Answer(None, Kind.UNPARSABLE)


def test_failure_at_either_stage_keeps_its_kind() -> None:
    for before in ([], [THREE]):
        failure = Reply(failure=Failure.REFUSED)
        given = ask_model(player(tries=1), first_request(), *before, failure)[1]
        assert given == Answer(None, Kind.REFUSED)
        apart = player(refine={"candidates": 2, "apart": True}, tries=1)
        first = [json.dumps(trade(1)) for _ in before]
        cut = Reply(text='{"give": "gre', finish="length")
        assert ask_model(apart, first_request(), *first, cut)[1] == Answer(None, Kind.TRUNCATED)


def test_short_choices_are_not_refined() -> None:
    at = table()
    (ask,) = at.pending.values()
    at.answer(ask.actor, Proposal(**trade(1)))
    responder = next(iter(at.pending))
    calls, answer = ask_model(player(), at.request(responder), '{"decision": "decline"}')
    assert len(calls) == 1
    assert answer == Answer(Response(decision="decline"), Kind.OK)
    assert refinable(Proposal)
    assert not refinable(Response)


def test_next_turn_shows_the_answer_without_candidates() -> None:
    model, at = player(past_answers="verbatim"), table()
    seat = next(iter(at.pending))
    _, answer = ask_model(model, at.request(seat), THREE, '{"choice": 2}')
    at.answer(seat, answer.action)
    while next(iter(at.pending)) != seat:
        for ask in at.pending.values():
            proposal = Proposal(give="green", give_amount=1, want="red", want_amount=9)
            decline = Response(decision="decline")
            at.answer(ask.actor, proposal if ask.action is Proposal else decline)
    (call, _), _ = ask_model(model, at.request(seat), THREE, '{"choice": 1}')
    answers = [message.content for message in call.messages if message.role == "assistant"]
    assert answers[0] == Proposal(**trade(2)).model_dump_json()
    assert "choice" not in "".join(answers)


def test_refining_requires_a_json_style() -> None:
    game = get_game("deal_or_no_deal").rules()
    refined = ModelSeat.model_validate({"model": "vllm/tiny", "refine": {}, "style": "tagged"})
    with pytest.raises(ValueError, match='in the style "tagged" of deal_or_no_deal are not'):
        refined.seat(game, next(iter(game.seats)))
    plain = refined.model_copy(update={"style": "plain"})
    assert plain.seat(game, next(iter(game.seats))).style == "plain"
