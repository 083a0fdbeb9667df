"""Assessments: what a game tells profiles about payoffs, offers, statements and secrets.

A game overrides the hooks of :class:`Assessment` that apply to it. The defaults mean that the game
does not define a metric, so that profiles omit it.
"""

from collections.abc import Iterator, Mapping
from math import inf
from typing import Any, Final, NamedTuple

from cheaptalk.rules.actions import Action
from cheaptalk.rules.table import Given, Result

FAIR = 0.5
"""The minimum share of an offer in the last round that counts as fair."""
LOW = 0.085
"""The maximum share of an offer that counts as very low."""
LIES = 4
"""Number of false recommendations after which a buyer can detect that the seller lies."""
LONG = 8
"""Minimum number of rounds of a long match."""
LATE = 5
"""The round from which a long match counts as late."""
DROP = 0.25
"""Minimum difference between a player's last demand and an accepted share that is a lapse."""


class Demand(NamedTuple):
    """A seat's demand or acceptance and the last offer to it (or 0), as undiscounted payoffs."""

    asked: float
    offered: float


class Missed(NamedTuple):
    """A request at which a seat missed a payoff, for example by rejecting an offer."""

    request: int
    payoff: float


class Mistakes(NamedTuple):
    """The number of mistakes of a seat in a match.

    Attributes:
        losses: demands and acceptances that give the seat less than no agreement.
        others: all other mistakes.
    """

    losses: int
    others: int


class Statement(NamedTuple):
    """A true or false statement that an actor made when answering a request."""

    request: int
    actor: str
    true: bool


class Conduct(NamedTuple):
    """Counts and indicators of a player's behaviour in a match.

    Attributes:
        yielded: whether the player accepted an offer before the last round.
        fair, fair_refused: received offers of at least :data:`FAIR` in the last round; rejections.
        low, low_taken: received offers of at most :data:`LOW` in earlier rounds, if waiting has a
            cost; acceptances.
        gift, gift_made: the player's offers before the last round, if it makes the last offer and
            waiting costs nothing; offers that leave it at most :data:`LOW`.
        loss, loss_taken: received offers worse than no agreement before the last round;
            acceptances.
        last_loss, last_loss_taken: received offers worse than no agreement in the last round;
            acceptances.
        tempted, deceived: a seller's statements about products of low quality that an exact check
            can read; false statements among them.
        unread: a seller's pitches about products of low quality that the check cannot read.
        lied, lied_bought: products offered after :data:`LIES` false recommendations of a seller
            that recommends every product; purchases.
        late, early: whether the player lapsed only late, or only early, in a long match; ``late``
            is None if the match ended early.
    """

    yielded: bool = False
    fair: int = 0
    fair_refused: int = 0
    low: int = 0
    low_taken: int = 0
    gift: int = 0
    gift_made: int = 0
    loss: int = 0
    loss_taken: int = 0
    last_loss: int = 0
    last_loss_taken: int = 0
    tempted: int = 0
    deceived: int = 0
    unread: int = 0
    lied: int = 0
    lied_bought: int = 0
    late: bool | None = None
    early: bool = False


class Assessment:
    """What profiles need to know about a game; override the hooks that apply to the game.

    Payoffs are undiscounted and in the game's unit.
    """

    def attainable(self, game: Any, instance: Any, seat: str) -> float | None:
        """Return a seat's highest payoff if its opponents concede everything.

        By default, this is the upper bound of its payoff. None if the payoff is unknown.
        """
        bounds: tuple[float, float] = game.payoff_bounds().get(game.seats[seat], (0.0, inf))
        return bounds[1]

    def offered(self, result: Result, seat: str, answer: Given) -> float | None:
        """Return a seat's payoff from an offer, made by the seat or by another actor.

        By default None: the answer offers nothing.
        """
        return None

    def accepts(self, action: Action | None) -> bool | None:
        """Return whether an action accepts (True) or rejects (False) an offer; None if neither."""
        return {"accept": True, "reject": False}.get(getattr(action, "decision", ""))

    def demands(self, result: Result, seat: str) -> Iterator[Demand]:
        """Yield a seat's demands and acceptances in order, each with the last offer to the seat."""
        for answer, own, named, last in self._offers(result, seat):
            if own and named is not None:
                yield Demand(named, last or 0.0)
            elif own and self.accepts(answer.action):
                yield Demand(last or 0.0, last or 0.0)

    def missed(self, result: Result, seat: str) -> Iterator[Missed]:
        """Yield the requests at which a seat missed a payoff; by default, the rejected offers."""
        for answer, own, _, last in self._offers(result, seat):
            if own and last is not None and self.accepts(answer.action) is False:
                yield Missed(answer.request, last)

    def _offers(
        self, result: Result, seat: str
    ) -> Iterator[tuple[Given, bool, float | None, float | None]]:
        """Yield each answer, whether it is the seat's own, its offer, and the last offer before."""
        own = {actor.name for actor in result.game.actors if actor.seat == seat}
        last: float | None = None
        for answer in result.given():
            named = self.offered(result, seat, answer)
            yield answer, answer.actor in own, named, last
            if named is not None and answer.actor not in own:
                last = named

    def mistakes(self, result: Result, seat: str) -> Mistakes | None:
        """Return a seat's mistakes; None, the default, if the game defines no mistakes."""
        return None

    def statements(self, result: Result) -> list[Statement]:
        """Return the statements that can be checked exactly, in order; none by default."""
        return []

    def meanings(self, result: Result) -> dict[tuple[int, str], Any]:
        """Return what messages say, as JSON by request and actor.

        Messages with the same meaning are the same move. By default, the meaning is whether the
        message's statement is true.
        """
        return {(made.request, made.actor): made.true for made in self.statements(result)}

    def private_numbers(self, game: Any, instance: Any, seat: str) -> frozenset[float]:
        """Return the numbers that a seat's messages can leak; by default none."""
        return frozenset()

    def conduct(self, result: Result, seat: str) -> Conduct:
        """Return counts of a seat's behaviour; by default all 0."""
        return Conduct()


UNASSESSED: Final = Assessment()
"""The assessment of games that override no hook."""


def checked(verdicts: Mapping[tuple[int, str], str], true: str) -> list[Statement]:
    """Return the statements that an exact check read.

    Args:
        verdicts: the check's verdicts by request and actor.
        true: the verdict on true statements.
    """
    return [
        Statement(request, actor, verdict == true) for (request, actor), verdict in verdicts.items()
    ]
