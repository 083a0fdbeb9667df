"""Participants as researchers see them: who is where, and what can be done for and with them."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Annotated, NamedTuple

from fastapi import HTTPException, Query
from fastapi.responses import Response

from cheaptalk.records.people.payouts import dollars_text
from cheaptalk.studies.people.path import GO_ON
from cheaptalk.studies.people.pay import dues
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.studies.people.steps import Attention
from cheaptalk.web.console.reception import STUDY, Reception, Visiting
from cheaptalk.web.laboratory.laboratory import Laboratory
from cheaptalk.web.laboratory.staff import Role
from cheaptalk.web.laboratory.standing import Turnout
from cheaptalk.web.participants.pages import completion_codes
from cheaptalk.web.participants.people import Participant
from cheaptalk.web.participants.supervisor import MISSED, Supervisor

PAGE = 100
"""Participants that stand on one page."""
PEOPLE = f"{STUDY}/participants"
ONE = f"{PEOPLE}/{{code}}"
LONGEST = 2_000
"""Characters of a message."""


class Stood(NamedTuple):
    """How many participants stand at a step.

    Attributes:
        step: its name.
        came: how many have come there.
        wrong: how many of them answered wrongly there, once or more often.
        ended: how many ended there before they had completed.
        here: how many are there now.
    """

    step: str
    came: int
    wrong: int
    ended: int
    here: int


class Prompts(NamedTuple):
    """Prompts for attention in games.

    Attributes:
        sent: how many there were.
        open: how many of these wait for an answer.
        missed: how many people missed one.
    """

    sent: int
    open: int
    missed: int


class People:
    """The pages of the participants of a laboratory's studies."""

    def __init__(self, laboratory: Laboratory) -> None:
        self.laboratory = laboratory
        self.audit = laboratory.database.audit

    def add(self, reception: Reception) -> None:
        """Add the pages to a console."""
        reception.page_at(PEOPLE, self.listing, Role.VIEWER)
        reception.deed_at(f"{PEOPLE}/recruit", self.recruit, Role.RESEARCHER)
        reception.deed_at(f"{PEOPLE}/tell", self.tell_all, Role.RESEARCHER)
        reception.deed_at(f"{PEOPLE}/find", self.find, Role.RESEARCHER)
        reception.page_at(ONE, self.one, Role.VIEWER)
        for deed, does in {
            "tell": self.tell, "prompt": self.prompt, "move": self.move, "remove": self.remove,
            "erase": self.erase,
        }.items():  # fmt: skip
            reception.deed_at(f"{ONE}/{deed}", does, Role.RESEARCHER)
        reception.page_at(f"{ONE}/erase", self.before_erase, Role.RESEARCHER)

    async def listing(
        self, visit: Visiting, name: str, at: str = "",
        after: Annotated[int, Query(ge=0, le=10**9)] = 0,
    ) -> Response:  # fmt: skip
        """Who takes part, by step and ending, and each of them."""
        opened = self.laboratory.open.get(name)
        self.laboratory.database.drafts.read(name)
        if opened is None:
            broken = self.laboratory.broken.get(name, "")
            return visit.render(
                "no_people.html.jinja", name=name, tab="participants", broken=broken
            )
        experiment = opened.supervisor.experiment
        everybody = list(experiment.people.values())
        chosen = [one for one in everybody if at in ("", where(one))]
        gone = [one for one in everybody if not one.ending and not one.guest.present]
        return visit.render(
            "people.html.jinja", name=name, tab="participants", experiment=experiment,
            steps=list(_steps(opened.supervisor)), endings=Counter(one.ending for one in everybody),
            link_to=f"{self._address(visit)}/s/{name}{experiment.protocol.link}",
            people=chosen[after : after + PAGE], total=len(chosen), at=at, after=after, page=PAGE,
            where=where, gone=gone, prompts=_prompts(everybody), turnout=Turnout.of(experiment),
            dollars=dollars_text, earned=earned_by,
        )  # fmt: skip

    async def find(self, visit: Visiting, name: str) -> Response:
        """Find a participant by the id by which they came, as in a letter of theirs."""
        experiment = self.laboratory.supervisor(name).experiment
        source = experiment.protocol.recruitment.source
        find, known_by = experiment.identities.code_of, visit.form.get("known_by", "").strip()
        code = await asyncio.to_thread(find, name, source, known_by)
        self.audit.enter(visit.account.name, "looked a participant up by their id", name)
        if code is None or code not in experiment.people:
            return visit.go(f"/studies/{name}/participants", "Nobody came by that id.")
        return visit.go(f"/studies/{name}/participants/{code}")

    def _address(self, visit: Visiting) -> str:
        return self.laboratory.address.url or str(visit.request.base_url.replace(path="")).rstrip(
            "/"
        )

    async def recruit(self, visit: Visiting, name: str) -> Response:
        """Open, pause or close a study."""
        state = visit.form.get("state", "")
        await self.laboratory.supervisor(name).recruit(state)
        self.audit.enter(visit.account.name, f"made it {state} to new people", name)
        return visit.go(f"/studies/{name}/participants", f"The study is now {state} to new people.")

    async def tell_all(self, visit: Visiting, name: str) -> Response:
        """Send everybody who is on their way a message."""
        text, supervisor = _words(visit), self.laboratory.supervisor(name)
        there = [one for one in supervisor.experiment.people.values() if one.ending is None]
        for who in there:
            await supervisor.tell(who, text)
        self.audit.enter(visit.account.name, "sent everybody a message", name, people=len(there))
        return visit.go(
            f"/studies/{name}/participants", f"The message went to {len(there)} people."
        )

    def _found(self, name: str, code: str) -> tuple[Supervisor, Participant]:
        supervisor = self.laboratory.supervisor(name)
        who = supervisor.experiment.people.get(code)
        if who is None:
            raise HTTPException(404, "There is no such participant.")
        return supervisor, who

    async def one(self, visit: Visiting, name: str, code: str) -> Response:
        """All that is known of one participant, but by which id they came."""
        supervisor, who = self._found(name, code)
        experiment = supervisor.experiment
        owed = dues(who.journey, f"{experiment.study.seed}/{who.code}")
        codes = completion_codes(self.laboratory.links, experiment.protocol, who)
        return visit.render(
            "participant.html.jinja", name=name, tab="participants", who=who, where=where(who),
            protocol=experiment.protocol, owed=[(due.key, dollars_text(due.cents)) for due in owed],
            dollars=dollars_text, codes=codes,
        )  # fmt: skip

    async def tell(self, visit: Visiting, name: str, code: str) -> Response:
        """Send a participant a message."""
        supervisor, who = self._found(name, code)
        await supervisor.tell(who, _words(visit))
        return self._done(visit, name, code, "sent a message", "The message was sent.")

    async def prompt(self, visit: Visiting, name: str, code: str) -> Response:
        """Ask a participant for a sign of attention."""
        supervisor, who = self._found(name, code)
        attention = supervisor.protocol.games.attention or Attention()
        await supervisor.prompt(who, attention)
        said = f"They have {attention.seconds:g} seconds to answer."
        return self._done(visit, name, code, "sent an attention check", said)

    async def move(self, visit: Visiting, name: str, code: str) -> Response:
        """Move a participant to another cohort."""
        supervisor, who = self._found(name, code)
        cohort = visit.form.get("cohort", "")
        await supervisor.move(who, cohort)
        return self._done(visit, name, code, f"moved to cohort {cohort}", f"Moved to {cohort}.")

    async def remove(self, visit: Visiting, name: str, code: str) -> Response:
        """End a participant's visit; somebody else can take their place."""
        supervisor, who = self._found(name, code)
        await supervisor.end(who, "removed")
        said = "They were removed; somebody else can take their place."
        return self._done(visit, name, code, "removed a participant", said)

    async def before_erase(self, visit: Visiting, name: str, code: str) -> Response:
        """Say what goes when a participant is deleted."""
        _, who = self._found(name, code)
        return visit.render("erase.html.jinja", name=name, tab="participants", who=who)

    async def erase(self, visit: Visiting, name: str, code: str) -> Response:
        """Delete a participant from everything."""
        supervisor, who = self._found(name, code)
        done = await supervisor.erase(who)
        self.audit.forget(code)
        self.audit.enter(visit.account.name, "deleted a participant", name)
        said = "All that they gave is deleted. Make reports and exports anew: older ones hold it."
        if not done:
            said = "They are deleted as soon as their match has ended."
        return visit.go(f"/studies/{name}/participants", said)

    def _done(self, visit: Visiting, name: str, code: str, deed: str, said: str) -> Response:
        self.audit.enter(visit.account.name, deed, name, participant=code)
        return visit.go(f"/studies/{name}/participants/{code}", said)


