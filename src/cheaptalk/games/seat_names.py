"""Seat names: players' numbers, and the seats to which names in answers refer."""

from cheaptalk.rules import Game


def find_seat(game: Game, name: str) -> str | None:
    """Return the seat to which a name refers, or None if it refers to none or to several.

    A seat can be named by its own name or its display name, ignoring case and underscores: player_2
    is also "Player 2".
    """
    if name in game.seats:
        return name
    matches = [seat for seat in game.seats
             if _plain(name) in (_plain(seat), _plain(game.called(seat)))]  # fmt: skip
    return matches[0] if len(matches) == 1 else None


def _plain(name: str) -> str:
    return name.replace("_", " ").strip().casefold()


def player_number(seat: str) -> int:
    """Return the number of a player, from 1.

    >>> player_number("player_12")
    12
    """
    return int(seat.rpartition("_")[2])
