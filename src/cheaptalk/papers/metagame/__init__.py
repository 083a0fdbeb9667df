"""Replication of the empirical meta-game of item bargaining (Smithline et al. 2025)."""

from cheaptalk.yaml_files import yaml_files

PRESETS = yaml_files(__file__, "presets")
ROSTERS = yaml_files(__file__, "rosters")
