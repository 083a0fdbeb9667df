"""Places and what they are called: numbers of players, and players who name others in answers."""

from cheaptalk.rules import Game


def place_named(game: Game, name: str) -> str | None:
    """The place that somebody means by a name, or None if it is the name of none, or of several.

    A place goes by its own name and by the one that players read: player_2 is Player 2 too, in
    small letters or capitals.
    """
    if name in game.places:
        return name
    found = [place for place in game.places
             if _plain(name) in (_plain(place), _plain(game.called(place)))]  # fmt: skip
    return found[0] if len(found) == 1 else None


def _plain(name: str) -> str:
    return name.replace("_", " ").strip().casefold()


def player_number(seat: str) -> int:
    """The number of a player, from 1.

    >>> player_number("player_12")
    12
    """
    return int(seat.rpartition("_")[2])
