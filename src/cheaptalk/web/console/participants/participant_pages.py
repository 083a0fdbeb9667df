"""The console's Participants tab, for monitoring, messaging and removing participants."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Annotated

from fastapi import HTTPException, Query
from fastapi.responses import Response

from cheaptalk.studies.people.path import GO_ON
from cheaptalk.studies.people.pay import dues
from cheaptalk.studies.people.pay_rules import cents
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.studies.people.steps import Attention
from cheaptalk.web.console.authentication import STUDY, Authentication, CurrentVisit
from cheaptalk.web.console.participants.monitor import activity_of
from cheaptalk.web.console.participants.selection import (
    PAGE,
    STATES,
    Selection,
    select,
    status_of,
)
from cheaptalk.web.laboratory.laboratory import Laboratory
from cheaptalk.web.laboratory.staff import Role
from cheaptalk.web.laboratory.study_status import recruitment_stage, turnout
from cheaptalk.web.participants.pages import completion_codes
from cheaptalk.web.participants.payments import seed_of
from cheaptalk.web.participants.people import Participant
from cheaptalk.web.participants.supervisor import MISSED, Supervisor

PARTICIPANTS = f"{STUDY}/participants"
PARTICIPANT = f"{PARTICIPANTS}/{{code}}"
MAX_MESSAGE_LENGTH = 2_000


class ParticipantPages:
    """Pages of a study's Participants tab."""

    def __init__(self, laboratory: Laboratory) -> None:
        self.laboratory = laboratory

    def add(self, authentication: Authentication) -> None:
        authentication.add_page(PARTICIPANTS, self.listing, Role.VIEWER)
        authentication.add_action(f"{PARTICIPANTS}/recruit", self.recruit, Role.RESEARCHER)
        authentication.add_action(f"{PARTICIPANTS}/tell", self.message_all, Role.RESEARCHER)
        authentication.add_action(f"{PARTICIPANTS}/find", self.find, Role.RESEARCHER)
        authentication.add_page(PARTICIPANT, self.participant, Role.VIEWER)
        for deed, does in {
            "tell": self.send_message,
            "prompt": self.prompt,
            "move": self.move,
            "remove": self.remove,
            "erase": self.erase,
        }.items():
            authentication.add_action(f"{PARTICIPANT}/{deed}", does, Role.RESEARCHER)
        authentication.add_page(f"{PARTICIPANT}/erase", self.before_erase, Role.RESEARCHER)

    async def listing(
        self,
        visit: CurrentVisit,
        name: str,
        selection: Annotated[Selection, Query()],
    ) -> Response:
        opened = self.laboratory.open.get(name)
        self.laboratory.database.drafts.read(name)
        if opened is None:
            broken = self.laboratory.broken.get(name, "")
            return visit.render("no_people.html.jinja", broken=broken)
        experiment = opened.supervisor.experiment
        participants = list(experiment.people.values())
        absent = [
            person for person in participants if not person.ending and not person.visitor.present
        ]
        people = turnout(experiment)
        stage, reason = recruitment_stage(experiment, people)
        steps = _steps(opened.supervisor)
        endings = Counter(person.ending for person in participants if person.ending)
        return visit.render(
            "people.html.jinja",
            experiment=experiment,
            steps=steps,
            endings=endings,
            link_to=f"{self._address(visit)}/s/{name}{experiment.protocol.link}",
            selected=select(experiment, selection),
            selection=selection,
            choices=[*steps, *endings],
            states=STATES,
            page=PAGE,
            absent=absent,
            prompts=_prompts(participants),
            turnout=people,
            stage=stage,
            reason=reason,
        )

    async def find(self, visit: CurrentVisit, name: str) -> Response:
        """Find a participant by their external ID, for example when they write to you."""
        experiment = self.laboratory.supervisor(name).experiment
        source = experiment.protocol.recruitment.source
        find, known_by = experiment.identities.code_of, visit.form.get("known_by", "").strip()
        code = await asyncio.to_thread(find, name, source, known_by)
        visit.record("looked up a participant by ID", name)
        if code is None or code not in experiment.people:
            return visit.go(f"/studies/{name}/participants", "No participant has this ID.")
        return visit.go(f"/studies/{name}/participants/{code}")

    def _address(self, visit: CurrentVisit) -> str:
        return self.laboratory.address.url or str(visit.request.base_url.replace(path="")).rstrip(
            "/"
        )

    async def recruit(self, visit: CurrentVisit, name: str) -> Response:
        state = visit.form.get("state", "")
        await self.laboratory.supervisor(name).recruit(state)
        visit.record(f"set recruitment to {state}", name)
        return visit.go(
            f"/studies/{name}/participants",
            "Recruitment is now %(state)s.",
            state=visit.text(state),
        )

    async def message_all(
        self, visit: CurrentVisit, name: str, selection: Annotated[Selection, Query()]
    ) -> Response:
        text, supervisor = message(visit), self.laboratory.supervisor(name)
        people = supervisor.experiment.people.values()
        active = [participant for participant in people if participant.ending is None]
        for participant in active:
            await supervisor.send_message(participant, text)
        visit.record("sent a message to all participants", name, people=len(active))
        return visit.go(
            f"/studies/{name}/participants{selection.query(after=selection.after)}",
            visit.language.counted(
                "The message was sent to %(num)s participant.",
                "The message was sent to %(num)s participants.",
                len(active),
            ),
        )

    def _participant(self, name: str, code: str) -> tuple[Supervisor, Participant]:
        supervisor = self.laboratory.supervisor(name)
        participant = supervisor.experiment.people.get(code)
        if participant is None:
            raise HTTPException(404, "This participant does not exist. Choose one from the list.")
        return supervisor, participant

    async def participant(self, visit: CurrentVisit, name: str, code: str) -> Response:
        """Show the record of a participant, except their external ID."""
        supervisor, participant = self._participant(name, code)
        experiment = supervisor.experiment
        owed = dues(participant.journey, seed_of(experiment.study, participant.code))
        codes = completion_codes(self.laboratory.links, experiment.protocol, participant)
        return visit.render(
            "participant.html.jinja",
            participant=participant,
            progress=status_of(participant),
            now=activity_of(experiment, participant),
            protocol=experiment.protocol,
            owed=[(due.key, visit.dollars(due.cents)) for due in owed],
            removed_pay=cents(experiment.protocol.pay.ended.get("removed", 0)),
            codes=codes,
        )

    async def send_message(self, visit: CurrentVisit, name: str, code: str) -> Response:
        supervisor, participant = self._participant(name, code)
        await supervisor.send_message(participant, message(visit))
        return self._record(visit, name, code, "sent a message", "The message was sent.")

    async def prompt(self, visit: CurrentVisit, name: str, code: str) -> Response:
        supervisor, participant = self._participant(name, code)
        attention = supervisor.protocol.games.attention or Attention()
        await supervisor.prompt(participant, attention)
        notice = "The participant has %(seconds)s seconds to respond."
        seconds = f"{attention.seconds:g}"
        return self._record(visit, name, code, "sent an attention check", notice, seconds=seconds)

    async def move(self, visit: CurrentVisit, name: str, code: str) -> Response:
        supervisor, participant = self._participant(name, code)
        cohort = visit.form.get("cohort", "")
        await supervisor.move(participant, cohort)
        return self._record(
            visit,
            name,
            code,
            f"moved to cohort {cohort}",
            "The participant was moved to cohort %(cohort)s.",
            cohort=cohort,
        )

    async def remove(self, visit: CurrentVisit, name: str, code: str) -> Response:
        """End a participant's visit and make their place available to others."""
        supervisor, participant = self._participant(name, code)
        await supervisor.end(participant, "removed")
        notice = "The participant was removed. Their place is available again."
        return self._record(visit, name, code, "removed a participant", notice)

    async def before_erase(self, visit: CurrentVisit, name: str, code: str) -> Response:
        _, participant = self._participant(name, code)
        return visit.render("delete_participant.html.jinja", participant=participant)

    async def erase(self, visit: CurrentVisit, name: str, code: str) -> Response:
        supervisor, participant = self._participant(name, code)
        done = await supervisor.erase(participant)
        self.laboratory.database.audit.forget(code)
        visit.record("deleted a participant", name)
        notice = "The participant was deleted. Create existing reports and exports again."
        if not done:
            notice = "The participant will be deleted when their match ends."
        return visit.go(f"/studies/{name}/participants", notice)

    def _record(
        self,
        visit: CurrentVisit,
        name: str,
        code: str,
        action: str,
        notice: str,
        **values: object,
    ) -> Response:
        visit.record(action, name, participant=code)
        return visit.go(f"/studies/{name}/participants/{code}", notice, **values)


