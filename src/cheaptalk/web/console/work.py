"""A study at work: launching it, its matches as they are played, and what is made of them."""

import asyncio
from urllib.parse import quote

from fastapi import HTTPException
from fastapi.responses import FileResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from cheaptalk.players import ModelSeat
from cheaptalk.records import Store
from cheaptalk.records.people.identities import identities_file
from cheaptalk.rules.errors import shown
from cheaptalk.studies.study import Study
from cheaptalk.styles.writing import PLAIN
from cheaptalk.text import capital
from cheaptalk.web.console.reception import STUDY, Reception, Visiting
from cheaptalk.web.console.studies import reading
from cheaptalk.web.laboratory.laboratory import Laboratory
from cheaptalk.web.laboratory.staff import Role
from cheaptalk.web.participants.pages import completion_codes
from cheaptalk.web.typed_numbers import plain_number
from cheaptalk.web.viewer.viewer import make_viewer

RUNS = ("start", "pause", "resume", "stop")
MAKES = ("report", "export", "comparison")


class Reading(Response):
    """An answer that another application gives, which is mounted at a page of the console.

    Args:
        app: that answers.
        root: what stands before its paths.
        store: that it reads, which is closed then.
    """

    def __init__(self, app: ASGIApp, root: str, store: Store) -> None:
        super().__init__()
        self.app, self.root, self.store = app, root, store

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self.store:
            await self.app({**scope, "root_path": self.root}, receive, send)


