"""Seatings of people, as the form of a study offers them: lists that follow from its players."""

from collections.abc import Mapping

from cheaptalk.players import RosterEntry
from cheaptalk.players.person import PersonSeat
from cheaptalk.studies.study import Listed


def people_seatings(players: Mapping[str, RosterEntry], places: int) -> list[Listed]:
    """Each person with each of the others, who fills all other places.

    >>> people = RosterEntry.model_validate({"person": "browser"})
    >>> players = {"ann": people, "fair": RosterEntry.model_validate("equal_split")}
    >>> people_seatings(players, 2), people_seatings(players, 10)
    ([['ann', 'fair']], [{'ann': 1, 'fair': 9}])
    """
    people = [label for label, one in players.items() if isinstance(one.form, PersonSeat)]
    others = [label for label in players if label not in people]
    pairs = [(person, other) for person in people for other in others]
    if places == 2:
        return [list(pair) for pair in pairs]
    return [{person: 1, other: places - 1} for person, other in pairs]


def own_seatings(players: Mapping[str, RosterEntry], places: int) -> list[Listed]:
    """Return the seatings of people with others of their kind; none in a study without people.

    Models and scripts play one another only if that is chosen: such matches cost money, and answer
    nothing about people.

    >>> people = RosterEntry.model_validate({"person": "browser"})
    >>> players = {"ann": people, "fair": RosterEntry.model_validate("equal_split")}
    >>> own_seatings(players, 2), own_seatings({"fair": players["fair"]}, 2)
    ([['ann', 'ann']], [])
    """
    people = [label for label, one in players.items() if isinstance(one.form, PersonSeat)]
    return [[label] * places if places == 2 else {label: places} for label in people]


def seated_by(choice: str, players: Mapping[str, RosterEntry], places: int) -> list[Listed]:
    """Return the seatings that a choice of who meets whom lists; none if it lists none."""
    listing = {"people": people_seatings, "self": own_seatings}.get(choice)
    return [] if listing is None else listing(players, places)
