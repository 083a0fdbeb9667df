"""Pay: what a study owes its participants, and payouts for the platforms that pay them."""

import asyncio

from fastapi import HTTPException
from fastapi.responses import PlainTextResponse, Response

from cheaptalk.records.people.payouts import (
    FORMS,
    Payout,
    PayoutLine,
    balance_of,
    dollars_text,
    lines_of,
    pay_out,
    payout_file,
    payouts_of,
)
from cheaptalk.web.console.reception import STUDY, Reception, Visiting
from cheaptalk.web.laboratory.laboratory import Laboratory
from cheaptalk.web.laboratory.staff import Role

PAY = f"{STUDY}/pay"


class PayDesk:
    """The pages of what a laboratory's studies owe."""

    def __init__(self, laboratory: Laboratory) -> None:
        self.laboratory = laboratory
        self.audit = laboratory.database.audit

    def add(self, reception: Reception) -> None:
        """Add the pages to a console."""
        reception.page_at(PAY, self.pay, Role.VIEWER)
        reception.deed_at(PAY, self.pay_out, Role.RESEARCHER)
        reception.page_at(f"{PAY}/{{number}}/file", self.file, Role.RESEARCHER)

    async def pay(self, visit: Visiting, name: str) -> Response:
        """What is owed, and the payouts that were made."""
        self.laboratory.database.drafts.read(name)
        if name not in self.laboratory.open:
            return visit.render("no_people.html.jinja", name=name, tab="pay", broken="")
        experiment = self.laboratory.supervisor(name).experiment
        store, study_id = experiment.house.store, experiment.study_id
        return visit.render(
            "pay.html.jinja", name=name, tab="pay", balance=balance_of(store, study_id),
            lines=lines_of(store, study_id, None),
            payouts=[(one, _in_file(one, lines_of(store, study_id, one.number)))
                     for one in payouts_of(store, study_id)],
            forms=FORMS, dollars=dollars_text, currency=experiment.protocol.pay.currency,
            source=experiment.protocol.recruitment.source, people=experiment.people,
        )  # fmt: skip

    async def pay_out(self, visit: Visiting, name: str) -> Response:
        """Pay out all that is open; what was paid out before stays as it is."""
        form = visit.form.get("form", "")
        if form not in FORMS:
            raise HTTPException(400, "Choose for whom the file is to be.")
        experiment = self.laboratory.supervisor(name).experiment
        number = await experiment.write(pay_out(experiment.study_id, form, visit.account.name))
        if number is None:
            return visit.go(
                f"/studies/{name}/pay", "Nothing is open: all that is owed was paid out."
            )
        self.audit.enter(visit.account.name, "paid out", name, payout=number)
        return visit.go(f"/studies/{name}/pay", f"Payout {number} is made: download its file.")

    async def file(self, visit: Visiting, name: str, number: int) -> Response:
        """The file of a payout; however often it is asked for, it is the same."""
        experiment = self.laboratory.supervisor(name).experiment
        store, study_id = experiment.house.store, experiment.study_id
        payout = next((one for one in payouts_of(store, study_id) if one.number == number), None)
        if payout is None:
            raise HTTPException(404, "There is no such payout.")
        ids = await asyncio.to_thread(experiment.identities.of_study, name)
        lines = lines_of(store, study_id, number)
        text = payout_file(payout.form, name, number, lines, ids)
        self.audit.enter(visit.account.name, "downloaded a payout's file", name, payout=number)
        called = f'attachment; filename="{name}-payout-{number}.csv"'
        headers = {"Content-Disposition": called}
        return PlainTextResponse(text, headers=headers, media_type="text/csv; charset=utf-8")


def _in_file(payout: Payout, lines: list[PayoutLine]) -> int:
    """Cents that a payout's file tells the platform to pay; the rest it pays by itself."""
    if payout.form == "csv":
        return payout.cents
    return sum(one.bonus for one in lines if one.code)
