"""Lookup of seats by names in answers, and of player numbers."""

from cheaptalk.rules import Game


def find_seat(game: Game, name: str) -> str | None:
    """Return the seat with this name or display name; None if there is no seat, or several.

    Case and underscores are ignored: "Player 2" refers to player_2.
    """
    if name in game.seats:
        return name
    matches = [
        seat for seat in game.seats if _plain(name) in (_plain(seat), _plain(game.called(seat)))
    ]
    return matches[0] if len(matches) == 1 else None


def _plain(name: str) -> str:
    return name.replace("_", " ").strip().casefold()


def player_number(seat: str) -> int:
    """Return the number of a player, from 1.

    >>> player_number("player_12")
    12
    """
    return int(seat.rpartition("_")[2])
