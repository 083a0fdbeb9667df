"""A language model of a hundred million parameters on a GPU: its base, and its self-play.

Rates stand beside what the GPU can do, as a large product of matrices shows it: a token that is
learned from takes six operations a weight, one that is written two.
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
"""Of the square matrices whose product shows what a GPU can do."""
SAMPLE = 150
"""Matches whose chats' tokens are counted."""
ITERATIONS = 10
MINUTES = 30.0
"""Asked for, of ten iterations."""


def rows() -> Iterator[Row]:
    """The experiment ``gpu``: its base, and its first iteration."""
    with tempfile.TemporaryDirectory() as aside:
        yield from measured("gpu", Path(aside))


class Told(NamedTuple):
    """What was told, and when.

    Attributes:
        at: seconds of a clock.
        of: what it was about.
        now: how it went.
    """

    at: float
    of: Any
    now: Any


class Diary(list[Told]):
    """All that was told of a piece of work."""

    def note(self, of: Any, now: Any) -> None:
        """Write down what is told."""
        self.append(Told(time.perf_counter(), of, now))

    def steps_per_second(self) -> float:
        """Of training, between the first and the last step that were told of."""
        steps = [one for one in self if isinstance(one.now, Step)]
        first, last = steps[0], steps[-1]
        return float((last.now.done - first.now.done) / (last.at - first.at))

    def playing(self, number: int) -> float:
        """Seconds in which matches of an iteration were played, its model's loading included."""
        at = [one.at for one in self if one.of == number and not isinstance(one.now, Step)]
        return at[-1] - at[0]


def measured(name: str, folder: Path) -> Iterator[Row]:
    """What an experiment takes on the GPU that is there."""
    torch = import_module("torch")
    limit = operations(torch)
    card = torch.cuda.get_device_name()
    yield Row(f"{card}: a product of large matrices", limit / 1e12, "TFLOP/s", None, "bfloat16")
    experiment = ct.papers.self_play.experiment
    settings = experiment.read_experiment(name)
    assert settings.corpus is not None
    diary = Diary()
    base = experiment.make_base(settings.corpus, folder, diary.note)
    weights = (
        import_module("transformers").AutoModelForCausalLM.from_pretrained(base).num_parameters()
    )
    length = tokens(base, folder / "corpus.sqlite", "corpus", "tagged")
    rate = settings.corpus.training.batch * diary.steps_per_second()
    how = (
        f"{weights / 1e6:.0f} million parameters, {length:.0f} tokens a chat, "
        f"{6 * weights * length * rate / limit:.1%} of that"
    )
    yield Row("making a base for it", rate, "chats/s", None, how)
    yield from iteration(base, folder / "semi", settings.settings("semi"), weights, limit)


def iteration(base: Path, out: Path, settings: Any, weights: int, limit: float) -> Iterator[Row]:
    """Matches of an iteration, and learning from them; and what ten of them would take."""
    diary = Diary()
    first = settings.model_copy(update={"iterations": 1})
    done = ct.learning.language.self_play(base, out, first, diary.note)
    store = out / ct.learning.language.STORE
    for number, who in enumerate(("its base", "its first iteration")):
        seconds = diary.playing(number)
        rate = written(store, f"iteration-{number}") / seconds
        how = f"all games at once, {rate:,.0f} tokens/s, {2 * weights * rate / limit:.2%} of that"
        yield Row(f"self-play of {who}", settings.matches / seconds, "games/s", None, how)
    rate = settings.training.batch * diary.steps_per_second()
    length = tokens(base, store, "iteration-0")
    how = f"from {done[0].kept} chats, {6 * weights * length * rate / limit:.1%} of that"
    yield Row("its learning", rate, "chats/s", None, how)
    learning = 2 * settings.matches * settings.training.epochs / rate
    minutes = ITERATIONS * (diary.playing(0) + learning) / 60
    how = "extrapolated; as if all chats were learned from"
    yield Row("its ten iterations, at most", minutes, "min", ("<=", MINUTES), how)


def operations(torch: Any) -> float:
    """Operations a second of a product of large matrices; the median of nine."""
    one, other = (torch.randn(SIDE, SIDE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    taken = []
    for _ in range(12):
        torch.cuda.synchronize()
        began = time.perf_counter()
        one @ other
        torch.cuda.synchronize()
        taken.append(time.perf_counter() - began)
    return float(2 * SIDE**3 / median(taken[3:]))


def tokens(model: Path, store: Path, study: str, style: str | None = None) -> float:
    """Tokens of a chat, in the mean."""
    tokenizer = import_module("transformers").AutoTokenizer.from_pretrained(model)
    with ct.Store.open(store) as opened:
        records = list(islice(opened.records(study, bodies=True), SAMPLE))
    said = [one.as_json()["messages"] for record in records for one in chats(record, style)]
    return fmean(len(tokenizer.apply_chat_template(one)["input_ids"]) for one in said)


def written(store: Path, study: str) -> int:
    """Tokens that a model wrote in all matches."""
    with ct.Store.open(store) as opened:
        return sum(
            call["reply"]["usage"]["output_tokens"]
            for record in opened.records(study, bodies=True)
            for answer in record.answers
            for call in answer.calls
        )
