"""Hosts play single matches while they are open."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.calls.commands import MatchCounts
from cheaptalk.players import PersonCall
from cheaptalk.records import Status, Store
from cheaptalk.records.ledger.spending import spent
from cheaptalk.studies import open_host, run_state
from tests.fakes import Canned, study

PEOPLE = {
    "games": [{"game": "persuasion", "fixed": {"horizon": 2, "myopic": False}}],
    "players": {"ann": {"person": "terminal"}, "luck": {"strategy": "random"}},
    "pairing": [["luck", "ann"]],
    "instances": 2,
}


def legal_person(seats: list[str]) -> Any:
    """Return a person who gives the first legal answer and records the seats."""

    async def ask(call: PersonCall) -> ct.models.Reply:
        assert call.problem is None
        seats.append(call.seat)
        fields = call.form["properties"].items()
        return ct.models.Reply(text=json.dumps({name: field["enum"][0] for name, field in fields}))

    return ask


def test_host_plays_matches_as_participants_arrive(tmp_path: Path) -> None:
    written = study(**PEOPLE)
    first, second = ct.plan(written).matches[:2]
    at_first: list[str] = []
    at_second: list[str] = []
    path = tmp_path / "store.sqlite"

    async def serve() -> list[Any]:
        async with open_host(written, path) as host:
            first_end = await host.play(first, legal_person(at_first))
            assert run_state(path, written.name).state == "running"
            assert host.matches() == MatchCounts(1, 1, 0)
            return [first_end, await host.play(second, legal_person(at_second))]

    ends = asyncio.run(serve())
    assert [end.status for end in ends] == [Status.FINISHED] * 2
    assert set(at_first) == set(at_second) == {"bob"}
    with Store.open(path) as store:
        assert store.study(written.name).done == 2
        assert {record.id for record in store.records(written.name)} == {first.id, second.id}
        assert ct.run(written, store, ask_person=legal_person([])).before == 2


def test_abandoned_match_continues_in_next_host(tmp_path: Path) -> None:
    written = study(**PEOPLE)
    match = ct.plan(written).matches[0]
    seats: list[str] = []

    async def leave(_: PersonCall) -> ct.models.Reply:
        raise asyncio.CancelledError

    async def serve(ask: Any) -> Any:
        async with open_host(written, tmp_path / "store.sqlite") as host:
            return await host.play(match, ask)

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(serve(leave))
    with Store.open(tmp_path / "store.sqlite") as store:
        (record,) = store.records(written.name, bodies=True)
        assert (record.status, record.body) == (Status.LIVE, {"seed": match.seed})
    assert asyncio.run(serve(legal_person(seats))).status is Status.FINISHED
    assert seats


def test_host_enforces_budget_across_matches(store: Store) -> None:
    models = {"a": {"model": "vllm/a"}, "fair": {"strategy": "equal_split"}}
    written = study(players=models, pairing=[["a", "fair"]], instances=9, budget={"calls": 3})

    async def serve() -> list[Any]:
        async with open_host(written, store, models=Canned()) as host:
            ends = [await host.play(match) for match in ct.plan(written).matches]
            assert host.dispatcher.halted == "the budget of 3 calls is exhausted"
            assert host.counts[Status.FINISHED] == sum(end is not None for end in ends)
            return [spent(store, host.rows.id).calls, *ends]

    calls, *ends = asyncio.run(serve())
    assert calls == 3
    assert ends[-1] is None
