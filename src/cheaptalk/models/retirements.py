"""Retirements of models, read from ``retirements.yaml`` beside this module."""

from datetime import date
from pathlib import Path

from cheaptalk.models.catalogue import OURS
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.providers import origin
from cheaptalk.yaml_files import read_yaml

RETIREMENTS: dict[str, str] = {
    model: str(day)
    for model, day in read_yaml(Path(__file__).with_name("retirements.yaml")).items()
}
"""The day (``YYYY-MM-DD``) or month (``YYYY-MM``) of each model's retirement, by model string."""


def retirement(model: str) -> str | None:
    """Return the day or month from which a provider no longer serves a model; None if unknown.

    A retirement concerns only the provider's own servers: another server, such as a proxy, may
    still serve the model.

    >>> retirement("openai/gpt-4-0125-preview"), retirement("openai/gpt-4@http://localhost/v1")
    ('2026-03', None)

    Raises:
        WrongValue: the text is not a model string.
        UnknownName: the provider is unknown.
    """
    name = ModelName.parse(model)
    if name.provider not in OURS or origin(name.url) != origin(OURS[name.provider].address):
        return None
    return RETIREMENTS.get(name.short)


def is_retired(model: str, today: date | None = None) -> bool:
    """Return whether a model is retired; a month counts from its first day.

    >>> [is_retired("openai/gpt-4o", date(2027, 1, day)) for day in (13, 14)]
    [False, True]

    Args:
        today: the date of the question; by default the current date.

    Raises:
        WrongValue: the text is not a model string.
        UnknownName: the provider is unknown.
    """
    since = retirement(model)
    return since is not None and since <= (today or date.today()).isoformat()
