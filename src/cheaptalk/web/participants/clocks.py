"""Clocks of participants: deadlines in matches, pauses, and the time for which pages are hidden."""

import time

from cheaptalk.web.participants.experiment import Experiment
from cheaptalk.web.participants.people import Participant
from cheaptalk.web.rooms.rooms import Stage
from cheaptalk.web.rooms.seat_sessions import SeatSession


def session_of(experiment: Experiment, person: Participant) -> SeatSession | None:
    """Return the session of a participant's seat in a match in progress, or None."""
    room = person.visitor.room
    if room is None or room.stage is not Stage.PLAYING or room.over:
        return None
    if not experiment.plays_in(person, room) or not room.has_seat(person.visitor):
        return None
    return room.seat_session(person.visitor)


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


def note_visible(person: Participant, now: float | None = None) -> None:
    """Count the time for which a participant's page has been hidden, if it is."""
    if person.hidden_since is not None:
        now = time.time() if now is None else now
        person.hidden_seconds += max(0.0, now - person.hidden_since)
        person.hidden_since = None
