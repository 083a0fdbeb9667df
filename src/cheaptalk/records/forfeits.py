"""Forfeits: players that ended a match without a valid answer."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from cheaptalk.players import Kind
from cheaptalk.text import plain

VALID = (Kind.OK, Kind.REPAIRED, Kind.STOOD_IN)
"""Kinds of valid answers."""


class Forfeit(NamedTuple):
    """A forfeit of a match by one player.

    Attributes:
        player: the player's label.
        seat: the player's seat.
        kind: the kind of its answer.
        model: the model string; None if the player is not a model.
    >>> str(Forfeit("gpt", "player_2", Kind.TIMED_OUT, "openai/gpt-4o"))
    'forfeited by gpt as player_2: timed out'
    """

    player: str
    seat: str
    kind: Kind
    model: str | None = None

    def __str__(self) -> str:
        return f"forfeited by {self.player} as {self.seat}: {plain(self.kind)}"


def invalid(kinds: Mapping[str, Mapping[str, int]]) -> Iterator[tuple[str, Kind]]:
    """Yield each seat with each kind of invalid answer that it gave.

    >>> list(invalid({"alice": {"ok": 2}, "bob": {"ok": 1, "refused": 1}}))
    [('bob', <Kind.REFUSED: 'refused'>)]
    """
    for seat, counts in kinds.items():
        for kind, count in counts.items():
            if count and kind not in VALID:
                yield seat, Kind(kind)


def blamed(forfeits: Iterable[Forfeit]) -> str | None:
    """Describe forfeits in one line; return None if there are none."""
    return "; ".join(map(str, forfeits)) or None
