"""Item bargaining by round: what each offer keeps and gives, as its makers come towards each other.

A player acts once a round; a round in which it makes no offer has no number of it. All are shares
of what all items together are worth to the player in question, discounted alike and so not at all.
"""

from collections.abc import Iterator

from cheaptalk.games.item_bargaining.conduct import Turn, turns
from cheaptalk.games.item_bargaining.measures import share_of
from cheaptalk.games.item_bargaining.pools import worth
from cheaptalk.games.item_bargaining.rules import PLACES
from cheaptalk.rules import SHARE, Point, Result, Series


def rounds(result: Result) -> Iterator[tuple[int, str, Turn, int]]:
    """Every turn with its round, its place, and what all items are worth to its player."""
    places = tuple(PLACES)
    for number, turn in enumerate(turns(result)):
        yield number // 2 + 1, places[turn.player], turn, worth(turn.quantities, turn.values)


def demand(result: Result) -> Iterator[Point]:
    """What a player's offer would keep, as a share of what all items are worth to it, in [0, 1].

    Its mean by round is the player's concession curve.
    """
    for number, place, turn, total in rounds(result):
        if turn.kept is not None:
            yield Point(number, place, share_of(turn.kept, total))


def offered(result: Result) -> Iterator[Point]:
    """What a player's offer would give the other, as a share of all items' worth to the other.

    In [0, 1].
    """
    for number, place, turn, _ in rounds(result):
        if turn.given is not None:
            values = result.deal.values[1 - turn.player]
            total = worth(turn.quantities, values)
            yield Point(number, place, share_of(worth(turn.given, values), total))


SERIES = tuple(
    Series(one.__name__, one, unit="share of the maximum", bounds=SHARE)
    for one in (demand, offered)
)
