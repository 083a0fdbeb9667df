"""How players bargained, read from their answers: mistakes, generosity, what they said they hold.

All comparisons are between worths that come in the same round, and so need no discounting. An
invalid answer is no choice and counts as no mistake here.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from cheaptalk.games.item_bargaining.events import Move, Pool
from cheaptalk.games.item_bargaining.pools import Bundle, rest, worth
from cheaptalk.rules import Result


class Turn(NamedTuple):
    """A question as the one who answered it saw it.

    Attributes:
        player: 0 or 1.
        offered: the bundle that it was offered; None where no offer was on the table.
        move: its answer; None where it was invalid.
        quantities, values, outside: what it knew.
    """

    player: int
    offered: Bundle | None
    move: Move | None
    quantities: Bundle
    values: tuple[int, ...]
    outside: int

    @property
    def action(self) -> str | None:
        return self.move.action if self.move else None

    @property
    def given(self) -> Bundle | None:
        """The bundle that this turn offers the other."""
        return self.move.offer if self.move else None

    @property
    def kept(self) -> int | None:
        """The worth of what this turn's offer would keep."""
        return None if self.given is None else worth(rest(self.quantities, self.given), self.values)

    @property
    def table(self) -> int | None:
        """The worth of what this player was offered."""
        return None if self.offered is None else worth(self.offered, self.values)


def turns(result: Result) -> Iterator[Turn]:
    """Every turn of a match, in order."""
    deal: Pool = result.deal
    offered: Bundle | None = None
    for number, (_, _, action) in enumerate(result.given()):
        player, move = number % 2, action if isinstance(action, Move) else None
        yield Turn(
            player, offered, move, deal.quantities, deal.values[player], deal.outside[player]
        )
        offered = move.offer if move else None


def asked_less(turn: Turn) -> bool:
    """M1: a counteroffer that would leave less than the offer that it turns down."""
    return turn.kept is not None and turn.table is not None and turn.kept < turn.table


def asked_too_little(turn: Turn) -> bool:
    """M2: an offer that would leave less than the outside option."""
    return turn.kept is not None and turn.kept < turn.outside


def offered_extreme(turn: Turn) -> bool:
    """M3: an offer of nothing or of everything, in any round."""
    return turn.given is not None and turn.given in (turn.quantities, (0,) * len(turn.quantities))


def accepted_too_little(turn: Turn) -> bool:
    """M4: accepting an offer that is worth less than the outside option."""
    return turn.action == "ACCEPT" and turn.table is not None and turn.table < turn.outside


def walked_from_more(turn: Turn) -> bool:
    """M5: walking away from an offer that is worth more than the outside option."""
    return turn.action == "WALK" and turn.table is not None and turn.table > turn.outside


MISTAKES: tuple[Callable[[Turn], bool], ...] = (
    asked_less, asked_too_little, offered_extreme, accepted_too_little, walked_from_more,
)  # fmt: skip
"""The five mistakes of the paper's appendix B, which leaves open whether worths are discounted."""

STATED = re.compile(
    r"\b(?:holdings?|I(?:'d|'ll| would| will)? (?:receive|get|hold|have|end up with))\b"
    r"[^.\n\[\]]{0,80}\[([\d\s,]+)\]",
    re.IGNORECASE,
)
"""A list of numbers that a sentence calls holdings, or says that one receives, gets or has."""


def stated_holdings(reasoning: str, kinds: int) -> list[Bundle]:
    """The bundles that somebody's reasoning says it would hold, in order.

    >>> stated_holdings("They offer [0, 1]. My resulting holdings: [6, 1], worth 9.", 2)
    [(6, 1)]
    """
    lists = (tuple(map(int, re.findall(r"\d+", found))) for found in STATED.findall(reasoning))
    return [bundle for bundle in lists if len(bundle) == kinds]


def false_holdings(turn: Turn) -> bool | None:
    """Whether all that the reasoning behind an acceptance says it would hold is not what it gets.

    None where the turn accepts nothing, or its reasoning states no holdings as a list of as many
    numbers as there are kinds.
    """
    if turn.move is None or turn.action != "ACCEPT":
        return None
    stated = stated_holdings(turn.move.reasoning, len(turn.quantities))
    return turn.offered not in stated if stated else None
