"""Throughput of training and self-play of a small language model."""

import tempfile
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import cheaptalk as ct
from bench import language_models_on_gpu
from bench.rows import Row

GAMES = 500
FEW = 40
RATE = 50.0
"""Required games per second with a model of one million parameters."""
PLAYER: dict[str, Any] = {"style": "tagged", "temperature": 1.0, "max_tokens": 200}


def rows() -> Iterator[Row]:
    """Yield the figures of the small model and, if there is a GPU, of the large one."""
    yield from small()
    if import_module("torch").cuda.is_available():
        yield from language_models_on_gpu.rows()


def small() -> Iterator[Row]:
    """Yield the figures of the base model of the experiment ``tiny``; training takes 8 minutes."""
    experiment = ct.papers.self_play.experiment
    corpus = experiment.read_experiment("tiny").corpus
    assert corpus is not None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        steps: list[tuple[float, int]] = []

        def record(_stage: str, event: Any) -> None:
            if isinstance(event, ct.learning.language.Step):
                steps.append((time.perf_counter(), event.done))

        model = experiment.make_base(corpus, folder, record)
        (began, first), (ended, last) = steps[0], steps[-1]
        rate = corpus.training.batch * (last - first) / (ended - began)
        note = "Deal or No Deal, about 160 tokens each"
        yield Row("training a model of one million parameters", rate, "chats/s", None, note)
        play(folder, model, "warm", 2, 2)
        sequential = FEW / play(folder, model, "alone", FEW, 1)
        yield Row("self-play, sequential games", sequential, "games/s", None, f"{FEW} games")
        concurrent = GAMES / play(folder, model, "together", GAMES, GAMES)
        note = f"{GAMES} games, with a store, speedup {concurrent / sequential:.1f}"
        yield Row("self-play, concurrent games", concurrent, "games/s", (">=", RATE), note)


def play(folder: Path, model: Path, name: str, games: int, concurrency: int) -> float:
    """Play a self-play study of the model, and return its duration in seconds."""
    study = ct.studies.parse_study({
        "name": name, "instances": games, "games": [{"game": "deal_or_no_deal"}],
        "players": {"model": {**PLAYER, "model": f"hf/{model}"}}, "pairing": "self",
    }, "bench")  # fmt: skip
    began = time.perf_counter()
    ct.run(study, folder / f"{name}.sqlite", concurrency=concurrency)
    return time.perf_counter() - began
