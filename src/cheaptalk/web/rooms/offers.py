"""What can be played in a house: tables of a study with places for people in the browser."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cheaptalk.players import PersonSeat
from cheaptalk.records import player_digest
from cheaptalk.records.identity import match_digest
from cheaptalk.rules import Game, game_box
from cheaptalk.studies.plans.matches import (
    Configuration,
    Dealt,
    NumberedDeals,
    PlannedMatch,
    match_of,
)
from cheaptalk.studies.plans.plan import Plan
from cheaptalk.studies.plans.seating import Seated
from cheaptalk.studies.study import StudyError
from cheaptalk.styles import style_in
from cheaptalk.web.rooms.languages import languages

MEDIUM = "browser"
"""How people are asked here, as a study names it: ``{person: browser}``."""


@dataclass(frozen=True, eq=False)
class Offer:
    """A table that can be opened: a game with its parameters, and who sits where.

    Attributes:
        configuration: the game.
        deals: of the study, then further ones without end.
        seating: by place, in order; people are those who are asked in the browser.
        free: people whose words the study leaves to their language, by what it calls them.
        wanted: matches that the study plans at such tables.
    """

    configuration: Configuration
    deals: Sequence[Dealt]
    seating: tuple[Seated, ...]
    free: Collection[str] = ()
    wanted: int = 1

    @cached_property
    def name(self) -> str:
        """Of the offer, in addresses; equal offers of two runs have one name."""
        players = (one.digest for one in self.seating)
        return match_digest(self.configuration.digest, "", "", 0, players)[:12]

    @property
    def game(self) -> Game:
        return self.configuration.game

    @cached_property
    def seated(self) -> dict[str, Seated]:
        """Who sits in which place; people by what the study calls them."""
        return dict(zip(self.game.places, self.seating, strict=True))

    @cached_property
    def people(self) -> tuple[str, ...]:
        """The places for people."""
        return tuple(place for place, one in self.seated.items() if for_people(one))

    @cached_property
    def stand_ins(self) -> dict[str, Seated]:
        """Who can take a place that no person came for, by place."""
        found = {}
        for place in self.people:
            spec = self.seated[place].spec
            if isinstance(spec, PersonSeat) and spec.away is not None:
                seat = spec.stands_in(self.game)
                found[place] = Seated(f"stand-in {player_digest(seat)[:6]}", seat)
        return found

    def deal(self, number: int) -> Dealt:
        """A deal by its number; beyond those of the study they go on."""
        if number < len(self.deals):
            return self.deals[number]
        start = self.deals[0].seed.rpartition("/")[0]
        return NumberedDeals(start, number + 1)[number]

    def match(
        self,
        deal: int,
        repeat: int,
        filled: Sequence[str] = (),
        read: Mapping[str, str] | None = None,
    ) -> PlannedMatch:
        """A match at this table.

        Args:
            filled: places whose stand-ins play in place of people.
            read: the languages that people read, by place.
        """
        seating = tuple(
            self.stand_ins[place]
            if place in filled
            else self.reader(place, (read or {}).get(place))
            for place in self.seated
        )
        return match_of(self.configuration, self.deal(deal), seating, repeat)

    def reader(self, place: str, language: str | None) -> Seated:
        """Who sits in a place, with the words of a language if the game has them.

        A style that the study names stays.
        """
        one, known = self.seated[place], languages().get(language or "")
        box = game_box(self.game.name)
        if one.label not in self.free or known is None or known.style not in box.styles:
            return one
        words = style_in(box, known.style)
        noted = {"style": words.name, "words": words.digest}
        return Seated(one.label, one.spec.model_copy(update=noted))


def for_people(seated: Seated) -> bool:
    """Whether this is a place for somebody in the browser."""
    return isinstance(seated.spec, PersonSeat) and seated.spec.person == MEDIUM


def offers_of(planned: Plan) -> dict[str, Offer]:
    """The tables of a plan with places for people, by name, in the plan's order.

    Raises:
        StudyError: nobody plays in the browser, or somebody is asked elsewhere.
    """
    for player in planned.players().values():
        if isinstance(player.spec, PersonSeat) and not for_people(player):
            raise StudyError(
                f"players.{player.label}: at tables in the browser people are asked there; write "
                f"{{person: {MEDIUM}}}"
            )
    found = {offer.name: offer for offer in _offers(planned)}
    if not found:
        raise StudyError(
            f"{planned.study.name} has no player in the browser; write one as LABEL: "
            f"{{person: {MEDIUM}}}"
        )
    return found


def by_game(offers: Mapping[str, Offer]) -> dict[str, list[Offer]]:
    """The same by the name of the game."""
    found: dict[str, list[Offer]] = {}
    for offer in offers.values():
        found.setdefault(offer.game.name, []).append(offer)
    return found


def _offers(planned: Plan) -> Iterator[Offer]:
    forms = {label: entry.form for label, entry in planned.study.players.items()}
    free = {
        label for label, form in forms.items() if isinstance(form, PersonSeat) and not form.style
    }
    for block in planned.matches.blocks:
        for seating in block.seatings:
            if any(map(for_people, seating)):
                wanted = len(block.deals) * block.repeats
                yield Offer(block.configuration, block.deals, tuple(seating), free, wanted)
