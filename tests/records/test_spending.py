"""Spending of ended matches and open calls, by kind of token and by player."""

import json
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import cheaptalk as ct
from cheaptalk.models import Reply, Usage
from cheaptalk.records import Status, Store
from cheaptalk.records.costs import Cost, cost_of
from cheaptalk.records.integrity import examine
from cheaptalk.records.ledger.spending import (
    costs_by_player,
    paid_by_others,
    spent,
    spent_on,
    study_cost,
)
from tests.conftest import Command
from tests.fakes import Canned, broken, legal, study, with_model
from tests.records.stored import Shelf, call_row, insert_calls

USED = {"input_tokens": 100, "output_tokens": 20, "cached_tokens": 60, "reasoning_tokens": 5}


def insert_call(
    store: Store, match: str, request: int, state: str, reply: Any = None, **more: Any
) -> None:
    values = {"study_id": 1} | more | ({"reply": reply} if reply else {})
    insert_calls(store, call_row(match, request, state, **values))


def test_call_cost_counts_unknown_amounts(store: Store) -> None:
    for index, (reply, cost) in enumerate(
        [
            (None, Cost(calls=1, unresolved=1)),
            ({"text": "x", "usage": USED, "dollars": 0.25}, Cost(1, Usage(**USED), 0.25)),
            ({"text": "x", "usage": USED}, Cost(1, Usage(**USED), unpriced=1)),
            ({"text": "x"}, Cost(1, unpriced=1, uncounted=1)),
            ({"text": "x", "dollars": 0.0}, Cost(1, uncounted=1)),
            ({"failure": "timed_out"}, Cost(1, unpriced=1, uncounted=1)),
            ({"failure": "provider_error", "status": 500, "dollars": 0.0}, Cost(1)),
            ({"failure": "provider_error", "status": 401}, Cost(1, unpriced=1)),
            ({"failure": "provider_error", "unreached": True}, Cost(unreached=1)),
            ({"failure": "refused", "usage": USED}, Cost(1, Usage(**USED), unpriced=1)),
            ({"text": "x", "cached": True, "usage": USED, "reported": "{}"}, Cost()),
            (
                {"text": "x", "usage": USED, "reported": "{}", "dollars": 0.5},
                Cost(1, Usage(**USED), 0.5, implausible=1),
            ),
        ]
    ):
        assert cost_of(reply) == cost
        match = f"m{index}"
        Shelf(store).add(match)
        for number, state in enumerate(
            ("failed", "unresolved") if reply else ("sent", "unresolved")
        ):
            insert_call(store, match, number, state, reply)
        assert spent_on(store, match) == cost + cost, "the store sums the same cost in every state"


def test_spent_sums_ended_matches_and_open_calls(store: Store) -> None:
    shelf, other = Shelf(store), Shelf(store, "other")
    store.add(
        shelf.study,
        [
            shelf.match("finished", calls=2, tokens=(100, 10)),
            shelf.match("forfeited", Status.FORFEITED, "forfeited by bob", 1, (1_000, 1)),
            shelf.match("failed", Status.FAILED, "out of order", 99, (10**6, 10**6)),
            shelf.match("live", Status.LIVE),
        ],
    )
    store.add(other.study, [other.match("elsewhere", calls=50, tokens=(5, 5))])
    assert (spent(store, shelf.study).calls, spent(store, shelf.study).tokens) == (3, 1_111)
    usage = {"usage": {"input_tokens": 20_000, "output_tokens": 2}}
    refusal = {"failure": "provider_error", "status": 500, "dollars": 0.0}
    insert_call(store, "failed", 0, "failed", refusal)
    insert_call(store, "live", 0, "answered", {"text": "Yes.", "dollars": 0.5} | usage)
    insert_call(store, "live", 1, "unresolved")
    insert_call(store, "live", 2, "answered", {"text": "Yes."}, call={"actor": "alice"})
    insert_call(store, "live", 3, "answered", {"text": "Yes.", "cached": True})
    insert_call(store, "finished", 0, "failed", {"usage": {"output_tokens": 30}})
    insert_call(store, "elsewhere", 0, "answered", usage, study_id=other.study)
    cost = spent(store, shelf.study)
    assert (cost.calls, cost.tokens, cost.dollars) == (7, 21_143, 0.5)
    assert (cost.unpriced, cost.unresolved) == (1, 1)
    assert (spent(store, other.study).calls, spent(store, other.study).tokens) == (51, 20_012)
    query = "select sum(calls), sum(input_tokens + output_tokens), sum(dollars) from v_costs"
    with store.reading() as connection:
        seen = connection.execute(sa.text(f"{query} where study = 'shelf'")).one()
    assert tuple(seen) == (cost.calls, cost.tokens, cost.dollars)


