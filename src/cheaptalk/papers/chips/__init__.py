"""Chip trading among people, models and Bayesian agents (Strategic Tradeoffs, 2025)."""

from pathlib import Path

from cheaptalk.yaml_files import yaml_files

HERE = Path(__file__).parent
PRESETS = yaml_files(HERE / "presets")
ROSTERS = yaml_files(HERE / "rosters")
