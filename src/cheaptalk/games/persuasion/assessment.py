"""The assessment of persuasion: gains from good products, false statements, wrong purchases."""

from collections.abc import Iterator
from typing import Any

from cheaptalk.games.persuasion.events import Pitch, Purchase, Recommendation
from cheaptalk.games.persuasion.metrics import check_honesty
from cheaptalk.games.persuasion.rules import Persuasion, Qualities
from cheaptalk.rules import Result
from cheaptalk.rules.assessment import (
    LATE,
    LIES,
    LONG,
    Assessment,
    Conduct,
    Missed,
    Statement,
    checked,
)


class PersuasionAssessment(Assessment):
    """The assessment of persuasion."""

    def attainable(self, game: Persuasion, instance: Qualities, seat: str) -> float | None:
        """Return the number of rounds, or the buyer's gain from all products worth their price."""
        if seat != "bob":
            return super().attainable(game, instance, seat)
        return sum(max(0.0, game.gain(high)) for high in instance.qualities)

    def missed(self, result: Result, seat: str) -> Iterator[Missed]:
        """Yield the first request at which the buyer bought low quality or declined high quality.

        The payoff is that of the correct decision, compared with the buyer's.
        """
        if seat != "bob":
            return
        purchases = ((request, action.decision == "yes") for request, _, action in result.given()
                     if isinstance(action, Purchase))  # fmt: skip
        for (request, yes), high in zip(purchases, result.instance.qualities, strict=False):
            if yes != high:
                yield Missed(request, abs(result.game.gain(high)))
                return

    def statements(self, result: Result) -> list[Statement]:
        return checked(check_honesty(result), true="honest")

    def meanings(self, result: Result) -> dict[tuple[int, str], Any]:
        """Return whether recommendations are true; all pitches are the same move."""
        return {} if result.game.signal == "text" else super().meanings(result)

    def conduct(self, result: Result, seat: str) -> Conduct:
        qualities = result.instance.qualities
        true_of = {statement.request: statement.true for statement in self.statements(result)}
        stated = [true_of.get(request) for request, _, action in result.given()
                  if isinstance(action, Recommendation | Pitch)]  # fmt: skip
        bought = [action.decision == "yes" for _, _, action in result.given()
                  if isinstance(action, Purchase)]  # fmt: skip
        is_read = None not in stated and len(stated) == len(bought)
        if seat == "bob":
            return _buyer(qualities, stated, bought, is_read)
        of_low = [true for true, high in zip(stated, qualities, strict=False) if not high]
        unread = of_low.count(None)
        conduct = Conduct(tempted=len(of_low) - unread, deceived=of_low.count(False), unread=unread)
        if len(bought) < LONG or not is_read:
            return conduct
        return _lapses(conduct, [not statement for statement in stated])


def _buyer(
    qualities: tuple[bool, ...], stated: list[bool | None], bought: list[bool], is_read: bool
) -> Conduct:
    """Return a buyer's conduct; ``is_read`` is whether all statements are checkable."""
    if len(bought) < LONG:
        return Conduct()
    praised = is_read and all(true == high for true, high in zip(stated, qualities, strict=False))
    if praised and not all(stated):
        lied = [number for number in range(len(bought)) if stated[:number].count(False) >= LIES]
        return Conduct(lied=len(lied), lied_bought=sum(bought[number] for number in lied))
    return _lapses(Conduct(), [yes != high for yes, high in zip(bought, qualities, strict=False)])


def _lapses(conduct: Conduct, wrong: list[bool]) -> Conduct:
    # windows of the same length, so that random errors are equally likely early and late
    excess = sum(wrong[LATE : 2 * LATE]) - sum(wrong[:LATE])
    return conduct._replace(late=excess > 1, early=excess < -1)
