"""Language models in self-play on Deal or No Deal (Liao, Tomlin and Klein 2024)."""

from pathlib import Path

from cheaptalk.yaml_files import yaml_files

HERE = Path(__file__).parent
PRESETS = yaml_files(HERE / "presets")
ROSTERS = yaml_files(HERE / "rosters")
