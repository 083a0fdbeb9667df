"""The console's actions on participants of a running study: advance, replace, extend and pause."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import HTTPException, Query
from fastapi.responses import Response

from cheaptalk.rules import CheaptalkError
from cheaptalk.web.console.authentication import Authentication, CurrentVisit
from cheaptalk.web.console.participants.participant_pages import PARTICIPANTS, message
from cheaptalk.web.console.participants.selection import Selection
from cheaptalk.web.laboratory.laboratory import Laboratory
from cheaptalk.web.laboratory.staff import Role
from cheaptalk.web.participants.control import Control
from cheaptalk.web.participants.people import Participant

AUDITED = {
    "advance": "moved a participant on",
    "replace": "replaced a participant",
    "extend": "extended a deadline",
    "pause": "paused a participant",
    "resume": "resumed a participant",
    "tell": "sent a message",
}
"""Entries of the study's log, by action."""


class ControlPages:
    """Actions of a study's Participants tab on one, several or all participants."""

    def __init__(self, laboratory: Laboratory) -> None:
        self.laboratory = laboratory

    def add(self, authentication: Authentication) -> None:
        authentication.add_action(f"{PARTICIPANTS}/pause", self.pause_study, Role.RESEARCHER)
        authentication.add_action(f"{PARTICIPANTS}/resume", self.resume_study, Role.RESEARCHER)
        authentication.add_action(f"{PARTICIPANTS}/act", self.act, Role.RESEARCHER, repeating=True)

    async def pause_study(self, visit: CurrentVisit, name: str) -> Response:
        await self._control(name).pause_study()
        visit.record("paused the study", name)
        return visit.go(f"/studies/{name}/participants", "All participants are paused.")

    async def resume_study(self, visit: CurrentVisit, name: str) -> Response:
        await self._control(name).resume_study()
        visit.record("resumed the study", name)
        return visit.go(f"/studies/{name}/participants", "All participants are resumed.")

    async def act(
        self, visit: CurrentVisit, name: str, selection: Annotated[Selection, Query()]
    ) -> Response:
        """Apply an action to a participant, or to the selected ones for whom it is possible."""
        action = visit.form.get("action", "")
        codes = [*dict.fromkeys(value for key, value in visit.pairs if key == "code")]
        if not codes:
            raise HTTPException(400, "Select at least one participant.")
        apply = self._action(visit, name, action)
        problems: list[tuple[str, CheaptalkError]] = []
        for code in codes:
            try:
                await apply(self._participant(name, code))
                visit.record(AUDITED[action], name, participant=code)
            except CheaptalkError as error:
                problems.append((code, error))
        done = len(codes) - len(problems)
        table = f"/studies/{name}/participants"
        shown = table + selection.query(after=selection.after)
        if not problems:
            notice = visit.language.counted(
                "Done for %(num)s participant.", "Done for %(num)s participants.", done
            )
            return visit.go(f"{table}/{codes[0]}" if len(codes) == 1 else shown, notice)
        code, problem = problems[0]
        if len(codes) == 1:
            raise problem
        return visit.go(
            shown,
            "Done for %(done)s of %(total)s participants. Not possible for %(problem)s.",
            done=done,
            total=len(codes),
            problem=f"{code}: {visit.text(str(problem))}",
        )

    def _control(self, name: str) -> Control:
        return Control(self.laboratory.supervisor(name))

    def _participant(self, name: str, code: str) -> Participant:
        person = self.laboratory.supervisor(name).experiment.people.get(code)
        if person is None:
            raise CheaptalkError("this participant does not exist; choose one from the list")
        if person.ending is not None:
            raise CheaptalkError("the participant's visit has ended")
        return person

    def _action(
        self, visit: CurrentVisit, name: str, action: str
    ) -> Callable[[Participant], Awaitable[None]]:
        control = self._control(name)
        match action:
            case "advance":
                return control.advance
            case "replace":
                return control.replace
            case "pause":
                return control.pause
            case "resume":
                return control.resume
            case "extend":
                minutes = _minutes(visit)
                return lambda person: control.extend(person, minutes)
            case "tell":
                text = message(visit)
                return lambda person: control.supervisor.send_message(person, text)
        raise HTTPException(400, "Choose an action from the list.")


def _minutes(visit: CurrentVisit) -> float:
    try:
        return float(visit.form.get("minutes", ""))
    except ValueError:
        raise HTTPException(400, "Enter the number of minutes, for example 5.") from None
