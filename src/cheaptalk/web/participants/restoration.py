"""Restoration of participants when a server starts, and removal of deleted ones."""

import logging
import time
from collections.abc import Mapping
from typing import Any

from cheaptalk.records.people import participants as rows
from cheaptalk.records.people.participants import KeptParticipant, erase_visit
from cheaptalk.rules import CheaptalkError
from cheaptalk.studies.people.path import ENDED, Journey, Play, Response
from cheaptalk.web.participants.experiment import Experiment
from cheaptalk.web.participants.people import Notice, Participant
from cheaptalk.web.rooms.rooms import Stage
from cheaptalk.web.rooms.seat_sessions import SeatSession

LOG = logging.getLogger(__name__)


async def restore(experiment: Experiment) -> None:
    """Restore all participants, and record the results of games that have ended meanwhile.

    Participants whose steps the study no longer has are logged and marked as orphaned.
    """
    store, study_id = experiment.room_manager.store, experiment.study_id
    state = rows.recruitment(store, study_id)
    if state is None:
        await experiment.write(rows.recruit(study_id, experiment.state))
    else:
        experiment.state, experiment.keep_until = str(state["state"]), state["keep_until"]
        experiment.suspended = state["suspended"]
    for row in rows.kept_participants(store, study_id):
        try:
            _restore_participant(experiment, row)
        except CheaptalkError as error:
            LOG.warning("participant %s cannot be restored: %s", row.row["code"], error)
            experiment.orphaned.add(row.row["code"])
    for person in list(experiment.people.values()):
        await _restore_table(experiment, person)
        restore_pause(experiment, person)


def _restore_participant(experiment: Experiment, stored: KeptParticipant) -> None:
    row = stored.row
    responses = [
        Response(*(response[name] for name in Response._fields)) for response in stored.responses
    ]
    visitor = experiment.room_manager.visitor(row["code"])
    visitor.known_as, visitor.language = row["known_as"], row["language"] or ""
    person = Participant(
        row["id"],
        visitor,
        row["cohort"],
        Journey(experiment.protocol, responses),
        {play["number"]: dict(play) for play in stored.plays},
        [Notice(*(notice[name] for name in Notice.COLUMNS)) for notice in stored.notices],
        list(row["flags"]),
        begun=row["begun"],
        went_on=row["changed"],
        waits_since=time.time(),
        hidden_seconds=row["hidden_seconds"],
        hidden_times=row["hidden_times"],
    )
    attention, runs = experiment.protocol.games.attention, person.pause is None
    for notice in person.notices:  # an answer was impossible while the server was stopped
        if notice.expected is not None and notice.due is not None and attention and runs:
            notice.due = max(notice.due, time.time() + attention.seconds)
    experiment.people[person.code] = person
    experiment.quotas.update(person)


async def _restore_table(experiment: Experiment, person: Participant) -> None:
    stop, responses = person.journey.stop, person.journey.responses
    plays = isinstance(stop, Play)
    number = stop.game if plays or not responses else responses[-1].game
    code = person.plays.get(number, {}).get("room")
    earlier = {play.get("room") for game, play in person.plays.items() if game != number}
    if code is not None:
        person.visitor.room = experiment.room_manager.rooms.get(code)
    elif person.visitor.room is not None and person.visitor.room.code in earlier:
        person.visitor.room = None
    room = person.visitor.room
    if not plays:
        state = responses[-1].answer.get("state") if responses else None
        if room is None or room.stage is not Stage.OVER or state in (None, "left"):
            person.visitor.room = None
    elif room is not None and room.stage is not Stage.WAITING:
        await (experiment.begin_match(room) if code is None else experiment.schedule_prompt(person))
        await experiment.settle_match(room)


def forget(experiment: Experiment, person: Participant) -> None:
    """Remove a participant and their matches from memory after the store has deleted them."""
    _forget_matches(experiment, person.plays)
    experiment.quotas.remove(person)
    del experiment.people[person.code]
    experiment.room_manager.forget(person.visitor)


async def forget_visit(experiment: Experiment, person: Participant) -> None:
    """Delete the data of a participant's last visit, but keep its outcome."""
    stop, responses = person.journey.stop, person.journey.responses
    games = {
        response.game
        for response in responses
        if response.visit == stop.visit and "treatment" in response.answer
    }
    answer = {"ending": person.ending, "at": person.journey.ended_at}
    ended = Response(ENDED, stop.visit, stop.game, answer, answered=time.time())
    work = erase_visit(person.code, person.id, stop.visit, [*games], ended._asdict())
    await experiment.write(work)
    played = games & person.plays.keys()
    _forget_matches(experiment, {number: person.plays[number] for number in played})
    experiment.room_manager.close_rooms(person.visitor)
    remaining = [
        response._replace(answer={}) if response.visit == stop.visit else response
        for response in responses
    ]
    person.journey = Journey(experiment.protocol, [*remaining, ended])
    person.visitor.known_as = None
    for number in played:
        del person.plays[number]
    person.notices.clear()
    experiment.quotas.update(person)


def _forget_matches(experiment: Experiment, plays: Mapping[int, Mapping[str, Any]]) -> None:
    matches = {play["match_id"] for play in plays.values() if play.get("match_id")}
    for person in experiment.people.values():
        for play in person.plays.values():
            if play.get("match_id") in matches:
                play.update(match_id=None, room=None)
                person.quiz = None


def restore_pause(experiment: Experiment, person: Participant) -> None:
    """Stop the clocks of a participant who was paused before the server's start."""
    pause = person.pause
    if pause is None:
        return
    if pause.due is not None:
        minutes = experiment.protocol.games.lobby.minutes
        person.waits_since = pause.due - 60 * minutes - person.seconds_added
    if (session := session_of(experiment, person)) is not None:
        session.stop_clock(pause.sent, pause.due)


def session_of(experiment: Experiment, person: Participant) -> SeatSession | None:
    """Return the session of a participant's seat in a match in progress, or None."""
    room = person.visitor.room
    if room is None or room.stage is not Stage.PLAYING or room.over:
        return None
    if not experiment.plays_in(person, room) or not room.has_seat(person.visitor):
        return None
    return room.seat_session(person.visitor)
