"""Language models in self-play: games a second, all at once and one by one; tokens learned from."""

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
"""Games a second that were asked for, of a model of a million parameters."""
PLAYER: dict[str, Any] = {"style": "tagged", "temperature": 1.0, "max_tokens": 200}


def rows() -> Iterator[Row]:
    """Of a million parameters; where there is a GPU, of a hundred million besides."""
    yield from small()
    if import_module("torch").cuda.is_available():
        yield from language_models_on_gpu.rows()


def small() -> Iterator[Row]:
    """The base of the experiment tiny, which takes eight minutes to train."""
    experiment = ct.papers.self_play.experiment
    corpus = experiment.read_experiment("tiny").corpus
    assert corpus is not None
    with tempfile.TemporaryDirectory() as aside:
        folder = Path(aside)
        steps: list[tuple[float, int]] = []

        def told(_stage: str, now: Any) -> None:
            if isinstance(now, ct.learning.language.Step):
                steps.append((time.perf_counter(), now.done))

        model = experiment.make_base(corpus, folder, told)
        (first, one), (last, other) = steps[0], steps[-1]
        rate = corpus.training.batch * (other - one) / (last - first)
        how = "Deal or No Deal, some 160 tokens each"
        yield Row("training a model of a million parameters", rate, "chats/s", None, how)
        play(folder, model, "warm", 2, 2)
        alone = FEW / play(folder, model, "alone", FEW, 1)
        yield Row("its self-play, one game at a time", alone, "games/s", None, f"{FEW} games")
        together = GAMES / play(folder, model, "together", GAMES, GAMES)
        how = f"{GAMES} games, stored, {together / alone:.1f} times as fast"
        yield Row("its self-play, all games at once", together, "games/s", (">=", RATE), how)


def play(folder: Path, model: Path, name: str, games: int, at_once: int) -> float:
    """Seconds that a study of the model's self-play takes."""
    study = ct.studies.parse_study({
        "name": name, "instances": games, "games": [{"game": "deal_or_no_deal"}],
        "players": {"model": {**PLAYER, "model": f"hf/{model}"}}, "pairing": "self",
    }, "bench")  # fmt: skip
    began = time.perf_counter()
    ct.run(study, folder / f"{name}.sqlite", concurrency=at_once)
    return time.perf_counter() - began
