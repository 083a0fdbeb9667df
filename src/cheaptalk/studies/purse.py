"""What a study may still spend, and the run that stops when it is spent."""

import asyncio

from cheaptalk.models import Reply
from cheaptalk.studies.spec import Budget


class Halted(Exception):
    """The run stops before its end; what is recorded stays, and a resume goes on."""


class Purse:
    """What a study may still spend: checked before each call, calls in flight counted.

    A call whose size nobody knows yet is taken to be as large as the largest so far; until one
    has come back, calls under a cap of tokens go out one at a time.
    """

    def __init__(self, budget: Budget, calls: int, tokens: int) -> None:
        self.budget = budget
        self.calls = calls
        self.tokens = tokens
        self.in_flight = 0
        self._largest = 0
        self._came_back = asyncio.Event()

    async def open(self) -> None:
        """Reserve a call; wait for those in flight where they decide whether it can be paid.

        Raises:
            Halted: it would exceed the budget.
        """
        while not self._affords_another():
            if not self.in_flight:
                raise Halted(self._exhausted())
            self._came_back.clear()
            await self._came_back.wait()
        self.in_flight += 1

    def close(self, reply: Reply | None) -> None:
        """Book a call that came back; None where it did not."""
        self.in_flight -= 1
        self.calls += 1
        if reply is not None:
            used = reply.usage.input_tokens + reply.usage.output_tokens
            self.tokens += used
            self._largest = max(self._largest, used)
        self._came_back.set()

    def _affords_another(self) -> bool:
        cap = self.budget
        if cap.calls is not None and self.calls + self.in_flight >= cap.calls:
            return False
        if cap.tokens is None:
            return True
        if self.tokens >= cap.tokens or (self.in_flight and not self._largest):
            return False
        return self.tokens + self._largest * (self.in_flight + 1) <= cap.tokens

    def _exhausted(self) -> str:
        cap = self.budget
        if cap.calls is not None and self.calls >= cap.calls:
            return f"the budget of {cap.calls:,} calls is used up"
        return f"the budget of {cap.tokens:,} tokens would be exceeded ({self.tokens:,} used)"
