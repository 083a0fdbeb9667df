"""A provider's batch jobs: many calls in one file, answered within a day at half the price."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from cheaptalk.models.calls import ModelCall, Reply
from cheaptalk.models.http.decoding import decoded

LARGEST = 180_000_000
"""Bytes of calls in one batch: OpenAI takes 200 MB, Anthropic 256."""
CLOCKS = 600.0
"""Seconds by which a provider's clock may be behind ours."""
MOST = 50_000
"""Calls in one batch: OpenAI takes 50,000, Anthropic 100,000."""


class BatchLine(NamedTuple):
    """A call in a batch, under the id by which its reply is found again."""

    id: str
    call: ModelCall


class Look(NamedTuple):
    """How far a batch is.

    Attributes:
        state: in the provider's own word.
        ended: whether its results can be read; nothing more will come.
        done: calls that have been worked on.
    """

    state: str
    ended: bool
    done: int


class Results(NamedTuple):
    """What came of a batch.

    Attributes:
        replies: by the id of the line.
        rest: what is to be said of every other call.
        full: whether the provider had no room for the batch, and has to be asked again later.
        missing: how many replies there are, by the provider's count, that could not be read.
    """

    replies: dict[str, Reply]
    rest: Reply
    full: bool = False
    missing: int = 0


class BatchServer(Protocol):
    """A provider's endpoint for batches. Every method raises :class:`.EndpointTrouble`."""

    async def submit(self, tag: str, lines: Sequence[BatchLine]) -> str:
        """Submit a batch; what the provider calls it."""

    async def find(self, tag: str, lines: Sequence[BatchLine], since: float) -> str | None:
        """The name of a batch that may have been submitted under this tag; None if it was not.

        Args:
            since: when it was about to be submitted, in seconds since 1970.
        """

    async def look(self, name: str) -> Look:
        """How far a batch is."""

    async def results(self, name: str) -> Results:
        """What came of a batch that has ended."""

    def says(self, call: ModelCall) -> dict[str, Any]:
        """What a reply to this call says of how it was asked: ``sent`` and ``route``."""

    def line(self, line: BatchLine) -> dict[str, Any]:
        """A call as it stands in the batch."""

    async def close(self) -> None:
        """Close all connections."""


def json_lines(data: bytes) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines; what is none is passed over."""
    for line in data.splitlines():
        try:
            found = decoded(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield found


def chunks(lines: Iterable[tuple[Any, int]]) -> Iterator[list[Any]]:
    """Things of given sizes in bytes, in runs that each fit into one batch.

    >>> list(chunks([("a", 10), ("b", LARGEST), ("c", 10)]))
    [['a'], ['b'], ['c']]
    """
    run: list[Any] = []
    room = LARGEST
    for thing, size in lines:
        if run and (len(run) >= MOST or size > room):
            yield run
            run, room = [], LARGEST
        run.append(thing)
        room -= size
    if run:
        yield run
