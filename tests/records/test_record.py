"""Match records: JSON, replay, results and digests."""

import json
import math
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.games.bargaining.rules import Bargaining
from cheaptalk.games.negotiation.rules import Negotiation
from cheaptalk.games.persuasion.rules import Persuasion, Qualities
from cheaptalk.players import Kind, StrategySeat
from cheaptalk.records import (
    AnswerRecord,
    MatchRecord,
    Status,
    Store,
    VersionMismatch,
    configuration_digest,
    digest,
    digest_key,
    game_of,
    match_end,
    pack,
    player_digest,
)
from cheaptalk.records.identity import Configuration
from cheaptalk.records.record import UnreadBody
from cheaptalk.rules import (
    Instance,
    ReplayMismatch,
    RulesError,
    Table,
)
from tests.fakes import study
from tests.records.stored import SEED, play_moves, record_of
from tests.toys import Cards, Guessing

OFFER = {"alice_gain": 60.0, "bob_gain": 40.0, "message": "Mine, \u00eb \U0001f600."}
BARGAINING = Bargaining.model_validate({"money": 100, "horizon": 2})


def agreed_table() -> Table:
    """Return a match: Bob rejects an offer and makes his own, which Alice accepts."""
    return play_moves(
        BARGAINING, Instance(),
        (0, "alice", OFFER), (1, "bob", {"decision": "reject"}),
        (2, "bob", OFFER | {"alice_gain": 30.0, "bob_gain": 70.0}),
        (3, "alice", {"decision": "accept"}),
    )  # fmt: skip


def call(model: str | None, tokens: tuple[int, int] | None, **more: Any) -> dict[str, Any]:
    """Return a recorded call to a model, or to a person if the model is None."""
    request = {"model": model, "messages": []} if model else {"actor": "alice", "news": []}
    usage = dict(zip(("input_tokens", "output_tokens"), tokens or (), strict=False))
    reply = {"text": "Yes.", "usage": usage} if tokens else None
    return {"call": request, "reply": reply, "sending": 1} | more


def test_record_can_be_rebuilt_from_json() -> None:
    table = agreed_table()
    record = record_of(table)
    data = json.loads(json.dumps(record.as_json()))
    body = {key: data.pop(key) for key in ("format", "package", "seed", "instance", "answers")}
    made = Configuration(*(data.pop(key) for key in ("game", "rules_version", "parameters")))
    data["id"] = data.pop("match_id")
    data["status"] = Status(data["status"])
    data["begun"], data["finished"] = (
        None if (time := data.pop(key)) is None else datetime.fromisoformat(time).timestamp()
        for key in ("started_at", "ended_at")
    )
    del data["imported_at"]
    again = MatchRecord(configuration=made, **data, packed=pack(body))
    assert again.as_json() == record.as_json()
    replayed = again.replay()
    assert (replayed.outcome, replayed.heard) == (table.outcome, table.heard)
    assert record.payoffs == pytest.approx({"alice": 27.0, "bob": 63.0})
    end = match_end(table, SEED, record.answers, {"system": "glee"})
    imported = replace(record, packed=end.body)
    assert imported.as_json() == record.as_json() | {"source": {"system": "glee"}}


def test_only_model_calls_are_counted() -> None:
    calls = [
        (call("vllm/tiny", (10, 1)), call("vllm/tiny", (100, 2))), (call(None, (0, 0)),),
        (call("vllm/tiny", None),), (),
    ]  # fmt: skip
    kinds = [Kind.REPAIRED, Kind.OK, Kind.OK, Kind.OK]
    table = agreed_table()
    answers = [
        AnswerRecord(move.request, move.actor, kind, move.action.model_dump(), made)
        for move, kind, made in zip(table.given, kinds, calls, strict=True)
        if move.action is not None
    ]
    record = record_of(table, answers)
    assert (record.calls, record.input_tokens, record.output_tokens) == (3, 110, 3)
    assert record.answers == answers
    assert record.kinds == {"alice": {"repaired": 1, "ok": 1}, "bob": {"ok": 2}}


