"""The Recruit tab: texts for recruitment platforms, tests, and invitations of a panel."""

import asyncio

from fastapi.responses import Response

from cheaptalk.records.people import invitations
from cheaptalk.rules import CheaptalkError
from cheaptalk.studies.people.recruiting import (
    link_for_tests,
    platform_fields,
    preview_link,
    return_links,
    setting_checks,
)
from cheaptalk.web.console.authentication import STUDY, Authentication, CurrentVisit
from cheaptalk.web.console.errors import sentence
from cheaptalk.web.laboratory.laboratory import Laboratory
from cheaptalk.web.laboratory.staff import Role
from cheaptalk.web.participants.experiment import Experiment

RECRUIT = f"{STUDY}/recruit"
TITLES = {
    "open": "Anyone with the link",
    "code": "Personal codes",
    "prolific": "Prolific",
    "mturk": "MTurk",
    "sona": "SONA",
}


class RecruitPages:
    """Pages of a study's Recruit tab. Only researchers can download addresses."""

    def __init__(self, laboratory: Laboratory) -> None:
        self.laboratory = laboratory

    def add(self, authentication: Authentication) -> None:
        authentication.add_page(RECRUIT, self.recruit, Role.VIEWER)
        authentication.add_action(f"{RECRUIT}/list", self.upload, Role.RESEARCHER, uploads=True)
        authentication.add_action(f"{RECRUIT}/file", self.download, Role.RESEARCHER)

    async def recruit(self, visit: CurrentVisit, name: str) -> Response:
        return await self._page(visit, name)

    async def _page(self, visit: CurrentVisit, name: str, problem: str = "") -> Response:
        self.laboratory.database.drafts.read(name)
        opened = self.laboratory.open.get(name)
        if opened is None:
            return visit.render("no_people.html.jinja", broken=self.laboratory.broken.get(name, ""))
        experiment = opened.supervisor.experiment
        protocol, address = experiment.protocol, self._address(visit, name)
        invited, ended = await asyncio.to_thread(_invited, experiment)
        return visit.render(
            "recruit.html.jinja",
            422 if problem else 200,
            source=protocol.recruitment.source,
            platform=TITLES[protocol.recruitment.source],
            fields=platform_fields(protocol, address),
            checks=setting_checks(protocol),
            test=link_for_tests(protocol, address),
            preview=preview_link(protocol, address),
            returns=return_links(protocol),
            invited=len(invited),
            ended=len(ended),
            problem=problem,
        )

    def _address(self, visit: CurrentVisit, name: str) -> str:
        own = str(visit.request.base_url.replace(path="")).rstrip("/")
        return f"{self.laboratory.address.url or own}/s/{name}"

    async def upload(self, visit: CurrentVisit, name: str) -> Response:
        """Give each address of an uploaded CSV list a personal code."""
        experiment = self.laboratory.supervisor(name).experiment
        try:
            if not visit.files:
                raise CheaptalkError("no file was chosen; choose a CSV file")
            people = invitations.read_addresses(visit.files[0].content.decode("utf-8-sig"))
        except UnicodeDecodeError:
            error = CheaptalkError("the file is not text in UTF-8; save it as CSV (UTF-8)")
            return await self._page(visit, name, sentence(error))
        except CheaptalkError as error:
            return await self._page(visit, name, sentence(error))
        add = invitations.invite
        new = await asyncio.to_thread(add, experiment.identities, experiment.study.name, people)
        visit.record("invited a panel", name, addresses=new)
        notice = "%(number)s new addresses have a personal code."
        return visit.go(f"/studies/{name}/recruit", notice, number=new)

    async def download(self, visit: CurrentVisit, name: str) -> Response:
        """Return the table for a mail merge: of all invitations, or of those to be reminded."""
        experiment = self.laboratory.supervisor(name).experiment
        invited, ended = await asyncio.to_thread(_invited, experiment)
        kind = "reminders" if visit.form.get("reminders") else "invitations"
        excluded = ended if kind == "reminders" else ()
        table = invitations.mail_merge(invited, name, self._address(visit, name), excluded)
        visit.record(f"downloaded {kind}", name)
        return visit.download(f"{name}-{kind}.csv", table)


def _invited(experiment: Experiment) -> tuple[list[invitations.Invitation], set[str]]:
    """Return a study's invitations, and the codes whose participants have ended."""
    identities, study = experiment.identities, experiment.study.name
    invited = invitations.invitations_of(identities, study)
    store = experiment.room_manager.store
    codes = {invitation.code for invitation in invited}
    return invited, invitations.ended_codes(store, study, identities) & codes
