"""Sampling with one random stream per call, so that its seed determines the answer in any batch."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from cheaptalk.models.calls import ModelSettings

TEMPERATURE = 1.0
"""The temperature if neither the settings nor the model's generation config specify sampling."""
FILTERS = {
    "top_k": ("TopKLogitsWarper", 0),
    "top_p": ("TopPLogitsWarper", 1.0),
    "min_p": ("MinPLogitsWarper", 0.0),
    "top_h": ("TopHLogitsWarper", 0.0),
    "typical_p": ("TypicalLogitsWarper", 1.0),
    "epsilon_cutoff": ("EpsilonLogitsWarper", 0.0),
    "eta_cutoff": ("EtaLogitsWarper", 0.0),
}
"""Generation settings that exclude unlikely tokens: transformers' class, and the value for none."""


def temperature_of(settings: ModelSettings, config: Any) -> float:
    """Return the temperature of a call: its setting, the generation config's, or 1.0."""
    if settings.temperature is not None:
        return settings.temperature
    configured: float | None = config.temperature if config.do_sample else None
    return TEMPERATURE if configured is None else configured


def filters(settings: ModelSettings, config: Any) -> list[Any]:
    """Return the filters of unlikely tokens in the settings and the generation config."""
    transformers = import_module("transformers")
    values = {name: getattr(config, name, None) for name in FILTERS}
    if settings.top_p is not None:
        values["top_p"] = settings.top_p
    return [
        getattr(transformers, name)(values[setting])
        for setting, (name, none) in FILTERS.items()
        if values[setting] is not None and values[setting] != none
    ]


class Draw:
    """A logits processor that samples one token per row.

    Args:
        temperature: a positive temperature.
        filters: logits processors that exclude unlikely tokens.
        seeds: the seed of each row.
    """

    def __init__(self, temperature: float, filters: Sequence[Any], seeds: Sequence[int]) -> None:
        numpy = import_module("numpy")
        self._temperature = temperature
        self._filters = filters
        self._streams = [numpy.random.default_rng(seed % 2**64) for seed in seeds]  # not negative

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Set all logits except those of the sampled tokens to minus infinity."""
        torch = import_module("torch")
        scores = scores / self._temperature
        for exclude in self._filters:
            scores = exclude(input_ids, scores)
        chances = scores.softmax(-1).cumsum(-1, dtype=torch.float64)
        points = [[stream.random()] for stream in self._streams]
        point = torch.tensor(points, dtype=chances.dtype, device=chances.device)
        chosen = torch.searchsorted(chances, point * chances[:, -1:], right=True)
        chosen = chosen.clamp(max=chances.shape[-1] - 1)
        return torch.full_like(scores, -torch.inf).scatter_(1, chosen, 0.0)
