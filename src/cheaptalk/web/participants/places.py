"""Places: the tables to which participants can be assigned, and how far each is filled."""

import time
from collections import Counter
from collections.abc import Iterable
from math import ceil

from cheaptalk.rules import Chance
from cheaptalk.studies.people.assignment import Treatment, assign
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.web.participants.people import Participant
from cheaptalk.web.rooms.offers import Offer

HOUR = 3600.0
STAYING = ("complete", "partner_left", "technical")
"""Endings of those who count as having taken part in what they were assigned to."""
STATES = ("assigned", "playing", "finished")
"""States of games that fill a place."""


class Places:
    """The tables of a study, as participants fill them.

    Args:
        protocol: the study's.
        offers: its tables.
        chance: luck of each participant's own.

    Attributes:
        treatments: what participants can be assigned to.
        filled: participants assigned to each who have not dropped out; each counts once a visit
            where its games are the same.
    """

    def __init__(self, protocol: Protocol, offers: Iterable[Offer], chance: Chance) -> None:
        self.protocol = protocol
        self.chance = chance
        self.filled: Counter[str] = Counter()
        self._completed = self._under_way = 0
        at_once = protocol.games.most if protocol.games.same else 1
        self.treatments = [
            Treatment(one.name, one.game.name, len(one.people), ceil(one.wanted / at_once))
            for one in offers
        ]

    @property
    def full(self) -> bool:
        """Whether there is no place for anybody new."""
        places = self.protocol.recruitment.places
        if places is not None and self._completed + self._under_way >= places:
            return True
        return not self._open()

    def _open(self) -> list[Treatment]:
        return [one for one in self.treatments if self.filled[one.name] < one.places]

    def free_from(self, who: Participant) -> float | None:
        """From when on somebody may play another game, in seconds since 1970; None for never."""
        return min((self._free_from(who, one) for one in self._open()), default=None)

    def _free_from(self, who: Participant, treatment: Treatment) -> float:
        """The same of a game of a treatment's family."""
        hours = self.protocol.limits.hours
        played = [play["assigned"] for play in who.plays.values() if play["game"] == treatment.game]
        return max(played) + hours * HOUR if played and hours else 0.0

    def assign(self, who: Participant, game: int) -> Treatment | None:
        """The treatment that somebody gets for a game, by its number; None where there is none."""
        now, before = time.time(), who.journey.assigned
        allowed = [one for one in self.treatments if self._free_from(who, one) <= now]
        if self.protocol.games.same and before and before.visit == who.journey.stop.visit:
            return next((one for one in allowed if one.name == before.answer["treatment"]), None)
        own = Counter(play["treatment"] for play in who.plays.values())
        found = assign(allowed, self.filled, own, self.chance("assignment", who.code, game))
        if found is not None:  # counts at once, lest others who come now see a place too many
            filled, completed, under_way = who.counted
            self.filled[found.name] += 1
            who.counted = (*filled, found.name), completed, under_way
        return found

    def count(self, who: Participant) -> None:
        """Count somebody as they now are."""
        stays = who.ending is None or who.ending in STAYING
        visits = {one.game: one.visit for one in who.journey.responses if "treatment" in one.answer}
        there = {
            visits[number] if self.protocol.games.same else number: play["treatment"]
            for number, play in who.plays.items()
            if stays and play["state"] in STATES
        }
        completed = "complete" in who.journey.endings
        self._note(who, tuple(there.values()), completed, who.ending is None and not completed)

    def leave(self, who: Participant) -> None:
        """Count somebody no more."""
        self._note(who, (), False, False)

    def _note(
        self, who: Participant, filled: tuple[str, ...], completed: bool, under_way: bool
    ) -> None:
        before = who.counted
        self.filled.subtract(before[0])
        self.filled.update(filled)
        self._completed += completed - before[1]
        self._under_way += under_way - before[2]
        who.counted = filled, completed, under_way
