"""Erasure: what an experiment forgets when participants' data are deleted."""

import time
from collections.abc import Mapping
from typing import Any

from cheaptalk.records.people.erasure import erase_visit
from cheaptalk.studies.people.path import ENDED, Journey, Response
from cheaptalk.web.participants.experiment import Experiment
from cheaptalk.web.participants.people import Participant


def forget(experiment: Experiment, who: Participant) -> None:
    """Forget a participant, and the matches that they played; the store has deleted both."""
    _forget_matches(experiment, who.plays)
    experiment.places.leave(who)
    del experiment.people[who.code]
    experiment.house.forget(who.guest)


async def forget_visit(experiment: Experiment, who: Participant) -> None:
    """Delete what a participant did in the visit that has ended, except how far they came."""
    visit, responses = who.journey.stop.visit, who.journey.responses
    games = {one.game for one in responses if one.visit == visit and "treatment" in one.answer}
    answer = {"ending": who.ending, "at": who.journey.ended_at}
    ended = Response(ENDED, visit, who.journey.stop.game, answer, answered=time.time())
    await experiment.write(erase_visit(who.code, who.id, visit, [*games], ended._asdict()))
    played = games & who.plays.keys()
    _forget_matches(experiment, {number: who.plays[number] for number in played})
    experiment.house.close_rooms(who.guest)
    steps = [one._replace(answer={}) if one.visit == visit else one for one in responses]
    who.journey = Journey(experiment.protocol, [*steps, ended])
    who.guest.known_as = None
    for number in played:
        del who.plays[number]
    who.notices.clear()
    experiment.places.count(who)


def _forget_matches(experiment: Experiment, plays: Mapping[int, Mapping[str, Any]]) -> None:
    """Remove deleted matches from the plays of all who took part in them."""
    matches = {play["match_id"] for play in plays.values() if play.get("match_id")}
    for participant in experiment.people.values():
        for play in participant.plays.values():
            if play.get("match_id") in matches:
                play.update(match_id=None, room=None)
                participant.quiz = None