class Work:
    """The pages of a laboratory's studies at work."""

    def __init__(self, laboratory: Laboratory) -> None:
        self.laboratory = laboratory
        self.audit = laboratory.database.audit

    def add(self, reception: Reception) -> None:
        """Add the pages to a console."""
        reception.deed_at(f"{STUDY}/launch", self.launch, Role.RESEARCHER)
        reception.page_at(f"{STUDY}/matches", self.matches, Role.VIEWER)
        reception.deed_at(f"{STUDY}/run", self.run, Role.RESEARCHER)
        reception.deed_at(f"{STUDY}/budget", self.budget, Role.RESEARCHER)
        reception.page_at(f"{STUDY}/transcripts", self.begin_reading, Role.VIEWER)
        reception.page_at(f"{STUDY}/transcripts/{{rest:path}}", self.transcripts, Role.VIEWER)
        reception.page_at(f"{STUDY}/data", self.data, Role.VIEWER)
        reception.deed_at(f"{STUDY}/data", self.make, Role.RESEARCHER)
        reception.page_at(f"{STUDY}/data/{{file}}", self.output, Role.VIEWER)
        reception.deed_at(f"{STUDY}/data/{{file}}/delete", self.delete_output, Role.RESEARCHER)
        reception.deed_at(f"{STUDY}/identities", self.identities, Role.RESEARCHER)

    async def launch(self, visit: Visiting, name: str) -> Response:
        """Launch a study as its design is now."""
        draft = self.laboratory.database.drafts.read(name)
        study = await self.laboratory.launch(draft.name, draft.text)
        self.audit.enter(visit.account.name, "launched", draft.name, version=draft.version)
        where = "matches" if study.people is None else "participants"
        return visit.go(f"/studies/{draft.name}/{where}", "The study is launched.")

    async def matches(self, visit: Visiting, name: str) -> Response:
        """How far a study's matches are, and what they cost."""
        draft = self.laboratory.database.drafts.read(name)
        launched = self.laboratory.launched(draft.name)
        running = None if launched is None else await self.laboratory.runs.status(draft.name)
        opened = self.laboratory.open.get(draft.name)
        live = [] if opened is None else [
            room for room in opened.supervisor.experiment.house.rooms.values()
            if room.stage.value in ("playing", "broken", "waiting")
        ]  # fmt: skip
        seen = await self.laboratory.runs.overviews.of(draft.name) if launched else None
        study = reading(draft.name, draft.text).study
        return visit.render(
            "matches.html.jinja", name=draft.name, tab="matches", running=running, seen=seen,
            opened=opened, live=live, changed=launched is not None and launched != draft.text,
            ready=study is not None, models=study is not None and _has_models(study),
        )  # fmt: skip

    async def run(self, visit: Visiting, name: str) -> Response:
        """Start, pause, resume or stop a study's run."""
        deed = visit.form.get("do", "")
        if deed not in RUNS:
            raise HTTPException(400, "This form is not whole. Go back, and try again.")
        runs = self.laboratory.runs
        if name in self.laboratory.open:
            raise HTTPException(409, "People play this study's matches; no run is needed.")
        await {"start": runs.start, "pause": runs.pause, "resume": runs.resume,
               "stop": runs.stop}[deed](name)  # fmt: skip
        self.audit.enter(visit.account.name, f"told its run to {deed}", name)
        return visit.go(f"/studies/{name}/matches")

    async def budget(self, visit: Visiting, name: str) -> Response:
        """Change what a run may spend while it is under way."""
        dollars = _dollars(visit.form.get("dollars", ""))
        await self.laboratory.runs.set(name, budget={"dollars": dollars})
        self.audit.enter(visit.account.name, "changed the budget of its run", name, dollars=dollars)
        return visit.go(f"/studies/{name}/matches", f"It may now spend ${dollars:,.2f}.")

    async def begin_reading(self, visit: Visiting, name: str) -> Response:
        """Go to a study's transcripts, once there are any."""
        draft = self.laboratory.database.drafts.read(name)
        seen = None
        if self.laboratory.launched(draft.name) is not None:
            seen = await self.laboratory.runs.overviews.of(draft.name)
        if seen is None or not seen.games:
            return visit.render("no_transcripts.html.jinja", name=draft.name, tab="transcripts")
        return visit.go(f"/studies/{draft.name}/transcripts/studies/{quote(draft.name)}")

    async def transcripts(self, visit: Visiting, name: str, rest: str) -> Response:
        """A study's matches as they were played, to be read as with ``cheaptalk view``."""
        store = Store.open(self.laboratory.folder.store(name))
        root = visit.link(f"/studies/{name}")
        tabs = [(capital(tab), f"{root}/{tab}") for tab in visit.reception.tabs()]
        above = [(f"← {name}", tabs[0][1]), *tabs[1:]]
        return Reading(make_viewer(store, ["*"], above), f"{root}/transcripts", store)

    async def data(self, visit: Visiting, name: str) -> Response:
        """What was made of a study: reports, comparisons and exports."""
        draft = self.laboratory.database.drafts.read(name)
        there = draft.name in self.laboratory.folder.names()
        outputs = self.laboratory.outputs
        others = [one for one in self.laboratory.folder.names() if one != draft.name]
        return visit.render(
            "data.html.jinja", name=draft.name, tab="data", there=there, others=others,
            has_people=draft.name in self.laboratory.open,
            listed=await outputs.listed(draft.name) if there else [],
            making=outputs.making(draft.name) if there else None,
            recipes=await outputs.recipes(draft.name) if there else {},
        )  # fmt: skip

    async def make(self, visit: Visiting, name: str) -> Response:
        """Begin to make a report, a comparison or an export."""
        what, outputs = visit.form.get("make", ""), self.laboratory.outputs
        if what not in MAKES:
            raise HTTPException(400, "This form is not whole. Go back, and try again.")
        if what == "comparison":
            await outputs.comparison(name, visit.form.get("other", ""))
        elif what == "report":
            await outputs.report(name, visit.form.get("recipe") or None)
        else:
            await outputs.export(name)
        self.audit.enter(visit.account.name, f"made: {what}", name)
        return visit.go(
            f"/studies/{name}/data", "It is being made; this page shows when it is there."
        )

    async def delete_output(self, visit: Visiting, name: str, file: str) -> Response:
        """Delete a report, a comparison or an export."""
        output = await self.laboratory.outputs.delete(name, file)
        self.audit.enter(visit.account.name, f"deleted: {output.title}", name)
        return visit.go(f"/studies/{name}/data", f"{output.title} is deleted.")

    async def identities(self, visit: Visiting, name: str) -> Response:
        """By which ids a study's participants came: in no export, and here where asked for."""
        experiment = self.laboratory.supervisor(name).experiment
        known = await asyncio.to_thread(experiment.identities.of_study, name)
        shown = {
            code: " ".join(completion_codes(self.laboratory.links, experiment.protocol, who))
            for code, who in experiment.people.items()
        }
        self.audit.enter(visit.account.name, "downloaded ids of participants", name)
        headers = {"Content-Disposition": f'attachment; filename="{name}-identities.csv"'}
        return PlainTextResponse(
            identities_file(known.values(), shown),
            headers=headers,
            media_type="text/csv; charset=utf-8",
        )

    async def output(self, visit: Visiting, name: str, file: str) -> Response:
        """A report to read, or an export to keep."""
        path, output = await self.laboratory.outputs.output(name, file)
        headers = {"Content-Security-Policy": f"{output.policy}; frame-ancestors 'none'"}
        if path.suffix == ".html":
            return FileResponse(path, media_type="text/html", headers=headers)
        return FileResponse(path, filename=f"{name}-{path.name}")


def _dollars(written: str) -> float:
    """Return the amount that a researcher typed.

    Raises:
        HTTPException: it is no number, unclear, negative, or 1,000,000,000 or more.
    """
    try:
        dollars = float(plain_number(written, PLAIN))
    except ValueError:
        dollars = -1.0
    if not 0 <= dollars < 1e9:
        raise HTTPException(
            400,
            f"{shown(written.strip())} is no budget. Write it as a number of dollars, such as "
            "1,250 or 12.50.",
        )
    return dollars


def _has_models(study: Study) -> bool:
    """Whether models play, whose calls can be paused and capped; a script's matches cannot."""
    return any(isinstance(entry.form, ModelSeat) for entry in study.players.values())
