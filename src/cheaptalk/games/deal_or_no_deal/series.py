"""Deal or No Deal by turn: how much is said, and what of it is false.

A turn is a message or a proposal of one player; turns count from 1 as in the measure ``length``.
"""

from collections.abc import Iterator

from cheaptalk.games.deal_or_no_deal.measures import faulty_turns, moves_of
from cheaptalk.games.language import words
from cheaptalk.rules import COUNT, SHARE, Point, Result, Series


def words_spoken(result: Result) -> Iterator[Point]:
    """The number of words in the turn's message; none in a turn with a proposal."""
    for number, move in enumerate(moves_of(result), 1):
        said = None if move.message is None else float(len(words(move.message)))
        yield Point(number, move.player, said)


def inconsistent(result: Result) -> Iterator[Point]:
    """1 if the turn has an inconsistency that is exact, else 0; see the measure inconsistency."""
    moves = moves_of(result)
    faulty = faulty_turns(result, moves)
    for number, move in enumerate(moves, 1):
        yield Point(number, move.player, float(number in faulty))


SERIES = (
    Series("words", words_spoken, unit="words", bounds=COUNT),
    Series("inconsistent", inconsistent, unit="share of turns", bounds=SHARE),
)
