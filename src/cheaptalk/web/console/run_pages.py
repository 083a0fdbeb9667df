"""Console pages of a study: its Matches, Transcripts and Data tabs."""

import asyncio
from urllib.parse import quote

from fastapi import HTTPException
from fastapi.responses import FileResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from cheaptalk.players import ModelSeat
from cheaptalk.records import Store
from cheaptalk.records.people.identities import identities_file
from cheaptalk.rules.errors import shown
from cheaptalk.styles.writing import PLAIN
from cheaptalk.text import capital
from cheaptalk.web.console.authentication import STUDY, Authentication, CurrentVisit
from cheaptalk.web.console.study_pages import check_design
from cheaptalk.web.laboratory.laboratory import Laboratory
from cheaptalk.web.laboratory.staff import Role
from cheaptalk.web.participants.pages import completion_codes
from cheaptalk.web.rooms.rooms import Stage
from cheaptalk.web.typed_numbers import plain_number
from cheaptalk.web.viewer.viewer import make_viewer

RUN_ACTIONS = ("start", "pause", "resume", "stop")
OUTPUT_KINDS = ("report", "export", "comparison")


class MountedResponse(Response):
    """Response from a mounted application, after which the application's store is closed."""

    def __init__(self, app: ASGIApp, root: str, store: Store) -> None:
        super().__init__()
        self.app, self.root, self.store = app, root, store

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self.store:
            await self.app({**scope, "root_path": self.root}, receive, send)


