"""GAMA-Bench (Huang et al. 2025): eight games for many players, scored from 0 to 100."""

from pathlib import Path

from cheaptalk.yaml_files import yaml_files

HERE = Path(__file__).parent
PRESETS = yaml_files(HERE / "presets")
ROSTERS = yaml_files(HERE / "rosters")
