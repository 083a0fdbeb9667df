"""Short descriptions of matches: their players, forfeits, and how they ended."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple, TypeVar

from cheaptalk.players import Kind
from cheaptalk.rules import counted
from cheaptalk.text import plain

FEW = 3
"""Maximum number of seats that are listed individually."""
P = TypeVar("P")


def line_up(labels: Sequence[str]) -> str:
    """Join player labels in the order of seats, abbreviating repeated labels if there are many.

    >>> line_up(["gpt", "gpt"]), line_up([*["gpt"] * 9, "fixed"])
    ('gpt / gpt', 'gpt x 9 / fixed')
    """
    if len(labels) <= FEW:
        return " / ".join(labels)
    counted = [(label, len(list(run))) for label, run in groupby(labels)]
    return " / ".join(f"{label} x {count}" if count > 1 else label for label, count in counted)


def viewer_query(players: Mapping[str, str], without: str | None) -> dict[str, str]:
    """Return the URL query with which the viewer shows the matches of the given players.

    Args:
        players: labels by seat or role.
        without: a seat that the matches don't have.

    >>> viewer_query({"alice": "gpt"}, None)
    {'player_alice': 'gpt'}
    """
    query = {f"player_{name}": label for name, label in players.items()}
    return query | ({"without": without} if without else {})


def group_seats(seats: Mapping[str, P]) -> list[tuple[list[str], P]]:
    """Group consecutive seats with the same player, and return each group's first and last seat.

    >>> group_seats({"p_1": "gpt", "p_2": "gpt", "p_3": "gpt", "p_4": "fixed"})
    [(['p_1', 'p_3'], 'gpt'), (['p_4'], 'fixed')]
    """
    if len(seats) <= FEW:
        return [([seat], player) for seat, player in seats.items()]
    result = []
    for player, run in groupby(seats.items(), key=itemgetter(1)):
        run_seats = [seat for seat, _ in run]
        result.append(([run_seats[0], run_seats[-1]] if len(run_seats) > 1 else run_seats, player))
    return result


FAILED_CALL = re.compile(r'call for "([^"]*)" in request \d+: ')
"""Start of the reason of a match whose call failed: the actor and the request."""
HTTPS = re.compile(r"; if it speaks https, write https://[^;]*")
"""Hint for a server that no call has reached."""


def ended_text(
    ended: int,
    planned: int | None,
    *,
    forfeited: int = 0,
    failed: int = 0,
    unit: str = "match",
    verb: str = "ended",
) -> str:
    """Describe how many matches ended, were forfeited or failed.

    >>> ended_text(6, 6), ended_text(1, None)
    ('6 of 6 matches ended', '1 match ended')
    >>> ended_text(3, 3, forfeited=3), ended_text(3, 6, failed=1)
    ('3 of 3 matches ended, 3 of them forfeited', '3 of 6 matches ended; 1 failed')

    ``ended`` includes forfeited but not failed matches; ``planned`` is None if unknown.
    """
    text = counted(ended, unit) if planned is None else f"{ended:,} of {counted(planned, unit)}"
    text += f" {verb}"
    if forfeited:
        text += f", {forfeited:,} of them forfeited"
    return f"{text}; {failed:,} failed" if failed else text


def cause(reason: str, *, reached: bool = True) -> str:
    """Shorten a failed call's error message to its cause, omitting the actor and the request.

    If another call reached the server, the hint on https is also omitted.

    >>> cause('call for "bob" in request 1: status 500')
    'status 500'
    """
    text = FAILED_CALL.sub("", reason)
    return HTTPS.sub("", text) if reached else text


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
