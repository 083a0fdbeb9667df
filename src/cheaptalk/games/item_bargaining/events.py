"""Item bargaining: what players are told, what they answer, what nature deals, how it ends."""

from operator import gt
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, StringConstraints, model_validator

from cheaptalk.games.item_bargaining.pools import Bundle
from cheaptalk.rules import Action, Deal, Event, Outcome

THOUGHTS = 20_000
"""Characters that the reasoning in an answer may have."""

Ending: TypeAlias = Literal["accept", "walk", "invalid", "rounds"]
"""An offer was accepted, somebody walked away, somebody gave no valid answer, or the last answer
of the last round was one more offer."""


class Move(Action):
    """What to do: accept the offer on the table, walk away, or make an offer.

    The reasoning is private: it is recorded, and no other player sees it.
    """

    reasoning: Annotated[str, StringConstraints(max_length=THOUGHTS, strict=True)] = ""
    action: Literal["ACCEPT", "WALK", "COUNTEROFFER"]
    offer: Bundle | None = None
    """The items of each kind that the other player shall get."""

    @model_validator(mode="before")
    @classmethod
    def _without_an_idle_offer(cls, given: Any) -> Any:
        """An empty list beside ACCEPT or WALK, as an unused field of a form, is no offer."""
        if isinstance(given, dict) and given.get("offer") == []:
            return given if given.get("action") == "COUNTEROFFER" else given | {"offer": None}
        return given

    @model_validator(mode="after")
    def _offers_what_it_says(self) -> "Move":
        if self.action == "COUNTEROFFER" and self.offer is None:
            raise ValueError('a counteroffer needs an "offer"')
        if self.action != "COUNTEROFFER" and self.offer is not None:
            raise ValueError(f'an "offer" goes with COUNTEROFFER only, not with {self.action}')
        return self


def objection(quantities: Bundle, answering: bool, move: Move) -> str | None:
    """Why a move is illegal with these items, answering an offer or not; None if it is legal."""
    offer = move.offer
    if offer is None:
        early = move.action == "ACCEPT" and not answering
        return "there is no offer yet that could be accepted" if early else None
    if len(offer) != len(quantities):
        return f"the offer must have {len(quantities)} numbers, one for each kind of items"
    if any(map(gt, offer, quantities)):
        pairs = enumerate(zip(offer, quantities, strict=True), start=1)
        kind, (asked, count) = next(pair for pair in pairs if gt(*pair[1]))
        few = {0: "is none", 1: "is only 1"}.get(count, f"are only {count}")
        return f"you offer {asked} of kind {kind}, and there {few}"
    return None


class Briefing(Event):
    """What a seat knows at the start.

    Attributes:
        seat, rival: this place and the other.
        quantities: the items of each kind.
        values: what one item of each kind is worth to this seat.
        total: what all items together are worth to it.
        outside: what its outside option is worth.
        least_outside, below_total: the range of outside options, see the parameters.
        highest_value: the most that an item can be worth.
        discount, rounds: as in the parameters.
    """

    seat: str
    rival: str
    quantities: tuple[int, ...]
    values: tuple[int, ...]
    total: int
    outside: int
    least_outside: int
    below_total: bool
    highest_value: int
    discount: float
    rounds: int


class Opening(Event):
    """It is this seat's turn, and no offer is on the table."""

    round: int
    rounds: int


class OfferMade(Event):
    """The rival offers this seat so many items of each kind, and would keep so many itself.

    ``last`` says that this seat's answer is the last of the match: an offer would be too late.
    """

    round: int
    rounds: int
    proposer: str
    offer: tuple[int, ...]
    kept: tuple[int, ...]
    last: bool


class Agreed(Event):
    """An offer was accepted: this seat gets this bundle, and this payoff."""

    round: int
    by: str
    bundle: tuple[int, ...]
    payoff: float


class NotAgreed(Event):
    """The match ended without an agreement, by whom and how, with this payoff to this seat."""

    round: int
    by: str
    ended: Ending
    payoff: float


Values: TypeAlias = tuple[Annotated[int, Field(ge=1, strict=True)], ...]
Worth: TypeAlias = Annotated[int, Field(ge=0, strict=True)]


class Pool(Deal):
    """The items to divide, and what they and its outside option are worth to each player.

    Attributes:
        quantities: the items of each kind.
        values: what one item of each kind is worth, to player_1 and to player_2.
        outside: what the outside option is worth, to player_1 and to player_2.
    """

    quantities: Bundle
    values: tuple[Values, Values]
    outside: tuple[Worth, Worth]

    @model_validator(mode="after")
    def _values_every_kind(self) -> "Pool":
        if any(len(values) != len(self.quantities) for values in self.values):
            raise ValueError("values: each player needs one for every kind of items")
        return self


class Settlement(Outcome):
    """How a match ended.

    Attributes:
        ended: see :data:`Ending`.
        round: the round in which it ended, from 1.
        by: the place whose answer ended it.
        bundles: what player_1 and player_2 get; None without an agreement.
        worth: what each realises, undiscounted: the worth of its bundle, or its outside option.
    """

    ended: Ending
    round: Annotated[int, Field(ge=1)]
    by: str
    bundles: tuple[Bundle, Bundle] | None = None
    worth: tuple[Worth, Worth]
