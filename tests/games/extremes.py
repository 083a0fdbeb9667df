"""Closed forms of the extreme strategies' payoffs against each other in item bargaining."""

from cheaptalk.games.item_bargaining.rules import Drawn, ItemBargaining

EXTREMES = ("soft", "tough", "walk")


def extreme_payoffs(game: ItemBargaining) -> dict[tuple[str, str], float]:
    """Return the mean payoff in points for each pair of extreme strategies.

    Each strategy moves first equally often. Let t be the mean worth of all items,
    v = (V + 1) / 2 that of one item, m that of one item of the least valued kind, and b the mean
    outside option. Soft gets t / 2 against itself, because it offers any bundle and accepts.
    Against tough, soft gets v and leaves t - m; if soft moves first, both are discounted by one
    round. Two toughs get b in the last round, and with walk both players get b.

    The game must have fixed quantities and several rounds.
    """
    quantities = game.quantities
    assert not isinstance(quantities, Drawn)
    mean = (game.highest_value + 1) / 2
    total = mean * sum(quantities)
    outside = (game.least_outside + total - game.below_total) / 2
    least = mean_minimum(game.highest_value, sum(count > 0 for count in quantities))

    def average_over_orders(gain: float) -> float:
        return gain * (1 + game.discount) / 2

    payoffs = {(strategy, other): outside for strategy in EXTREMES for other in EXTREMES}
    return payoffs | {
        ("soft", "soft"): total / 2,
        ("soft", "tough"): average_over_orders(mean),
        ("tough", "soft"): average_over_orders(total - least),
        ("tough", "tough"): outside * game.discount ** (game.rounds - 1),
    }


def mean_minimum(highest: int, kinds: int) -> float:
    """Return the mean minimum of ``kinds`` values, each uniform on the integers 1 to highest.

    This is the sum over k from 1 of P(least >= k) = ((highest - k + 1) / highest) ** kinds.

    >>> round(mean_minimum(100, 3), 4)
    25.5025
    """
    return sum((k / highest) ** kinds for k in range(1, highest + 1))
