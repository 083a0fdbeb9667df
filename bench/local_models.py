"""Throughput of a pretrained model in this process, compared with transformers' ``generate``.

A study is played with a number of concurrent matches. Then ``generate`` answers the same prompts in
batches of as many, with as many tokens as the longest answer of each batch. Both count the tokens
of the answers per CPU second.
"""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import cheaptalk as ct
from bench.rows import Row
from cheaptalk.models.local import client
from cheaptalk.models.local.batch import Batch, PendingCall
from cheaptalk.models.local.batch import Row as BatchRow
from cheaptalk.models.local.generator import Generator

MODEL = "smollm2"
MATCHES = {1: 3, 16: 16, 64: 64}
"""Number of matches by concurrency."""
REQUIRED = 0.9
MOST_TOKENS = 120


class RecordingBatch(Batch):
    """A batch that records the rows of answered calls."""

    rows: list[BatchRow]
    generator: Generator
    began: float

    def __init__(self, generator: Generator) -> None:
        super().__init__(generator)
        type(self).generator = generator
        type(self).began = time.process_time()  # after the model was loaded

    def _row(self, pending: PendingCall) -> BatchRow | None:
        row = super()._row(pending)
        if row is not None:
            self.rows.append(row)
        return row


def rows() -> Iterator[Row]:
    """Yield the throughput at each concurrency, and its ratio to that of ``generate``."""
    for concurrency, matches in MATCHES.items():
        RecordingBatch.rows = []
        seconds = play(matches, concurrency)
        answered = RecordingBatch.rows
        tokens = sum(len(row.ids) for row in answered)
        raw = generate(RecordingBatch.generator, answered, concurrency)
        note = f"{len(answered)} calls, {tokens:,} tokens; generate {tokens / raw:.1f} tokens/s"
        title = f"{MODEL}, {concurrency} concurrent matches"
        yield Row(title, tokens / seconds, "tokens per CPU second", None, note)
        yield Row(f"{title}: ratio to generate", raw / seconds, "", (">=", REQUIRED))


def play(matches: int, concurrency: int) -> float:
    """Play matches against a script, and return the CPU seconds without loading the model."""
    study = ct.Study(
        name="throughput",
        games=["bargaining"],
        players={"lm": {"model": MODEL, "max_tokens": MOST_TOKENS}, "fair": "equal_split"},
        pairing=[["lm", "fair"]],
        instances=matches,
    )
    with TemporaryDirectory() as folder, patch.object(client, "Batch", RecordingBatch):
        ct.run(study, Path(folder) / "throughput.sqlite", concurrency=concurrency, progress=None)
        return time.process_time() - RecordingBatch.began


def generate(generator: Generator, rows: Sequence[BatchRow], size: int) -> float:
    """Answer the prompts of rows with ``generate``, and return the CPU seconds."""
    began = time.process_time()
    for start in range(0, len(rows), size):
        batch = rows[start : start + size]
        tokens = max(len(row.ids) for row in batch)
        inputs = generator.tokenizer.pad(
            {"input_ids": [row.prompt for row in batch]}, padding_side="left", return_tensors="pt"
        )
        generator.model.generate(
            **inputs, max_new_tokens=tokens, min_new_tokens=tokens, do_sample=True
        )
    return time.process_time() - began
