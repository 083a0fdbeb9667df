"""Removal of deleted participants and visits from a running experiment."""

import time
from collections.abc import Mapping
from typing import Any

from cheaptalk.records.people.erasure import erase_visit
from cheaptalk.studies.people.path import ENDED, Journey, Response
from cheaptalk.web.participants.experiment import Experiment
from cheaptalk.web.participants.people import Participant


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
        response.game for response in responses
        if response.visit == stop.visit and "treatment" in response.answer
    }  # fmt: skip
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
