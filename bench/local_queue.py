"""Whether the queue before a model in this process costs its player matches.

A slow generator answers 16 calls at once, legally, and each call may take two batches. At a limit
of 100, most calls wait for longer than that. No call may time out and no match be forfeited.

    python -m bench.local_queue        # 1,000 matches at each limit
    python -m bench.local_queue 100
    python -m bench.local_queue 20 hf/FOLDER     # a real model, which may forfeit by itself
"""

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from unittest.mock import patch

import cheaptalk as ct
from bench.rows import Row
from cheaptalk.mock_server import answer
from cheaptalk.mock_server.formats import with_schema
from cheaptalk.models import ModelCall, Reply, local, model_strings
from cheaptalk.models.flow_control import RateLimiter
from cheaptalk.records.ledger.ledger import lost_calls

MATCHES = 1_000
LIMITS = (None, 1, 100)
"""Calls in flight: as many as one batch, or a number set by hand."""
BATCH_SECONDS = 0.01
DEADLINE = 2 * BATCH_SECONDS
REAL_DEADLINE = 60.0
CONCURRENCY = 100


class SlowBatches:
    """A generator that answers up to 16 calls in a fixed time, with a legal answer to each."""

    most = 16

    def __init__(self, name: str) -> None:
        self.name = name

    def answer(self, calls: list[ModelCall], deadline: float) -> list[Reply]:
        """Answer calls together; only the time in this method counts against the deadline."""
        began = time.monotonic()
        time.sleep(BATCH_SECONDS / 2)
        replies = [Reply(text=self._text(call)) for call in calls]
        time.sleep(max(0.0, BATCH_SECONDS - (time.monotonic() - began)))
        return replies

    @staticmethod
    def _text(call: ModelCall) -> str:
        schema = None if call.form is None else call.form.json_schema
        return answer(with_schema([message.model_dump() for message in call.messages], schema))


class Outcome(NamedTuple):
    """What became of a study's matches and calls.

    Attributes:
        matches: by status.
        lost: calls that failed, by failure.
        answers: by kind.
        seconds: wall time.
    """

    matches: Counter[str]
    lost: Mapping[str, int]
    answers: Counter[str]
    seconds: float

    @property
    def forfeits(self) -> int:
        """Matches that did not finish, and answers that timed out."""
        return self.matches.total() - self.matches["finished"] + self.answers["timed_out"]

    def __str__(self) -> str:
        counted = [
            ", ".join(f"{many:,} {what}" for what, many in counts.items())
            for counts in (self.matches, self.answers, self.lost)
        ]
        return f"matches: {counted[0]}; answers: {counted[1]}; lost calls: {counted[2] or 'none'}"


def rows() -> Iterator[Row]:
    """Forfeits and lost calls that the queue caused, at each limit."""
    for limit in LIMITS:
        outcome = play(MATCHES, limit)
        width = limit or "auto"
        what = f"forfeits in {MATCHES:,} matches at limit {width}"
        how = f"{outcome}; {outcome.seconds:.0f} s"
        yield Row(what, outcome.forfeits, "", ("<=", 0), how)
        yield Row(f"calls lost at limit {width}", sum(outcome.lost.values()), "", ("<=", 0))


@contextmanager
def slow_models() -> Iterator[None]:
    """Load a slow generator in place of a Hugging Face model."""
    with (
        patch.object(local, "Generator", SlowBatches),
        patch.object(model_strings, "IN_PROCESS_NEEDS", ()),
    ):
        yield


def play(matches: int, limit: int | None, model: str | None = None) -> Outcome:
    """Play public goods games of a model with itself.

    Args:
        limit: calls in flight; None for the model's batch size.
        model: a real model; without one, the slow generator answers.
    """
    player = {"model": model or "hf/slow", "deadline": REAL_DEADLINE if model else DEADLINE}
    study = ct.studies.parse_study({
        "name": "queue", "instances": matches, "pairing": "self",
        "games": [{"game": "public_goods", "fixed": {"players": 4, "rounds": 2}}],
        "players": {"model": player | ({"max_tokens": 24} if model else {})},
    }, "bench")  # fmt: skip
    width = nullcontext() if limit is None else patch.object(RateLimiter, "width", limit)
    with (
        width,
        nullcontext() if model else slow_models(),
        TemporaryDirectory() as folder,
        ct.Store.open(Path(folder) / "queue.sqlite", create=True) as store,
    ):
        began = time.perf_counter()
        progress = ct.run(study, store, concurrency=CONCURRENCY)
        seconds = time.perf_counter() - began
        return Outcome(
            matches=Counter({status.value: many for status, many in progress.counts.items()}),
            lost=dict(lost_calls(store, study.name)),
            answers=Counter({str(kind): many for kind, many in progress.kinds["model"].items()}),
            seconds=seconds,
        )


def main(arguments: list[str]) -> None:
    """Print what became of so many matches at each limit."""
    matches, *models = arguments or [str(MATCHES)]
    for limit in LIMITS:
        print(limit or "auto", play(int(matches), limit, *models), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
