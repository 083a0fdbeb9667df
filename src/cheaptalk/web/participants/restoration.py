"""Restoration: participants and their tables as the store has them, after a server has started."""

import logging
import time

from cheaptalk.records.people import participants as kept
from cheaptalk.records.people.participants import KeptParticipant
from cheaptalk.rules import CheaptalkError
from cheaptalk.studies.people.path import Journey, Play, Response
from cheaptalk.web.participants.experiment import Experiment
from cheaptalk.web.participants.people import Notice, Participant
from cheaptalk.web.rooms.rooms import Stage

LOG = logging.getLogger(__name__)


async def restore(experiment: Experiment) -> None:
    """Put all participants where they were, and finish what was under way.

    A participant whose path cannot be followed any more is logged, and counts as lost.
    """
    store, study_id = experiment.house.store, experiment.study_id
    state = kept.recruitment(store, study_id)
    if state is None:
        await experiment.write(kept.recruit(study_id, experiment.state))
    else:
        experiment.state, experiment.keep_until = str(state["state"]), state["keep_until"]
    for row in kept.kept_participants(store, study_id):
        try:
            _restore_participant(experiment, row)
        except CheaptalkError as error:
            LOG.warning("participant %s cannot be restored: %s", row.row["code"], error)
            experiment.lost.add(row.row["code"])
    for participant in list(experiment.people.values()):
        await _restore_table(experiment, participant)


def _restore_participant(experiment: Experiment, stored: KeptParticipant) -> None:
    row = stored.row
    responses = [
        Response(*(given[name] for name in Response._fields)) for given in stored.responses
    ]
    guest = experiment.house.guest(row["code"])
    guest.known_as, guest.language = row["known_as"], row["language"] or ""
    participant = Participant(
        row["id"], guest, row["cohort"], Journey(experiment.protocol, responses),
        {play["number"]: dict(play) for play in stored.plays},
        [Notice(*(notice[name] for name in Notice.COLUMNS)) for notice in stored.notices],
        list(row["flags"]), begun=row["begun"], went_on=row["changed"], waits_since=time.time(),
    )  # fmt: skip
    attention = experiment.protocol.games.attention
    for notice in participant.notices:  # nobody could answer while the server was away
        if notice.due is not None and attention is not None:
            notice.due = max(notice.due, time.time() + attention.seconds)
    experiment.people[participant.code] = participant
    experiment.places.count(participant)


async def _restore_table(experiment: Experiment, who: Participant) -> None:
    """Return a participant to the room of the game that they are playing, or have just played.

    A game that has ended meanwhile is settled.
    """
    stop, responses = who.journey.stop, who.journey.responses
    plays = isinstance(stop, Play)
    number = stop.game if plays or not responses else responses[-1].game
    code = who.plays.get(number, {}).get("room")
    earlier = {play.get("room") for game, play in who.plays.items() if game != number}
    if code is not None:
        who.guest.room = experiment.house.rooms.get(code)
    elif who.guest.room is not None and who.guest.room.code in earlier:
        who.guest.room = None
    room = who.guest.room
    if not plays:
        state = responses[-1].answer.get("state") if responses else None
        if room is None or room.stage is not Stage.OVER or state in (None, "left"):
            who.guest.room = None
    elif room is not None and room.stage is not Stage.WAITING:
        await (experiment.begin_match(room) if code is None else experiment.draw_prompt(who))
        await experiment.settle_match(room)
