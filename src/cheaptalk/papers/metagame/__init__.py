"""The empirical meta-game of item bargaining (Measuring Competition and Cooperation, 2025)."""

from pathlib import Path

from cheaptalk.yaml_files import yaml_files

HERE = Path(__file__).parent
PRESETS = yaml_files(HERE / "presets")
ROSTERS = yaml_files(HERE / "rosters")