def test_answer_kinds_are_counted_by_role() -> None:
    game = Persuasion.model_validate({"horizon": 3, "myopic": True})
    table = Table(game, Qualities(qualities=(True, False, True)), SEED)
    answers = []
    while table.pending:
        (seat,) = table.pending
        fields = {"message": "Buy."} if seat == "alice" else {"decision": "yes"}
        request = table.requests
        table.answer(seat, table.pending[seat].action.model_validate(fields))
        kind = Kind.REPAIRED if seat == "bob_2" else Kind.OK
        answers.append(AnswerRecord(request, seat, kind, fields))
    record = record_of(table, answers)
    assert {answer.actor for answer in record.answers} == {"alice", "bob_1", "bob_2", "bob_3"}
    assert record.kinds == {"alice": {"ok": 3}, "bob": {"ok": 2, "repaired": 1}}


# Replay errors


def test_matches_of_other_rules_do_not_replay() -> None:
    record = record_of(agreed_table())
    record = replace(record, configuration=replace(record.configuration, version=99))
    with pytest.raises(VersionMismatch) as caught:
        record.replay()
    assert str(caught.value) == (
        "match 0123456789 was played under version 99 of the rules of bargaining; "
        f"version {Bargaining.version} is installed and can't replay it"
    )
    changed = BARGAINING.model_dump(mode="json") | {"interest": 0.5, "money": -1}
    record = record_of(agreed_table(), configuration=Configuration("bargaining", 1, changed))
    with pytest.raises(VersionMismatch) as caught:
        record.replay()
    message = str(caught.value)
    assert f"match {record.id} does not replay" in message
    assert f"do not fit version {Bargaining.version} of the rules of bargaining" in message
    assert "interest" in message
    assert "money" in message
    table = play_moves(
        Persuasion.model_validate({"horizon": 1}), Qualities(qualities=(True,)),
        (0, "alice", {"message": "Buy."}), (1, "bob", {"decision": "no"}),
    )  # fmt: skip
    record = record_of(table, configuration=Configuration("persuasion", 1, {}))
    with pytest.raises(ReplayMismatch, match=r"rules of persuasion fail .*numbers of rounds"):
        record.replay()


def alter_answer(record: MatchRecord, place: int, **changes: Any) -> MatchRecord:
    """Return a copy of a record with one answer changed."""
    answers = [dict(answer) for answer in record.body["answers"]]
    answers[place] |= changes
    return replace(record, packed=pack(record.body | {"answers": answers}))


def test_invalid_answers_do_not_replay() -> None:
    cases: list[tuple[int, dict[str, Any], str]] = [
        (1, {"action": {"decision": "maybe"}}, 'recorded answer 1 of "bob" is refused: '),
        (0, {"action": OFFER | {"bob_gain": 50.0}}, "the two parts must add up to 100"),
        (1, {"actor": "alice"}, 'recorded answer 1 of "alice" matches no open request'),
        (2, {"request": 5}, 'recorded answer 5 of "bob" matches no open request: request 2'),
        (1, {"action": {"decision": "accept"}}, "request 2 is to no actor"),
    ]
    for place, changes, reason in cases:
        record = alter_answer(record_of(agreed_table()), place, **changes)
        with pytest.raises(ReplayMismatch) as caught:
            record.replay()
        assert str(caught.value).startswith("match 0123456789 does not replay: ")
        assert reason in str(caught.value)
        assert not isinstance(caught.value, VersionMismatch)


def test_match_without_answers_does_not_replay() -> None:
    record = record_of(agreed_table())
    seed = pack({"seed": SEED})
    for unplayed, why in (
        (replace(record, packed=None, status=Status.LIVE), "it is live"),
        (replace(record, packed=seed, status=Status.FAILED), "it is failed"),
    ):
        with pytest.raises(ReplayMismatch, match=f"match 0123456789 has no answers.*{why}"):
            unplayed.replay()
        assert unplayed.answers == []
        assert unplayed.as_json()["status"] == unplayed.status
        with pytest.raises(ReplayMismatch, match=f"match 0123456789 has no instance: {why}"):
            _ = unplayed.instance


