"""Tests of the command line."""

from pathlib import Path
from typing import Any

import yaml

from tests.fakes import spec

CASES: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text())
"""Inputs and expected results, by name of the test."""


def write_study(**changes: Any) -> None:
    """Write the study file ``small.yaml`` in the current folder."""
    Path("small.yaml").write_text(yaml.safe_dump(spec(**changes)))
