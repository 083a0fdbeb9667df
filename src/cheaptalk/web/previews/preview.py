"""A preview of a study: participants' pages over a temporary store, with bots in other seats."""

import asyncio
import json
import logging
import secrets
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from fastapi import FastAPI, Request

from cheaptalk.mock_models.answers import SCHEMA, answer
from cheaptalk.models import ModelCall, Reply
from cheaptalk.rules import CheaptalkError
from cheaptalk.studies.people.path import Assign, Play
from cheaptalk.studies.presets import StudySource, study_of
from cheaptalk.studies.study import Study
from cheaptalk.styles.languages import SOURCE
from cheaptalk.web.participants.pages import ParticipantPages
from cheaptalk.web.participants.people import Participant, group_of
from cheaptalk.web.participants.server import experiment_app, open_experiment
from cheaptalk.web.participants.supervisor import Supervisor
from cheaptalk.web.participants.texts import shortest_deadline
from cheaptalk.web.previews.autopilot import (
    Autopilot,
    Earlier,
    answers_that_lead_to,
    earlier_of,
)
from cheaptalk.web.previews.casting import Cast, CastPlaces, CastQuotas
from cheaptalk.web.previews.settings import Options, PreviewSettings, options_of, study_to_preview
from cheaptalk.web.rooms.addresses import ANYWHERE, Address
from cheaptalk.web.rooms.links import Links, new_name
from cheaptalk.web.rooms.rooms import Stage

LOG = logging.getLogger(__name__)
CASTING_SECONDS = 0.2
"""Interval at which bots are sent to tables where the researcher waits, and clocks are held."""
PAUSE_SECONDS = 0.05
"""Interval at which a page that waits for the autopilot looks at its progress."""
MOST_BOTS = 200
STARTING_SECONDS = 10.0
"""Maximum time until a page shows the researcher's participants, even if they are on their way."""
DEFAULT = PreviewSettings()
ID = "preview-{}"
"""Platform ID of a researcher's participant, or of a bot."""


class PreviewPages(ParticipantPages):
    """Participants' pages in a preview, which the console shows in frames.

    Attributes:
        study: the study that is previewed, whose deadlines texts mention even if none applies.
    """

    preview = True
    study: Study

    @property
    def deadline(self) -> float:
        return shortest_deadline(self.study)

    def _started_here(self, request: Request, person: Participant) -> bool:
        return True


