"""Response times of the console: 5,000 participants with 100,000 matches, and 500 live ones."""

import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import sqlalchemy as sa
import yaml

import cheaptalk as ct
from bench.rows import Row
from cheaptalk.records.store import schema
from cheaptalk.web import Laboratory, LaboratoryDatabase, Links, make_laboratory, set_up_code

PEOPLE = 5_000
GAMES = 20
"""Matches per participant."""
LOADS = 20
"""Requests per page."""
STUDY: dict[str, Any] = {
    "name": "large", "instances": 60_000, "pairing": [["people", "bot"], ["bot", "people"]],
    "games": [{"game": "bargaining", "fixed": {"horizon": 4, "money": 100}}],
    "players": {"people": {"person": "browser"}, "bot": "random"},
    "people": {
        "recruitment": {"source": "prolific"},
        "path": [
            {"consent": "We play."}, {"games": GAMES}, {"survey": [{"name": "q", "ask": "?"}]},
        ],
        "pay": {"base": 1, "bonus": [{"rate": 0.01}]},
    },
}  # fmt: skip
LIVE = 500
"""Live participants, half of whom read the first page while the others play."""
LIVE_STUDY: dict[str, Any] = {
    "name": "live", "instances": LIVE, "pairing": [["people", "bot"]],
    "games": [{"game": "bargaining", "fixed": {"horizon": 4, "money": 100}}],
    "players": {"people": {"person": "browser"}, "bot": "random"},
    "people": {"path": [{"consent": "We play."}, {"games": {"max": 1}}]},
}  # fmt: skip
PASSWORD = "a password of the bench"  # noqa: S105 - for a temporary laboratory


def rows() -> Iterator[Row]:
    """Yield the time to open the laboratory, and the 95th percentile of each page's load time."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "large.yaml").write_text(yaml.safe_dump(STUDY, sort_keys=False))
        _fill(folder / "large.sqlite")
        seconds = asyncio.run(_load_times(folder))
    live = sorted(seconds.pop("live"))
    size = f"{PEOPLE:,} participants, {PEOPLE * GAMES:,} matches"
    yield Row(f"time to open a study of {size}", seconds.pop("opening")[0], "s", None)
    for page, times in seconds.items():
        p95 = 1000 * sorted(times)[int(0.95 * (len(times) - 1))]
        yield Row(f"load time of the page {page}, p95, {size}", p95, "ms", ("<=", 500),
                  f"first load {1000 * times[0]:.0f} ms")  # fmt: skip
    yield Row(f"refresh of the table of {LIVE} live participants, p95",
              1000 * live[int(0.95 * (len(live) - 1))], "ms", ("<=", 100),
              f"median {1000 * live[len(live) // 2]:.0f} ms")  # fmt: skip


async def _load_times(folder: Path) -> dict[str, list[float]]:
    """Return the seconds to open the laboratory and to load each page, by page."""
    began = time.perf_counter()
    with LaboratoryDatabase(folder) as database:
        for study in (STUDY, LIVE_STUDY):
            text = yaml.safe_dump(study, sort_keys=False)
            database.drafts.create(study["name"], text, "owner")
        links = Links(b"the key of the bench is long enough")
        async with Laboratory(folder, database, links) as laboratory:
            seconds = {"opening": [time.perf_counter() - began]}
            code = set_up_code(database)
            transport = httpx.ASGITransport(make_laboratory(laboratory, code))
            async with httpx.AsyncClient(transport=transport, base_url="http://bench") as client:
                page = (await client.get("/console/set-up")).text
                csrf = page.partition('name="csrf" value="')[2].partition('"')[0]
                fields = {"csrf": csrf, "code": code, "name": "owner"}
                fields |= {"password": PASSWORD, "again": PASSWORD}
                await client.post("/console/set-up", data=fields)
                for tab in ("overview", "participants", "matches", "pay"):
                    seconds[tab] = [await _timed(client, "large", tab) for _ in range(LOADS)]
                await _admit(laboratory)
                tab = "participants"
                seconds["live"] = [await _timed(client, "live", tab) for _ in range(LOADS)]
    return seconds


async def _admit(laboratory: Laboratory) -> None:
    """Launch the live study, and admit its participants, half of whom start to play."""
    await laboratory.launch("live", yaml.safe_dump(LIVE_STUDY, sort_keys=False))
    experiment = laboratory.supervisor("live").experiment
    for number in range(LIVE):
        person = await experiment.admit(None)
        if number % 2:
            await experiment.answer(person, len(person.journey.responses), {"agreed": "yes"})


async def _timed(client: httpx.AsyncClient, study: str, tab: str) -> float:
    began = time.perf_counter()
    response = await client.get(f"/console/studies/{study}/{tab}")
    assert response.status_code == 200, response.text
    return time.perf_counter() - began


def _fill(path: Path) -> None:
    """Write a store of the study in which every match is a copy of one match with its own id."""
    small = STUDY | {"instances": 1, "pairing": [["bot", "bot"]], "players": {"bot": "random"}}
    ct.run(ct.studies.parse_study({k: v for k, v in small.items() if k != "people"}, "bench"), path)
    study = ct.studies.parse_study(STUDY, "bench")
    with ct.Store.open(path) as store:
        study_id = store.register_study(study.name, study.written())
        with store.transaction() as connection:
            match = dict(connection.execute(sa.select(schema.matches)).mappings().one())
            _people(connection, study_id, match)


def _people(connection: sa.Connection, study_id: int, match: dict[str, Any]) -> None:
    now = time.time()
    tables: dict[sa.Table, list[dict[str, Any]]] = {
        table: [] for table in (schema.participants, schema.responses, schema.plays,
                                schema.matches, schema.members, schema.payments)
    }  # fmt: skip
    payoff = next(iter(match["payoffs"].values()))
    for person in range(1, PEOPLE + 1):
        tables[schema.participants].append(
            {"id": person, "study_id": study_id, "code": f"{person:016x}", "cohort": "main",
             "step": "end", "visit": 1, "ending": "complete", "flags": [], "begun": now,
             "changed": now}
        )  # fmt: skip
        answers: list[tuple[str, int, dict[str, Any]]] = [("consent", 0, {"agreed": True})]
        for game in range(1, GAMES + 1):
            number = person * GAMES + game + 1
            answers.append(("assignment", game, {"treatment": "bench"}))
            answers.append(("games", game, {"state": "finished", "payoff": payoff, "cents": 10}))
            tables[schema.matches].append(match | {"number": number, "id": f"{number:020x}"})
            tables[schema.members].append(
                {"study_id": study_id, "match_number": number, "current": True}
            )
            tables[schema.plays].append(
                {"participant_id": person, "number": game, "treatment": "bench",
                 "game": "bargaining", "match_id": f"{number:020x}", "seat": "alice",
                 "state": "finished", "payoff": payoff, "cents": 10, "assigned": now, "ended": now}
            )  # fmt: skip
        answers.append(("survey", GAMES, {"q": "words"}))
        tables[schema.responses] += [
            {"participant_id": person, "number": number, "step": step, "visit": 1, "game": game,
             "answer": answer, "answered": now}
            for number, (step, game, answer) in enumerate(answers)
        ]  # fmt: skip
        tables[schema.payments].append(
            {"study_id": study_id, "participant_id": person, "key": "base/1", "kind": "base",
             "cents": 100, "made": now}
        )  # fmt: skip
    for table, lines in tables.items():
        connection.execute(sa.insert(table), lines)
