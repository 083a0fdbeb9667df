"""The state of a dialogue: the current offer, its acceptance, and inconsistencies.

An exact check compares messages and claims with the context. It detects three inconsistencies that
Liao, Tomlin and Klein (2024, figure 8) detect with a language model: impossible counts, false
statements of the speaker's values, and claims that break an agreement. The check ignores all text
that is not in plain patterns, so its rates are lower bounds.
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
    """A player's action in its turn."""

    player: str
    action: MessageOrProposal | Proposal

    @property
    def message(self) -> str | None:
        return self.action.message if isinstance(self.action, MessageOrProposal) else None


class Standing(NamedTuple):
    """The last offered division (player 1's items), its proposer, and whether it was accepted.

    The division is None if no offer could be read, or if a later message about items could not.
    """

    division: Triple | None = None
    proposer: str | None = None
    agreed: bool = False

    def part(self, counts: Triple, player: str) -> Triple | None:
        """Return a player's part of the division."""
        return None if self.division is None else part(self.division, counts, player)


def part(division: Triple, counts: Triple, player: str) -> Triple:
    """Convert player 1's part of a division to a player's part, or vice versa."""
    return division if player == PLAYERS[0] else rest(counts, division)


def standing(counts: Triple, moves: Iterable[Move]) -> Standing:
    """Return the current offer after a sequence of moves.

    An offer is agreed if the partner plainly accepts it, until a player sends another message about
    items.
    """
    table = Standing()
    for move in moves:
        player, text = move.player, move.message
        if text is None:
            continue
        own_part = table.part(counts, player)
        if own_part is not None and player != table.proposer and accepts(text, counts, own_part):
            table = table._replace(agreed=True)
            continue
        claim = read_offer(text, counts)
        if claim is not None:
            repeated = table.agreed and claim == own_part
            table = table if repeated else Standing(part(claim, counts, player), player)
        elif speaks_of_items(text):
            table = Standing()
    return table


VALUED = re.compile(
    rf"\b({KIND}) (?:is|are) (?:each )?worth (?:only |just )?(?!an?\b)({NUMBER}|nothing)\b"
    r"(?![.,/-]\d| (?:or|to \d|more|less|times))"
)
FIRST_PERSON = re.compile(r"\b(?:to|for) me\b|\bmy\b")
SECOND_PERSON = re.compile(r"\b(?:you|your|if)\b")

Fault = Literal["impossible count", "false value", "broken agreement"]


class Inconsistency(NamedTuple):
    """An inconsistency in a player's message or proposal; turns are numbered from 1."""

    turn: int
    player: str
    fault: Fault


def inconsistencies(context: Context, moves: Sequence[Move]) -> Iterator[Inconsistency]:
    """Yield all inconsistencies of a game in order, each kind at most once per turn."""
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
    """Return whether a message plainly states more items of a kind than exist."""
    return any(number > counts[kind_of(noun)] for noun, number in stated_counts(message))


@lru_cache(maxsize=REMEMBERED)
def stated_values(message: str) -> tuple[tuple[str, int], ...]:
    """Return the values that a speaker plainly states as its own, as pairs of noun and points."""
    return tuple(
        (noun, 0 if number == "nothing" else number_of(number))
        for sentence in sentences(message)
        if FIRST_PERSON.search(sentence) and not SECOND_PERSON.search(sentence)
        for noun, number in VALUED.findall(sentence)
    )


def misstates(message: str, counts: Triple, values: Triple) -> bool:
    """Return whether a message misstates a value of the speaker.

    "The books are worth 6" is true if each book is worth 6 or if all books together are worth 6.
    """
    for noun, stated in stated_values(message):
        kind = kind_of(noun)
        total = values[kind] * counts[kind] if noun.endswith("s") else values[kind]
        if stated not in (values[kind], total):
            return True
    return False
