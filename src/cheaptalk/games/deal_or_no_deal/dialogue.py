"""What a dialogue comes to: the offer on the table, whether it was accepted, what is inconsistent.

An exact check holds what players say and claim against the context. It finds the three
inconsistencies that Liao, Tomlin and Klein (2024, figure 8) have a language model judge: impossible
counts, false statements of one's own values, and claims that break what was agreed. It reads plain
patterns only and says nothing of what it cannot read, so that its rates are lower bounds.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from cheaptalk.games.deal_or_no_deal.contexts import Context, Triple, rest
from cheaptalk.games.deal_or_no_deal.counts import stated_counts
from cheaptalk.games.deal_or_no_deal.events import MessageOrProposal, Proposal
from cheaptalk.games.deal_or_no_deal.rules import PLAYERS
from cheaptalk.games.deal_or_no_deal.talk import (
    KIND,
    NUMBER,
    REMEMBERED,
    accepts,
    kind_of,
    number_of,
    read_offer,
    sentences,
    speaks_of_items,
)


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
    for move in moves:
        player, text = move.player, move.message
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


VALUED = re.compile(
    rf"\b({KIND}) (?:is|are) (?:each )?worth (?:only |just )?(?!an?\b)({NUMBER}|nothing)\b"
    r"(?![.,/-]\d| (?:or|to \d|more|less|times))"
)
MINE = re.compile(r"\b(?:to|for) me\b|\bmy\b")
NOT_MINE = re.compile(r"\b(?:you|your|if)\b")

Fault = Literal["impossible count", "false value", "broken agreement"]


class Inconsistency(NamedTuple):
    """A player's fault, in a turn counted from 1."""

    turn: int
    player: str
    fault: Fault


def inconsistencies(context: Context, moves: Sequence[Move]) -> Iterator[Inconsistency]:
    """All inconsistencies of a game in order, each fault once a turn."""
    table = standing(context.counts, moves)
    for turn, move in enumerate(moves, start=1):
        values = context.values[PLAYERS.index(move.player)]
        if move.message is None:
            due = table.part(context.counts, move.player)
            if table.agreed and move.action.claim != due:
                yield Inconsistency(turn, move.player, "broken agreement")
            continue
        if names_too_many(move.message, context.counts):
            yield Inconsistency(turn, move.player, "impossible count")
        if misstates(move.message, context.counts, values):
            yield Inconsistency(turn, move.player, "false value")


def names_too_many(message: str, counts: Triple) -> bool:
    """Whether a message plainly states more items of a kind than there are.

    See :func:`.stated_counts` for the sentences that are read.
    """
    return any(number > counts[kind_of(noun)] for noun, number in stated_counts(message))


@lru_cache(maxsize=REMEMBERED)
def stated_values(message: str) -> tuple[tuple[str, int], ...]:
    """The values that a speaker plainly gives as its own: the word for the items, and points."""
    return tuple(
        (noun, 0 if number == "nothing" else number_of(number))
        for sentence in sentences(message)
        if MINE.search(sentence) and not NOT_MINE.search(sentence)
        for noun, number in VALUED.findall(sentence)
    )


def misstates(message: str, counts: Triple, values: Triple) -> bool:
    """Whether a message states a value of the speaker's that is false.

    "The books are worth 6" may mean each of them or all: either is taken for true.
    """
    for noun, stated in stated_values(message):
        kind = kind_of(noun)
        together = values[kind] * counts[kind] if noun.endswith("s") else values[kind]
        if stated not in (values[kind], together):
            return True
    return False
