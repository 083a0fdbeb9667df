"""A host plays single matches, for as long as it is open."""

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
from cheaptalk.studies import open_host, watch
from tests.fakes import Canned, study

PEOPLE = {
    "games": [{"game": "persuasion", "fixed": {"horizon": 2, "myopic": False}}],
    "players": {"ann": {"person": "terminal"}, "luck": {"strategy": "random"}},
    "pairing": [["luck", "ann"]],
    "instances": 2,
}


def nodding(seats: list[str]) -> Any:
    """A person who gives the first answer that is legal, and notes where it sits."""

    async def ask(call: PersonCall) -> ct.models.Reply:
        assert call.problem is None
        seats.append(call.seat)
        fields = call.form["properties"].items()
        return ct.models.Reply(text=json.dumps({name: one["enum"][0] for name, one in fields}))

    return ask


def test_matches_are_played_as_their_people_arrive(tmp_path: Path) -> None:
    written = study(**PEOPLE)
    first, second = ct.plan(written).matches[:2]
    at_first: list[str] = []
    at_second: list[str] = []
    path = tmp_path / "store.sqlite"

    async def serve() -> list[Any]:
        async with open_host(written, path) as host:
            one = await host.play(first, nodding(at_first))
            assert watch(path, written.name).state == "running"
            assert host.matches() == MatchCounts(1, 1, 0)
            return [one, await host.play(second, nodding(at_second))]

    ends = asyncio.run(serve())
    assert [end.status for end in ends] == [Status.FINISHED] * 2
    assert set(at_first) == set(at_second) == {"bob"}
    with Store.open(path) as store:
        assert store.study(written.name).done == 2
        assert {record.id for record in store.records(written.name)} == {first.id, second.id}
        assert ct.run(written, store, ask_person=nodding([])).before == 2


def test_a_match_that_was_left_goes_on_in_the_next_host(tmp_path: Path) -> None:
    written = study(**PEOPLE)
    match = ct.plan(written).matches[0]
    asked: list[str] = []

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
    assert asyncio.run(serve(nodding(asked))).status is Status.FINISHED
    assert asked


def test_a_host_keeps_to_the_study_s_budget_over_all_that_it_plays(store: Store) -> None:
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
