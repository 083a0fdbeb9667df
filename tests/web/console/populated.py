"""A laboratory with studies in every state, and the addresses of all its pages."""

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
import yaml
from fastapi.routing import APIRoute

from cheaptalk.records.people.payouts import pay_out
from cheaptalk.studies.people.steps import Attention
from cheaptalk.web import (
    Laboratory,
    LaboratoryDatabase,
    listen,
    make_laboratory,
    own_address,
    serve_app,
)
from cheaptalk.web.console.server import make_console
from cheaptalk.web.console.study_pages import DEFAULT_DESIGN
from cheaptalk.web.laboratory.outputs import Output
from cheaptalk.web.laboratory.staff import Role
from tests.fakes import PATIENCE, spec, with_model
from tests.played import BADLY, play
from tests.web.console.office import CSRF, PASSWORD, QUICK
from tests.web.laboratory.lab import Gate
from tests.web.participants.comers import BOT, PEOPLE, Comer, Open, people_study
from tests.web.served import running
from tests.web.walker import LINKS

PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")
SURVEY = [{"name": "age", "ask": "How old are you?", "number": {"min": 18}}]
STUDY = people_study(
    BOT,
    path=[
        {"consent": {"text": "We play.", "statements": ["I am 18"]}},
        {"screening": SURVEY},
        {"comprehension": [{"name": "sum", "ask": "What is 1 + 1?", "number": {}, "correct": 2}]},
        *PEOPLE["path"][1:],
    ],
    cohorts=["north", "south"],
)
"""A study whose participants play against a script."""


class Populated(NamedTuple):
    """A laboratory and the values of the parameters in its routes."""

    laboratory: Laboratory
    client: httpx2.AsyncClient
    values: dict[str, list[str]]

    async def log_in(self) -> None:
        """Log the client in as the owner."""
        form = CSRF.search((await self.client.get("/console/login")).text)
        assert form is not None
        fields = {"csrf": form[1], "name": "owner", "password": PASSWORD}
        assert (await self.client.post("/console/login", data=fields)).status_code == 303

    async def pages(self) -> AsyncIterator[tuple[str, str]]:
        """Yield the paths and texts of all pages that the logged-in client sees."""
        for path in self.addresses():
            response = await self.client.get(f"/console{path}", follow_redirects=True)
            assert response.status_code < 500, path
            if response.headers["content-type"].startswith("text/html") and "/data/" not in path:
                yield path, response.text

    def addresses(self) -> Iterator[str]:
        """Yield the paths of all pages: one of each route and each value of its parameters."""
        for route in make_console(self.laboratory, "", "cheaptalk", QUICK).routes:
            if isinstance(route, APIRoute) and "GET" in (route.methods or ()):
                names = PARAMETER.findall(route.path)
                values = self.values | {"name": ["people"]} if len(names) > 1 else self.values
                for chosen in product(*(values[name] for name in names)):
                    yield re.sub(PARAMETER, "{}", route.path).format(*chosen)
        yield "/?words=nothing"
        yield "/form?change=draft"
        yield "/form?change=people"
        yield "/form?change=invalid"
        yield "/studies/people/participants?at=complete"