def run_shared_studies(store: Store, calls: int) -> tuple[ct.Study, ct.Study, Canned]:
    """Return two studies of the same matches, and run the first until its budget ends."""
    answers = Canned(lambda call, number: Reply(text=legal(call), usage=Usage(**USED), dollars=0.5))
    first, second = (study(**with_model(), name=name) for name in ("first", "second"))
    halted = ct.run(first, store, models=answers, concurrency=1, cap=ct.studies.Cap(calls=calls))
    assert halted.halted
    return first, second, answers


def test_shared_match_is_charged_to_buyer_of_each_call(store: Store) -> None:
    first, second, answers = run_shared_studies(store, calls=5)
    assert [record.status for record in store.records()][-1] is Status.LIVE, "started by first"
    assert ct.run(second, store, models=answers).left == 0
    assert ct.run(first, store, models=answers).left == 0
    of_first, of_second = study_cost(store, "first"), study_cost(store, "second")
    assert of_first.calls == 5
    assert (of_first + of_second).calls == len(answers.calls)
    assert (of_first + of_second).tokens == sum(record.calls for record in store.records()) * 120
    assert costs_by_player(store, "first") == {"tiny": of_first}
    assert costs_by_player(store, "second") == {"tiny": of_second}
    shared = paid_by_others(store, "second")["first"]
    assert (shared, paid_by_others(store, "first")["second"]) == (4, 3), (
        "both paid for one of the six"
    )
    assert examine(store).damages == []


def test_status_and_report_name_the_paying_study(store: Store, cheaptalk: Command) -> None:
    _, second, answers = run_shared_studies(store, calls=5)
    assert ct.run(second, store, models=answers).left == 0
    where = ("--store", store.backend.address)
    output = cheaptalk("status", "second", *where).out
    assert "second: 4 matches shared with first, which paid for the calls" in output
    studies = json.loads(cheaptalk("status", "--json", *where).out)["studies"]
    assert [entry["cost"]["calls"] for entry in studies] == [5, len(answers.calls) - 5]
    assert studies[1]["paid_by_others"] == {"first": 4}
    cheaptalk("report", "second", "--out", "r.html", *where)
    assert "4 matches by first" in Path("r.html").read_text()


def test_failed_attempts_count_after_the_match_finished(store: Store, no_waits: None) -> None:
    usage = Usage(input_tokens=1_000, output_tokens=10, cached_tokens=900, reasoning_tokens=4)

    def billed(call: ct.models.ModelCall, number: str) -> Reply:
        if number.endswith("/1"):
            return broken().model_copy(update={"usage": usage})
        return Reply(text=legal(call), usage=usage)

    models = Canned(billed)
    progress = ct.run(study(**with_model()), store, models=models)
    assert progress.left == 0
    assert all(number[-2:] in ("/1", "/2") for number in models.numbers)
    cost = spent(store, 1)
    assert cost.calls == len(models.calls)
    assert cost.usage.model_dump() == {
        name: count * cost.calls for name, count in usage.model_dump().items()
    }
    assert cost.calls == 2 * sum(record.calls for record in store.records())
    assert costs_by_player(store, "small") == {"tiny": cost}


def test_player_costs_include_superseded_matches(
    store: Store,
) -> None:
    models = Canned(lambda call, number: Reply(text=legal(call), usage=Usage(**USED), dollars=0.5))
    ct.run(study(**with_model()), store, models=models)
    changed = study(**with_model() | {"instances": 1})
    assert ct.run(changed, store, models=models).set_aside == 4
    assert costs_by_player(store, "small") == {"tiny": study_cost(store, "small")}


def test_costs_are_split_by_player(store: Store) -> None:
    def counted(call: ct.models.ModelCall, number: str) -> Reply:
        tokens = 7 if call.model == "vllm/tiny" else 11
        return Reply(text=legal(call), usage=Usage(input_tokens=tokens))

    players = {"tiny": {"model": "vllm/tiny"}, "other": {"model": "openai/unheard-of"}}
    made = study(players=players, pairing=[["tiny", "other"]], instances=4, budget={"calls": 5})
    models = Canned(counted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "key")
        assert ct.run(made, store, models=models).halted
    costs = costs_by_player(store, "small")
    total = costs["tiny"] + costs["other"]
    assert total == spent(store, 1)
    assert total.calls == 5
    for label, name, tokens in (("tiny", "vllm/tiny", 7), ("other", "openai/unheard-of", 11)):
        calls = [call for call in models.calls if call.model == name]
        assert costs[label].tokens == tokens * len(calls) > 0
    assert costs["tiny"].unpriced == 0, "local models cost nothing"
    assert costs["other"].unpriced == costs["other"].calls
