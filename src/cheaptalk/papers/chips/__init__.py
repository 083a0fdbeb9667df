"""Replication of "Strategic Tradeoffs" (2025): chip trading by people, models and scripts."""

from cheaptalk.yaml_files import yaml_files

PRESETS = yaml_files(__file__, "presets")
ROSTERS = yaml_files(__file__, "rosters")