def test_record_without_body_explains_how_to_load_it(store: Store) -> None:
    """Regression: its instance raised KeyError, and it appeared to have no answers."""
    ct.run(study(), store)
    listed = next(iter(store.records("small")))
    attributes = [name for name in dir(MatchRecord) if not name.startswith("_")]
    lacking: dict[str, str] = {}
    for name in [*attributes, *(field.name for field in fields(MatchRecord))]:
        try:
            value = getattr(listed, name)
            if name in ("as_json", "replay", "result", "table"):
                value()
        except UnreadBody as error:
            lacking[name] = str(error)
    assert all(f'store.find("{listed.id}")' in sentence for sentence in lacking.values())
    assert set(lacking) == {"answers", "as_json", "body", "chat", "instance", "replay", "table"}
    assert listed.played is None  # only a match of another system has a date in its body
    assert listed.id in repr(listed)
    assert "bargaining" in listed._repr_html_()
    loaded = store.find(listed.id)
    assert loaded == replace(listed, packed=loaded.packed)
    assert loaded.instance == loaded.result().instance
    assert [record.unread for record in store.records("small", bodies=True)] == [False, False]


# Results


def test_results_contain_game_instance_outcome_and_moves(toys: None) -> None:
    table = agreed_table()
    result = record_of(table).result()
    assert result.game == BARGAINING
    assert result.outcome == table.outcome
    assert [(move.request, move.actor) for move in result.given()] == [
        (0, "alice"), (1, "bob"), (2, "bob"), (3, "alice"),
    ]  # fmt: skip
    assert result.given() == table.given
    game = Guessing.model_validate({"horizon": 1, "talk": False})
    table = play_moves(
        game, Cards(left=1, right=2), (0, "right", {"number": 3}), (0, "left", {"number": 4})
    )
    result = record_of(table).result()
    assert result.instance == Cards(left=1, right=2)
    assert (result.outcome.left, result.outcome.right) == (0, 1)
    forfeited = record_of(play_moves(BARGAINING, Instance(), (0, "alice", OFFER), (1, "bob", None)))
    assert (forfeited.status, forfeited.reason) == (Status.FORFEITED, "forfeited by bob")
    assert (forfeited.outcome, forfeited.payoffs) == (None, None)
    assert forfeited.replay().forfeited == {"bob"}
    with pytest.raises(ReplayMismatch, match="match 0123456789 has no result: it is forfeited"):
        forfeited.result()


# Digests


def test_equal_games_are_one_object() -> None:
    first, second = record_of(agreed_table()), record_of(agreed_table(), id="other")
    assert first.rules is second.rules
    assert first.rules == BARGAINING
    assert game_of("bargaining", '{"money": 7}').model_dump()["money"] == 7


def test_digests_depend_only_on_contents(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [("a", "b"), ("b", "a"), ("ab",), ("a", "b", ""), ("a", 1)]
    assert len({digest(*part) for part in parts}) == len(parts)
    assert digest_key({"b": {"y": 1, "x": 2}, "a": 3}) == '{"a":3,"b":{"x":2,"y":1}}'
    games = [Bargaining(), Bargaining(money=5), Negotiation()]
    digests = [configuration_digest(game) for game in games]
    assert len(set(digests)) == 3
    assert configuration_digest(Bargaining(money=10_000)) == digests[0]
    monkeypatch.setattr(Bargaining, "version", 99)
    assert configuration_digest(Bargaining()) not in digests
    seats = [
        StrategySeat(game="bargaining", strategy="fixed_demand", settings=settings)
        for settings in ({"share": 0.5}, {"share": 0.6})
    ]
    other = StrategySeat(game="negotiation", strategy="fixed_demand", settings={"share": 0.5})
    assert len({player_digest(seat) for seat in [*seats, other]}) == 3
    assert player_digest(seats[0]) == player_digest(seats[0].model_copy())


def test_outcome_that_is_not_json_raises_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bargaining, "payoffs", lambda self, outcome: {"alice": 0.0, "bob": 0.0})
    table = agreed_table()
    assert table.outcome is not None
    table.outcome = table.outcome.model_copy(update={"alice_gain": math.inf})
    message = 'bargaining: the outcome has inf as "alice_gain"; matches are stored as JSON'
    with pytest.raises(RulesError, match=message):
        match_end(table, SEED, [])
