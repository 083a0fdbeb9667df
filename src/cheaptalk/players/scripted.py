"""A scripted strategy as a player among others that take time."""

from cheaptalk.players.player import Answer, Kind, Thinking
from cheaptalk.rules import Asked, Decide, StrategyError, decided


class Scripted:
    """A strategy at a table with slower players; it makes no calls."""

    def __init__(self, decide: Decide) -> None:
        self.decide = decide

    def answer(self, asked: Asked) -> Thinking:
        """Answer at once.

        Raises:
            StrategyError: the strategy failed or answered illegally.
        """
        action = decided(asked, self.decide)
        reason = asked.ask.refuse(action)
        if reason is not None:
            raise StrategyError.illegal(asked, reason)
        return Answer(action, Kind.OK)
        yield  # a generator that yields nothing
