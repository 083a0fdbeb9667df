"""What is asked and told in the public goods game: the action and events of its rules."""

from dataclasses import dataclass

from cheaptalk.rules import Action, Event, Whole


class Contribution(Action):
    """How many tokens a player gives to the pot."""

    tokens_contributed: Whole


@dataclass(frozen=True, slots=True)
class Briefing(Event):
    """What a player knows at the start."""

    players: int
    rounds: int
    tokens: int
    factor: float


@dataclass(frozen=True, slots=True)
class Turn(Event):
    """All players contribute now, out of these tokens."""

    round: int
    tokens: int


@dataclass(frozen=True, slots=True)
class RoundResult(Event):
    """How a round ended.

    ``gain`` is what the player drew from the pot minus what it gave, ``holdings`` what every
    player has after the round; both lists are in the order of the players.
    """

    round: int
    contributions: tuple[int, ...]
    contributed: int
    pot: int
    gain: float
    tokens: float
    holdings: tuple[float, ...]