def earned_by(who: Participant) -> int:
    """Cents that somebody's games have earned, over all visits."""
    return sum(play["cents"] or 0 for play in who.plays.values() if play.get("cents"))


def where(who: Participant) -> str:
    """Where somebody is: a step, or how their visit ended."""
    return who.ending or who.journey.stop.name


def _steps(supervisor: Supervisor) -> Iterator[Stood]:
    """The steps in order, with how many have come that far and how many are there."""
    came, wrong, ended, here = (Counter[str]() for _ in range(4))
    for one in supervisor.experiment.people.values():
        journey = one.journey
        at = journey.ended_at if journey.ending else journey.stop.name
        came.update({answer.step for answer in journey.responses} | {at})
        wrong.update({answer.step for answer in journey.responses if answer.right is False})
        if journey.ending is None:
            here[at] += 1
        elif journey.ending != "complete":
            ended[at] += 1
    for name in _names(supervisor.protocol):
        yield Stood(name, *(each[name] for each in (came, wrong, ended, here)))


def _names(protocol: Protocol) -> Iterator[str]:
    """The steps at which somebody can stand, in order."""
    games = protocol.games
    last = [*games.before, games, *games.after][-1].called
    for step in protocol.steps:
        yield step.called
        if step.called == last and games.may_stop:
            yield GO_ON


def _prompts(people: Iterable[Participant]) -> Prompts:
    """What became of prompts for attention."""
    everybody = list(people)
    sent = [one for who in everybody for one in who.notices if one.wanted is not None]
    return Prompts(
        len(sent),
        sum(one.answered is None for who in everybody if who.ending is None
            for one in who.notices if one.wanted is not None),
        sum(MISSED in who.flags for who in everybody),
    )  # fmt: skip


def _words(visit: Visiting) -> str:
    """The message that was written.

    Raises:
        HTTPException: there is none, or it is too long.
    """
    text = visit.form.get("text", "").strip()
    if not 0 < len(text) <= LONGEST:
        raise HTTPException(400, f"Write a message of at most {LONGEST:,} characters.")
    return text
