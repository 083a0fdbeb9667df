"""Groups of participants who stay together for all games of a visit."""

from collections.abc import Mapping

from cheaptalk.web.participants.people import Participant


def group_of(person: Participant, people: Mapping[str, Participant]) -> frozenset[str] | None:
    """Return the codes of all participants in a participant's group.

    The result is None in the first game of a visit, and in studies without ``fixed_groups``.

    Args:
        people: all participants by code.
    """
    journey = person.journey
    if not journey.protocol.games.fixed_groups:
        return None
    stop = journey.stop
    earlier = [
        response.game for response in journey.responses
        if "treatment" in response.answer
        and response.visit == stop.visit and response.game < stop.game
    ]  # fmt: skip
    if not earlier:
        return None
    match = person.plays[earlier[-1]].get("match_id")
    return frozenset({person.code}) | {
        other.code for other in people.values()
        if match is not None and any(play.get("match_id") == match for play in other.plays.values())
    }  # fmt: skip


def is_broken(group: frozenset[str] | None, people: Mapping[str, Participant], size: int) -> bool:
    """Return whether a group has too few active members for its games.

    Args:
        people: all participants by code.
        size: number of people that its games require.
    """
    if group is None:
        return False
    active = [code for code in group if code in people and people[code].ending is None]
    return len(active) < size
