"""Action and events of the public goods game."""

from cheaptalk.rules import Action, Event, Whole


class Contribution(Action):
    """How many tokens a player gives to the pot."""

    tokens_contributed: Whole


class Briefing(Event):
    """Information for a player at the start; ``limits`` is true if contributions are limited."""

    players: int
    rounds: int
    tokens: int
    factor: float
    limits: bool


class Turn(Event):
    """A request that all players contribute tokens simultaneously."""

    round: int
    tokens: int
    limits: bool


class RoundResult(Event):
    """The result of a round.

    ``share`` is the player's part of the multiplied pot; ``began`` and ``tokens`` are its tokens
    before and after the round; ``holdings`` are all players' tokens after the round. Both lists are
    in the order of the players.
    """

    round: int
    contributions: tuple[int, ...]
    contributed: int
    pot: int
    share: float
    began: int
    tokens: float
    holdings: tuple[float, ...]
