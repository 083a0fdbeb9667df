"""Sampling with one random stream per call, so that its seed determines the answer in any batch."""

from collections.abc import Iterable, Sequence
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


def penalised(scores: Any, texts: Iterable[list[int]], config: Any) -> Any:
    """Apply the generation config's repetition penalty to the tokens of each row's text."""
    if config.repetition_penalty in (None, 1.0):
        return scores
    torch, transformers = import_module("torch"), import_module("transformers")
    penalty = transformers.RepetitionPenaltyLogitsProcessor(config.repetition_penalty)
    rows = [
        penalty(torch.tensor([text], device=scores.device), scores[row : row + 1])
        for row, text in enumerate(texts)
    ]
    return torch.cat(rows)


def stream(seed: int) -> Any:
    """Return the random stream of a call."""
    return import_module("numpy").random.default_rng(seed % 2**64)  # not negative


def sample(scores: Any, temperature: float, filters: Sequence[Any], streams: Sequence[Any]) -> Any:
    """Return one sampled token per row.

    Args:
        scores: the logits, with the shape [rows, vocabulary].
        temperature: a positive temperature.
        filters: logits processors that exclude unlikely tokens.
        streams: the random stream of each row.
    """
    torch = import_module("torch")
    scores = scores / temperature
    for exclude in filters:
        scores = exclude(None, scores)
    chances = scores.softmax(-1).cumsum(-1, dtype=torch.float64)
    points = [[stream.random()] for stream in streams]
    point = torch.tensor(points, dtype=chances.dtype, device=chances.device)
    chosen = torch.searchsorted(chances, point * chances[:, -1:], right=True)
    return chosen.clamp(max=chances.shape[-1] - 1)[:, 0]
