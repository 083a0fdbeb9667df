"""Closed forms of what the extreme strategies of item bargaining get among themselves."""

from cheaptalk.games.item_bargaining.pools import Drawn
from cheaptalk.games.item_bargaining.rules import ItemBargaining

EXTREMES = ("soft", "tough", "walk")


def extreme_payoffs(game: ItemBargaining) -> dict[tuple[str, str], float]:
    """The mean payoff of each extreme strategy against each, in points, both sitting first equally
    often.

    With t the mean worth of all items, v = (V + 1) / 2 that of one, m that of one of the least
    valued kind, b the mean outside option, g the discount: soft gets t / 2 against itself (it
    offers any bundle, and accepts), v against tough and leaves it t - m, discounted by one round
    where soft sits first; two toughs get b in the last round, and where walk plays both get b.
    With only one round, the answer of a tough player 2 to soft comes too late and both get b.

    The game must have given quantities.
    """
    quantities = game.quantities
    assert not isinstance(quantities, Drawn)
    mean = (game.highest_value + 1) / 2
    total = mean * sum(quantities)
    outside = (game.least_outside + total - game.below_total) / 2
    least = least_mean(game.highest_value, sum(count > 0 for count in quantities))

    def in_both_orders(gain: float) -> float:
        late = gain * game.discount if game.rounds > 1 else outside
        return (gain + late) / 2

    payoffs = {(one, other): outside for one in EXTREMES for other in EXTREMES}
    return payoffs | {
        ("soft", "soft"): total / 2,
        ("soft", "tough"): in_both_orders(mean),
        ("tough", "soft"): in_both_orders(total - least),
        ("tough", "tough"): outside * game.discount ** (game.rounds - 1),
    }


def least_mean(highest: int, kinds: int) -> float:
    """The mean of the least of so many values, each uniform on the whole numbers 1 to highest.

    The sum over k from 1 of P(least >= k) = ((highest - k + 1) / highest) ** kinds.

    >>> round(least_mean(100, 3), 4)
    25.5025
    """
    return sum((k / highest) ** kinds for k in range(1, highest + 1))
