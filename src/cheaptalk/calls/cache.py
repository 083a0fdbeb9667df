"""Response cache of a run: identical calls are paid for only once."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from cheaptalk.calls.batches import Pace
from cheaptalk.models import Reply
from cheaptalk.records.cache import Cache, Request
from cheaptalk.rules import counted


class CacheUse(NamedTuple):
    """A run's cached and sent calls (``misses``, also for damaged entries), and saved tokens."""

    hits: int
    misses: int
    saved: int
    damaged: int

    def __str__(self) -> str:
        line = f"cache: {self.hits:,} of {counted(self.hits + self.misses, 'call')} cost nothing"
        line += f", {counted(self.saved, 'token')} saved" if self.saved else ""
        anew = f"; {counted(self.damaged, 'damaged entry')} requested again"
        return line + (anew if self.damaged else "")


@contextmanager
def open_cache(path: Path | str | None) -> Iterator["CallCache | None"]:
    """Open the response cache in a file, creating it if missing; yield None if path is None."""
    if path is None:
        yield None
        return
    with Cache(Path(path)) as cache:
        yield CallCache(cache)


class CallCache:
    """The response cache of a run, which sends concurrent identical calls only once."""

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
        """Return the cached reply to a request, or call ``buy`` to obtain and cache a reply."""
        while (pending := self._buying.get(request.key)) is not None:
            with pace.resting():
                await pending.wait()
        cached = self.cache.get(request)
        if cached is not None:
            self.hits += 1
            assert cached.saved is not None
            self.saved += cached.saved.input_tokens + cached.saved.output_tokens
            return cached
        self.misses += 1
        self._buying[request.key] = bought = asyncio.Event()
        try:
            reply = await buy()
            self.cache.put(request, reply, match_id)
        finally:
            del self._buying[request.key]
            bought.set()
        return reply
