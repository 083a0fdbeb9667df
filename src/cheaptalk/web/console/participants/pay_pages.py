"""Payments owed to a study's participants, and payout files for recruitment platforms."""

import asyncio

from fastapi import HTTPException
from fastapi.responses import Response

from cheaptalk.records.people import payouts
from cheaptalk.records.people.payouts import Payout, PayoutLine
from cheaptalk.web.console.authentication import STUDY, Authentication, CurrentVisit
from cheaptalk.web.laboratory.laboratory import Laboratory
from cheaptalk.web.laboratory.staff import Role

PAY = f"{STUDY}/pay"


class PayPages:
    """Pages of a study's Pay tab."""

    def __init__(self, laboratory: Laboratory) -> None:
        self.laboratory = laboratory

    def add(self, authentication: Authentication) -> None:
        authentication.add_page(PAY, self.pay, Role.VIEWER)
        authentication.add_action(PAY, self.pay_out, Role.RESEARCHER)
        authentication.add_page(f"{PAY}/{{number}}/file", self.file, Role.RESEARCHER)

    async def pay(self, visit: CurrentVisit, name: str) -> Response:
        self.laboratory.database.drafts.read(name)
        if name not in self.laboratory.open:
            return visit.render("no_people.html.jinja", broken="")
        experiment = self.laboratory.supervisor(name).experiment
        store, study_id = experiment.room_manager.store, experiment.study_id
        return visit.render(
            "pay.html.jinja",
            balance=payouts.balance_of(store, study_id),
            forecast=experiment.forecast_payments(),
            lines=payouts.lines_of(store, study_id, None),
            payouts=[
                (payout, _in_file(payout, payouts.lines_of(store, study_id, payout.number)))
                for payout in payouts.payouts_of(store, study_id)
            ],
            forms=payouts.FORMS,
            currency=experiment.protocol.pay.currency,
            source=experiment.protocol.recruitment.source,
            people=experiment.people,
        )

    async def pay_out(self, visit: CurrentVisit, name: str) -> Response:
        """Create a payout of all open payments without changing earlier payouts."""
        form = visit.form.get("form", "")
        if form not in payouts.FORMS:
            raise HTTPException(400, "Choose a payment platform.")
        experiment = self.laboratory.supervisor(name).experiment
        number = await experiment.write(
            payouts.pay_out(experiment.study_id, form, visit.account.name)
        )
        if number is None:
            return visit.go(f"/studies/{name}/pay", "There are no open payments.")
        visit.record("paid out", name, payout=number)
        return visit.go(
            f"/studies/{name}/pay",
            "Payout %(payout)s was created. Download its file below.",
            payout=number,
        )

    async def file(self, visit: CurrentVisit, name: str, number: int) -> Response:
        """Return a payout's file for download; repeated downloads are identical."""
        experiment = self.laboratory.supervisor(name).experiment
        store, study_id = experiment.room_manager.store, experiment.study_id
        payout = next(
            (payout for payout in payouts.payouts_of(store, study_id) if payout.number == number),
            None,
        )
        if payout is None:
            raise HTTPException(404, "This payout does not exist.")
        ids = await asyncio.to_thread(experiment.identities.of_study, name)
        lines = payouts.lines_of(store, study_id, number)
        text = payouts.payout_file(payout.form, name, number, lines, ids)
        visit.record("downloaded a payout file", name, payout=number)
        return visit.download(f"{name}-payout-{number}.csv", text)


def _in_file(payout: Payout, lines: list[PayoutLine]) -> int:
    """Return the cents listed in a payout's file; the platform pays the remainder directly."""
    if payout.form == "csv":
        return payout.cents
    return sum(line.bonus for line in lines if line.code)
