"""Throughput of training and self-play of a language model of 100 million parameters on a GPU.

Each rate is compared with the GPU's peak throughput in a large matrix product. A training token
takes six operations per weight, a generated token two.
"""

import tempfile
import time
from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

import cheaptalk as ct
from bench.rows import Row
from cheaptalk.learning.language import Step
from cheaptalk.records.exports.chats import chats

SIDE = 8_192
"""Number of rows of the square matrices that are multiplied to measure peak throughput."""
SAMPLE = 150
"""Number of matches whose tokens are counted to estimate the length of a chat."""
ITERATIONS = 10
MINUTES = 30.0
"""Time limit for ten iterations."""


def rows() -> Iterator[Row]:
    """Yield the figures of the experiment ``gpu``: its base model and its first iteration."""
    with tempfile.TemporaryDirectory() as name:
        yield from measured("gpu", Path(name))


class Entry(NamedTuple):
    """A progress report and its time.

    Attributes:
        time: the clock's reading in seconds.
        stage: the stage or iteration that the report is about.
        event: the reported event.
    """

    time: float
    stage: Any
    event: Any


class ProgressLog(list[Entry]):
    """Log of the progress reports of a task."""

    def note(self, stage: Any, event: Any) -> None:
        """Append a progress report with the current time."""
        self.append(Entry(time.perf_counter(), stage, event))

    def steps_per_second(self) -> float:
        """Return the training steps per second between the first and the last reported step."""
        steps = [entry for entry in self if isinstance(entry.event, Step)]
        first, last = steps[0], steps[-1]
        return float((last.event.done - first.event.done) / (last.time - first.time))

    def playing(self, number: int) -> float:
        """Return the seconds that an iteration's matches took, including loading the model."""
        times = [
            entry.time
            for entry in self
            if entry.stage == number and not isinstance(entry.event, Step)
        ]
        return times[-1] - times[0]


def measured(name: str, folder: Path) -> Iterator[Row]:
    """Yield the figures of an experiment on the available GPU."""
    torch = import_module("torch")
    peak = operations(torch)
    gpu = torch.cuda.get_device_name()
    yield Row(f"{gpu}: product of large matrices", peak / 1e12, "TFLOP/s", None, "bfloat16")
    experiment = ct.papers.self_play.experiment
    settings = experiment.read_experiment(name)
    assert settings.corpus is not None
    log = ProgressLog()
    base = experiment.make_base(settings.corpus, folder, log.note)
    weights = (
        import_module("transformers").AutoModelForCausalLM.from_pretrained(base).num_parameters()
    )
    length = tokens(base, folder / "corpus.sqlite", "corpus", "tagged")
    rate = settings.corpus.training.batch * log.steps_per_second()
    note = (
        f"{weights / 1e6:.0f} million parameters, {length:.0f} tokens per chat, "
        f"{6 * weights * length * rate / peak:.1%} of peak"
    )
    yield Row("training the base model", rate, "chats/s", None, note)
    yield from iteration(base, folder / "semi", settings.settings("semi"), weights, peak)


def iteration(base: Path, out: Path, settings: Any, weights: int, peak: float) -> Iterator[Row]:
    """Yield the rates of an iteration's self-play and training, and extrapolate ten iterations."""
    log = ProgressLog()
    first = settings.model_copy(update={"iterations": 1})
    done = ct.learning.language.self_play(base, out, first, log.note)
    store = out / ct.learning.language.STORE
    for number, model in enumerate(("the base model", "the first iteration")):
        seconds = log.playing(number)
        rate = written(store, f"iteration-{number}") / seconds
        note = f"concurrent games, {rate:,.0f} tokens/s, {2 * weights * rate / peak:.2%} of peak"
        yield Row(f"self-play of {model}", settings.matches / seconds, "games/s", None, note)
    rate = settings.training.batch * log.steps_per_second()
    length = tokens(base, store, "iteration-0")
    note = f"on {done[0].kept} chats, {6 * weights * length * rate / peak:.1%} of peak"
    yield Row("training on self-play", rate, "chats/s", None, note)
    learning = 2 * settings.matches * settings.training.epochs / rate
    minutes = ITERATIONS * (log.playing(0) + learning) / 60
    note = "extrapolated, assuming training on all chats"
    yield Row("ten iterations, upper bound", minutes, "min", ("<=", MINUTES), note)


def operations(torch: Any) -> float:
    """Return the operations per second of a large matrix product, the median of nine runs."""
    left, right = (torch.randn(SIDE, SIDE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    seconds = []
    for _ in range(12):
        torch.cuda.synchronize()
        began = time.perf_counter()
        left @ right
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - began)
    return float(2 * SIDE**3 / median(seconds[3:]))


def tokens(model: Path, store: Path, study: str, style: str | None = None) -> float:
    """Return the mean number of tokens per chat."""
    tokenizer = import_module("transformers").AutoTokenizer.from_pretrained(model)
    with ct.Store.open(store) as opened:
        records = list(islice(opened.records(study, bodies=True), SAMPLE))
    messages = [chat.as_json()["messages"] for record in records for chat in chats(record, style)]
    return fmean(len(tokenizer.apply_chat_template(chat)["input_ids"]) for chat in messages)


def written(store: Path, study: str) -> int:
    """Return the total number of tokens that the model generated in a study."""
    with ct.Store.open(store) as opened:
        return sum(
            call["reply"]["usage"]["output_tokens"]
            for record in opened.records(study, bodies=True)
            for answer in record.answers
            for call in answer.calls
        )
