"""Tests of the command line."""

from pathlib import Path
from typing import Any

import yaml

CASES: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text())
"""Inputs and expected results, by name of the test."""
