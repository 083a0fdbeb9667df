"""What lies on the table: the last plain offer in a dialogue, and whether it was accepted."""

from collections.abc import Iterable
from typing import NamedTuple

from cheaptalk.games.deal_or_no_deal.contexts import Triple, rest
from cheaptalk.games.deal_or_no_deal.events import MessageOrProposal, Proposal
from cheaptalk.games.deal_or_no_deal.rules import PLAYERS
from cheaptalk.games.deal_or_no_deal.talk import accepts, read_offer, speaks_of_items


class Move(NamedTuple):
    """What a player did in its turn."""

    player: str
    action: MessageOrProposal | Proposal

    @property
    def message(self) -> str | None:
        """What it said; None where it proposed."""
        return self.action.message if isinstance(self.action, MessageOrProposal) else None


class Standing(NamedTuple):
    """The division that was offered last, as player 1's part; by whom, and whether accepted.

    No division where nothing that can be read was offered, or something of items was said since
    that cannot be read.
    """

    division: Triple | None = None
    proposer: str | None = None
    agreed: bool = False

    def part(self, counts: Triple, player: str) -> Triple | None:
        """What the division gives a player."""
        return None if self.division is None else part(self.division, counts, player)


def part(division: Triple, counts: Triple, player: str) -> Triple:
    """A player's part of a division given as player 1's part, and the other way round."""
    return division if player == PLAYERS[0] else rest(counts, division)


def standing(counts: Triple, moves: Iterable[Move]) -> Standing:
    """What lies on the table after these moves.

    An offer is agreed on when the partner plainly accepts it, until one of them says anything
    else of items.
    """
    now = Standing()
    for player, action in moves:
        text = Move(player, action).message
        if text is None:
            continue
        mine = now.part(counts, player)
        if mine is not None and player != now.proposer and accepts(text, counts, mine):
            now = now._replace(agreed=True)
            continue
        claim = read_offer(text, counts)
        if claim is not None:
            repeated = now.agreed and claim == mine
            now = now if repeated else Standing(part(claim, counts, player), player)
        elif speaks_of_items(text):
            now = Standing()
    return now