def _steps(supervisor: Supervisor) -> dict[str, Counter[str]]:
    """Count, by step, the participants who reached it, failed it, ended at it or are at it now."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for participant in supervisor.experiment.people.values():
        journey = participant.journey
        location = journey.ended_at if journey.ending else journey.stop.name
        for step in {answer.step for answer in journey.responses} | {location}:
            counts[step]["reached"] += 1
        for step in {answer.step for answer in journey.responses if answer.correct is False}:
            counts[step]["wrong"] += 1
        if journey.ending is None:
            counts[location]["current"] += 1
        elif journey.ending != "complete":
            counts[location]["ended"] += 1
    return {name: counts[name] for name in _names(supervisor.protocol)}


def _names(protocol: Protocol) -> Iterator[str]:
    games = protocol.games
    last = [*games.before, games, *games.after][-1].called
    for step in protocol.steps:
        yield step.called
        if step.called == last and games.can_stop:
            yield GO_ON


def _prompts(participants: Iterable[Participant]) -> Counter[str]:
    """Count the sent and the open attention checks, and the participants who missed one."""
    counts = Counter[str]()
    for participant in participants:
        checks = [notice for notice in participant.notices if notice.expected is not None]
        counts["sent"] += len(checks)
        if participant.ending is None:
            counts["open"] += sum(check.answered is None for check in checks)
        counts["missed"] += MISSED in participant.flags
    return counts


def message(visit: CurrentVisit) -> str:
    """Return the message of a form; raise HTTPException if it is empty or too long."""
    text = visit.form.get("text", "").strip()
    if not 0 < len(text) <= MAX_MESSAGE_LENGTH:
        raise HTTPException(400, f"Enter a message of 1 to {MAX_MESSAGE_LENGTH:,} characters.")
    return text