class StudyRunPages:
    """Pages of a study's Matches, Transcripts and Data tabs."""

    def __init__(self, laboratory: Laboratory) -> None:
        self.laboratory = laboratory

    def add(self, authentication: Authentication) -> None:
        authentication.add_page(f"{STUDY}/matches", self.matches, Role.VIEWER)
        authentication.add_action(f"{STUDY}/run", self.run, Role.RESEARCHER)
        authentication.add_action(f"{STUDY}/budget", self.budget, Role.RESEARCHER)
        authentication.add_page(f"{STUDY}/transcripts", self.open_transcripts, Role.VIEWER)
        authentication.add_page(f"{STUDY}/transcripts/{{path:path}}", self.transcripts, Role.VIEWER)
        authentication.add_page(f"{STUDY}/data", self.data, Role.VIEWER)
        authentication.add_action(f"{STUDY}/data", self.make, Role.RESEARCHER)
        authentication.add_page(f"{STUDY}/data/{{file}}", self.output, Role.VIEWER)
        authentication.add_action(
            f"{STUDY}/data/{{file}}/delete", self.delete_output, Role.RESEARCHER
        )
        authentication.add_action(f"{STUDY}/identities", self.identities, Role.RESEARCHER)

    async def matches(self, visit: CurrentVisit, name: str) -> Response:
        draft = self.laboratory.database.drafts.read(name)
        launched = self.laboratory.launched(draft.name)
        standing = None if launched is None else await self.laboratory.runs.status(draft.name)
        opened = self.laboratory.open.get(draft.name)
        rooms = opened.supervisor.experiment.room_manager.rooms.values() if opened else ()
        live = [room for room in rooms if room.stage is not Stage.OVER]
        study = check_design(draft.name, draft.text, self.laboratory.folder.path).study
        return visit.render(
            "matches.html.jinja",
            name=draft.name,
            standing=standing,
            opened=opened,
            live=live,
            changed=launched is not None and launched != draft.text,
            ready=study is not None,
            models=study is not None
            and any(isinstance(entry.form, ModelSeat) for entry in study.players.values()),
        )

    async def run(self, visit: CurrentVisit, name: str) -> Response:
        action = visit.form.get("do", "")
        if action not in RUN_ACTIONS:
            raise HTTPException(400, "The form is incomplete. Reload the page and try again.")
        runs = self.laboratory.runs
        if name in self.laboratory.open:
            raise HTTPException(409, "This study is played by people, so it has no run to control.")
        await getattr(runs, action)(name)
        visit.record(f"requested to {action} the run", name)
        return visit.go(f"/studies/{name}/matches")

    async def budget(self, visit: CurrentVisit, name: str) -> Response:
        dollars = _dollars(visit.form.get("dollars", ""))
        await self.laboratory.runs.set_budget(name, dollars)
        visit.record("changed the run budget", name, dollars=dollars)
        budget = f"${dollars:,.2f}"
        return visit.go(
            f"/studies/{name}/matches", "The run budget is now %(budget)s.", budget=budget
        )

    async def open_transcripts(self, visit: CurrentVisit, name: str) -> Response:
        """Redirect to a study's transcripts, or explain that there are none yet."""
        draft = self.laboratory.database.drafts.read(name)
        launched = self.laboratory.launched(draft.name) is not None
        if not launched or not (await self.laboratory.runs.statuses.get(draft.name)).games:
            return visit.render("no_transcripts.html.jinja", name=draft.name)
        return visit.go(f"/studies/{draft.name}/transcripts/studies/{quote(draft.name)}")

    async def transcripts(self, visit: CurrentVisit, name: str, path: str) -> Response:
        """Show the matches of a study in the viewer of ``cheaptalk view``."""
        store = Store.open(self.laboratory.folder.store(name))
        root = visit.link(f"/studies/{name}")
        tabs = [(capital(tab), f"{root}/{tab}") for tab in visit.authentication.tabs()]
        above = [(f"← {name}", tabs[0][1]), *tabs[1:]]
        return MountedResponse(make_viewer(store, ["*"], above), f"{root}/transcripts", store)

    async def data(self, visit: CurrentVisit, name: str) -> Response:
        draft = self.laboratory.database.drafts.read(name)
        is_launched = draft.name in self.laboratory.folder.names()
        outputs = self.laboratory.outputs
        other_studies = [study for study in self.laboratory.folder.names() if study != draft.name]
        return visit.render(
            "data.html.jinja",
            name=draft.name,
            is_launched=is_launched,
            other_studies=other_studies,
            has_people=draft.name in self.laboratory.open,
            listed=await outputs.listed(draft.name) if is_launched else [],
            making=outputs.making(draft.name) if is_launched else None,
            recipes=await outputs.recipes(draft.name) if is_launched else {},
        )

    async def make(self, visit: CurrentVisit, name: str) -> Response:
        kind, outputs = visit.form.get("make", ""), self.laboratory.outputs
        if kind not in OUTPUT_KINDS:
            raise HTTPException(400, "The form is incomplete. Reload the page and try again.")
        if kind == "comparison":
            await outputs.comparison(name, visit.form.get("other", ""))
        elif kind == "report":
            await outputs.report(name, visit.form.get("recipe") or None)
        else:
            await outputs.export(name, visit.form.get("form") or "csv")
        visit.record(f"requested: {kind}", name)
        return visit.go(
            f"/studies/{name}/data", "The file is being created. It will appear on this page."
        )

    async def delete_output(self, visit: CurrentVisit, name: str, file: str) -> Response:
        output = await self.laboratory.outputs.delete(name, file)
        visit.record(f"deleted: {output.title}", name)
        return visit.go(f"/studies/{name}/data", "%(title)s was deleted.", title=output.title)

    async def identities(self, visit: CurrentVisit, name: str) -> Response:
        """Return a CSV file of the participants' external IDs, which exports do not contain."""
        experiment = self.laboratory.supervisor(name).experiment
        ids = await asyncio.to_thread(experiment.identities.of_study, name)
        links, protocol = self.laboratory.links, experiment.protocol
        codes = {
            code: " ".join(completion_codes(links, protocol, participant))
            for code, participant in experiment.people.items()
        }
        visit.record("downloaded participant IDs", name)
        return visit.download(f"{name}-identities.csv", identities_file(ids.values(), codes))

    async def output(self, visit: CurrentVisit, name: str, file: str) -> Response:
        """Return a report for display or an export for download."""
        path, output = await self.laboratory.outputs.output(name, file)
        headers = {"Content-Security-Policy": f"{output.policy}; frame-ancestors 'none'"}
        if path.suffix == ".html":
            return FileResponse(path, media_type="text/html", headers=headers)
        return FileResponse(path, filename=f"{name}-{path.name}")


def _dollars(text: str) -> float:
    try:
        dollars = float(plain_number(text, PLAIN))
    except ValueError:
        dollars = -1.0
    if not 0 <= dollars < 1e9:
        raise HTTPException(
            400,
            f"{shown(text.strip())} is not a budget. Enter a number of dollars, such as "
            "1,250 or 12.50.",
        )
    return dollars