class Preview:
    """An open preview of a study.

    Attributes:
        text: the design as it was previewed.
        own: codes of the researcher's participants.
        notes: what the autopilot could not do, by the code of the participant.
    """

    def __init__(
        self,
        study: Study,
        settings: PreviewSettings,
        options: Options,
        supervisor: Supervisor,
        address: Address,
    ) -> None:
        self.settings = settings
        self.options = options
        self.supervisor, self.experiment = supervisor, supervisor.experiment
        self.own = [new_name() for _ in range(settings.own)]
        self.links = Links(secrets.token_bytes(32))
        self.pages = PreviewPages(supervisor, self.links, address, study.name)
        self.pages.study = study
        self.app: FastAPI = experiment_app(self.pages)
        self.notes: dict[str, str] = {}
        self.cast = Cast(self.experiment, settings, self.own)
        self._direct()
        self._admitted = 0
        self._driving: dict[str, asyncio.Task[None]] = {}

    def _direct(self) -> None:
        """Let the cast decide on treatments and seats."""
        experiment = self.experiment
        if experiment.places is not None:
            experiment.quotas = experiment.places = CastPlaces(self.cast, experiment.places.design)
            return
        templates = experiment.room_manager.table_templates.values()
        quotas = CastQuotas(experiment.protocol, templates, experiment.chance)
        quotas.cast, experiment.quotas = self.cast, quotas

    def person(self, code: str) -> Participant | None:
        """Return one of the researcher's participants; None if their data were deleted."""
        return self.experiment.people.get(code) if code in self.own else None

    def path_of(self, code: str) -> str:
        """Return the address of a participant's page, below the preview's pages."""
        return f"/p/{self.links.token(code)}"

    @property
    def paths(self) -> list[str]:
        """The addresses of the pages of the researcher's participants."""
        return [self.path_of(code) for code in self.own]

    def is_driven(self, code: str) -> bool:
        """Return whether the autopilot is answering for a participant."""
        return code in self._driving

    def earlier(self) -> list[Earlier | None]:
        """Return what the researcher entered, by number of the participant."""
        people = map(self.person, self.own)
        return [None if person is None else earlier_of(person) for person in people]

    # Opening and closing

    async def begin(self, earlier: Sequence[Earlier | None]) -> None:
        """Admit the researcher's participants and let the autopilot take them to the first step."""
        for number, code in enumerate(self.own):
            person = await self._admit(code, self.settings.language)
            if self.settings.start:
                entered = earlier[number] if number < len(earlier) else None
                self._send_to(person, self.settings.start, entered)
        places = self.experiment.places
        while isinstance(places, CastPlaces) and places.companions:
            code = new_name()
            places.reserve(code)
            await self._new_bot(code)
        self._driving[""] = asyncio.create_task(self._cast_bots())

    async def wait(self, seconds: float = STARTING_SECONDS) -> None:
        """Wait until all of the researcher's participants have reached their steps."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while any(code in self.own for code in self._driving) or self._is_seating():
                    await asyncio.sleep(PAUSE_SECONDS)

    def _is_seating(self) -> bool:
        """Return whether bots are on their way to the researcher, or a match is about to start."""
        others = any(self.experiment.people[code].ending is None for code in self._bots())
        groups = [self.supervisor.waiting_group(person) for person in self.cast.people()]
        in_group = others and bool(groups) and None not in groups
        rooms = (person.visitor.room for person in self.cast.people())
        is_starting = any(
            room is not None and room.stage is Stage.PLAYING and room.table is None
            for room in rooms
        )
        return in_group or is_starting or self.cast.is_short()

    def _bots(self) -> list[str]:
        return [code for code in self.experiment.people if code not in self.own]

    async def close(self) -> None:
        for task in self._driving.values():
            task.cancel()
        await asyncio.gather(*self._driving.values(), return_exceptions=True)

    async def _admit(self, code: str, language: str) -> Participant:
        self._admitted += 1
        known_by = ID.format(self._admitted)
        return await self.experiment.admit(known_by, language=language, code=code)

    # The researcher's participants

    def go_on(self, code: str) -> None:
        """Let the autopilot fill in a participant's page, or play their match to the end."""
        person = self.person(code)
        if person is not None:
            start = _view(person)
            self._drive(self._autopilot(person), lambda other: _view(other) != start)

    def is_ahead(self, code: str, step: str) -> bool:
        """Return whether a step follows the current step of a participant."""
        person, steps = self.person(code), list(self.options.steps)
        if person is None or person.ending is not None or step not in steps:
            return False
        current = person.journey.stop.name
        games = self.experiment.protocol.games.called
        return steps.index(step) > steps.index(current if current in steps else games)

    def go_to(self, code: str, step: str) -> None:
        """Let the autopilot take a participant to a step that follows the current one."""
        person = self.person(code)
        if person is not None:
            self._send_to(person, step, None)

    def step_before(self, code: str) -> str | None:
        """Return the name of the step before a participant's current step, if there is one."""
        person, steps = self.person(code), list(self.options.steps)
        name = None if person is None else person.journey.stop.name
        if name not in steps:
            name = (person and person.journey.ended_at) or None
        at = steps.index(name) if name in steps else len(steps)
        return steps[at - 1] if at else None

    def _send_to(self, person: Participant, step: str, earlier: Earlier | None) -> None:
        answers = answers_that_lead_to(self.experiment.protocol, step)
        autopilot = self._autopilot(person, answers, earlier)
        self._drive(autopilot, partial(_is_at, step), step)

    def _autopilot(
        self,
        person: Participant,
        answers: dict[str, str] | None = None,
        earlier: Earlier | None = None,
    ) -> Autopilot:
        strategy = self.settings.strategy
        return Autopilot(self.pages, person, strategy, answers, earlier, more=False)

    def _drive(
        self, autopilot: Autopilot, arrived: Callable[[Participant], bool], step: str = ""
    ) -> None:
        code = autopilot.person.code
        if (task := self._driving.pop(code, None)) is not None:
            task.cancel()
        self.notes.pop(code, None)
        self._driving[code] = asyncio.create_task(self._drive_to(autopilot, arrived, step))

    async def _drive_to(
        self, autopilot: Autopilot, arrived: Callable[[Participant], bool], step: str
    ) -> None:
        person = autopilot.person
        try:
            await autopilot.drive(arrived)
            if step and person.ending is not None and not arrived(person):
                self.notes[person.code] = step
        except CheaptalkError as error:
            self.notes[person.code] = str(error)
        except Exception:
            LOG.exception("the preview cannot answer for the participant %s", person.code)
            self.notes[person.code] = "a technical error; see the server's log"
        finally:
            if self._driving.get(person.code) is asyncio.current_task():
                del self._driving[person.code]
            person.visitor.notifier.notify()

    # Bots

    async def _new_bot(self, code: str) -> None:
        person = await self._admit(code, SOURCE)
        autopilot = Autopilot(self.pages, person, self.settings.strategy)
        self._drive(autopilot, lambda _: False)

    async def _cast_bots(self) -> None:
        """Send bots to the tables where the researcher waits."""
        while True:
            try:
                for person, promise in list(self.cast.demand()):
                    bot = self._idle_bot(person)
                    if bot is not None:
                        self.cast.promises[bot.code] = promise
                        async with bot.lock:
                            await self.experiment.advance(bot)
                    elif self._admitted < MOST_BOTS and not self._is_grouped:
                        code = new_name()
                        self.cast.promises[code] = promise
                        await self._new_bot(code)
            except CheaptalkError:
                LOG.exception("the bots of a preview cannot take their seats")
            if not self.settings.timed:
                self._hold_clocks()
            await asyncio.sleep(CASTING_SECONDS)

    def _hold_clocks(self) -> None:
        """Start the clocks of chats and waiting rooms again before they run out."""
        now = time.time()
        for person in self.cast.people():
            if person.waits_since:
                person.waits_since = now
        for room in self.experiment.room_manager.rooms.values():
            chat = room.chat
            if chat is not None and chat.phase is not None:
                seconds = chat.log.settings.seconds
                if chat.phase.until - now < seconds / 2:
                    chat.phase.until = now + seconds
                    chat.wake()

    @property
    def _is_grouped(self) -> bool:
        """Whether bots fill the researcher's matching group, so that no others are needed."""
        places = self.experiment.places
        return isinstance(places, CastPlaces) and places.schedule.grouped

    @property
    def _people(self) -> dict[str, Participant]:
        return self.experiment.people

    def _idle_bot(self, person: Participant) -> Participant | None:
        """Return a bot that waits for a game and may play with a participant."""
        group = group_of(person, self._people)
        for code, bot in self._people.items():
            is_idle = isinstance(bot.journey.stop, Assign) and code not in self.cast.promises
            if code not in self.own and is_idle and (group is None or code in group):
                return bot
        return None


