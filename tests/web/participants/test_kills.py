"""A server killed between any two commits: participants continue by link and are paid once.

A kill leaves the committed data. So the files are copied after each commit of two participants
who complete the whole path together, and from each copy both continue to the end.
"""

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from cheaptalk.records import Store, examine
from cheaptalk.records.people.identities import Identities
from cheaptalk.records.store import schema
from cheaptalk.records.store.backend import Backend
from cheaptalk.studies.study import Study
from tests.web.participants.comers import PEOPLE, Comer, Open, opened, people_study

STUDY = people_study(path=[
    PEOPLE["path"][0], "first_name", {"games": {"max": 2, "can_stop": False}},
    PEOPLE["path"][-1],
])  # fmt: skip
TREATMENTS = {name: {"when": {"horizon": horizon}} for name, horizon in (("short", 2), ("long", 4))}
DESIGNED = people_study(path=[
    PEOPLE["path"][0], "first_name",
    {"games": {
        "design": "counterbalanced", "matching": "partner", "roles": "switching",
        "treatments": TREATMENTS,
    }},
    PEOPLE["path"][-1],
], games=[{
    "game": "bargaining", "fixed": {"money": 100, "messages": True}, "grid": {"horizon": [2, 4]},
}])  # fmt: skip
FILES = ("s.sqlite", "s.sqlite-wal", "s.identities")
NAMES = ("Ada", "Emmy")
STEPS = ["consent", "first_name", *("assignment", "games") * 2, "survey"]


@contextmanager
def copy_at_each_commit(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    """Copy a folder at each commit to its files, and yield the list of copies."""
    copies: list[Path] = []
    transaction, note = Backend.transaction, Identities.note

    def copy() -> None:
        copies.append(folder.parent / f"copy{len(copies)}")
        copies[-1].mkdir()
        for path in map(folder.joinpath, FILES):
            if path.exists():
                shutil.copy(path, copies[-1])

    @contextmanager
    def committed(backend: Backend) -> Iterator[sa.Connection]:
        with transaction(backend) as connection:
            yield connection
        copy()

    def noted(identities: Identities, *known: str) -> str:
        code = note(identities, *known)
        copy()
        return code

    with patch.context() as within:
        within.setattr(Backend, "transaction", committed)
        within.setattr(Identities, "note", noted)
        yield copies


async def finish_both(site: Open, paths: dict[str, str]) -> dict[str, str]:
    """Let both participants finish by the links they have, and return their links."""
    comers = [Comer(site, name, paths.get(name, "")) for name in NAMES]

    async def go(comer: Comer) -> None:
        await (comer.look() if comer.path else comer.come())
        await comer.finish()
        assert comer.page.ending == "complete"
        assert comer.page.code

    await asyncio.gather(*map(go, comers))
    return {comer.name: comer.path for comer in comers}


def stored_tables(folder: Path) -> dict[str, Any]:
    with Store.open(folder / "s.sqlite") as store, store.reading() as connection:

        def rows(query: str) -> list[Any]:
            return [tuple(row) for row in connection.exec_driver_sql(query)]

        matches = {row[0]: store.find(row[0]) for row in rows("select id from matches")}
        return {
            "people": rows("select code, ending, known_as from participants order by id"),
            "steps": rows("select participant_id, step from responses order by 1, number"),
            "said": rows("select answer from responses where step = 'survey'"),
            "plays": list(connection.execute(sa.select(schema.plays)).mappings()),
            "owed": rows("select participant_id, key, cents from payments"),
            "matches": matches,
            "hurts": list(examine(store).damages),
        }


@pytest.mark.kill
@pytest.mark.parametrize("study", [STUDY, DESIGNED], ids=["arrival", "design"])
def test_participants_continue_after_a_kill_and_are_paid_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, study: Study
) -> None:
    first = tmp_path / "first"
    first.mkdir()

    async def go(folder: Path, paths: dict[str, str]) -> dict[str, str]:
        async with opened(folder, study) as site:
            known = {
                name: path
                for name, path in paths.items()
                if Comer(site, name, path).code in site.experiment.people
            }
            links = await finish_both(site, known)
            assert {name: links[name] for name in known} == known
            return links

    with copy_at_each_commit(first, monkeypatch) as copies:
        paths = asyncio.run(go(first, {}))
    assert len(copies) > 30
    for folder in [first, *copies]:
        if folder is not first:
            asyncio.run(go(folder, paths))
        tables = stored_tables(folder)
        ended = sorted(item[1:] for item in tables["people"])
        assert ended == [("complete", name) for name in NAMES], folder
        assert tables["steps"] == [(number, step) for number in (1, 2) for step in STEPS], folder
        assert len(tables["said"]) == 2
        assert len(tables["plays"]) == 4
        dues = {(item, "base/1"): 100 for item in (1, 2)}
        for play in tables["plays"]:
            record, seat = tables["matches"][play["match_id"]], play["seat"]
            assert (play["state"], record.over) == ("finished", True)
            assert (record.label(seat), record.payoffs[seat]) == ("people", play["payoff"])
            assert play["cents"] == round(record.payoffs[seat] + 1e-9)
            key = (play["participant_id"], f"game/{play['number']}")
            dues |= {key: play["cents"]} if play["cents"] else {}
        assert {item[:2]: item[2] for item in tables["owed"]} == dues
        assert len(tables["owed"]) == len(dues)
        assert len(tables["matches"]) == 2
        assert tables["hurts"] == []
        if study is DESIGNED:
            games = {(play["participant_id"], play["treatment"]) for play in tables["plays"]}
            assert len(games) == 4
            assert len({play["sequence"] for play in tables["plays"]}) == 1
