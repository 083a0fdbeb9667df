"""Editor in which researchers create, copy and change studies with a form."""

import asyncio
import hashlib
import re

from fastapi.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from markupsafe import Markup

from cheaptalk.rules import CheaptalkError
from cheaptalk.studies.estimates.estimate import Estimate
from cheaptalk.studies.presets import preset_text
from cheaptalk.studies.study import StudyError
from cheaptalk.web.console.authentication import STYLE, Authentication, CurrentVisit, Visit
from cheaptalk.web.console.designs import study_form_page
from cheaptalk.web.console.designs.edited_files import current_file
from cheaptalk.web.console.designs.posted_form import StudyForm
from cheaptalk.web.console.designs.step_preview import render_step, step_of_row
from cheaptalk.web.console.designs.study_forecast import (
    CostEstimator,
    no_estimate_reason,
    size_of,
)
from cheaptalk.web.console.designs.study_form import (
    CheckedForm,
    NotExpressible,
    check_form,
    filled_form,
)
from cheaptalk.web.console.errors import sentence, status_of
from cheaptalk.web.console.preview_pages import settings_page
from cheaptalk.web.console.study_pages import check_design, conflict_page
from cheaptalk.web.headers import page_headers
from cheaptalk.web.laboratory.drafts import BadName, Conflict, Taken
from cheaptalk.web.laboratory.laboratory import Laboratory
from cheaptalk.web.laboratory.staff import Role
from cheaptalk.web.participants.admission.entry import PAGE_STYLE
from cheaptalk.web.rooms.languages import Language, languages
from cheaptalk.yaml_files import parse_yaml

COST_TIMEOUT = 20.0
"""Seconds to wait for a cost estimate before the page says that it is still being computed."""
FORM = "/form"
ORIGIN = re.compile("(.+)/([0-9]{1,9})")
"""Name and version of the draft that is being edited; a new study has no origin."""
ORIGIN_FIELD = Markup('<input type="hidden" name="origin" value="{}">')
SHOWN = "file-shown"
"""Name of the field with the digest of the study file that the page shows."""
SHOWN_FIELD = Markup('<input type="hidden" name="file-shown" value="{}">')


