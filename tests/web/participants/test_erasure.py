"""An erased participant leaves no trace in any file, and others keep their data."""

import asyncio
import json
from pathlib import Path

import pytest

from cheaptalk.records import Store
from tests.web.participants.comers import PEOPLE, Open, opened, people_study

STUDY = people_study(path=[
    PEOPLE["path"][0], "first_name",
    {"survey": {"name": "before", "items": [{"name": "feedback", "ask": "Why?", "lines": 4}]}},
    {"games": {"max": 2, "can_stop": True}}, PEOPLE["path"][-1],
])  # fmt: skip
ID, NAME, MESSAGE = "zerlina-7781", "Zerlina", "batti batti o bel Masetto"


def find_traces(folder: Path, *traces: str) -> list[tuple[str, str]]:
    """Return the files of a folder that contain a trace, with the trace."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".key"]
    assert any(path.name.endswith("sqlite") for path in files)
    return [
        (path.name, trace)
        for path in files
        for trace in traces
        if trace.encode() in path.read_bytes()
    ]


@pytest.mark.parametrize("when", ["playing", "played", "complete"])
async def test_erasure_leaves_no_trace(tmp_path: Path, when: str) -> None:
    async def go(site: Open) -> tuple[str, str]:
        erased, partner = site.comer(NAME), site.comer("Masetta")
        erased.said = MESSAGE
        form = {"known_by": ID, "more": "STUDY_ID=giovanni-1787"}
        entered = await site.client.post("/enter", data=form)
        erased.path = entered.headers["location"]
        site.client.cookies.clear()
        await erased.look()
        await partner.come()
        traces = (ID, "giovanni-1787", NAME, MESSAGE, erased.code)
        both = (erased, partner)
        await asyncio.gather(*(item.until(lambda page: "Rules and" in page.words) for item in both))
        while not (erased.page.form("answer") or (await partner.look()).form("answer")):
            await erased.look()
        if when != "playing":
            await asyncio.gather(erased.to("done"), partner.to("done"))
        if when == "complete":
            await asyncio.gather(erased.finish(), partner.finish())
        assert {trace for _, trace in find_traces(tmp_path, *traces)} == set(traces)
        code, partner.more = erased.code, False
        await site.supervisor.erase(erased.participant)
        await partner.finish()
        for _ in range(1_000):
            if code not in site.experiment.people:
                break
            await site.supervisor.check(0.0)
            await partner.look()
            await asyncio.sleep(0.001)
        assert find_traces(tmp_path, *traces) == []
        assert (await site.client.get(erased.path)).status_code == 404
        page = await partner.look()
        assert page.ending == ("partner_left" if when == "playing" else "complete")
        assert page.code
        return code, partner.code

    async with opened(tmp_path, STUDY) as site:
        code, partner_code = await go(site)
    assert find_traces(tmp_path, ID, NAME, MESSAGE, code) == []
    with Store.open(tmp_path / "s.sqlite") as store, store.reading() as connection:
        query = "select code, key from payments left join participants p on p.id = participant_id"
        dues = {tuple(row) for row in connection.exec_driver_sql(query)}
        plays = connection.exec_driver_sql("select state, cents from plays").all()
        answers = connection.exec_driver_sql("select answer from responses").scalars()
        earned = sum(json.loads(answer).get("cents") or 0 for answer in answers)
    kinds = {"playing": {"partner_left/1"}}.get(when, {"base/1"})
    assert {key for participant, key in dues if participant == partner_code} >= kinds
    assert {participant for participant, _ in dues} == {partner_code}
    assert sum(cents or 0 for _, cents in plays) == earned
