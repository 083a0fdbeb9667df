"""Seatings that the study form generates from its list of players."""

from collections.abc import Mapping

from cheaptalk.players import RosterEntry
from cheaptalk.players.person import PersonSeat
from cheaptalk.studies.study import Listed


def people_seatings(players: Mapping[str, RosterEntry], seat_count: int) -> list[Listed]:
    """Pair each human player with copies of each nonhuman player, one seating per pair.

    >>> people = RosterEntry.model_validate({"person": "browser"})
    >>> players = {"ann": people, "fair": RosterEntry.model_validate("equal_split")}
    >>> people_seatings(players, 2), people_seatings(players, 10)
    ([['ann', 'fair']], [{'ann': 1, 'fair': 9}])
    """
    people = [label for label, entry in players.items() if isinstance(entry.form, PersonSeat)]
    opponents = [label for label in players if label not in people]
    pairs = [(person, opponent) for person in people for opponent in opponents]
    if seat_count == 2:
        return [list(pair) for pair in pairs]
    return [{person: 1, opponent: seat_count - 1} for person, opponent in pairs]


def self_seatings(players: Mapping[str, RosterEntry], seat_count: int) -> list[Listed]:
    """Return the self-play seatings of the human players.

    Matches without people are omitted, because they cost money and say nothing about people.

    >>> people = RosterEntry.model_validate({"person": "browser"})
    >>> players = {"ann": people, "fair": RosterEntry.model_validate("equal_split")}
    >>> self_seatings(players, 2), self_seatings({"fair": players["fair"]}, 2)
    ([['ann', 'ann']], [])
    """
    people = [label for label, entry in players.items() if isinstance(entry.form, PersonSeat)]
    return [[label] * seat_count if seat_count == 2 else {label: seat_count} for label in people]


def implied_seatings(
    choice: str, players: Mapping[str, RosterEntry], seat_count: int
) -> list[Listed]:
    """Return the seatings implied by the pairing "people" or "self"; otherwise, an empty list."""
    listing = {"people": people_seatings, "self": self_seatings}.get(choice)
    return [] if listing is None else listing(players, seat_count)