def digest(text: str) -> str:
    """Return a short digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class StudyEditor:
    """Web pages of the study form."""

    def __init__(self, laboratory: Laboratory) -> None:
        self.laboratory = laboratory
        self.folder = laboratory.folder.path
        self.drafts = laboratory.database.drafts
        self.estimator = CostEstimator()

    def add(self, authentication: Authentication) -> None:
        authentication.add_page("/start", self.start, Role.RESEARCHER)
        authentication.add_page(FORM, self.form, Role.RESEARCHER)
        authentication.add_page("/study_form.js", self.script, Role.VIEWER)
        authentication.add_action(FORM, self.submit, Role.RESEARCHER, repeating=True)
        authentication.add_action(f"{FORM}/preview", self.preview, Role.RESEARCHER, repeating=True)
        authentication.add_action(f"{FORM}/file", self.file, Role.RESEARCHER, repeating=True)
        authentication.add_action(f"{FORM}/counts", self.counts, Role.RESEARCHER, repeating=True)
        authentication.add_action(f"{FORM}/cost", self.cost, Role.RESEARCHER, repeating=True)

    def start(self, visit: CurrentVisit) -> Response:
        copies = [draft.name for draft in self.drafts.page()]
        return self._page(
            visit,
            study_form_page.render_start(visit.link(FORM), copies, visit.language),
            visit.text("New study"),
        )

    def form(
        self, visit: CurrentVisit, preset: str = "", copy: str = "", change: str = ""
    ) -> Response:
        """Show the study form, or the study's YAML file if the form cannot express the study."""
        origin, problem = "", ""
        text = preset_text(preset) if preset else ""
        if copy or change:
            draft = self.drafts.read(copy or change)
            origin = f"{draft.name}/{draft.version}" if change else ""
            text, problem = draft.text, check_design(draft.name, draft.text, self.folder).problem
        try:
            if problem:
                raise NotExpressible(problem)
            form = filled_form(parse_yaml(text), self.folder) if text else StudyForm(players=[{}])
        except (NotExpressible, StudyError) as reason:
            why = visit.text(str(reason))
            notice = "The form cannot show this study: %(reason)s. Edit its study file instead."
            if origin:
                return visit.go(f"/studies/{draft.name}/design", notice, reason=why)
            problem = visit.text(notice) % {"reason": why}
            return visit.render("new_study.html.jinja", name="", text=text, problem=problem)
        return self._form(visit, check_form(form, self.folder), origin, file=text)

    async def submit(self, visit: CurrentVisit) -> Response:
        """Process a submitted study form: change its lists, check it, or save the study."""
        action, origin = visit.form.get("do", ""), visit.form.get("origin", "")
        checked, file, focus = await asyncio.to_thread(self._posted, visit, action)
        if action == "save" and checked.study is not None:
            try:
                return await asyncio.to_thread(
                    self._save, visit, checked.data["name"], file, origin
                )
            except (BadName, Taken) as error:
                checked = checked._replace(problems={"name": sentence(error)})
                return self._form(visit, checked, origin, status_of(error), "name", file=file)
        if action == "preview" and checked.study is not None:
            return await settings_page(visit, self.laboratory, checked.data["name"], file)
        cost = Markup()
        if action == "estimate" and checked.plan is not None:
            cost = await self._cost(checked, visit.language)
        status = 422 if checked.problems else 200
        return self._form(visit, checked, origin, status, focus, cost, file)

    def _posted(self, visit: Visit, action: str = "") -> tuple[CheckedForm, str, str]:
        """Return the posted form after an action, its study file, and the field to focus.

        If the study file was edited, it replaces the form.
        """
        form = StudyForm.read(visit.pairs)
        file = visit.form.get("file", "").replace("\r\n", "\n")
        if visit.form.get(SHOWN, "") not in ("", digest(file)):
            try:
                form = filled_form(parse_yaml(file), self.folder)
            except (CheaptalkError, ValueError) as error:
                return CheckedForm(form, {}, None, None, {"file": str(error)}), file, "file"
        added = visit.form.get(f"new-{action.removeprefix('add-')}", "")
        focus = form.apply(action, added, visit.form.get("to", ""))
        checked = check_form(form, self.folder)
        if checked.study is not None:
            file = current_file(file, checked.data, self.folder)
        return checked, file, focus

    def _save(self, visit: Visit, name: str, file: str, origin: str) -> Response:
        path = f"/studies/{name}/overview"
        draft = ORIGIN.fullmatch(origin)
        if draft is None or draft[1] != name:
            self.drafts.create(name, file, visit.account.name)
            notice = "%(title)s was saved. Launch it when it is ready."
            return visit.go(path, notice, title=name)
        try:
            after = self.drafts.replace(name, file, int(draft[2]), visit.account.name)
        except Conflict as conflict:
            return conflict_page(visit, conflict)
        return visit.go(path, "Version %(version)s was saved.", version=after.version)

    async def file(self, visit: CurrentVisit) -> Response:
        """Return the study file of a valid form, without status 200 if the form is invalid."""
        checked, file, _ = await asyncio.to_thread(self._posted, visit)
        return PlainTextResponse(file, 422 if checked.study is None else 200)

    async def counts(self, visit: CurrentVisit) -> Response:
        checked = await asyncio.to_thread(check_form, StudyForm.read(visit.pairs), self.folder)
        return HTMLResponse(
            study_form_page.render_counts(checked, visit.language),
            422 if checked.problems else 200,
        )

    async def preview(self, visit: CurrentVisit) -> Response:
        """Show a step as participants see it; the pressed button contains the row of the step."""
        form, row = StudyForm.read(visit.pairs), visit.form.get("step", "")
        checked = await asyncio.to_thread(check_form, form, self.folder)
        code = visit.form.get("preview-language", "")
        location = step_of_row(checked.form, row)
        if checked.study is None or location is None or code not in languages():
            message = visit.text("Correct the errors in the form, then open the preview again.")
            return visit.render("error.html.jinja", 422, message=message)
        html = await asyncio.to_thread(render_step, checked.study, location, code)
        if html is None:
            message = visit.text("Participants see this step only after a game has been played.")
            return visit.render("error.html.jinja", message=message)
        return HTMLResponse(html, headers=page_headers(PAGE_STYLE))

    async def cost(self, visit: CurrentVisit) -> Response:
        checked = await asyncio.to_thread(check_form, StudyForm.read(visit.pairs), self.folder)
        if checked.plan is None or no_estimate_reason(size_of(checked.plan)):
            return HTMLResponse("", 422)
        return HTMLResponse(await self._cost(checked, visit.language))

    async def _cost(self, checked: CheckedForm, language: Language) -> Markup:
        assert checked.plan is not None
        estimate: Estimate | str | None
        try:
            estimate = await self.estimator.wait_for(checked.plan, COST_TIMEOUT)
        except CheaptalkError as error:
            estimate = sentence(error)
        return study_form_page.render_cost(checked.plan.study, estimate, language)

    def script(self, visit: CurrentVisit) -> Response:
        return FileResponse(study_form_page.SCRIPT, media_type="text/javascript")

    def _form(
        self,
        visit: Visit,
        checked: CheckedForm,
        origin: str,
        status: int = 200,
        focus: str = "",
        cost: Markup | None = None,
        file: str = "",
    ) -> Response:
        draft = ORIGIN.fullmatch(origin)
        hidden = visit.csrf_field + (ORIGIN_FIELD.format(origin) if draft else "")
        hidden += SHOWN_FIELD.format(digest(file))
        form = study_form_page.render_form(
            checked, visit.link(FORM), hidden, focus, cost or Markup(), visit.language, file
        )
        heading = (
            visit.text("Edit %(name)s") % {"name": draft[1]} if draft else visit.text("New study")
        )
        return self._page(visit, form, heading, status, script=visit.link("/study_form.js"))

    def _page(
        self, visit: Visit, piece: Markup, heading: str, status: int = 200, script: str = ""
    ) -> Response:
        page = visit.render(
            "study_editor.html.jinja", status, piece=piece, heading=heading, script=script
        )
        page.headers.update(page_headers(STYLE, PAGE_STYLE))  # those of the previews of steps, too
        return page
