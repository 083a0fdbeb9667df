"""Memory that a training needs, estimated before the model is loaded, and measured afterwards."""

import ctypes
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from cheaptalk.learning.language.trainers.losses import Example
from cheaptalk.learning.language.trainers.trainer import TrainingFailed, gigabytes

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

GB = 10**9
ON_CPU = 3 * GB
"""Memory within which training on a CPU stays if it can: larger batches are hardly faster there."""
LIBRARIES = 0.35 * GB
"""Memory that the libraries use in addition during training."""
TRAINED = 16
"""Bytes per trained weight: the weight, its gradient and AdamW's two averages, in 32 bits each."""
MMAP_THRESHOLD = -3
"""The GNU C library's constant M_MMAP_THRESHOLD."""
LARGE_BLOCK = 2**20
"""Minimum bytes of memory blocks that are returned to the system as soon as they are free."""
CONTAINER = Path("/sys/fs/cgroup/memory.max")
"""The memory limit of a Linux container: a number, or ``max``."""


class StepLimits(NamedTuple):
    """Limits on a training step's memory: chats at once, and recomputation of activations."""

    chats: int
    checkpointing: bool

    @classmethod
    def limits(cls, batch: int) -> "Iterator[StepLimits]":
        """Yield ever lower limits, from a complete batch to a single chat."""
        yield cls(batch, checkpointing=False)
        while batch > 1:
            batch = (batch + 1) // 2
            yield cls(batch, checkpointing=False)
        yield cls(1, checkpointing=True)


def fast_bfloat16() -> bool:
    """Return whether this machine computes in bfloat16 at least as fast as in 32 bits."""
    torch = import_module("torch")
    on_cpu = torch.cpu.get_capabilities().get("avx512_bf16", False)
    return bool(on_cpu or torch.cuda.is_available())


class MemoryNeeds(NamedTuple):
    """The parts of a training that determine its memory.

    Attributes:
        config: the model's configuration.
        lora: rank of the LoRA adapter; 0 if all weights are trained.
        references: number of further models with which the loss compares.
    """

    config: Any
    lora: int
    references: int
    examples: Sequence[Example]

    def fitting(self, batch: int, allowed: float | None) -> list[StepLimits]:
        """Return the limits that fit the memory, from the highest to the lowest.

        Args:
            batch: chats per training step.
            allowed: memory that training may use, in GB; None for the available memory.

        Raises:
            TrainingFailed: there are no chats, or not even a single chat fits.
        """
        if not self.examples:
            raise TrainingFailed("the training data contain no chat; add at least one")
        weights = self._weights()
        limits = list(StepLimits.limits(batch))
        room = available_memory() if allowed is None else int(allowed * GB)
        need = weights + self._activations(limits[-1])
        if need > room:
            smaller = "use a smaller model" if self.lora else "set lora=16"
            raise TrainingFailed(
                f"training needs about {gigabytes(need)} of memory, but may use "
                f"{gigabytes(room)}; {smaller}, or to try anyway, set memory={need / GB:.1f} "
                "(hyperparameters)"
            )
        on_gpu = import_module("torch").cuda.is_available()
        usual = room if on_gpu or allowed is not None else min(room, ON_CPU)
        fitting = [limit for limit in limits if weights + self._activations(limit) <= usual]
        return fitting or limits[-1:]

    def _weights(self) -> int:
        """Return the bytes of weights, gradients, the optimiser and the loaded libraries."""
        torch, transformers = import_module("torch"), import_module("transformers")
        with torch.device("meta"):
            model = transformers.AutoModelForCausalLM.from_config(self.config)
        count = model.num_parameters()
        frozen = (self.config.dtype or torch.float32).itemsize if fast_bfloat16() else 4
        last = model.get_output_embeddings()
        adapters = sum(
            self.lora * (layer.in_features + layer.out_features)
            for layer in model.modules()
            if isinstance(layer, torch.nn.Linear) and layer is not last
        )
        trained = adapters * TRAINED + count * frozen if self.lora else count * TRAINED
        loaded = 0 if torch.cuda.is_available() else resident_memory() + LIBRARIES
        return int(trained + self.references * count * frozen + loaded)

    def _activations(self, limit: StepLimits) -> int:
        """Return the bytes of a training step's activations, for its longest chats."""
        config = self.config.get_text_config()
        hidden, layers = config.hidden_size, config.num_hidden_layers
        inner = getattr(config, "intermediate_size", None) or 4 * hidden
        bits = 2 if fast_bfloat16() else 4
        worse = [example.worse for example in self.examples if example.worse]
        chats = [*(example.chat for example in self.examples), *worse]
        count = 2 * limit.chats if worse else limit.chats
        longest = sorted(chats, key=lambda chat: -len(chat.ids))[:count]
        tokens = len(longest[0].ids) * len(longest)
        layer = (10 * hidden + 5 * inner) * bits
        stored = layer * 2 + layers * hidden * bits if limit.checkpointing else layers * layer
        own = max(sum(chat.own) for chat in chats) * len(longest)
        return int(tokens * stored + own * config.vocab_size * 4 * 3)


def return_large_blocks() -> None:
    """Let the C library return large blocks of memory when they are free.

    Otherwise it keeps the blocks of activations of different sizes: with 2,000 tokens and 135
    million parameters, a training step then uses almost four times the memory.
    """
    with suppress(OSError, TypeError, AttributeError):  # without the GNU C library
        ctypes.CDLL(None).mallopt(MMAP_THRESHOLD, LARGE_BLOCK)


def resident_memory() -> int:
    """Return the bytes of memory that this process uses."""
    used: int = import_module("psutil").Process().memory_info().rss
    return used


def available_memory() -> int:
    """Return the bytes that training may use: on the GPU, or of this process in total."""
    torch, psutil = import_module("torch"), import_module("psutil")
    if torch.cuda.is_available():
        return int(torch.cuda.mem_get_info()[0])
    room = int(psutil.virtual_memory().available) + resident_memory()
    limit = CONTAINER.read_text().strip() if CONTAINER.exists() else ""
    return min(room, int(limit)) if limit.isdigit() else room


def peak_memory() -> int | None:
    """Return the maximum of memory used so far, in bytes: on the GPU, or by this process."""
    torch = import_module("torch")
    if torch.cuda.is_available():
        return int(torch.cuda.max_memory_allocated())
    if resource is None:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
