"""The console's actions on participants of a running study: advance, replace, extend and pause."""

from collections.abc import Awaitable, Callable

from fastapi import HTTPException
from fastapi.responses import Response

from cheaptalk.rules import CheaptalkError
from cheaptalk.web.console.authentication import Authentication, CurrentVisit
from cheaptalk.web.console.participant_pages import PARTICIPANT, PARTICIPANTS, message
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
        actions: dict[str, Callable[..., Awaitable[Response]]] = {
            f"{PARTICIPANTS}/pause": self.pause_study,
            f"{PARTICIPANTS}/resume": self.resume_study,
            f"{PARTICIPANT}/advance": self.advance,
            f"{PARTICIPANT}/replace": self.replace,
            f"{PARTICIPANT}/extend": self.extend,
            f"{PARTICIPANT}/pause": self.pause,
            f"{PARTICIPANT}/resume": self.resume,
        }
        for path, does in actions.items():
            authentication.add_action(path, does, Role.RESEARCHER)
        authentication.add_action(
            f"{PARTICIPANTS}/selected", self.selected, Role.RESEARCHER, repeating=True
        )

    async def pause_study(self, visit: CurrentVisit, name: str) -> Response:
        await self._control(name).pause_study()
        visit.record("paused the study", name)
        return visit.go(f"/studies/{name}/participants", "All participants are paused.")

    async def resume_study(self, visit: CurrentVisit, name: str) -> Response:
        await self._control(name).resume_study()
        visit.record("resumed the study", name)
        return visit.go(f"/studies/{name}/participants", "All participants are resumed.")

    async def advance(self, visit: CurrentVisit, name: str, code: str) -> Response:
        await self._act(visit, name, code, "advance")
        return visit.go(f"/studies/{name}/participants/{code}", "The participant was moved on.")

    async def replace(self, visit: CurrentVisit, name: str, code: str) -> Response:
        await self._act(visit, name, code, "replace")
        return visit.go(
            f"/studies/{name}/participants/{code}",
            "A program plays for the participant until they return.",
        )

    async def extend(self, visit: CurrentVisit, name: str, code: str) -> Response:
        await self._act(visit, name, code, "extend")
        return visit.go(f"/studies/{name}/participants/{code}", "The deadline was extended.")

    async def pause(self, visit: CurrentVisit, name: str, code: str) -> Response:
        await self._act(visit, name, code, "pause")
        return visit.go(f"/studies/{name}/participants/{code}", "The participant is paused.")

    async def resume(self, visit: CurrentVisit, name: str, code: str) -> Response:
        await self._act(visit, name, code, "resume")
        return visit.go(f"/studies/{name}/participants/{code}", "The participant is resumed.")

    async def selected(self, visit: CurrentVisit, name: str) -> Response:
        """Apply an action to the selected participants for whom it is possible."""
        action = visit.form.get("action", "")
        codes = [*dict.fromkeys(value for key, value in visit.pairs if key == "code")]
        if not codes:
            raise HTTPException(400, "Select at least one participant.")
        done, problem = 0, ""
        self._action(visit, name, action)
        for code in codes:
            try:
                await self._act(visit, name, code, action)
                done += 1
            except CheaptalkError as error:
                problem = problem or f"{code}: {visit.text(str(error))}"
        if not problem:
            notice = visit.language.counted(
                "Done for %(num)s participant.", "Done for %(num)s participants.", done
            )
            return visit.go(f"/studies/{name}/participants", notice)
        return visit.go(
            f"/studies/{name}/participants",
            "Done for %(done)s of %(total)s participants. Not possible for %(problem)s.",
            done=done,
            total=len(codes),
            problem=problem,
        )

    def _control(self, name: str) -> Control:
        return Control(self.laboratory.supervisor(name))

    async def _act(self, visit: CurrentVisit, name: str, code: str, action: str) -> None:
        act = self._action(visit, name, action)
        person = self.laboratory.supervisor(name).experiment.people.get(code)
        if person is None:
            raise CheaptalkError("this participant does not exist; choose one from the list")
        if person.ending is not None:
            raise CheaptalkError("the participant's visit has ended")
        await act(person)
        visit.record(AUDITED[action], name, participant=code)

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
