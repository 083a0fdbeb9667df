"""The cache on the path of a call: what was bought before is not bought again."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from cheaptalk.calls.standstill import Pace
from cheaptalk.models import Reply
from cheaptalk.records.cache import Cache, Request
from cheaptalk.rules import counted


class CacheUse(NamedTuple):
    """What a run took from the cache.

    Attributes:
        hits: calls that cost nothing.
        misses: calls that had to be made.
        saved: tokens that the hits did not cost.
        damaged: entries that could not be trusted; each was a miss.
    """

    hits: int
    misses: int
    saved: int
    damaged: int

    def __str__(self) -> str:
        line = f"cache: {self.hits:,} of {counted(self.hits + self.misses, 'call')} cost nothing"
        line += f", {counted(self.saved, 'token')} saved" if self.saved else ""
        anew = f"; {counted(self.damaged, 'damaged entry')} bought anew"
        return line + (anew if self.damaged else "")


@contextmanager
def open_cache(path: Path | str | None) -> Iterator["CallCache | None"]:
    """The cache in a file, made where there is none; None for no cache.

    Raises:
        CacheError: the file is something else, or cannot be used.
    """
    if path is None:
        yield None
        return
    with Cache(Path(path)) as kept:
        yield CallCache(kept)


class CallCache:
    """Looks every call up before it is made; equal ones at the same time are made once."""

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self.hits = self.misses = self.saved = 0
        self._buying: dict[str, asyncio.Event] = {}

    @property
    def use(self) -> CacheUse:
        return CacheUse(self.hits, self.misses, self.saved, self.cache.damaged)

    async def reply(
        self, request: Request, match_id: str, pace: Pace, buy: Callable[[], Awaitable[Reply]]
    ) -> Reply:
        """The stored reply to a request, else what ``buy`` brings, which is stored.

        Raises:
            CacheError: the cache cannot be used.
        """
        while (other := self._buying.get(request.key)) is not None:
            with pace.resting():
                await other.wait()
        known = self.cache.get(request)
        if known is not None:
            self.hits += 1
            assert known.saved is not None
            self.saved += known.saved.input_tokens + known.saved.output_tokens
            return known
        self.misses += 1
        self._buying[request.key] = bought = asyncio.Event()
        try:
            reply = await buy()
            self.cache.put(request, reply, match_id)
        finally:
            del self._buying[request.key]
            bought.set()
        return reply
