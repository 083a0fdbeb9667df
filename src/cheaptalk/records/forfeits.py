"""Forfeits: who ended a match by giving no valid answer, and what they gave instead."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from cheaptalk.players import Kind
from cheaptalk.text import plain

VALID = (Kind.OK, Kind.REPAIRED, Kind.STOOD_IN)
"""Kinds of answers that are one."""


class Forfeit(NamedTuple):
    """Who forfeited a match; nobody else at its table has anything to do with it.

    Attributes:
        player: what the study calls them.
        place: where they sat.
        kind: what their answer was.
        model: the model string; None of one that is no model.

    >>> str(Forfeit("gpt", "player_2", Kind.TIMED_OUT, "openai/gpt-4o"))
    'forfeited by gpt as player_2: timed out'
    """

    player: str
    place: str
    kind: Kind
    model: str | None = None

    def __str__(self) -> str:
        return f"forfeited by {self.player} as {self.place}: {plain(self.kind)}"


def invalid(kinds: Mapping[str, Mapping[str, int]]) -> Iterator[tuple[str, Kind]]:
    """The places that gave an answer that is none, and of which kind.

    >>> list(invalid({"alice": {"ok": 2}, "bob": {"ok": 1, "refused": 1}}))
    [('bob', <Kind.REFUSED: 'refused'>)]
    """
    for place, counts in kinds.items():
        for kind, count in counts.items():
            if count and kind not in VALID:
                yield place, Kind(kind)


def blamed(forfeits: Iterable[Forfeit]) -> str | None:
    """Forfeits in one line; None where there is none."""
    return "; ".join(map(str, forfeits)) or None
