"""Groups: those who met in the first game of a visit, where its other games keep them together."""

from collections.abc import Mapping

from cheaptalk.web.participants.people import Participant


def group_of(who: Participant, people: Mapping[str, Participant]) -> frozenset[str] | None:
    """The codes of those with whom somebody plays on, their own among them.

    None in the first game of a visit, and where the study lets people part.

    Args:
        people: everybody, by code.
    """
    journey = who.journey
    if not journey.protocol.games.together:
        return None
    stop = journey.stop
    earlier = [
        one.game for one in journey.responses
        if "treatment" in one.answer and one.visit == stop.visit and one.game < stop.game
    ]  # fmt: skip
    if not earlier:
        return None
    match = who.plays[earlier[-1]].get("match_id")
    return frozenset({who.code}) | {
        one.code for one in people.values()
        if match is not None and any(play.get("match_id") == match for play in one.plays.values())
    }  # fmt: skip


def is_broken(group: frozenset[str] | None, people: Mapping[str, Participant], size: int) -> bool:
    """Whether a group can play no more: somebody has left, or was deleted.

    Args:
        people: everybody, by code.
        size: how many people its games take.
    """
    if group is None:
        return False
    there = [people[code] for code in group if code in people and people[code].ending is None]
    return len(there) < size
