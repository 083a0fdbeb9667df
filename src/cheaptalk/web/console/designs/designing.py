"""Designing a study by a form: from nothing, from a preset, or from another study."""

import asyncio
import re
from collections.abc import Mapping
from typing import NamedTuple

from fastapi.responses import FileResponse, HTMLResponse, Response
from markupsafe import Markup

from cheaptalk.rules import CheaptalkError
from cheaptalk.studies.presets import preset_text, study_of
from cheaptalk.studies.study import Study
from cheaptalk.web.console.designs.filled_form import NotExpressible, fields_from
from cheaptalk.web.console.designs.study_fields import StudyFields
from cheaptalk.web.console.designs.study_form_page import SCRIPT, Addresses, FormPage, Look, look_at
from cheaptalk.web.console.designs.study_outlook import CostDesk, not_estimated
from cheaptalk.web.console.reception import Reception, Visit, Visiting
from cheaptalk.web.console.refusals import sentence, status_of
from cheaptalk.web.console.studies import reading
from cheaptalk.web.laboratory.database import LaboratoryDatabase
from cheaptalk.web.laboratory.drafts import BadName, Conflict, Draft, Taken
from cheaptalk.web.laboratory.staff import Role
from cheaptalk.yaml_files import as_block

PATIENCE = 20.0
"""Seconds that a cost is waited for before it is said that it is still being estimated."""
FORM = "/form"


class Origin(NamedTuple):
    """The draft that a form changes, and the version that it was filled in with."""

    name: str
    version: int

    @classmethod
    def read(cls, form: Mapping[str, str]) -> "Origin | None":
        """What a form says that it changes; None where it makes a new study."""
        name, version = form.get("changes", ""), form.get("version", "")
        fits = re.fullmatch("[0-9]{1,9}", version)
        return cls(name, int(version)) if name and fits else None

    @property
    def hidden(self) -> Markup:
        """The same as fields of the form."""
        fields = {"changes": self.name, "version": self.version}
        one = Markup('<input type="hidden" name="{}" value="{}">')
        return Markup().join(one.format(name, value) for name, value in fields.items())