@asynccontextmanager
async def populated(folder: Path) -> AsyncIterator[Populated]:
    """Open a laboratory with an owner, several accounts, and studies in every state."""
    gate = Gate()
    with (
        gate.server,
        LaboratoryDatabase(folder) as database,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr("cheaptalk.web.console.server.PasswordHasher", lambda: QUICK)
        await asyncio.to_thread(_prepare, folder, gate.server.url)
        with listen(0) as listener:
            address = own_address(listener)
            async with Laboratory(folder, database, LINKS, address) as laboratory:
                server = serve_app(make_laboratory(laboratory), listener, address)
                async with (
                    running(server),
                    httpx2.AsyncClient(base_url=address.url, timeout=60) as client,
                ):
                    values = await _populate(laboratory, client)
                    try:
                        yield Populated(laboratory, client, values)
                    finally:
                        gate.open = True


async def _populate(laboratory: Laboratory, client: httpx2.AsyncClient) -> dict[str, list[str]]:
    """Create accounts, drafts, a run and participants; return the values of route parameters."""
    drafts, folder = laboratory.database.drafts, laboratory.folder
    accounts = _create_accounts(laboratory)
    for name in folder.names():
        drafts.create(name, folder.text(name).read_text(encoding="utf-8"), "owner")
    drafts.create("draft", DEFAULT_DESIGN.format(name="draft"), "owner")
    invalid = DEFAULT_DESIGN.format(name="invalid").replace("instances: 5", "instances: many")
    drafts.create("invalid", invalid, "owner")
    await laboratory.runs.start("running")
    codes = await _recruit(laboratory, client)
    async with asyncio.timeout(PATIENCE):
        while (await laboratory.runs.status("running")).run is None:
            await asyncio.sleep(0.05)
    return {
        "name": [draft.name for draft in drafts.page()],
        "number": [str(number) for number in accounts],
        "code": codes,
        "file": ["report.html"],
        "key": [],
        "path": [f"studies/{STUDY.name}", f"studies/{STUDY.name}/bargaining"],
    }


def _prepare(folder: Path, models: str) -> None:
    """Write the designs and stores of launched studies, one of which is damaged."""
    designs: dict[str, dict[str, Any]] = {
        "running": spec(name="running", **with_model(models)),
        "damaged": spec(name="damaged"),
        "failures": BADLY | {"name": "failures"},
        STUDY.name: STUDY.model_dump(mode="json", exclude_defaults=True),
    }
    for name, data in designs.items():
        text = yaml.safe_dump(data, sort_keys=False)
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
        if name in ("damaged", "failures"):
            play(folder, data)
    with closing(sqlite3.connect(folder / "damaged.sqlite")) as connection, connection:
        connection.execute("update matches set status = '{'")
    outputs = folder / "outputs" / STUDY.name
    outputs.mkdir(parents=True)
    note = Output(title="Report", made=1.8e9, matches=2, policy="", seen={})
    for file in ("report.html", "export-csv.zip", "recipe-a.html"):
        (outputs / file).write_text("made", encoding="utf-8")
        (outputs / f"{file}.json").write_text(note.model_dump_json(), encoding="utf-8")
    (outputs / "recipe-a.html.json").write_text("{", encoding="utf-8")


def _create_accounts(laboratory: Laboratory) -> list[int]:
    staff, hashed = laboratory.database.staff, QUICK.hash(PASSWORD)
    owner = staff.create_owner("owner", hashed)
    invited = staff.invite("ada", hashed, Role.RESEARCHER, "owner")
    disabled = staff.invite("ben", hashed, Role.VIEWER, "owner")
    staff.disable(disabled.id, "owner")
    return [owner.id, invited.id, disabled.id]


async def _recruit(laboratory: Laboratory, client: httpx2.AsyncClient) -> list[str]:
    """Let participants complete, leave and stop at steps of the study; return their codes."""
    supervisor = laboratory.supervisor(STUDY.name)
    comers = []
    for name in ("ann", "bob", "cat", "dan"):
        comer = Comer(Open(supervisor, client), name)
        comer.answers |= {"age": "30", "sum": "2"}
        entered = await client.post(f"/s/{STUDY.name}/enter", data={"known_by": name})
        comer.path = entered.headers["location"]
        await comer.look()
        comers.append(comer)
    client.cookies.clear()
    ann, bob, cat, dan = comers
    await ann.finish()
    await bob.to("answer")
    await supervisor.send_message(cat.participant, "Please continue.")
    await supervisor.prompt(cat.participant, Attention())
    await supervisor.end(dan.participant, "removed")
    experiment = supervisor.experiment
    await experiment.write(pay_out(experiment.study_id, "csv", "owner"))
    laboratory.database.audit.enter("owner", "paid out", STUDY.name, payout=1)
    await bob.look()
    return [comer.code for comer in comers]
