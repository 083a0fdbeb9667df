"""Balanced random assignment of participants to treatments."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cheaptalk.rules.chance import Stream


class Treatment(NamedTuple):
    """A configuration to which participants can be assigned.

    Attributes:
        name: its name in the store.
        game: the game's name.
        people: participants per match.
        wanted: number of matches required.
    """

    name: str
    game: str
    people: int
    wanted: int

    @property
    def places(self) -> int:
        """Number of participants required."""
        return self.people * self.wanted


def assign(
    treatments: Sequence[Treatment],
    filled: Mapping[str, int],
    assigned: Mapping[str, int],
    rng: Stream,
) -> Treatment | None:
    """Assign a participant to a treatment; return None if all are full.

    Incomplete matches are filled first, to keep waiting times short. Next comes the treatment that
    the participant has had least often, then the one with the smallest share of its required
    participants. Ties are broken at random, independently per participant and game, so that
    treatments are uncorrelated with each other and with the order of arrival. Participants who drop
    out are removed from ``filled`` and are therefore replaced.

    Args:
        treatments: treatments available to the participant.
        filled: participants in each treatment who have not dropped out, by name.
        assigned: number of earlier assignments of this participant, by name.
    """
    open_ = [
        treatment for treatment in treatments if filled.get(treatment.name, 0) < treatment.places
    ]
    if not open_:
        return None

    def order(treatment: Treatment) -> tuple[bool, int, float]:
        count = filled.get(treatment.name, 0)
        return (
            count % treatment.people == 0,
            assigned.get(treatment.name, 0),
            count / treatment.places,
        )

    first = min(map(order, open_))
    return rng.pick([treatment for treatment in open_ if order(treatment) == first])
