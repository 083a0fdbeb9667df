"""Language models in self-play on Deal or No Deal (Liao, Tomlin and Klein 2024)."""

from cheaptalk.yaml_files import yaml_files

PRESETS = yaml_files(__file__, "presets")
ROSTERS = yaml_files(__file__, "rosters")
