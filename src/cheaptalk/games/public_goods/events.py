"""What is asked and told in the public goods game: the action and events of its rules."""

from cheaptalk.rules import Action, Event, Whole


class Contribution(Action):
    """How many tokens a player gives to the pot."""

    tokens_contributed: Whole


class Briefing(Event):
    """What a player knows at the start; ``limits`` is whether a number out of range is refused."""

    players: int
    rounds: int
    tokens: int
    factor: float
    limits: bool


class Turn(Event):
    """All players contribute now, out of these tokens."""

    round: int
    tokens: int
    limits: bool


class RoundResult(Event):
    """How a round ended.

    ``share`` is the player's part of the multiplied pot, ``tokens`` what it has after the round
    and ``began`` what it had before; ``holdings`` is what every player has after the round. Both
    lists are in the order of the players.
    """

    round: int
    contributions: tuple[int, ...]
    contributed: int
    pot: int
    share: float
    began: int
    tokens: float
    holdings: tuple[float, ...]