@asynccontextmanager
async def open_preview(
    study: StudySource,
    settings: PreviewSettings = DEFAULT,
    address: Address = ANYWHERE,
    folder: Path | str | None = None,
    earlier: Sequence[Earlier | None] = (),
) -> AsyncIterator[Preview]:
    """Open a preview of a human study, whose ``app`` and ``paths`` are the participants' pages.

    The data are in a temporary folder, which is deleted when the preview is closed.

    Args:
        study: a study, a study file, or the name of a preset.
        address: the address of the server of the pages.
        folder: where the temporary folder is; by default, the system's.
        earlier: what the researcher entered in an earlier course, to enter it again.

    Raises:
        StudyError: the study has no participants, or cannot be played.
        CheaptalkError: the study does not offer a setting.
    """
    study = study_of(study)
    options = await asyncio.to_thread(options_of, study)
    options.check(settings)
    previewed = study_to_preview(study, settings)
    models = None if settings.real_models else MockClient()
    with TemporaryDirectory(prefix="preview-", dir=folder) as name:
        store, identities = Path(name) / "preview.sqlite", Path(name) / "preview.identities"
        async with open_experiment(previewed, store, identities, models) as supervisor:
            preview = Preview(study, settings, options, supervisor, address)
            try:
                await preview.begin(earlier)
                yield preview
            finally:
                await preview.close()


def _view(person: Participant) -> tuple[int, bool]:
    """Return what distinguishes a participant's successive pages."""
    room = person.visitor.room
    shows_result = room is not None and room.over and not isinstance(person.journey.stop, Play)
    return len(person.journey.responses), shows_result


def _is_at(step: str, person: Participant) -> bool:
    room = person.visitor.room
    return person.journey.stop.name == step and not (room is not None and room.over)


class MockClient:
    """A client in this process with random and legal answers, like those of the mock server."""

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        messages = [{"role": item.role, "content": item.content} for item in call.messages]
        if call.form is not None:
            messages[-1][SCHEMA] = json.dumps(call.form.json_schema)
        return Reply(text=answer(messages), model="mock", finish="stop")
