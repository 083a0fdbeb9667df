"""The built-in providers and their models, read from ``providers.yaml`` beside this module."""

from pathlib import Path

from cheaptalk.models.providers import ADAPTER, Provider
from cheaptalk.yaml_files import read_yaml

OURS: dict[str, Provider] = {
    name: ADAPTER.validate_python(entry)
    for name, entry in read_yaml(Path(__file__).with_name("providers.yaml")).items()
}
"""Providers by the first part of a model string."""
