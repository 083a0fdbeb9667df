"""Balanced random assignment of participants to treatments."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cheaptalk.rules.chance import Stream


class Treatment(NamedTuple):
    """A game configuration to which participants can be assigned.

    It requires ``wanted`` matches of ``people`` participants each.
    """

    name: str
    game: str
    people: int
    wanted: int

    @property
    def seats(self) -> int:
        """Number of required participants."""
        return self.people * self.wanted


def assign(
    treatments: Sequence[Treatment],
    filled: Mapping[str, int],
    assigned: Mapping[str, int],
    rng: Stream,
) -> Treatment | None:
    """Assign a participant to a treatment; return None if all treatments are full.

    The order of priority is: treatments that the participant has had least often; treatments with
    an incomplete match, to keep waiting times short; treatments with the smallest share of required
    participants. Ties are broken at random, independently per participant and game.
    Treatments are therefore uncorrelated with each other and with the order of arrival. Because
    participants who drop out are removed from ``filled``, they are replaced.
    ``assigned`` has the number of earlier assignments of this participant, by treatment.
    """
    open_ = [
        treatment for treatment in treatments if filled.get(treatment.name, 0) < treatment.seats
    ]
    if not open_:
        return None

    def order(treatment: Treatment) -> tuple[int, bool, float]:
        count = filled.get(treatment.name, 0)
        starts_match = count % treatment.people == 0
        return assigned.get(treatment.name, 0), starts_match, count / treatment.seats

    first = min(map(order, open_))
    return rng.pick([treatment for treatment in open_ if order(treatment) == first])
