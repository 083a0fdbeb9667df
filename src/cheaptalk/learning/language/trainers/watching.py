"""Progress of a training: a forecast from a trial step, then the loss, rate and memory of steps."""

import time
from importlib import import_module
from typing import Any

from cheaptalk.learning.language.trainers.memory import peak_memory
from cheaptalk.learning.language.trainers.trainer import Progress, Step


def watch(trainer: Any, progress: Progress) -> None:
    """Report the progress of a trainer of :func:`losses.learner`.

    Before the first step, the gradients of two batches are computed without changing weights: of
    the longest chats, because they need most memory, then of typical ones, which take a typical
    time.
    """
    base = import_module("transformers").TrainerCallback
    torch = import_module("torch")
    data = sorted(trainer.train_dataset, key=lambda row: len(row["input_ids"]))
    chats = trainer.args.per_device_train_batch_size
    longest, typical = data[-chats:], data[(len(data) - chats) // 2 :][:chats]
    total = trainer.args.num_train_epochs * sum(_tokens(row) for row in data)
    total /= trainer.args.world_size
    started = 0.0

    def trial(rows: list[Any]) -> tuple[float, float]:
        """Return the loss of a batch, and the tokens per second."""
        trainer.tokens, began = 0, time.monotonic()
        loss = trainer.training_step(trainer.model, trainer.data_collator(rows))
        return float(loss), trainer.tokens / (time.monotonic() - began)

    class Watcher(base):  # type: ignore[misc, valid-type]
        def on_train_begin(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
            nonlocal started
            trainer.current_gradient_accumulation_steps = 1
            with torch.random.fork_rng():
                trial(longest)
                loss, rate = trial(typical)
            trainer.model.zero_grad()
            trainer.tokens, started = 0, time.monotonic()
            peak, averages = peak_memory(), 8 * trainer.get_num_trainable_parameters()
            memory = None if peak is None else peak + averages
            progress(Step(0, state.max_steps, loss, rate, total / rate, memory))

        def on_log(self, _args: Any, state: Any, _control: Any, logs: Any = None, **_: Any) -> None:
            if logs and "loss" in logs:
                rate = trainer.tokens / (time.monotonic() - started)
                seconds_left = max(0.0, total - trainer.tokens) / rate
                loss, peak = float(logs["loss"]), peak_memory()
                progress(Step(state.global_step, state.max_steps, loss, rate, seconds_left, peak))

    trainer.add_callback(Watcher())


def _tokens(row: Any) -> int:
    worse = row["example"].worse
    return len(row["input_ids"]) + (len(worse.ids) if worse else 0)
