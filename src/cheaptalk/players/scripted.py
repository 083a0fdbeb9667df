"""A scripted strategy as a player among others that take time."""

from cheaptalk.players.thinking import Answer, Kind, Thinking
from cheaptalk.rules import Asked, Decide, StrategyError


class Scripted:
    """A strategy at a table with slower players; it makes no calls."""

    def __init__(self, decide: Decide) -> None:
        self.decide = decide

    def answer(self, asked: Asked) -> Thinking:
        """Answer at once.

        Raises:
            StrategyError: the strategy answered illegally.
        """
        action = self.decide(asked)
        reason = asked.ask.refuse(action)
        if reason is not None:
            raise StrategyError(
                f'"{asked.seat}" answered illegally in request {asked.request}: {reason}'
            )
        return Answer(action, Kind.OK)
        yield  # a generator that yields nothing
