"""Assignment: which table a participant comes to, balanced and by luck of its own."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cheaptalk.rules.chance import Stream


class Treatment(NamedTuple):
    """A table to which participants can be assigned.

    Attributes:
        name: what it is called in the store.
        game: the game's name.
        people: how many participants sit at one.
        wanted: matches that the study wants of it.
    """

    name: str
    game: str
    people: int
    wanted: int

    @property
    def places(self) -> int:
        """Participants that the study wants of it."""
        return self.people * self.wanted


def assign(
    treatments: Sequence[Treatment],
    filled: Mapping[str, int],
    own: Mapping[str, int],
    luck: Stream,
) -> Treatment | None:
    """The treatment that a participant gets; None where all are full.

    A table that lacks people for a whole one goes first, so that nobody waits longer than need be.
    Then that which the participant has had least; then that which is filled least, as a share of
    what the study wants. What is equal is drawn: each participant's games have luck of their own,
    so that no factor goes with another or with the order in which people come. Who drops out is
    taken out of ``filled``, and so is replaced.

    Args:
        treatments: those that the participant may get.
        filled: participants in each who have not dropped out, by name.
        own: how often this one has had each.
    """
    open_ = [one for one in treatments if filled.get(one.name, 0) < one.places]
    if not open_:
        return None

    def order(one: Treatment) -> tuple[bool, int, float]:
        count = filled.get(one.name, 0)
        return count % one.people == 0, own.get(one.name, 0), count / one.places

    first = min(map(order, open_))
    return luck.pick([one for one in open_ if order(one) == first])
