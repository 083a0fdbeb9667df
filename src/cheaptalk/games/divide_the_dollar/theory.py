"""What theory says about bids: pure functions that strategies and tests rest on.

G is the gold, N the number of players.
"""

from collections.abc import Sequence


def equilibrium_bid(golds: int, players: int, number: int) -> int:
    """The bid of a player, numbered from 1, in the equilibrium of equal shares: G / N.

    What whole numbers leave over goes to the first players, a piece each, so that the bids always
    sum to G: nobody gains by more, which leaves all with nothing, or by less. It is symmetric
    where N divides G (GAMA-Bench section 2.1; Nash 1953 for two).

    >>> [equilibrium_bid(100, 3, number) for number in (1, 2, 3)]
    [34, 33, 33]
    """
    share, left = divmod(golds, players)
    return share + (number <= left)


def best_response(golds: int, others: int) -> int:
    """The bid that pays most when the others' bids sum to this: all that they leave, or 0.

    >>> best_response(100, 91), best_response(100, 120)
    (9, 0)
    """
    return min(max(golds - others, 0), golds)


def regrets(golds: int, bids: Sequence[int]) -> list[int]:
    """What each player could have got more by another bid from 0 to G; 0 for all in equilibrium.

    >>> regrets(100, (50, 30)), regrets(100, (50, 60)), regrets(100, (100, 100))
    ([20, 20], [40, 50], [0, 0])
    """
    total = sum(bids)
    fits = total <= golds
    return [best_response(golds, total - bid) - (bid if fits else 0) for bid in bids]