class Designing:
    """The pages of the form by which studies are made."""

    def __init__(self, database: LaboratoryDatabase) -> None:
        self.drafts = database.drafts
        self.pieces = FormPage()
        self.desk = CostDesk()

    def add(self, reception: Reception) -> None:
        """Add the pages to a console."""
        reception.page_at("/start", self.start, Role.RESEARCHER)
        reception.page_at(FORM, self.form, Role.RESEARCHER)
        reception.page_at("/study_form.js", self.script, Role.VIEWER)
        reception.deed_at(FORM, self.sent, Role.RESEARCHER, repeating=True)
        reception.deed_at(f"{FORM}/counts", self.counts, Role.RESEARCHER, repeating=True)
        reception.deed_at(f"{FORM}/cost", self.cost, Role.RESEARCHER, repeating=True)

    def start(self, visit: Visiting) -> Response:
        """What a new study can start from."""
        copies = [draft.name for draft in self.drafts.page()]
        return self._page(visit, self.pieces.start(visit.link(FORM), copies), "A new study")

    def form(self, visit: Visiting, preset: str = "", copy: str = "", change: str = "") -> Response:
        """The form, filled in with what one starts from or changes; else the study file."""
        text, origin = "", None
        try:
            if copy or change:
                draft: Draft = self.drafts.read(copy or change)
                origin = Origin(draft.name, draft.version) if change else None
                text = draft.text
                read = reading(draft.name, draft.text)
                if read.study is None:
                    raise NotExpressible(read.problem)
                typed = fields_from(read.study)
            elif preset:
                text = preset_text(preset)
                typed = fields_from(study_of(preset))
            else:
                typed = StudyFields.blank()
        except NotExpressible as reason:
            said = f"This study opens as a file: {reason}."
            if origin is not None:
                return visit.go(f"/studies/{origin.name}/design", said)
            return visit.render("new_study.html.jinja", name="", text=text, problem=said)
        return self._form(visit, look_at(typed), origin)

    async def sent(self, visit: Visiting) -> Response:
        """Change the form, look at it, or keep its study."""
        typed, do = StudyFields.read(visit.pairs), visit.form.get("do", "")
        origin = Origin.read(visit.form)
        at = typed.changed(do, visit.form.get("new-game", ""), visit.form.get("new-step", ""))
        look = await asyncio.to_thread(look_at, typed)
        if do == "save" and look.plan is not None:
            try:
                return await asyncio.to_thread(self._keep, visit, look.plan.study, origin)
            except (BadName, Taken) as error:
                look = look._replace(problems={"name": sentence(error)})
                return self._form(visit, look, origin, status_of(error), at="name")
        cost = Markup()
        if do == "estimate" and look.plan is not None:
            cost = await self._cost(look)
        return self._form(visit, look, origin, 422 if look.problems else 200, at or "", cost)

    def _keep(self, visit: Visit, study: Study, origin: Origin | None) -> Response:
        """Keep a study: as the next version of the one that was changed, or as a new one.

        Raises:
            BadName, Taken: it cannot be called as it is.
        """
        text = as_block(study.model_dump(mode="json", exclude_defaults=True))
        where = f"/studies/{study.name}/overview"
        if origin is None or origin.name != study.name:
            self.drafts.create(study.name, text, visit.account.name)
            return visit.go(where, f"{study.name} is kept. Launch it when it is ready.")
        try:
            after = self.drafts.replace(study.name, text, origin.version, visit.account.name)
        except Conflict as conflict:
            return visit.render(
                "conflict.html.jinja", 409, name=conflict.theirs.name, tab="design",
                mine=conflict.mine, theirs=conflict.theirs,
            )  # fmt: skip
        return visit.go(where, f"Version {after.version} is kept.")

    async def counts(self, visit: Visiting) -> Response:
        """How large the study is, as a piece of a page."""
        look = await asyncio.to_thread(look_at, StudyFields.read(visit.pairs))
        return HTMLResponse(self.pieces.counts(look), 422 if look.problems else 200)

    async def cost(self, visit: Visiting) -> Response:
        """What the study may cost, as a piece of a page."""
        look = await asyncio.to_thread(look_at, StudyFields.read(visit.pairs))
        if look.plan is None or look.size is None or not_estimated(look.size):
            return HTMLResponse("", 422)
        return HTMLResponse(await self._cost(look))

    async def _cost(self, look: Look) -> Markup:
        assert look.plan is not None
        try:
            takes = await self.desk.within(look.plan, PATIENCE)
        except CheaptalkError as error:
            return self.pieces.cost(look.plan.study, sentence(error))
        return self.pieces.cost(look.plan.study, takes)

    def script(self, visit: Visiting) -> Response:
        """The script that keeps counts fresh."""
        return FileResponse(SCRIPT, media_type="text/javascript")

    def _form(
        self, visit: Visit, look: Look, origin: Origin | None = None, status: int = 200,
        at: str = "", cost: Markup | None = None,
    ) -> Response:  # fmt: skip
        to = Addresses(visit.link(FORM), visit.link(f"{FORM}/counts"), visit.link(f"{FORM}/cost"))
        token = Markup('<input type="hidden" name="csrf" value="{}">').format(visit.csrf)
        hidden = token if origin is None else token + origin.hidden
        form = self.pieces.form(look, to, hidden, at, cost or Markup())
        heading = "A new study" if origin is None else f"Change {origin.name}"
        return self._page(visit, form, heading, status, script=visit.link("/study_form.js"))

    def _page(
        self, visit: Visit, piece: Markup, heading: str, status: int = 200, script: str = ""
    ) -> Response:
        return visit.render(
            "designing.html.jinja", status, piece=piece, heading=heading, script=script
        )
