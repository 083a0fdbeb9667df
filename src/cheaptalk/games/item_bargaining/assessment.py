"""The assessment of item bargaining: values of bundles, and the paper's mistakes M1 to M5."""

from operator import mul

from cheaptalk.games.item_bargaining import metrics
from cheaptalk.games.item_bargaining.events import Move, Pool
from cheaptalk.games.item_bargaining.pools import rest, worth
from cheaptalk.games.item_bargaining.rules import SEATS, ItemBargaining
from cheaptalk.rules import Action, Given, Result
from cheaptalk.rules.assessment import Assessment, Mistakes

INDEX = {seat: index for index, seat in enumerate(SEATS)}


class ItemBargainingAssessment(Assessment):
    """The assessment of item bargaining."""

    def attainable(self, game: ItemBargaining, instance: Pool, seat: str) -> float:
        """Return the value of all items."""
        return float(sum(map(mul, instance.quantities, instance.values[INDEX[seat]])))

    def offered(self, result: Result, seat: str, answer: Given) -> float | None:
        bundle = answer.action.offer if isinstance(answer.action, Move) else None
        if bundle is None:
            return None
        pool: Pool = result.instance
        own = rest(pool.quantities, bundle) if answer.actor == seat else bundle
        return float(worth(own, pool.values[INDEX[seat]]))

    def accepts(self, action: Action | None) -> bool:
        """Return whether an action accepts the offer; all others reject it."""
        return isinstance(action, Move) and action.action == "ACCEPT"

    def mistakes(self, result: Result, seat: str) -> Mistakes:
        """Return the number of mistakes M2 and M4 (losses), and of M1, M3 and M5."""
        index = INDEX[seat]
        losses = sum(
            metrics.asked_too_little(turn) or metrics.accepted_too_little(turn)
            for turn in metrics.turns_of(result, index)
        )
        return Mistakes(losses, int(metrics.own_mistakes(result, index)) - losses)
