"""Check that waiting in the queue of an in-process model causes no timeouts or forfeits.

A slow model returns legal answers to batches of 16 calls. The timeout of a call is the duration
of two batches. With a limit of 100 calls, most calls wait longer than that in the queue. No call
may time out, and no match may be forfeited.

    python -m bench.local_queue        # 1,000 matches at each limit
    python -m bench.local_queue 100
    python -m bench.local_queue 20 hf/FOLDER     # a real model, which may forfeit for other reasons
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
from cheaptalk.mock_models import answer
from cheaptalk.mock_models.formats import with_schema
from cheaptalk.models import ModelCall, Reply
from cheaptalk.models.flow_control import RateLimiter
from cheaptalk.models.local import client, files
from cheaptalk.models.local.batch import PendingCall
from cheaptalk.records.ledger.ledger import lost_calls

MATCHES = 1_000
LIMITS = (None, 1, 100)
"""Maximum number of calls in flight; None for the batch size."""
BATCH_SECONDS = 0.01
DEADLINE = 2 * BATCH_SECONDS
REAL_DEADLINE = 60.0
CONCURRENCY = 100


class SlowGenerator:
    """A model that answers up to 16 calls at a time."""

    most = 16

    def __init__(self, name: str) -> None:
        self.name = name


class SlowBatch:
    """A batch that returns legal answers to up to 16 calls in a fixed time."""

    def __init__(self, generator: SlowGenerator) -> None:
        self.most = generator.most

    def __len__(self) -> int:
        return 0

    def advance(self, waiting: list[PendingCall]) -> None:
        """Answer calls; only the time in this method counts towards the timeout."""
        began = time.monotonic()
        calls = waiting[: self.most]
        del waiting[: self.most]
        time.sleep(BATCH_SECONDS / 2)
        replies = [Reply(text=self._text(pending.call)) for pending in calls]
        time.sleep(max(0.0, BATCH_SECONDS - (time.monotonic() - began)))
        for pending, reply in zip(calls, replies, strict=True):
            pending.reply.set_result(reply)

    @staticmethod
    def _text(call: ModelCall) -> str:
        schema = None if call.form is None else call.form.json_schema
        return answer(with_schema([message.model_dump() for message in call.messages], schema))


class Outcome(NamedTuple):
    """Results of a study.

    Attributes:
        matches: the number of matches by status.
        lost: the number of failed calls by kind of failure.
        answers: the number of answers by kind.
        seconds: the wall time.
    """

    matches: Counter[str]
    lost: Mapping[str, int]
    answers: Counter[str]
    seconds: float

    @property
    def forfeits(self) -> int:
        """Return the number of unfinished matches plus the number of answers that timed out."""
        return self.matches.total() - self.matches["finished"] + self.answers["timed_out"]

    def __str__(self) -> str:
        texts = [
            ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
            for counts in (self.matches, self.answers, self.lost)
        ]
        return f"matches: {texts[0]}; answers: {texts[1]}; lost calls: {texts[2] or 'none'}"


def rows() -> Iterator[Row]:
    """Yield the forfeits and lost calls at each limit."""
    for limit in LIMITS:
        outcome = play(MATCHES, limit)
        width = limit or "auto"
        title = f"forfeits in {MATCHES:,} matches with limit {width}"
        note = f"{outcome}; {outcome.seconds:.0f} s"
        yield Row(title, outcome.forfeits, "", ("<=", 0), note)
        yield Row(f"lost calls with limit {width}", sum(outcome.lost.values()), "", ("<=", 0))


@contextmanager
def slow_models() -> Iterator[None]:
    """Replace Hugging Face models with the slow model."""
    with (
        patch.object(client, "Generator", SlowGenerator),
        patch.object(client, "Batch", SlowBatch),
        patch.object(files, "NEEDED", ()),
    ):
        yield


def play(matches: int, limit: int | None, model: str | None = None) -> Outcome:
    """Play self-play matches of the public goods game.

    Args:
        matches: the number of matches.
        limit: the maximum number of calls in flight; None for the model's batch size.
        model: the model string of a real model; None for the slow model.
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
            matches=Counter({status.value: count for status, count in progress.counts.items()}),
            lost=dict(lost_calls(store, study.name)),
            answers=Counter({str(kind): count for kind, count in progress.kinds["model"].items()}),
            seconds=seconds,
        )


def main(arguments: list[str]) -> None:
    """Print the results at each limit."""
    matches, *models = arguments or [str(MATCHES)]
    for limit in LIMITS:
        print(limit or "auto", play(int(matches), limit, *models), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
